"""Citations: exact spans of files, and their markers in the sentences of an answer.

After a file is edited, `provenance` finds whether a cited passage is unchanged, moved or gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import Literal

from pipeline.answer import Citation, Passage
from pipeline.nodes import Node

# [1], [1, 2], [1-3], [^1], 【1】, [Source 1]; not the text of a link: `[1](url)`. Callers exclude code.
MARKER = re.compile(  # after a backslash it is plain text: sources are escaped in this way
    r"(?<!\\)[\[【](?:[Ss]ources?\s+)?\^?(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)(?:†[^\]】]*)?[\]】](?!\()"
)
SPACED_MARKER = re.compile(rf"[ \t]*{MARKER.pattern}")  # a marker is removed with the blanks before it
CODE = re.compile(  # a fence must begin a line, else one within a sentence would turn the rest into code
    r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*"
    r"(?P<block>.*?)(?:^[ \t>]*(?P=fence)|\Z)"
    r"|`[^`\n]+`",
    re.DOTALL | re.MULTILINE,
)
SENTENCE_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"'”)*_`])|(?<=[.!?](?:\*\*|__)))(?P<marks>(?:\s*[\[【][^\]】\n]{1,20}[\]】])*)(?=\s|$)"
    r"|(?<=[。！？])(?:\s*[\[【][^\]】\n]{1,20}[\]】])*"
    r"|\n{2,}|\n(?![ \t]*[a-z])"  # a line that begins in lower case continues the sentence
)
ABBREVIATION = re.compile(
    r"\b(e\.g|i\.e|cf|fig|vs|dr|mr|mrs|st)\.$|(?:^|\n)[ \t]*(?:[-*+][ \t]+)?\d+\.$", re.IGNORECASE
)
# These may also end a sentence ("after 5 min. Then …"): they are abbreviations only before a-z and 0-9.
MAYBE_ABBREVIATION = re.compile(r"\b(no|approx|etc|sec|min|max)\.$", re.IGNORECASE)
SENTENCE_CLOSE = re.compile(r"[.!?…。！？]+$|\|$")
LINK = re.compile(
    r"(?P<image>!)?\[(?P<words>[^\[\]\n]{0,300})\]\((?P<address>[^()\s]{0,1000})(?:\s+\"[^\"\n]{0,300}\")?\)"
)
SOURCE_LINE = re.compile(r"</?(?:source|closest)\b[^<>\n]{0,60}>")  # prompt lines that a small model copies
WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]|\n]{0,300}\|)?(?P<words>[^\[\]|\n]{1,300})\]\]")
GOES_ON = re.compile(r"\s*[a-z0-9]")


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence of an answer: its offsets, and the numbers of the sources that it cites."""

    start: int
    end: int
    numbers: tuple[int, ...]


def sentences_of(text: str) -> list[Piece]:
    """Return the sentences of an answer; a marker after a full stop belongs to the sentence before it."""
    code = _code_spans(text)
    pieces: list[Piece] = []
    start = 0
    for match in SENTENCE_END.finditer(text):
        end = match.end()
        if _inside(match.start(), code) or _abbreviated(text[start : match.start()], text, end):
            continue
        pieces += _piece(text, start, end)
        start = end
    return pieces + _piece(text, start, len(text))


def _abbreviated(before: str, text: str, end: int) -> bool:
    """Return whether the full stop belongs to an abbreviation or to a list item's number."""
    if ABBREVIATION.search(before):
        return True
    return bool(MAYBE_ABBREVIATION.search(before) and GOES_ON.match(text, end))


def citation_of(leaves: Sequence[Node], passage: Passage, *, marker: int, file_hash: str) -> Citation:
    """Return the citation of one or more adjacent leaves of a passage: from the first to the last."""
    section = passage.section
    offset = section.start_char_idx
    start, end = leaves[0].start_char_idx, leaves[-1].end_char_idx
    quote = section.text[start - offset : end - offset]
    return Citation(
        marker=marker,
        source=section.metadata["source"],
        heading_path=_common([leaf.metadata["heading_path"] for leaf in leaves]),
        start=start,
        end=end,
        start_line=leaves[0].metadata["start_line"],
        end_line=leaves[-1].metadata["end_line"],
        quote=quote,
        file_hash=file_hash,
        section_text=section.text,
        section_start=offset,
    )


def _common(paths: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the common beginning of heading paths."""
    shared = takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False))
    return tuple(level[0] for level in shared)


def without_markers(text: str) -> str:
    """Return the text without citation markers, except in code; for the history and for verification."""
    return _outside_code(SPACED_MARKER, lambda _: "", text)


def with_markers(sentence: str, markers: Sequence[int]) -> str:
    """Return the sentence with markers before its final punctuation, or inside a table row's last cell."""
    if not markers:
        return sentence
    written = "".join(f"[{marker}]" for marker in markers)
    end = SENTENCE_CLOSE.search(sentence)
    at = end.start() if end else len(sentence)
    return f"{sentence[:at].rstrip()} {written}{' ' if end and '|' in end[0] else ''}{sentence[at:]}"


def without_links(text: str, known: str) -> str:
    """Return the text with links and images replaced by their words, except http(s) links that `known` has.

    Relative links work only in their own document, and a model may have invented the others. Lines that mark
    a source in the prompt are removed.
    """

    def words(match: re.Match[str]) -> str:
        address = match["address"]
        keeps = not match["image"] and re.match(r"https?://", address) and address in known
        return match[0] if keeps else match["words"]

    plain = _outside_code(LINK, words, SOURCE_LINE.sub("", text))
    return _outside_code(WIKI_LINK, lambda match: match["words"], plain)


def escaped_markers(text: str) -> str:
    """Return the text with a backslash before each marker outside of code, so that it cites nothing."""
    code = [match.span("block" if match["fence"] else 0) for match in CODE.finditer(text)]
    return MARKER.sub(lambda match: match[0] if _inside(match.start(), code) else f"\\{match[0]}", text)


def renamed_markers(text: str, name: Callable[[int], str]) -> str:
    """Return the text with each marker outside of code replaced by `name` of its number."""
    return _outside_code(MARKER, lambda match: "".join(map(name, _numbers(match[1]))), text)


def _piece(text: str, start: int, end: int) -> list[Piece]:
    inside = text[start:end]
    lead = len(inside) - len(inside.lstrip())
    first, last = start + lead, start + len(inside.rstrip())
    if first >= last:
        return []
    code = _code_spans(text[first:last])
    found = (match for match in MARKER.finditer(text[first:last]) if not _inside(match.start(), code))
    numbers = chain.from_iterable(_numbers(match[1]) for match in found)
    return [Piece(first, last, tuple(dict.fromkeys(numbers)))]


def _numbers(inside: str) -> list[int]:
    """Return the numbers in `1, 2` or `1-3`; only the two ends of a range."""
    return [int(number) for number in re.findall(r"\d+", inside)]


def _outside_code(pattern: re.Pattern[str], write: Callable[[re.Match[str]], str], text: str) -> str:
    """Replace each match of a pattern outside of code by `write(match)`."""
    code = _code_spans(text)
    return pattern.sub(lambda match: match[0] if _inside(match.start(), code) else write(match), text)


def _code_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in CODE.finditer(text)]


def _inside(position: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= position < end for start, end in spans)


Status = Literal["same", "moved", "gone"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """The state of a citation in today's file; the offsets are where the passage is now, None if gone."""

    status: Status
    start: int | None = None
    end: int | None = None


def provenance(citation: Citation, text: str | None) -> Provenance:
    """Find a citation in today's text of its file; `text` is None if the file is no longer indexed."""
    if text is None:
        return Provenance("gone")
    if text[citation.start : citation.end] == citation.quote:
        return Provenance("same", citation.start, citation.end)
    moved = _nearest_copy(text, citation.quote, citation.start)
    return Provenance("moved", *moved) if moved else Provenance("gone")


def _nearest_copy(text: str, quote: str, near: int) -> tuple[int, int] | None:
    """Return the span nearest to `near` that has the quote's words with any white space, or None."""
    words = [re.escape(word) for word in quote.split()]
    if not words:
        return None
    places = [match.span() for match in re.finditer(r"\s+".join(words), text)]
    return min(places, key=lambda span: abs(span[0] - near), default=None)
