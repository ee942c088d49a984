"""Word documents as Markdown, by mammoth and then as HTML."""

from __future__ import annotations

import html
import io
import re
import zipfile
import zlib
from typing import Any

import mammoth

from readers.converting.converted import Converted, losses
from readers.converting.html import convert_html
from readers.errors import ReaderError

MOST_UNPACKED = 200_000_000
"""Bytes of all parts together; what an archive says of its parts is the most that is read of them."""

_FIX = "Save it again as .docx, without a password."
CORE = "docProps/core.xml"
_TITLE = re.compile(r"<dc:title>([^<]{1,300})</dc:title>")


def convert_docx(data: bytes, *, source: str) -> Converted:
    """A document: headings, lists, tables and notes; no images, no headers and footers, no equations.

    Raises:
        ReaderError: it is not a Word document, or unpacks to too much.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            body, title, parts = _looked_at(archive, source)
    except (zipfile.BadZipFile, zlib.error, KeyError, NotImplementedError, RuntimeError, EOFError) as error:
        raise ReaderError(source, reason="not a Word document, or damaged", fix=_FIX) from error
    images = 0

    def count(_: Any) -> dict[str, str]:
        nonlocal images
        images += 1
        return {"src": "", "alt": ""}

    made = mammoth.convert_to_html(io.BytesIO(data), convert_image=mammoth.images.img_element(count))
    page = convert_html(f"<body>{made.value}</body>", source=source)
    lost = losses(
        (images, "image"),
        (body.count("<m:oMath>") + body.count("<m:oMath "), "equation"),
        (sum(part.startswith(("word/header", "word/footer")) for part in parts), "header or footer"),
        (sum(part.startswith("word/charts/chart") for part in parts), "chart"),
    )
    return Converted(page.text, title=title, left_out=lost)


def _looked_at(archive: zipfile.ZipFile, source: str) -> tuple[str, str, list[str]]:
    """The body as XML, the title, and the names of all parts."""
    members = archive.infolist()
    if sum(member.file_size for member in members) > MOST_UNPACKED:
        reason = f"it unpacks to more than {MOST_UNPACKED // 1_000_000} MB"
        raise ReaderError(source, reason=reason, fix="Divide it, or leave its images out.")
    names = [member.filename for member in members]
    body = archive.read("word/document.xml").decode("utf-8", "replace")
    core = archive.read(CORE).decode("utf-8", "replace") if CORE in names else ""
    title = _TITLE.search(core)
    return body, html.unescape(title[1]) if title else "", names
