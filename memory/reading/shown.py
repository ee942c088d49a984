"""A text as its readers see it, at the same length: offsets in it are offsets in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 20_000  # characters that are looked at: a message or a section; what follows names nothing

_CODE = re.compile(r"(?<![`\\])(`{1,2})(?!`)([^`\n]+(?:\n[^`\n]+)*)\1(?!`)")
_FENCED = re.compile(r"^ {0,3}(```++|~~~++)[^\n]*+\n.*?(?:^ {0,3}\1[^\n]*|\Z)", re.MULTILINE | re.DOTALL)
_MARKS = re.compile(
    r"(?<=\])(?:\[[^\]\n]*\]|\([^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)?\))"  # where a link leads
    r"|^ {0,3}\[[^\]\n]+\]:[^\n]*"
    r"|<!--(?:(?!<!--).)*?-->|</?[A-Za-z][^<>\n]*>"
    r"|\b[a-z][a-z+]{1,9}://\S+"
    r"|^[ \t]*(?:>[ \t]?|[-*+][ \t]+|\d{1,3}[.)][ \t]+)+"  # quoted lines, items
    r"|(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|[\[\]]",
    re.MULTILINE | re.DOTALL,
)
_TABLE_OR_HEADING = re.compile(r"^[ \t]*(?:\|.*|#{1,6} .*)$", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n(?=[ \t]*(?:\n|[-*+][ \t]|\d{1,3}[.)][ \t]))")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Shown:
    """A text with its marks overwritten, and where code stands in it."""

    text: str  # in one line; backticks stay
    prose: str  # as `text`, but without tables and headings, and with a line for each paragraph
    code: tuple[Span, ...]  # what stands between backticks


def shown(text: str) -> Shown:
    """What readers see of a Markdown or plain text; fenced code is overwritten, too."""
    text = text[:LONGEST]
    characters = list(text)
    for match in _FENCED.finditer(text):
        _blank(characters, *match.span())
    unfenced = "".join(characters)
    code = tuple(match.span(2) for match in _CODE.finditer(unfenced))
    for match in _MARKS.finditer(unfenced):
        _blank(characters, *match.span())
    for start, end in code:  # "*" and "<" are no marks there
        characters[start:end] = text[start:end]
    prose = characters.copy()
    for place, character in enumerate(characters):
        if character == "\n":
            characters[place] = prose[place] = " "
    for match in _TABLE_OR_HEADING.finditer(unfenced):
        _blank(prose, *match.span())
        prose[match.start()] = "\n"
    for match in _PARAGRAPH.finditer(unfenced):
        prose[match.start()] = "\n"
    return Shown("".join(characters), "".join(prose), code)


def _blank(characters: list[str], start: int, end: int) -> None:
    for place in range(start, end):
        if characters[place] != "\n":
            characters[place] = " "
