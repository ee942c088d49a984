"""A text as readers see it: without the marks that stand in it for programs, as plain words or as Markdown.

As Markdown, comments, tags and directives go. Fences, admonitions and definitions of links stay, as they are
Markdown to somebody. What a book includes is read in with its file; of a listing that was not there, the name
is shown.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain

from pipeline.markup.inline import Span, closed_names, inline_marks
from pipeline.markup.lines import Line, read_lines

Edit = tuple[int, int, str]
"""Where a span begins and ends, and what is shown for it."""

_HAS_MARKS = re.compile(r"[<{!?=:`~\[(-]")
_DEFINITION = re.compile(
    r"[ ]{0,3}\[(?!\^)[^\[\]]++\]:[ \t]*+(?:<[^<>\n]*+>|[^\s<]\S*+)"
    r"(?:[ \t]++(?:\"[^\"\n]*+\"|'[^'\n]*+'|\([^()\n]*+\)))?[ \t]*+(?:\r\n?|\n|\Z)"
)
_TAG_NAME = re.compile(r"</?([A-Za-z][\w.-]*+)")
_WITHIN_WORDS = "a abbr b code del em font i ins kbd mark s samp small span strike strong sub sup tt u wbr"
_JOINED, _APART, _RAISED = "\0", "\1", "\2"
_LONE = re.compile(r"^[ \t]*+(?>(?:[\0-\2][ \t]*+)+)(?:\r\n?|\n|\Z)", re.MULTILINE)
_GAP = re.compile(r"[\0-\2][\0-\2 \t]*+")
_BEGINS = ("<", "{")
_HAS_SHOWN_MARKS = re.compile(r"[<{]")
_LISTING = re.compile(
    r"^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^`\n]*+\n[ \t>]*+"
    r"(?P<directive>\{\{#(?:include|rustdoc_include|playground|playpen)[ \t]++"
    r"(?P<name>[^{}\s]++)[^{}\n]*+\}\})"
    r"[ \t]*+\r?\n[ \t>]*+(?P=fence)",
    re.MULTILINE,
)
"""Code of which nothing is there but where to find it."""
_AFTER_LONE = re.compile(r"[ \t]*+(?:\r?\n[ \t]*+\r?\n|\r?\n?\Z)")


def readable(text: str, start: int = 0, end: int | None = None) -> str:
    """What readers see of `text[start:end]`, a part of the Markdown `text`.

    Code is as it stands. Marks are looked for in the whole text, so that a part that begins within a fence
    is known as code: a quote is a part of its section.
    """
    if not _HAS_MARKS.search(text, start, len(text) if end is None else end):
        return text[start:end]
    return without(text, find_marks(text), start=start, end=end)


def readable_block(text: str) -> str:
    """What readers see of a paragraph, a list item, a table row or HTML."""
    return without(text, inline_marks(text))


def find_marks(text: str) -> list[Span]:
    """The marks of a Markdown text, in order."""
    marks, chunks = _apart(text)
    closed = (
        closed_names("\n".join(text[first:last] for first, last in _pairs(chunks)))
        if "</" in text
        else frozenset()
    )
    for first, last in _pairs(chunks):
        position = first
        while definition := _DEFINITION.match(text, position, last):
            position = definition.end()
            marks.append((definition.start(), position))
        found = inline_marks(text[position:last], closed=closed)
        marks += [(position + begin, position + stop) for begin, stop in found]
    return sorted(marks)


def without(text: str, marks: Iterable[Span], *, start: int = 0, end: int | None = None) -> str:
    """`text[start:end]` without these spans, and without the blanks and empty lines that they leave."""
    end = len(text) if end is None else end
    pieces: list[str] = []
    position = start
    for first, last in marks:
        first, last = max(first, position), min(last, end)
        if first < last:
            pieces += [text[position:first], _filler(text[first:last])]
            position = last
    if not pieces:
        return text[start:end]
    joined = "".join([*pieces, text[position:end]])
    return _GAP.sub(_closed_up, _LONE.sub("", joined)).strip()


def _seen_for(mark: str, before: str, after: str) -> str:
    """What readers see of a mark between two characters: nothing, a blank, or ^ before a power."""
    filler = _filler(mark)
    if filler == _RAISED and before.isalnum():
        return "^"
    return " " if filler == _APART and before.strip() and after.strip() else ""


def readers_markdown(text: str) -> str:
    """The Markdown text for readers."""
    return edited(text, find_edits(text, 0, len(text)))


def find_edits(text: str, start: int, end: int) -> list[Edit]:
    """What is shown otherwise in `text[start:end]`, in order, with offsets in `text`."""
    if not _HAS_SHOWN_MARKS.search(text, 0, end):
        return []
    listings = [
        (*found.span("directive"), f"(listing {found['name']} not found)")
        for found in _LISTING.finditer(text, start, end)
    ]
    return merged([*listings, *_shown(text, find_marks(text), start, end)])


def merged(edits: Iterable[Edit]) -> list[Edit]:
    """The edits in order; where two meet, the first counts."""
    found: list[Edit] = []
    for first, last, shown in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        position = found[-1][1] if found else 0
        if first >= position:
            found.append((first, last, shown))
        elif last > position:
            found.append((position, last, ""))
    return found


def edited(text: str, edits: Iterable[Edit], *, base: int = 0) -> str:
    """The text with its edits made; they count from `base`."""
    pieces, position = [], 0
    for first, last, shown in edits:
        pieces += [text[position : first - base], shown]
        position = last - base
    return "".join([*pieces, text[position:]])


def _apart(text: str) -> tuple[list[Span], array[int]]:
    """What the lines leave out, but for indents and line endings; where adjacent lines of text begin and end.

    These are paragraphs, lists and tables. They are kept as numbers: a text of 10 MB may have millions.
    """
    marks: list[Span] = []
    chunks = array("q")
    position, first, last = 0, -1, -1
    for line in chain(read_lines(text, whole=False), [Line(len(text), len(text))]):
        left_out = text[position : line.start]
        if mark := left_out.strip():
            begin = position + left_out.index(mark)
            marks.append((begin, begin + len(mark)))
        position = max(position, line.end)
        if not (line.code or line.mark or line.start == line.end):
            first, last = line.start if first < 0 else first, line.end
        elif first >= 0:
            chunks.extend((first, last))
            first = -1
    return marks, chunks


def _pairs(numbers: array[int]) -> Iterator[Span]:
    return zip(numbers[::2], numbers[1::2], strict=True)


def _filler(mark: str) -> str:
    """What stands for a mark until all are out: whether the words around it are one."""
    tag = _TAG_NAME.match(mark)
    if tag is None:
        return _APART if mark[0] in "\"'" else _JOINED  # the end of a tag around a caption
    if mark[:4].lower() == "<sup":
        return _RAISED
    return _JOINED if tag[1].lower() in _WITHIN_WORDS.split() else _APART


def _closed_up(gap: re.Match[str]) -> str:
    """What is left of marks and the blanks among them: a blank at most."""
    start, end = gap.span()
    before, after = gap.string[start - 1 : start], gap.string[end : end + 1]
    if not before or before.isspace() or not after or after.isspace():
        return ""
    if _RAISED in gap[0] and before.isalnum():
        return "^"
    return "" if not gap[0].strip(_JOINED + _RAISED) else " "


def _shown(text: str, marks: Iterable[Span], start: int, end: int) -> Iterator[Edit]:
    goes = False
    for begun, stop in marks:
        # What follows a caption is the end of the mark before it, which may stand before `start`.
        goes = text.startswith(_BEGINS, begun) or (goes and text[begun] in "\"'")
        first, last = max(begun, start), min(stop, end)
        if not goes or first >= last:
            continue
        line = _blanks_before(text, first, start)
        after = _AFTER_LONE.match(text, last) if _begins_line(text, line, start) else None
        if after and _begins_line(text, _blanks_before(text, line - 1, start), start):
            yield line, after.end(), ""  # with the blank line after it: there is one before it
        else:
            yield first, last, _seen_for(text[first:last], text[first - 1 : first], text[last : last + 1])


def _blanks_before(text: str, at: int, start: int) -> int:
    """Where the blanks begin that end at an offset."""
    while at > start and text[at - 1] in " \t\r":
        at -= 1
    return at


def _begins_line(text: str, at: int, start: int) -> bool:
    return at <= start or text[at - 1] == "\n"
