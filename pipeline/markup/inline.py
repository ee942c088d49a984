"""Marks within a block of Markdown: tags, comments, and what site generators replace.

Found are HTML comments and tags, JSX tags, mdBook's `{{#include}}`, Liquid (`{% … %}`, `{{ site.x }}`),
Hugo's shortcodes, attribute lists (`{: .note}`, `{#id}`), MyST's roles, and what opens a GitHub alert.
Code spans are left alone, and so is what a backslash escapes or `{% raw %}` encloses.

Everything is read once, from left to right: no pattern goes back, none looks beyond the next opening.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

Span = tuple[int, int]

_PLAIN_TAGS = """
a abbr b blockquote br center code dd del details div dl dt em figcaption figure font h1 h2 h3 h4 h5 h6 hr i
iframe img ins kbd li mark nobr ol p pre s samp small span strike strong sub sup tbody td tfoot th thead tr tt
u ul wbr
"""
"""Tags wherever they stand. Of others, a bare `<name>` is one only if `</name>` is there too: else it is
a placeholder, as in `cp <source> <path>`."""

_PLAIN = frozenset(_PLAIN_TAGS.split())
_SHOWN = re.compile(r"""(?<=[\s"'])(?:alt|caption|label|title)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)')""")
"""Attributes whose value readers see."""
_BADGE = re.compile(r"shields\.io|badge|/workflows/|codecov\.io|travis-ci|zenodo\.org", re.IGNORECASE)
"""In the address of a picture that tells the state of a project."""
_CLOSING_TAG = re.compile(r"</([A-Za-z][\w.:-]*+)\s*+>")

# Atomic groups, where a possessive one would be shorter: those fail to match before Python 3.11.5.
_MARK = re.compile(
    r"""
      (?P<escaped>\\(?:\{++|[^\w\s]))
    | (?P<ticks>`++)
    | (?P<comment><!--)
    | (?P<hidden><(?P<element>script|style)\b(?=[\s>])[^<>]*+>)
    | (?P<tag><(?P<close>/?)(?P<name>[A-Za-z][\w.-]*+)
        (?P<attributes>(?>(?:\s++[A-Za-z_@][\w:.@-]*+
            (?>(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|\{(?>(?:[^{}]++|\{[^{}]*+\})*)\}|[^\s"'=<>`{]++))?))*))
        \s*+(?P<empty>/?)>)
    | (?P<liquid>\{%[-+]?\s*+(?P<word>[A-Za-z_][\w-]*+)(?>(?:[^%{]++|%(?!\})|\{(?!%))*)%\})
    | (?P<raw>\{\{%(?!%|/\*)(?>(?:[^%{]++|%(?!\}\})|\{(?!\{))*)%\}\})
    | (?P<shortcode>\{\{<(?!/\*)(?>(?:[^>{]++|>(?!\}\})|\{(?!\{))*)>\}\})
    | (?P<book>\{\{\#(?:(?:rustdoc_|shift)?include|playground|playpen|title|template)\b[^{}\n]*+\}\})
    | (?P<output>\{\{-?\s*+(?:site|page|layout|include|jekyll|theme|config|book|content)\b[^{}\n]*+\}\})
    | (?P<kramdown>\{:(?:/|:?/?\s*+(?:[.\#][A-Za-z]|[A-Za-z][\w-])[^{}\n]*+)\})
    | (?P<list>\{\s*+[.\#][A-Za-z][\w:-]*+(?:\s[^{}\n]*+)?\})
    | (?P<jsx>\{/\*(?>(?:[^*{]++|\*(?!/\})|\{(?!/\*))*)\*/\})
    | (?P<picture>!\[\s*+\]\([^()\n]*+\))
    | (?P<role>\{[a-z][\w:-]*+\}(?=`))
    | (?P<alert>(?<![^\s>])\[!(?:note|tip|important|warning|caution|info|danger|example|question)\][+-]?)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CANDIDATE = re.compile(
    r"[\\`<{!\[](?:(?<=[\\`])|(?<=<)(?=[!/A-Za-z])|(?<=\{)(?=[%:/.\#\sA-Za-z]|\{[^{])|(?<=!)(?=\[)|(?<=\[)(?=!))",
    re.IGNORECASE,
)
"""Where a mark may begin, by the next characters too: a row of braces is not tried one by one."""
_STARTS = re.compile(r"[<{]|\[!|!\[")
_TARGET = r"(?:\(\s*+([^()\s]*+)[^()]*+\)|\[[^\[\]]*+\])"
_IMAGE = re.compile(rf"\[!\[([^\[\]]*+)\]{_TARGET}\]{_TARGET}|!\[([^\[\]]*+)\]{_TARGET}")
_IMAGES = re.compile(rf"(?>(?:\s*+(?:{_IMAGE.pattern}))+)\s*+")
_PICTURE_FILE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp)$", re.IGNORECASE)
_ENDS = {"comment": "endcomment", "raw": "endraw"}


def closed_names(text: str) -> frozenset[str]:
    """The names that have a closing tag in the text: bare opening tags of these are tags."""
    return frozenset(_CLOSING_TAG.findall(text)) if "</" in text else frozenset()


def inline_marks(text: str, *, closed: frozenset[str] = frozenset()) -> list[Span]:
    """The marks in the text of one block, in order; `closed` are names that have closing tags elsewhere."""
    if "![" in text and _is_badges(text):
        return [(0, len(text))]
    if not _STARTS.search(text):
        return []
    return list(_Scan(text, closed | closed_names(text)))


class _Scan:
    """One reading of a block."""

    def __init__(self, text: str, closed: frozenset[str]) -> None:
        self._text = text
        self._closed = closed
        self._missing: set[str] = set()
        self._ticks: defaultdict[int, list[int]] | None = None

    def __iter__(self) -> Iterator[Span]:
        position = 0
        while candidate := _CANDIDATE.search(self._text, position):
            match = _MARK.match(self._text, candidate.start())
            if match is None:
                position = candidate.end()
                continue
            start, position = match.span()
            match match.lastgroup:
                case "ticks":
                    position = self._after_code(match)
                case "comment":
                    end = self._find("-->", position)
                    if end >= 0:
                        position = end + 3
                        yield start, position
                case "hidden":
                    end = self._find(f"</{match['element']}>", position)
                    position = end + len(match["element"]) + 3 if end >= 0 else position
                    yield start, position
                case "tag":
                    if self._is_tag(match):
                        yield from _around_shown(match)
                    else:  # a placeholder may stand before a tag: `<index><br>`
                        position = start + 1
                case "liquid":
                    end = self._after_liquid(match)
                    if match["word"].lower() == "raw":
                        yield start, position
                        position = end
                    elif end > position:
                        position = end
                        yield start, position
                    else:
                        yield from _around_shown(match)
                case "shortcode" | "raw":
                    yield from _around_shown(match)
                case "escaped":
                    pass
                case _:
                    yield start, position

    def _after_code(self, match: re.Match[str]) -> int:
        """The end of the code span that these backticks open; their own end where none closes it."""
        if self._ticks is None:
            self._ticks = defaultdict(list)
            for run in re.finditer("`++", self._text):
                self._ticks[run.end() - run.start()].append(run.start())
        length = match.end() - match.start()
        runs = self._ticks[length]
        closer = bisect_left(runs, match.end())
        return runs[closer] + length if closer < len(runs) else match.end()

    def _is_tag(self, match: re.Match[str]) -> bool:
        name = match["name"]
        if match["close"] or match["empty"] or name.lower() in _PLAIN or name in self._closed:
            return not match["close"] or not match["attributes"]
        return "=" in match["attributes"]

    def _after_liquid(self, match: re.Match[str]) -> int:
        """Where a comment ends, or what `{% raw %}` encloses; the tag's own end for any other tag."""
        word = match["word"].lower()
        if word not in _ENDS:
            return match.end()
        end = self._find(_ENDS[word], match.end())
        if end < 0:
            return match.end()
        start = self._text.rfind("{%", match.end(), end)
        if start < 0:
            return match.end()
        if word == "raw":
            return start
        close = self._find("%}", end)
        return close + 2 if close >= 0 else match.end()

    def _find(self, closing: str, position: int) -> int:
        """Where `closing` is next, looked for once if it is not there; -1."""
        if closing in self._missing:
            return -1
        found = self._text.find(closing, position)
        if found < 0:
            self._missing.add(closing)
        return found


def _around_shown(match: re.Match[str]) -> Iterator[Span]:
    """The mark, but for the values of attributes that are shown, such as a caption."""
    start, end = match.span()
    whole = match[0]
    if "=" in whole and not whole.startswith(("<a ", "<iframe ")) and not _BADGE.search(whole):
        for shown in _SHOWN.finditer(match.string, start, end):
            first, last = shown.span(1) if shown[1] is not None else shown.span(2)
            if match.string[first:last].strip():
                yield start, first
                start = last
    yield start, end


def _is_badges(text: str) -> bool:
    """Whether a block is nothing but badges, or pictures without a description."""
    if _IMAGES.fullmatch(text) is None:
        return False
    return all(map(_is_badge, _IMAGE.finditer(text)))


def _is_badge(image: re.Match[str]) -> bool:
    linked, linked_address, link, plain, address = image.groups()
    if not (linked or plain or "").strip() or _BADGE.search(linked_address or address or ""):
        return True
    return linked is not None and not _PICTURE_FILE.search(link or "")
