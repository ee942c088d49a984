"""What a conversion makes, and the text that is indexed of it.

The text tells by itself what it was made from: front matter names the format, how many pages there were and
what is not in it, so that every store keeps that and a rebuild from the stored text loses nothing.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from readers.front_matter import Scalar, read_front_matter

MOST_TITLE = 200
SEPARATOR = "; "

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")
_NEWLINES = re.compile(r"\r\n?|\x85|\u2028|\u2029")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ENTITY = re.compile(r"&(?=#?\w{1,31};)")
_LINE_MARK = re.compile(r"(?=#{1,6}(?:\s|$)|>|(?:[-=_*~`:+!|] ?){3,}|\[[^\]]{1,200}\]:|\{[%#:])")


@dataclass(frozen=True, slots=True)
class Converted:
    """Markdown made of another format; `left_out` says what is not in it, with its number."""

    text: str
    title: str = ""
    pages: int = 0
    """0 where the format has no pages."""
    left_out: Sequence[str] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Conversion:
    """What an indexed text says of its conversion, as in `Converted`; `format` is as people read it."""

    source: str
    format: str
    pages: int
    left_out: tuple[str, ...]

    @property
    def summary(self) -> str:
        """In one line: `PDF, 12 pages; left out: 3 images`."""
        lost = f"; left out: {', '.join(self.left_out)}" if self.left_out else ""
        return ", ".join([self.format, *losses((self.pages, "page"))]) + lost


def as_document(converted: Converted, *, title: str) -> str:
    """The text that is indexed: front matter about the conversion, then the Markdown.

    `title` is that of the format, as people read it.
    """
    values: dict[str, str | int] = {"converted_from": title}
    if name := " ".join(clean(converted.title).split())[:MOST_TITLE]:
        values = {"title": name, **values}
    if converted.pages:
        values["pages"] = converted.pages
    if converted.left_out:
        values["left_out"] = SEPARATOR.join(converted.left_out)
    matter = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=math.inf)
    return f"---\n{matter}---\n\n{_tidy(converted.text)}\n"


def conversion_of(text: str, *, source: str = "") -> Conversion | None:
    """What the text of a document says of its conversion; None where it is Markdown from the beginning."""
    values = _said(text)
    if not values:
        return None
    pages, left_out = values.get("pages", 0), str(values.get("left_out", ""))
    return Conversion(
        source,
        format=str(values["converted_from"]),
        pages=pages if isinstance(pages, int) else 0,
        left_out=tuple(filter(None, left_out.split(SEPARATOR))),
    )


def _said(text: str) -> Mapping[str, Scalar]:
    """The front matter of a converted text; empty for another one."""
    if not text.startswith("---") or "converted_from:" not in text[:16_384]:
        return {}
    values = read_front_matter(text, source="").values
    return values if "converted_from" in values else {}


def convert_text(text: str) -> Converted:
    """Plain text; what is indented throughout is moved to the left, so that it is not code."""
    return Converted("\n".join(map(escaped_line, textwrap.dedent(clean(text)).split("\n"))))


def clean(text: str) -> str:
    """A text without the characters that are none, its lines ended as Markdown's."""
    return _CONTROL.sub("", _NEWLINES.sub("\n", text))


def escaped(text: str) -> str:
    """Plain text in which Markdown sees no tag and no entity; ids and file names stay as they are."""
    return _ENTITY.sub(r"\\&", _TAG.sub(r"\\<", text))


def escaped_line(line: str) -> str:
    """A line of plain text, escaped where Markdown would see a heading, rule or fence; list items stay."""
    return ("\\" if _LINE_MARK.match(line) else "") + escaped(line)


def losses(*counted: tuple[int, str]) -> tuple[str, ...]:
    """What was left out, such as `3 images`, for each number that is not 0; the plural adds an s."""
    return tuple(f"{number:,} {name}{'s' if number != 1 else ''}" for number, name in counted if number)


def _tidy(text: str) -> str:
    return _BLANK_LINES.sub("\n\n", clean(text)).strip("\n").rstrip()
