"""Citations: markers in an answer become exact spans of exact files; invented ones are removed.

They outlive edits: a cited passage is still there, moved or gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import Literal

from pipeline.answer import Citation, Passage
from pipeline.nodes import Node

# [1], [1, 2], [1-3], [^1], 【1】, [Source 1]; not inside code and not the text of a link: `[1](url)`.
MARKER = re.compile(  # with a backslash before it, it is text: so sources have what reads as a marker
    r"(?<!\\)[\[【](?:[Ss]ources?\s+)?\^?(\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)(?:†[^\]】]*)?[\]】](?!\()"
)
SPACED_MARKER = re.compile(rf"[ \t]*{MARKER.pattern}")  # a removed marker takes its space along
CODE = re.compile(  # a fence begins a line: by one within a sentence, all that follows could be called code
    r"^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*"
    r"(?P<block>.*?)(?:^[ \t>]*(?P=fence)|\Z)"
    r"|`[^`\n]+`",
    re.DOTALL | re.MULTILINE,
)
SENTENCE_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"'”)*_`])|(?<=[.!?](?:\*\*|__)))(?P<marks>(?:\s*[\[【][^\]】\n]{1,20}[\]】])*)(?=\s|$)"
    r"|(?<=[。！？])(?:\s*[\[【][^\]】\n]{1,20}[\]】])*"
    r"|\n{2,}|\n(?![ \t]*[a-z])"  # a line that continues in lower case is the same sentence, wrapped
)
ABBREVIATION = re.compile(
    r"\b(e\.g|i\.e|cf|fig|vs|dr|mr|mrs|st)\.$|(?:^|\n)[ \t]*(?:[-*+][ \t]+)?\d+\.$", re.IGNORECASE
)
# These end sentences, too ("after 5 min. Then …"): they are abbreviations only before lower case.
MAYBE_ABBREVIATION = re.compile(r"\b(no|approx|etc|sec|min|max)\.$", re.IGNORECASE)
SENTENCE_CLOSE = re.compile(r"[.!?…。！？]+$|\|$")
LINK = re.compile(
    r"(?P<image>!)?\[(?P<words>[^\[\]\n]{0,300})\]\((?P<address>[^()\s]{0,1000})(?:\s+\"[^\"\n]{0,300}\")?\)"
)
SOURCE_LINE = re.compile(r"</?(?:source|closest)\b[^<>\n]{0,60}>")  # of the prompt, copied by a small model
WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]|\n]{0,300}\|)?(?P<words>[^\[\]|\n]{1,300})\]\]")
GOES_ON = re.compile(r"\s*[a-z0-9]")


@dataclass(frozen=True, slots=True)
class Piece:
    """One sentence of an answer: its span, and the numbers of the sources that it cites."""

    start: int
    end: int
    numbers: tuple[int, ...]


def sentences_of(text: str) -> list[Piece]:
    """The sentences of an answer, each with its markers, including those after the full stop."""
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
    """True where the full stop belongs to an abbreviation or to a list item's number."""
    if ABBREVIATION.search(before):
        return True
    return bool(MAYBE_ABBREVIATION.search(before) and GOES_ON.match(text, end))


def citation_of(leaves: Sequence[Node], passage: Passage, *, marker: int, file_hash: str) -> Citation:
    """The citation of adjacent leaves of a passage: one exact span."""
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
    """What heading paths begin with alike."""
    shared = takewhile(lambda level: len(set(level)) == 1, zip(*paths, strict=False))
    return tuple(level[0] for level in shared)


def without_markers(text: str) -> str:
    """The text as it reads without citations: for history and for checking."""
    return _outside_code(SPACED_MARKER, lambda _: "", text)


def with_markers(sentence: str, markers: Sequence[int]) -> str:
    """The sentence with citation markers before its final punctuation, or inside the last cell of a row."""
    if not markers:
        return sentence
    written = "".join(f"[{marker}]" for marker in markers)
    end = SENTENCE_CLOSE.search(sentence)
    at = end.start() if end else len(sentence)
    return f"{sentence[:at].rstrip()} {written}{' ' if end and '|' in end[0] else ''}{sentence[at:]}"


def without_links(text: str, known: str) -> str:
    """The text with the words of its Markdown links alone; an address that `known` text has stays a link.

    Relative links mean nothing outside of their document, and a model may have invented the others. Lines
    that mark a source in a prompt leave, too.
    """

    def words(match: re.Match[str]) -> str:
        address = match["address"]
        keeps = not match["image"] and re.match(r"https?://", address) and address in known
        return match[0] if keeps else match["words"]

    plain = _outside_code(LINK, words, SOURCE_LINE.sub("", text))
    return _outside_code(WIKI_LINK, lambda match: match["words"], plain)


def escaped_markers(text: str) -> str:
    """The text with a backslash before whatever reads as a citation, outside of code: it cites nothing."""
    code = [match.span("block" if match["fence"] else 0) for match in CODE.finditer(text)]
    return MARKER.sub(lambda match: match[0] if _inside(match.start(), code) else f"\\{match[0]}", text)


def renamed_markers(text: str, name: Callable[[int], str]) -> str:
    """The text with each final marker, `[1]`, renamed; code is left alone."""
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
    """The numbers of `1, 2` or `1-3`: of a range its ends."""
    return [int(number) for number in re.findall(r"\d+", inside)]


def _outside_code(pattern: re.Pattern[str], write: Callable[[re.Match[str]], str], text: str) -> str:
    """Replace what a pattern finds outside of code by what `write` makes of it."""
    code = _code_spans(text)
    return pattern.sub(lambda match: match[0] if _inside(match.start(), code) else write(match), text)


def _code_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in CODE.finditer(text)]


def _inside(position: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= position < end for start, end in spans)


Status = Literal["same", "moved", "gone"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """What became of a citation; the span says where the passage is now, None if it is gone."""

    status: Status
    start: int | None = None
    end: int | None = None


def provenance(citation: Citation, text: str | None) -> Provenance:
    """Compare a citation with the file's text today; `text` is None if the file is no longer indexed."""
    if text is None:
        return Provenance("gone")
    if text[citation.start : citation.end] == citation.quote:
        return Provenance("same", citation.start, citation.end)
    moved = _nearest_copy(text, citation.quote, citation.start)
    return Provenance("moved", *moved) if moved else Provenance("gone")


def _nearest_copy(text: str, quote: str, near: int) -> tuple[int, int] | None:
    """Where the same words stand now, however the lines are broken, nearest to where they stood."""
    words = [re.escape(word) for word in quote.split()]
    if not words:
        return None
    places = [match.span() for match in re.finditer(r"\s+".join(words), text)]
    return min(places, key=lambda span: abs(span[0] - near), default=None)
