"""A part of a Markdown text as Markdown for readers: without what stands there for programs.

Comments, tags and directives go. Fences, admonitions and definitions of links stay, as they are Markdown to
somebody. What a book includes is read in with its file; of a listing that was not there, the name is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pipeline.markup.inline import Span
from pipeline.markup.readable import find_marks, seen_for

Edit = tuple[int, int, str]
"""Where a span begins and ends, and what is shown for it."""

_BEGINS = ("<", "{")
_HAS_MARKS = re.compile(r"[<{]")
_LISTING = re.compile(
    r"^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^`\n]*+\n[ \t>]*+"
    r"(?P<directive>\{\{#(?:include|rustdoc_include|playground|playpen)[ \t]++"
    r"(?P<name>[^{}\s]++)[^{}\n]*+\}\})"
    r"[ \t]*+\r?\n[ \t>]*+(?P=fence)",
    re.MULTILINE,
)
"""Code of which nothing is there but where to find it."""
_AFTER_LONE = re.compile(r"[ \t]*+(?:\r?\n[ \t]*+\r?\n|\r?\n?\Z)")


def readers_markdown(text: str) -> str:
    """The Markdown text for readers."""
    return edited(text, find_edits(text, 0, len(text)))


def find_edits(text: str, start: int, end: int) -> list[Edit]:
    """What is shown otherwise in `text[start:end]`, in order, with offsets in `text`."""
    if not _HAS_MARKS.search(text, 0, end):
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
            yield first, last, seen_for(text[first:last], text[first - 1 : first], text[last : last + 1])


def _blanks_before(text: str, at: int, start: int) -> int:
    """Where the blanks begin that end at an offset."""
    while at > start and text[at - 1] in " \t\r":
        at -= 1
    return at


def _begins_line(text: str, at: int, start: int) -> bool:
    return at <= start or text[at - 1] == "\n"
