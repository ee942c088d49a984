r"""What readers see of Markdown: the marks of site generators are masked, by the table `dialects.tsv`.

`mask` returns a text of the same length, so an offset in the mask is an offset in the file. A mark that takes
whole lines becomes spaces; a mark within a line becomes `FILL`, which the block parser takes for a character
and `display` removes. To support another construct, add a row to the table.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

FILL = "\u2060"
LABEL = f"{FILL} {FILL}"
"""Begins a line that is a block of its own, such as the title of an admonition."""
ITEM = f"-   {FILL}"
"""Begins a block of MkDocs whose text is indented by four; to the parser it is a list item."""
LONGEST_ADDRESS = 2_000
"""Characters of an address; a longer one is taken for data."""

Span = tuple[int, int]
_Found = re.Match[str]
_CODE = "\ue000"  # stands for a character of code while marks are looked for
_VISIBLE = re.compile(r"[^\n]")
_MACROS = {
    "%MARGIN%": r"(?>[ \t>]*)(?>(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)",
    "%LINK%": r"(?:\([^()\n]{0,1000}\))",
    "%BRACES%": r"\{(?>(?:[^{}]++|\{(?>(?:[^{}]++|\{[^{}]*+\})*)\})*)\}",
}
_MARGIN = re.compile(_MACROS["%MARGIN%"])
_SHOWN = r"(?<=[\s\"'])(?:{})\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')"
_ATTRIBUTE = re.compile(_SHOWN.format("alt|alt-text|caption|label|title|description|heading|summary|text"))
_FIELD = re.compile(_SHOWN.format("path|query|body|header|name|type|default"))  # Mintlify's parameters
_ALT = re.compile(_SHOWN.format("alt"))
_REST_OF_LINE = re.compile(r"[ \t]*(?:\n|\Z)")
_CLOSING_TAG = re.compile(r"</([A-Za-z][\w.:-]*+)\s*+>")
_FENCE = re.compile(
    rf"^{_MACROS['%MARGIN%']}(?P<run>`{{3,}}+(?=[^`\n]*$)|~{{3,}}+)(?P<info>[^\n]*)$", re.MULTILINE
)
_DIRECTIVE = re.compile(r"\{([\w:-]+)\}")
_TICKS = re.compile(r"`++|\n(?=(?>[ \t>]*)(?:\n|[-*+|#]|\d{1,9}[.)] ))")
_RAW = re.compile(r"\{%[-+]?\s*(raw|endraw)\s*[-+]?%\}|<\w+[^<>]*\s(v-pre)\b[^<>]*>|</\w+>")
_LINE = re.compile(r"([ \t]*)([^\n]*)\n?")
_OPENS_BLOCK = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]|(?:!!!|\?\?\?\+?|===[+!]?)[ \t]|\[\^[^\]\n]+\]:")
_HAS_INDENT = re.compile(r"(?:\A|\n)(?: {4}| {0,3}\t)")
_INTERESTING = re.compile(r"[`<{}:\[^&%=!?]|///|8<|import|export|[!-~]{200}")
_IMPORT = re.compile(r"^import\b[^\n]*[\"']", re.MULTILINE)
_LINE_OF_FILL = re.compile(rf"^([ \t>]*){FILL}[{FILL} \t]*$", re.MULTILINE)
_INDENT_OF_FILL = re.compile(rf"^(?: {{4,}}|[ ]{{0,3}}\t[ \t]*)(?={FILL}(?! {FILL}))", re.MULTILINE)
_MINIFIED = re.compile(r"[!-~]{200,}+")
_GAP = re.compile(rf"([ \t]*){FILL}[{FILL} \t]*")
_BLANK_LINES = re.compile(r"(?:\A|\r?\n)(?>(?:[ \t]*\r?\n)+)")
_ITEM_WITHOUT_TITLE = re.compile(rf"-   {FILL}[{FILL} \t]*(?>(?:\r?\n[ \t]*)+)(?=\S)")


def mask(text: str, *, suffix: str = ".md") -> str:
    """`text` as its readers see it, of the same length, with its line endings.

    `suffix` is the file's: in `.mdx`, nothing is code because of its indent.
    """
    if not _INTERESTING.search(text):
        return text
    mdx = suffix.lower() == ".mdx"
    plain = text.replace("\r\n", " \n").replace("\r", "\n") if "\r" in text else text
    verbatim = _verbatim(plain)
    for dialect in _dialects("code"):
        plain = dialect.mask(plain)
    masked = _covered(_without_code(plain, indented=not mdx), verbatim, re.compile(r"\{"))
    for dialect in _dialects("-"):
        masked = dialect.mask(masked)
    for dialect in _dialects("mdx") if mdx or _IMPORT.search(plain) else ():
        masked = dialect.mask(masked)
    masked = re.sub(f"{_CODE}+", lambda run: plain[run.start() : run.end()], masked)
    masked = _MINIFIED.sub(_without_data, masked)
    if FILL in masked:
        masked = _LINE_OF_FILL.sub(lambda line: line[1].ljust(len(line[0])), masked)
        if ITEM not in masked:  # the indent of a tag makes no code
            masked = _INDENT_OF_FILL.sub(
                lambda indent: "   ".ljust(len(indent[0]), FILL)[: len(indent[0])], masked
            )
    return re.sub(r"[^\r]+", lambda run: masked[run.start() : run.end()], text) if "\r" in text else masked


def display(masked: str) -> str:
    """A mask as text: without fillers, and without the blanks and empty lines that marks leave."""
    if FILL in masked:
        masked = _GAP.sub(_closed_up, _ITEM_WITHOUT_TITLE.sub("-   ", masked))
    blank = "\n\n"
    return (
        _BLANK_LINES.sub(lambda lines: blank if lines[0].strip("\r\n") else lines[0], masked)
        .strip("\n")
        .rstrip()
    )


def is_seen(masked: str) -> bool:
    """Whether a part of a mask has anything for readers: a mark leaves signs around it that say nothing."""
    return any(map(str.isalnum, masked)) if FILL in masked else bool(masked.strip())


def _closed_up(gap: _Found) -> str:
    """The rest of marks and the blanks among them: a blank at most, or the line's indent."""
    start, end = gap.span()
    if start == 0 or gap.string[start - 1] == "\n":
        return gap[1]
    if end == len(gap.string) or gap.string[end] in "\r\n":
        return ""
    return " " if gap[0].strip(FILL) else ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """A row of the table: one construct, and the function that returns what takes its place."""

    guard: str
    pattern: re.Pattern[str]
    replace: Callable[[_Found], str]
    end: re.Pattern[str] | None
    inside: str

    def mask(self, text: str) -> str:
        """`text`, of the same length, without this construct."""
        if self.guard not in text:
            return text
        if self.end is None:
            return self.pattern.sub(self.replace, text)
        pieces: list[str] = []
        position = 0
        while (first := self.pattern.search(text, position)) and (last := self.end.search(text, first.end())):
            between = _VISIBLE.sub(self.inside, text[first.end() : last.start()])
            pieces += [text[position : first.start()], self.replace(first), between, self.replace(last)]
            position = last.end()
        return "".join([*pieces, text[position:]])


@cache
def _rows() -> list[list[str]]:
    lines = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line[0] != "#"]


@cache
def _dialects(where: str) -> list[Dialect]:
    """The constructs that count in one place, in order."""
    found = []
    for _, _, guard, kind, pattern, *end in (row for row in _rows() if row[0] == where):
        ending = _compiled(end[0]) if end else None
        inside = _CODE if kind == "fence" else FILL
        found.append(Dialect(guard, _compiled(pattern), _REPLACE[kind], ending, inside))
    return found


@cache
def _names(of: str) -> frozenset[str]:
    return frozenset(next(row[2] for row in _rows() if row[0] == "names" and row[1].startswith(of)).split())


def _compiled(pattern: str) -> re.Pattern[str]:
    for name, value in _MACROS.items():
        pattern = pattern.replace(name, value)
    return re.compile(pattern, re.MULTILINE | re.IGNORECASE)


def _label(found: _Found) -> str:
    return _labelled(found, _groups(found) or _attributes(found, _ATTRIBUTE))


def _labelled(found: _Found, spans: list[Span]) -> str:
    """Only `spans` of a mark, as a block of its own where the mark has its line alone."""
    margin = _margin(found)
    alone = spans and _begins_line(found) and _REST_OF_LINE.match(found.string, found.end())
    opening = LABEL if alone and spans[0][0] - found.start() - len(margin) >= len(LABEL) else ""
    return margin + _kept(found, spans, " ", skip=len(margin), opening=opening)


def _item(found: _Found) -> str:
    margin = _margin(found)
    return margin + _kept(found, _groups(found), FILL, skip=len(margin), opening=ITEM)


def _fence(found: _Found) -> str:
    margin = _margin(found)
    return margin + "```".ljust(len(found[0]) - len(margin))


def _heading(found: _Found) -> str:
    """`<h2>X</h2>` as `##  X`; a tag without attributes has room for three signs."""
    first, last = found.span(3)
    room = first - found.start()
    signs = "#" * min(int(found[2]), room - 1) + " "
    return signs + FILL * (room - len(signs)) + found[3] + " " * (found.end() - last)


def _indent(found: _Found) -> str:
    """Fillers for deep indents in a block of HTML, which make no code there."""
    return re.sub(r"(?m)^ {4,}|^[ \t]*\t[ \t]*", lambda indent: FILL * len(indent[0]), found[0])


def _tag(found: _Found) -> str:
    """A shown attribute of a tag, a sign for a power, the edge of a cell, an item's bullet, or nothing."""
    closing, name, attributes, empty = found[1], found[2].lower(), found[3], found[4]
    plain = _names("within words") | _names("plain")
    if closing and attributes:
        return found[0]
    if not (closing or empty or name in plain or "=" in attributes or found[2] in _closed(found.string)):
        return found[0]
    before, after = (
        found.string[found.start() - 1 : found.start()],
        found.string[found.end() : found.end() + 1],
    )
    if name == "sup" and not closing and before.isalnum() and (after.isdigit() or after in "-+"):
        return "^".ljust(len(found[0]), FILL)
    if name in _names("within words"):
        return _VISIBLE.sub(FILL, found[0])
    if name in ("td", "th") and closing:
        return " | ".rjust(len(found[0]), FILL)
    if name == "li" and not closing and _begins_line(found):
        return "- ".ljust(len(found[0]), FILL)
    shown = _ALT if name in plain else _FIELD if name.endswith("field") else _ATTRIBUTE
    values = _attributes(found, shown)
    if name == "img":
        return _kept(found, values, FILL)
    return _labelled(found, values) if values else " " + _VISIBLE.sub(FILL, found[0][1:])


_REPLACE: dict[str, Callable[[_Found], str]] = {
    "blank": lambda found: _VISIBLE.sub(" ", found[0]),
    "fill": lambda found: _VISIBLE.sub(FILL, found[0]),
    "space": lambda found: " ".ljust(len(found[0]), FILL),
    "text": lambda found: _kept(found, _groups(found), FILL),
    "label": _label,
    "item": _item,
    "fence": _fence,
    "heading": _heading,
    "indent": _indent,
    "tag": _tag,
}


def _kept(found: _Found, spans: list[Span], joint: str, *, skip: int = 0, opening: str = "") -> str:
    """The match from its character `skip` on, with only `spans` left.

    `opening` and, behind each span, `joint` take the place of fillers.
    """
    pieces: list[str] = []
    position = found.start() + skip
    for first, last in [*spans, (found.end(), found.end())]:
        gap = _VISIBLE.sub(FILL, found.string[position:first])
        mark = opening or (joint if pieces else "")
        if len(gap) >= len(mark) + (not opening) and "\n" not in gap[: len(mark)]:
            gap = mark + gap[len(mark) :]
        pieces += [gap, found.string[first:last]]
        position, opening = last, ""
    return "".join(pieces)


def _groups(found: _Found) -> list[Span]:
    return [found.span(number) for number, group in enumerate(found.groups(), 1) if group and group.strip()]


def _attributes(found: _Found, shown: re.Pattern[str]) -> list[Span]:
    if "=" not in found[0]:
        return []
    values = shown.finditer(found.string, *found.span())
    spans = [value.span(1 if value[1] is not None else 2) for value in values]
    return [(first, last) for first, last in spans if found.string[first:last].strip()]


def _margin(found: _Found) -> str:
    margin = _MARGIN.match(found[0])
    return margin[0] if margin else ""


def _begins_line(found: _Found) -> bool:
    """Whether nothing but blanks and marks is before the match on its line."""
    before = found.string[max(0, found.start() - 100) : found.start()]
    return not before.rpartition("\n")[2].strip(f" \t>{FILL}") and ("\n" in before or found.start() < 100)


@lru_cache(maxsize=2)
def _closed(text: str) -> frozenset[str]:
    """The names that have a closing tag in the text."""
    return frozenset(_CLOSING_TAG.findall(text)) if "</" in text else frozenset()


def code_spans(text: str) -> Iterator[Span]:
    """The spans of inline code, backticks included: a run of backticks, up to the next one of its length."""
    runs: list[Span] = []
    for found in itertools.chain(_TICKS.finditer(text), [None]):
        if found and found[0] != "\n":
            runs.append(found.span())
            continue
        by_length: defaultdict[int, list[int]] = defaultdict(list)  # code ends with its block
        for start, end in runs:
            by_length[end - start].append(start)
        position = 0
        for start, end in runs:
            closers = by_length[end - start]
            closer = bisect_left(closers, end)
            if start >= position and closer < len(closers):
                position = closers[closer] + end - start
                yield start, position
        runs = []


def _without_code(text: str, *, indented: bool) -> str:
    """`text` with `_CODE` for each character of code, and colons for the fences of MyST's directives."""
    if "```" in text or "~~~" in text:
        text = _without_fences(text)
    if indented and _HAS_INDENT.search(text):
        text = _covered(text, _indented_code(text))
    if "`" in text:
        spans = code_spans(text)
        inner = ((start, end, text[start:end]) for start, end in spans)
        text = _covered(text, ((start + _ticks(code), end - _ticks(code)) for start, end, code in inner))
    return text


def _ticks(code: str) -> int:
    return len(code) - len(code.lstrip("`"))


def _without_fences(text: str) -> str:
    pieces: list[str] = []
    directives: list[str] = []
    position, open_run, inside = 0, "", _CODE
    for line in _FENCE.finditer(text):
        run, info, (start, end) = line["run"], line["info"].strip(), line.span()
        name = directive[1] if (directive := _DIRECTIVE.match(info)) else ""
        if open_run:
            if info or not run.startswith(open_run):
                continue
            pieces += [
                _VISIBLE.sub(inside, text[position:start]),
                text[start:end] if inside == _CODE else " " * len(line[0]),
            ]
            open_run, inside = "", _CODE
        elif name in _names("directives") or (directives and not info and run.startswith(directives[-1])):
            directives.append(run) if name else directives.pop()
            pieces += [text[position : line.start("run")], ":" * len(run), text[line.end("run") : end]]
        else:
            open_run, inside = run, " " if name in _names("lists") else _CODE
            opening = (
                text[start : line.end("run")] + _CODE * len(line["info"])
                if inside == _CODE
                else " " * len(line[0])
            )
            pieces += [text[position:start], opening]
        position = end
    return "".join([*pieces, _VISIBLE.sub(inside, text[position:]) if open_run else text[position:]])


def _indented_code(text: str) -> Iterator[Span]:
    """Lines that are code by their indent: after a blank line, outside of lists and of MkDocs' blocks."""
    inside, blank, code = False, True, False
    for line in _LINE.finditer(text):
        if not line[2]:
            blank = True
        elif line[2][0] != _CODE:
            deep = len(line[1].expandtabs(4)) >= 4
            code = deep and (code or blank) and not inside
            if code:
                yield line.span(2)
            elif _OPENS_BLOCK.match(line[2]):
                inside = True
            elif not line[1] and blank:
                inside = False
            blank = False


def _verbatim(text: str) -> list[Span]:
    """The insides of `{% raw %}` and of Vue's `v-pre`, where braces are text."""
    found = list(_RAW.finditer(text)) if "endraw" in text or "v-pre" in text else []
    return [
        (one.end(), other.start()) for one, other in itertools.pairwise(found) if one[1] == "raw" or one[2]
    ]


def _covered(text: str, spans: Iterable[Span], characters: re.Pattern[str] = _VISIBLE) -> str:
    """`text` with `_CODE` for these characters of `spans`."""
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        pieces += [text[position:start], characters.sub(_CODE, text[start:end])]
        position = end
    return "".join([*pieces, text[position:]])


def _without_data(run: _Found) -> str:
    """Nothing of base64 and minified code; tables, long addresses and rows of signs stay."""
    word = run[0]
    if word.count("|") > 3 or ("://" in word and len(word) < LONGEST_ADDRESS):
        return word
    return FILL * len(word) if 5 * sum(map(str.isalnum, word)) >= 3 * len(word) else word
