"""Quotes that can be understood: each with its lead, its answer marked, and what was left out to unfold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from pipeline.answer import Answer, Citation, Unit
from pipeline.answering.excerpts import (
    Excerpt,
    in_code,
    readers_quote,
    shown,
    table_header,
    text_before,
    whole,
)
from pipeline.words import counted
from ui.shared.markdown_tree import Span, Tree, markdown_tree, tree_text
from ui.shared.words import one_line

View = dict[str, Any]  # what the component gets: JSON only

BULLET = re.compile(r"^\s*[-*+]\s+")
LINKED_CODE = re.compile(r"[a-z]+(?:-[a-z0-9]+)*?-\d+\b")  # at the beginning of an anchor: p-air-02
FILE_NUMBER = re.compile(r"^(?:ch\d+-\d+-|\d+[-_])")
ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
MARKS = re.compile(r"^[ \t>]*(?:[-*+][ \t]|\d{1,9}[.)][ \t]|(?:```|~~~).*$)", re.MULTILINE)  # of Markdown
WORD = re.compile(r"\w")
INLINE = frozenset({"em", "strong", "s", "code", "a", "span"})


@dataclass(frozen=True, slots=True)
class QuotedUnit:
    """A unit with the citation that it shows."""

    unit: Unit
    citation: Citation

    def unmarked(self) -> QuotedUnit:
        """The same without the part that answers."""
        return replace(self, unit=replace(self.unit, answer_start=None, answer_end=None))

    @property
    def section(self) -> tuple[str, tuple[str, ...]]:
        """Where it stands."""
        return self.citation.file, self.citation.heading_path


def units_view(answer: Answer) -> View:
    """The quotes of an answer in the order of its units: those that are shown, and those behind a button."""
    found = quoted_units(answer)
    if answer.verdict != "answered":  # what may be beside the point is not marked as the answer
        found = [item.unmarked() for item in found]
    folded = [item for item in found if item.unit.folded]
    return {
        "groups": _groups(item for item in found if not item.unit.folded),
        "folded": _groups(folded),
        "folded_label": counted(len(folded), "more passage"),
    }


def quoted_units(answer: Answer) -> list[QuotedUnit]:
    """The units that have their citation; a citation without a unit is a folded one at the end."""
    cited = {citation.marker: citation for citation in answer.citations}
    units = [unit for unit in answer.units if unit.marker in cited]
    known = {unit.marker for unit in units}
    units += [
        Unit(citation.marker, "paragraph", citation.start, citation.end, folded=True)
        for citation in answer.citations
        if citation.marker not in known
    ]
    return [QuotedUnit(unit, cited[unit.marker]) for unit in units]


def _groups(items: Iterable[QuotedUnit]) -> list[View]:
    """Quotes in their order, adjacent ones of a section under one breadcrumb."""
    return [
        {"source": source, "path": list(path), "quotes": [_quote_view(item) for item in group]}
        for (source, path), group in groupby(items, key=lambda item: item.section)
    ]


def _quote_view(item: QuotedUnit) -> View:
    return {
        "marker": item.citation.marker,
        "kind": item.unit.kind,
        "tree": unit_tree(item),
        "whole": whole_tree(item),
    }


def unit_tree(item: QuotedUnit) -> Tree:
    """Lead and quote, with a line where something is left out."""
    lead, tree = _trees(shown(item.unit, item.citation), item.unit)
    before, after = (
        _left_out(item.unit.more(item.unit.left_out_before)),
        _left_out(item.unit.more(item.unit.left_out_after)),
    )
    body = _body(tree)
    if body is None:
        return [*lead, *before, *tree, *after]
    columns = _columns(tree)
    body["c"] = [*_as_row(before, columns), *body["c"], *_as_row(after, columns)]
    return [*lead, *tree]


def whole_tree(item: QuotedUnit) -> Tree:
    """All of the unit; nothing where all is shown, or where the citation does not have its text."""
    found = whole(item.unit, item.citation)
    if found is None:
        return []
    lead, tree = _trees(found, item.unit)
    return [*lead, *tree]


def _trees(excerpt: Excerpt, unit: Unit) -> tuple[Tree, Tree]:
    spans = [
        Span(excerpt.place(start), excerpt.place(end), "answer") for start, end in _answers(excerpt, unit)
    ]
    tree = markdown_tree(excerpt.text, spans=spans) or [{"t": "p", "c": [excerpt.quote]}]
    _mark_rows(tree)
    return with_links(markdown_tree(excerpt.lead)), with_links(tree)


def with_links(tree: Tree) -> Tree:
    """The tree, in which a link to another place of the documents asks for that place."""
    made: Tree = []
    for node in tree:
        if isinstance(node, str):
            made.append(node)
            continue
        inside = with_links(node["c"])
        asked = linked(node["title"], tree_text(node["c"])) if node.get("k") == "link" else ""
        if asked:
            made.append({"t": "ask", "question": asked, "title": f"Ask: {asked}", "c": inside})
        else:
            made.append(node | {"c": inside})
    return made


def linked(target: str, text: str) -> str:
    """What to ask for where a link leads: the heading or the file that it names; "" for the world.

    Its words are asked for where they say as much as the file's name, which "Chapter 10" does not.
    """
    if ELSEWHERE.match(target):
        return ""
    file, _, place = unquote(target).partition("#")
    code = LINKED_CODE.match(place)
    heading = place[code.end() if code else 0 :].replace("-", " ").strip()
    if place:
        return f"{code[0].upper() if code else ''} {heading}".strip()
    named, words = FILE_NUMBER.sub("", PurePosixPath(file).stem).replace("-", " "), one_line(text)
    return words if set(named.lower().split()) & set(words.lower().split()) else named or words


def _answers(excerpt: Excerpt, unit: Unit) -> list[tuple[int, int]]:
    """The span of the file that answers, where it is a part of what is shown and not all of it.

    Lines of code are marked one at a time: a block of them is what is quoted, not a place in it.
    """
    if unit.answer_start is None or unit.answer_end is None:
        return []
    first, last = excerpt.place(unit.answer_start), excerpt.place(unit.answer_end)
    answer = excerpt.text[first:last]
    rest = MARKS.sub("", excerpt.text[len(excerpt.opening) : first] + excerpt.text[last:])
    code = unit.kind == "code" and "\n" in answer.strip()
    return (
        []
        if code or not WORD.search(answer) or not WORD.search(rest)
        else [(unit.answer_start, unit.answer_end)]
    )


def _left_out(text: str) -> Tree:
    return [{"t": "more", "c": [text]}] if text else []


def _body(tree: Tree) -> dict[str, Any] | None:
    """The body of the table that the tree ends in; None where it ends in none."""
    if tree[-1]["t"] != "table":
        return None
    return next((part for part in tree[-1]["c"] if part["t"] == "tbody"), None)


def _columns(tree: Tree) -> int:
    return max((len(row["c"]) for part in tree[-1]["c"] for row in part["c"]), default=1)


def _as_row(more: Tree, columns: int) -> Tree:
    if not more:
        return []
    return [{"t": "tr", "k": "left-out", "c": [{"t": "td", "span": columns, "c": more}]}]


def _mark_rows(tree: Tree) -> None:
    """A row whose cells are all marked is marked as a row."""
    for node in tree:
        if isinstance(node, str):
            continue
        if node["t"] == "tr" and (cells := [cell for cell in node["c"] if cell["c"]]):
            if all(_marked(cell["c"]) for cell in cells):
                node["k"] = "answers"
                for cell in cells:
                    cell["c"] = _unmarked(cell["c"])
        else:
            _mark_rows(node["c"])


def _marked(tree: Sequence[Any]) -> bool:
    """True where all the words are within a mark."""
    return all(
        not node.strip() if isinstance(node, str) else _is_mark(node) or _inline_marked(node) for node in tree
    )


def _inline_marked(node: dict[str, Any]) -> bool:
    return node["t"] in INLINE and bool(node["c"]) and _marked(node["c"])


def _is_mark(node: dict[str, Any]) -> bool:
    return bool(node["t"] == "mark" and node.get("k") == "answer")


def _unmarked(tree: Tree) -> Tree:
    """The same without marks."""
    plain: Tree = []
    for node in tree:
        if isinstance(node, str):
            plain.append(node)
        elif _is_mark(node):
            plain += _unmarked(node["c"])
        else:
            plain.append(node | {"c": _unmarked(node["c"])})
    return plain


def breadcrumb(citation: Citation) -> str:
    """Where a citation stands, in one line."""
    return " › ".join([citation.file, *citation.heading_path])


def in_words(citation: Citation) -> str:
    """A quote on one line, without the marks of Markdown."""
    return one_line(tree_text(quote_tree(citation)))


def quote_tree(citation: Citation) -> Tree:
    """A quote as it stands in its section: rows under their header, code as code, a list item's text."""
    before = text_before(citation, citation.start)
    quote = readers_quote(citation)
    if in_code(before):
        return markdown_tree(f"```\n{quote}")
    header = table_header(before)
    if header and "|" in quote.split("\n", 1)[0]:
        return markdown_tree(f"{header}\n{quote}")
    alone = "\n" not in quote.strip()
    text = BULLET.sub("", quote) if alone else quote
    return markdown_tree(text) or [{"t": "p", "c": [text]}]
