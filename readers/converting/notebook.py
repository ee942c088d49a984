"""Jupyter notebooks as Markdown: text as it is, code in fences, no outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from readers.converting.converted import Converted, losses
from readers.errors import ReaderError

_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
_FENCE = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)
_FIX = "Open it in Jupyter and save it again."


def convert_notebook(text: str, *, source: str) -> Converted:
    """A notebook of version 3 or 4; its outputs and attached images are left out, and counted.

    Raises:
        ReaderError: it is no notebook.
    """
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ReaderError(source, reason="not a Jupyter notebook: it is not JSON", fix=_FIX) from error
    cells = list(_cells(notebook))
    if not isinstance(notebook, dict) or not ("cells" in notebook or "worksheets" in notebook):
        raise ReaderError(source, reason="not a Jupyter notebook: it has no cells", fix=_FIX)
    language = _language(notebook)
    return Converted(
        text="\n\n".join(filter(str.strip, (_markdown(cell, language) for cell in cells))),
        left_out=losses(
            (sum(len(_list(cell.get("outputs"))) for cell in cells), "output"),
            (sum(len(_mapping(cell.get("attachments"))) for cell in cells), "attached image"),
        ),
    )


def _cells(notebook: Any) -> Iterator[Mapping[str, Any]]:
    """The cells of version 4, or those of all worksheets of version 3."""
    sheets: Iterable[Any] = [notebook, *_list(_mapping(notebook).get("worksheets"))]
    for sheet in sheets:
        yield from (cell for cell in _list(_mapping(sheet).get("cells")) if isinstance(cell, dict))


def _markdown(cell: Mapping[str, Any], language: str) -> str:
    text = _text(cell.get("source", cell.get("input", "")))
    match cell.get("cell_type"):
        case "code":
            if not text.strip():
                return ""
            fence = "`" * max(3, *(len(found) + 1 for found in _FENCE.findall(text)), 3)
            return f"{fence}{language}\n{text}\n{fence}"
        case "heading":  # of version 3
            level = cell.get("level", 1)
            return f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {text}"
        case _:
            return text


def _language(notebook: Mapping[str, Any]) -> str:
    metadata = _mapping(notebook.get("metadata"))
    for name in (
        _mapping(metadata.get("language_info")).get("name"),
        _mapping(metadata.get("kernelspec")).get("language"),
    ):
        if isinstance(name, str) and _LANGUAGE.fullmatch(name):
            return name
    return ""


def _text(value: Any) -> str:
    """A cell's text, which is a string or a list of lines."""
    lines = [value] if isinstance(value, str) else _list(value)
    return "".join(line for line in lines if isinstance(line, str))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
