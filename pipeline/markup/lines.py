"""Lines of Markdown as readers see them: which are code, which are marks, and what is text within one.

Marks that take a line are MkDocs' `!!! note "Title"`, `??? note`, `=== "Tab"` and snippets, the colons of
`:::note Title`, MyST's directives and targets, a page's first `import` and `export` lines, and lines of
nothing but Liquid or attribute lists. What MkDocs indents below its marks is moved back.

Fences are followed by their lines alone: one that a quote or a list ends is ended by the next line outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TEXT_DIRECTIVES = """
admonition attention caution card card-carousel danger deprecated div dropdown error example exercise figure
grid grid-item grid-item-card hint image important margin note proof seealso sidebar solution tab-item tab-set
theorem tip todo topic versionadded versionchanged warning
"""
"""MyST's directives that enclose Markdown."""
_TEXT_DIRECTIVES = frozenset(TEXT_DIRECTIVES.split())
LISTS_OF_FILES = frozenset(
    {"toctree", "contents", "tableofcontents", "bibliography", "include", "autosummary"}
)
"""MyST's directives that enclose no text at all."""
ADDRESSED = frozenset({"figure", "image", "card-carousel", "grid"})
"""MyST's directives whose argument is no title."""
INDENT = 4

_NEWLINE = re.compile(r"\r\n?|\n")
_MARGIN = re.compile(r"[ \t>]*+")
_BULLETS = re.compile(r"(?>(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)+)")
_FENCE = re.compile(r"(`{3,}+)(?=[^`]*+$)|(~{3,}+)")
_INTERESTING = re.compile(r"[`~!?=:;\-(\[{ie@<%]")
_ADMONITION = re.compile(
    r"(?:!!!|\?\?\?\+?)[ \t]++[a-z][\w-]*+(?>(?:[ \t]++(?:inline|end|annotate))*)"
    r'(?:[ \t]++"(?P<title>[^"]*+)")?[ \t]*+$'
)
_TAB = re.compile(r'===[+!]?[ \t]++"(?P<title>[^"]*+)"[ \t]*+$')
_COLONS = re.compile(
    r":{3,}+[ \t]*+(?:\{(?P<myst>[\w:-]++)\}|(?P<name>[A-Za-z][\w-]*+))?"
    r"(?:\[(?P<label>[^\[\]]*+)\]|(?=[ \t{]|$))[ \t]*+(?:\{[^{}]*+\})?[ \t]*+(?P<title>[^{}]*+)$"
)
_MYST = re.compile(r"(?P<fence>`{3,}+|~{3,}+)[ \t]*+\{(?P<name>[\w:-]++)\}[ \t]*+(?P<title>[^`]*+)$")
_OPTION = re.compile(r":[\w-]++:(?:[ \t]|$)")
_SNIPPET = re.compile(r"-+8<-+(?:[ \t]|$)")
_TARGET = re.compile(r"\([\w .:/-]++\)=[ \t]*+$")
_MARKS_ALONE = re.compile(
    r"(?>(?:(?:\{%(?>(?:[^%{]++|%(?!\})|\{(?!%))*)%\}|\{:[^{}]*+\}|\{\{\#(?:(?:rustdoc_|shift)?include|playground|playpen|title)\b[^{}]*+\}\}"
    r"|\{\{<(?!/\*)(?>(?:[^>{]++|>(?!\}\}))*)>\}\}|\{\{%(?!/\*)(?>(?:[^%{]++|%(?!\}\}))*)%\}\}"
    r"|\{/\*(?>(?:[^*]++|\*(?!/))*)\*/\})[ \t]*+)+)$"
)
_SHOWS = re.compile(r"\b(?:alt|caption|label|title)\s*+=|\{%-?\s*+(?:raw|comment)\b")
_IMPORT = re.compile(r"import\b[^'\"]*+['\"][^'\"]*+['\"];?[ \t]*+$")
_EXPORT = re.compile(r"export[ \t]++(?:const|default|function|let|var|class|async)\b[ \t]*+\S")
_COMMENTS = (
    (re.compile(r"\{%-?\s*+comment\s*+-?%\}"), re.compile(r"\{%-?\s*+endcomment\s*+-?%\}")),
    (re.compile(r"\{::comment\}"), re.compile(r"\{:/(?:comment)?\}")),
)


@dataclass(frozen=True, slots=True)
class Line:
    """What readers see of a line, `text[start:end]`; empty for a blank line and for one that is a mark."""

    start: int
    end: int
    code: bool = False
    mark: bool = False


def read_lines(text: str, *, start: int = 0, whole: bool = True) -> Iterator[Line]:
    """The lines of `text[start:]`, in order, without their line endings; `whole` where a page begins there.

    A title on a line of marks comes between two blank lines: it is a paragraph of its own.
    """
    return iter(_Lines(text, start, whole=whole))


@dataclass(slots=True)
class _Fence:
    """An open fence: its character and length, and the column of its container (0 for none)."""

    mark: str
    column: int
    quoted: bool
    myst: bool = False
    hidden: bool = False


class _Lines:
    """One reading of a text, line by line."""

    def __init__(self, text: str, start: int, *, whole: bool) -> None:
        self._text = text
        self._start = start
        self._fence: _Fence | None = None
        self._myst: list[_Fence] = []
        self._indents: list[int] = []
        self._options = False
        self._in_list = False
        self._after_blank = True
        self._indented_code = False
        self._at_top = whole
        self._in_export = False
        self._hidden_until = 0
        self._endless: set[int] = set()

    def __iter__(self) -> Iterator[Line]:
        position = self._start
        for newline in _NEWLINE.finditer(self._text, position):
            yield from self._line(position, newline.start())
            position = newline.end()
        yield from self._line(position, len(self._text))

    def _line(self, start: int, end: int) -> Iterator[Line]:
        if start < self._hidden_until:
            if end <= self._hidden_until:
                yield Line(end, end, mark=True)
                return
            start = self._hidden_until
        margin = _MARGIN.match(self._text, start, end)
        first = margin.end() if margin else start
        if first >= end:
            self._after_blank, self._in_export = True, False
            yield Line(start, end, code=self._fence is not None)
            return
        start = self._moved_back(start, first)
        if self._fence is not None and not self._leaves_container(start, first):
            yield from self._within_fence(start, first, end)
        else:
            self._fence = None
            yield from self._outside(start, first, end)
        self._after_blank = False

    def _moved_back(self, start: int, first: int) -> int:
        """Where a line begins that MkDocs indents; what is indented less ends the marks above it."""
        if not self._indents:
            return start
        column = _column(self._text, start, first)
        while self._indents and column < self._indents[-1]:
            self._indents.pop()
            self._fence = None
        for _ in self._indents:
            if self._text[start] == "\t":
                start += 1
            elif self._text.startswith(" " * INDENT, start):
                start += INDENT
        return start

    def _leaves_container(self, start: int, first: int) -> bool:
        """Whether a line ends the list or quote that the fence is in."""
        fence = self._fence
        if fence is None or not fence.column:
            return False
        if fence.quoted:
            return ">" not in self._text[start:first]
        return first - start < fence.column

    def _within_fence(self, start: int, first: int, end: int) -> Iterator[Line]:
        fence = self._fence
        quoted = ">" in self._text[start:first]
        if fence and quoted == fence.quoted and _closes(self._text, first, end, fence):
            self._fence = None
            if fence.hidden:
                yield Line(end, end, mark=True)
                return
        hidden = fence is not None and fence.hidden
        yield Line(end, end, mark=True) if hidden else Line(start, end, code=True)

    def _outside(self, start: int, first: int, end: int) -> Iterator[Line]:
        """A line outside of fences."""
        if self._is_indented_code(start, first):
            yield Line(start, end, code=True)
            return
        at_top, self._at_top = self._at_top, False
        plain = not _INTERESTING.match(self._text[first]) or ">" in self._text[start:first]
        if plain and not self._in_export:
            yield self._plain(start, first, end)
            return
        title = self._mark(start, first, end, at_top=at_top)
        if title is None:
            yield self._plain(start, first, end)
        elif self._text[slice(*title)].strip():
            yield Line(start, start, mark=True)
            yield Line(*title)
            yield Line(end, end, mark=True)
        else:
            yield Line(end, end, mark=True)

    def _plain(self, start: int, first: int, end: int) -> Line:
        self._options = False
        bullets = _BULLETS.match(self._text, first, end)
        if bullets:
            self._in_list = True
        elif self._after_blank and first == start:
            self._in_list = False
        content = bullets.end() if bullets else first
        opening = _FENCE.match(self._text, content, end)
        if opening:
            column = content - start if bullets or self._in_list or ">" in self._text[start:first] else 0
            self._fence = _Fence(opening[0], column, ">" in self._text[start:first])
            return Line(start, end, code=True)
        return Line(start, end)

    def _is_indented_code(self, start: int, first: int) -> bool:
        """Whether a line is code by its indent: nothing below a bullet counts as such."""
        if not (self._after_blank or self._indented_code) or self._in_list or self._options:
            self._indented_code = False
        else:
            self._indented_code = _column(self._text, start, first) >= INDENT
        return self._indented_code

    def _mark(self, start: int, first: int, end: int, *, at_top: bool) -> tuple[int, int] | None:
        """The span of the title where the line is a mark, which may be empty; None where it is text."""
        line = self._text[first:end]
        nothing = (end, end)
        if (at_top or self._in_export) and self._is_module(line):
            self._at_top = True
            return nothing
        if self._options and _OPTION.match(line):
            return nothing
        self._options = False
        if self._myst and _closes(self._text, first, end, self._myst[-1]):
            self._myst.pop()
            return nothing
        if self._opens_comment(first, end):
            return nothing
        if found := _ADMONITION.match(line) or _TAB.match(line):
            self._indents.append(_column(self._text, start, first) + INDENT * (len(self._indents) + 1))
            return _title(found, first) or nothing
        if found := _COLONS.match(line):
            self._options = bool(found["myst"])
            return nothing if found["myst"] in ADDRESSED else _title(found, first) or nothing
        if found := _MYST.match(line):
            return self._directive(found, first)
        alone = _SNIPPET.match(line) or _TARGET.match(line)
        if alone or (_MARKS_ALONE.match(line) and not _SHOWS.search(line)):
            return nothing
        return None

    def _is_module(self, line: str) -> bool:
        """Whether a line at the top of an MDX page imports or exports."""
        if self._in_export or _EXPORT.match(line):
            self._in_export = True
            return True
        return _IMPORT.match(line) is not None

    def _opens_comment(self, first: int, end: int) -> bool:
        """Whether a comment of several lines, in Liquid's or kramdown's marks, starts here."""
        for number, (opening, closing) in enumerate(_COMMENTS):
            found = opening.match(self._text, first)
            if found is None or number in self._endless:
                continue
            close = closing.search(self._text, found.end())
            if close is None:
                self._endless.add(number)
                continue
            self._hidden_until = close.end()
            return close.end() >= end
        return False

    def _directive(self, found: re.Match[str], first: int) -> tuple[int, int] | None:
        """The title of a MyST directive that encloses Markdown; None where it encloses code."""
        name = found["name"]
        fence = _Fence(found["fence"], 0, quoted=False, myst=True, hidden=name in LISTS_OF_FILES)
        if fence.hidden:
            self._fence = fence
            return (first, first)
        if name not in _TEXT_DIRECTIVES:
            return None
        self._myst.append(fence)
        self._options = True
        return (first, first) if name in ADDRESSED else _title(found, first)


def _title(found: re.Match[str], first: int) -> tuple[int, int] | None:
    groups = found.groupdict()
    name = "label" if groups.get("label") is not None else "title"
    if groups.get(name) is None:
        return None
    start, end = found.span(name)
    return first + start, first + end


def _closes(text: str, first: int, end: int, fence: _Fence) -> bool:
    line = text[first:end].rstrip()
    return len(line) >= len(fence.mark) and not line.strip(fence.mark[0])


def _column(text: str, start: int, first: int) -> int:
    """How far a line is indented, a tab to the next multiple of four."""
    column = 0
    for character in text[start:first]:
        column += INDENT - column % INDENT if character == "\t" else 1
    return column
