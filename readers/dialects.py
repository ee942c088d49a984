"""Masking of the marks of site generators, which readers of Markdown do not see; `dialects.tsv` lists them.

`mask` returns a text of the same length, so an offset in the mask is an offset in the file. Each character of
a mark becomes `FILL`, which the block parser takes for text and `display` removes; a line with marks only
becomes blank. To support another construct, add a row to the table.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

FILL = "\u2060"
LABEL = f"{FILL} {FILL}"  # begins a line that is a block of its own
TITLE = f"{LABEL} {FILL}"  # begins a line that is the title of a callout, an admonition or a fold
KIND = f"{FILL}\t"  # begins a line with only the kind of a callout without a title; the text comes next
TABLE, ROW, END = "\u2061", "\u2062", "\u2063"  # begin an HTML table and its rows, and end it
ITEM = f"-   {FILL}"
"""Begins an MkDocs block whose text is indented by four blanks; the parser reads it as a list item."""
LONGEST_ADDRESS = 2_000  # characters; an address from this length on is masked as data

Span = tuple[int, int]
_Found = re.Match[str]
_Replace = Callable[[_Found, str], str]
"""Takes a match of a construct and the argument in its row; returns a replacement of the same length."""

_CODE = "\ue000"  # stands for a character of code while marks are looked for
_ROWS = [row.split("\t") for row in Path(__file__).with_suffix(".tsv").read_text("utf-8").splitlines()]
_MACROS = {name: pattern for where, name, pattern in (row for row in _ROWS if row[0] == "macro")}
_MARGIN = re.compile(_MACROS["%MARGIN%"])
_FENCE = re.compile(rf"{_MACROS['%MARGIN%']}(?P<run>`{{3,}}+(?=[^`\n]*$)|~{{3,}}+)(?P<info>[^\n]*)$")
_OPTION = re.compile(r"[ \t>]*(?::[\w-]+:(?:[ \t]|$)|(?:#|//|--|%)\|)")  # of a code block in MyST, Quarto
_ROLE = re.compile(r"(?<!`)(\{[\w:.+-]+\}`[^`<>\n]+?)[ \t]+<[^`<>\n]+>(?=`)")  # of MyST, with a target
_UNCOVERED = re.compile(rf"[^\n{FILL}{_CODE}]+")
_TICKS = re.compile(r"`++|\n(?=(?>[ \t>]*)(?:\n|[-*+|#]|\d{1,9}[.)] ))")
_OPENS_BLOCK = re.compile(r"(?:[-*+]|\d{1,9}[.)]|!!!|\?\?\?\+?|===[+!]?)[ \t]|\[\^[^\]\n]+\]:|::[a-z]|<table")
_IMPORT = re.compile(r"^import\b[^\n]*[\"']", re.MULTILINE)
_LINE_OF_FILL = re.compile(rf"^([ \t>]*){FILL}[{FILL} \t]*$", re.MULTILINE)
_INDENT_OF_FILL = re.compile(rf"^(?: {{4,}}|[ ]{{0,3}}\t[ \t]*)(?={FILL}(?! {FILL}))", re.MULTILINE)
_MINIFIED = re.compile(r"[!-~]{200,}+")
_GAP = re.compile(rf"([ \t]*){FILL}[{FILL} \t]*")
_TITLE = re.compile(rf"(?m)^([ \t>\ue000-\uf8ff]*+(?:{TITLE}|{KIND}|-   [\ue000-\uf8ff]*+{FILL}))([^\r\n]+)")
_SIGNS = {"TABLE": TABLE, "ROW": ROW, "END": END}  # by their names in the table of dialects
_EDGE = re.compile(f"([{TABLE}{END}])")
_ROW = re.compile(rf"(?<![\ue001-\uf8ff])(?=[\ue001-\uf8ff]*{ROW})")
_LAST_BAR = re.compile(rf"\|([\ue001-\uf8ff\s{FILL}]*)$")
_BLANK_LINE = re.compile(r"\n(?:[ \t]*\n)+")
_BLANK_START = re.compile(rf"\A[\s{FILL}]*\n")
_BLANK_LINES = re.compile(r"(?:\A|\r?\n)(?>(?:[ \t]*\r?\n)+)")
_ITEM_WITHOUT_TITLE = re.compile(rf"-   {FILL}[{FILL} \t]*(?>(?:\r?\n[ \t]*)+)(?=\S)")


def mask(text: str, *, suffix: str = ".md") -> str:
    """Return `text` with `FILL` or blanks for hidden marks, at the same length and with its line endings.

    `suffix` is the ending of the file's name: `.mdx` has no indented code blocks.
    """
    is_mdx = suffix.lower() == ".mdx"
    given = text.replace("\r\n", " \n").replace("\r", "\n")
    plain = _without("code", given)
    masked = _without("-", _without_code(plain, indented=not is_mdx))
    if is_mdx or _IMPORT.search(plain):
        masked = _without("mdx", masked)
    for before in (plain, given):  # the first has `_CODE` for text that a dialect calls code
        masked = re.sub(f"{_CODE}+", lambda run: before[run.start() : run.end()], masked)  # noqa: B023
    masked = _MINIFIED.sub(_without_data, masked)
    masked = _LINE_OF_FILL.sub(lambda line: line[1].ljust(len(line[0])), masked)
    if ITEM not in masked:  # the indent of a tag makes no code
        masked = _INDENT_OF_FILL.sub(lambda indent: f"   {FILL * len(indent[0])}"[: len(indent[0])], masked)
    return re.sub(r"[^\r]+", lambda run: masked[run.start() : run.end()], text) if "\r" in text else masked


def _without(where: str, text: str) -> str:
    """Return `text`, of the same length, without the constructs for `where` (the table's first column)."""
    return functools.reduce(lambda masked, dialect: dialect.mask(masked), _dialects(where), text)


def display(masked: str) -> str:
    """Return a mask without fillers, or blanks and empty lines around them; HTML tables become Markdown."""
    if TABLE in masked or ROW in masked or END in masked:
        masked = _with_pipes(masked)
    if FILL in masked:
        masked = _GAP.sub(_closed_up, _ITEM_WITHOUT_TITLE.sub("-   ", masked))
    if "\n" in masked:
        masked = _BLANK_LINES.sub(lambda lines: "\n\n" if lines[0].strip("\r\n") else lines[0], masked)
    return masked.strip("\n").rstrip()


def display_titled(masked: str) -> str:
    """Like `display`, but with the titles of callouts, admonitions and folds in bold on their own lines."""
    return display(_TITLE.sub(_bold, masked))


def _bold(title: _Found) -> str:
    words = title[2].strip(f"{FILL} ").replace("**", "")
    return f"{title[1]}**{words}**  " if any(map(str.isalnum, words)) else title[0]


def is_seen(masked: str) -> bool:
    """Return whether a piece of a mask has visible text; if it has fillers, punctuation does not count."""
    return any(map(str.isalnum, masked)) if FILL in masked else bool(masked.strip())


def title_key(text: str) -> str:
    """Return the letters and digits of a title or question in one case: equal keys mean the same title."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def shortened(text: str, most: int) -> str:
    """Return `text`, cut to `most` characters with an ellipsis if it is longer."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _with_pipes(masked: str) -> str:
    """Return a mask with HTML tables as Markdown; a delimiter row is added if the table begins in it."""
    pieces, last = list[str](), ""
    for text, sign in zip(*[iter([*_EDGE.split(masked), ""])] * 2, strict=True):
        before, *rows = _ROW.split(_BLANK_START.sub("", text) if last == END else text)
        after = ""
        if rows and sign != END:
            row, *others = _BLANK_LINE.split(rows[-1], maxsplit=1)
            if "|" not in "".join(others):  # else they are cells of the row
                rows[-1], after = row, "".join(others)
        table = [[" ".join(cell.split()) for cell in _LAST_BAR.sub(r"\1", row).split("|")] for row in rows]
        width = max(map(len, table), default=0)
        lines = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in table]
        if last == TABLE:
            lines.insert(1, "|" + "---|" * width)
        pieces.append("\n".join([before.rstrip(), "", *lines, "", after]) if rows else before)
        last = sign
    return "".join(pieces).replace(ROW, "")


def _closed_up(gap: _Found) -> str:
    """Return what replaces fillers and the blanks around them: the line's indent, a blank or nothing."""
    start, end = gap.span()
    if start == 0 or gap.string[start - 1] == "\n":
        return gap[1]
    ends_line = end == len(gap.string) or gap.string[end] in "\r\n"
    return " " if gap[0].strip(FILL) and not ends_line else ""


class Dialect(NamedTuple):
    """A row of the table: one construct and its replacement; `end` matches the end of an enclosing one."""

    guard: str
    replacement: str
    argument: str
    pattern: re.Pattern[str]
    end: re.Pattern[str] | None

    def mask(self, text: str) -> str:
        """Return `text`, of the same length, without this construct."""
        replace, argument = _REPLACE[self.replacement], self.argument
        if self.guard not in text:
            return text
        if self.end is None:
            return self.pattern.sub(lambda found: replace(found, argument), text)
        pieces: list[str] = []
        position = 0
        while (first := self.pattern.search(text, position)) and (last := self.end.search(text, first.end())):
            between = text[first.end() : last.start()]
            if self.replacement in ("raw", "keep"):  # braces in it are text
                between = between.replace("{", _CODE)
            else:
                between = _covered(between, _CODE if self.replacement == "fence" else FILL)
            pieces += [text[position : first.start()], replace(first, argument), between]
            pieces.append(replace(last, argument))
            position = last.end()
        return "".join([*pieces, text[position:]])


@functools.cache
def _dialects(where: str) -> list[Dialect]:
    """Return the constructs for one place (the table's first column), in order."""
    found = []
    for _, _, guard, kind, pattern, *end in (row for row in _ROWS if row[0] == where):
        replacement, _, argument = kind.replace("%SHOWN%", _MACROS["%SHOWN%"]).partition(" ")
        last = _compiled(end[0]) if end else None
        found.append(Dialect(guard, replacement, argument, _compiled(pattern), last))
    return found


def _compiled(pattern: str) -> re.Pattern[str]:
    for name, value in _MACROS.items():
        pattern = pattern.replace(name, value)
    return re.compile(pattern, re.MULTILINE | re.IGNORECASE)


def _covered(text: str, sign: str) -> str:
    """Return `text` with `sign` in place of each character except its line endings."""
    return "\n".join(sign * len(line) for line in text.split("\n"))


def _put(found: _Found, argument: str) -> str:
    """Return the match's leading blanks and quote marks, the argument with blanks for `_`, and fillers."""
    rest = found[0].lstrip(f" \t>{FILL}")
    put = _SIGNS.get(argument) or argument.replace("_", " ")
    return found[0][: -len(rest)] + put + FILL * (len(rest) - len(put))


def _label(found: _Found, argument: str, *, start: str = LABEL) -> str:
    """Return the shown parts of a mark among fillers, as a separate block if its line has nothing else."""
    spans, margin = _shown(found, argument), len(_margin(found))
    before = found.string[max(0, found.start() - 100) : found.start()].rpartition("\n")[2]
    after = found.string[found.end() : found.end() + 100].partition("\n")[0]
    alone = spans and not before.strip(f" \t>{FILL}") and not after.strip(" \t")
    opening = start if alone and spans[0][0] - found.start() - margin >= len(start) else ""
    return _kept(found, spans, " ", skip=margin, opening=opening)


def _heading(found: _Found, _: str) -> str:
    """Return `## `, fillers and `X` for `<h2>X</h2>`; a tag without attributes has room for three `#`."""
    first, last = found.span(3)
    room = first - found.start()
    signs = "#" * min(int(found[2]), room - 1) + " "
    return signs + FILL * (room - len(signs)) + found[3] + " " * (found.end() - last)


def _tag(found: _Found, argument: str) -> str:
    """Return a tag's shown attributes, or a blank and fillers; a bare `<name>` without `</name>` is text."""
    is_bare = "=" not in found[0] and not found[0].endswith("/>")
    if is_bare and found[0][1:-1].split()[0] not in _closed(found.string):
        return found[0]
    masked = _label(found, argument)
    return masked if masked.strip(FILL + "\n") else " " + masked[1:]


_REPLACE: dict[str, _Replace] = {
    "put": _put,
    **dict.fromkeys(("fill", "raw"), lambda found, _: _covered(found[0], FILL)),
    "keep": lambda found, _: found[0],
    "text": lambda found, argument: _kept(found, _shown(found, argument), FILL),
    "label": _label,
    "title": functools.partial(_label, start=TITLE),
    "item": lambda found, _: _kept(found, _shown(found, ""), FILL, skip=len(_margin(found)), opening=ITEM),
    "kind": lambda found, _: _kept(found, _shown(found, ""), FILL, skip=len(_margin(found)), opening=KIND),
    "fence": lambda found, _: _margin(found) + "```".ljust(len(found[0]) - len(_margin(found))),
    "heading": _heading,
    "indent": lambda found, _: re.sub(r"(?m)^ {4,}|^[ \t]*\t[ \t]*", lambda it: FILL * len(it[0]), found[0]),
    "tag": _tag,
}


def _kept(found: _Found, spans: list[Span], joint: str, *, skip: int = 0, opening: str = "") -> str:
    """Return a match with fillers for all but its first `skip` characters and `spans`.

    `opening` overwrites the first fillers, and `joint` those after each span, where they fit.
    """
    pieces = [found[0][:skip]]
    position = found.start() + skip
    for first, last in [*spans, (found.end(), found.end())]:
        gap = _covered(found.string[position:first], FILL)
        mark = opening or (joint if len(pieces) > 1 else "")
        if len(gap) >= len(mark) + (not opening) and "\n" not in gap[: len(mark)]:
            gap = mark + gap[len(mark) :]
        pieces += [gap, found.string[first:last]]
        position, opening = last, ""
    return "".join(pieces)


def _shown(found: _Found, attributes: str) -> list[Span]:
    """Return the non-blank spans of the groups; without any, of the values of `attributes` (a regex)."""
    spans = [found.span(number) for number in range(1, found.re.groups + 1) if found[number]]
    if attributes and not spans and "=" in found[0]:
        shown = _compiled(rf"(?<=[\s\"'{{])(?:{attributes})\s*+=\s*+\{{?(?:\"([^\"]*+)\"|'([^']*+)')")
        spans = [value.span(value.lastindex or 1) for value in shown.finditer(found.string, *found.span())]
    return [(first, last) for first, last in spans if found.string[first:last].strip()]


def _margin(found: _Found) -> str:
    """Return the blanks, quote marks and bullets that a match begins with."""
    margin = _MARGIN.match(found[0])
    return margin[0] if margin else ""


@functools.lru_cache(maxsize=2)
def _closed(text: str) -> frozenset[str]:
    """Return the names that have a closing tag in the text."""
    return frozenset(re.findall(r"</([A-Za-z][\w.:-]*+)\s*+>", text))


def code_spans(text: str) -> Iterator[Span]:
    """Yield spans of inline code: from a run of backticks to the end of its block's next equally long run."""
    runs: list[Span] = []
    for found in itertools.chain(_TICKS.finditer(text), [None]):
        if found and found[0] != "\n":
            runs.append(found.span())
            continue
        closing: dict[int, int] = {}  # code ends with its block
        last: dict[int, int] = {}
        for start, end in reversed(runs):
            closing[start], last[end - start] = last.get(end - start, 0), end
        position = 0
        for start, _ in runs:
            if start >= position and closing[start]:
                position = closing[start]
                yield start, position
        runs = []


def _without_code(text: str, *, indented: bool) -> str:
    """Return `text` with `_CODE` for each character of code, and colons for the fences of MyST directives."""
    lines = _without_fences(text.split("\n"))
    text = "\n".join(_without_indented(lines) if indented else lines)
    text = _ROLE.sub(lambda role: role[1].ljust(len(role[0]), FILL), text)
    pieces: list[str] = []
    position = 0
    for start, end in code_spans(text):
        length = len(text[start:end]) - len(text[start:end].lstrip("`"))
        pieces.append(text[position : start + length])
        position = end - length
        pieces.append(_UNCOVERED.sub(lambda run: _CODE * len(run[0]), text[start + length : position]))
    return "".join([*pieces, text[position:]])


def _without_fences(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines with `_CODE` for fenced code, and colons for the fences of MyST directives with text."""
    directives: list[str] = []
    code, deepest, options = "", 0, False
    for line in lines:
        fence = _FENCE.match(line) if "```" in line or "~~~" in line else None
        run, info = (fence["run"], fence["info"].strip()) if fence else ("", "")
        closes = bool(directives) and not info and run.startswith(directives[-1])
        if code:
            is_end = fence is not None and not info and run.startswith(code) and fence.start("run") <= deepest
            options = options and _OPTION.match(line) is not None
            yield line if is_end else (FILL if options else _CODE) * len(line)
            code = "" if is_end else code
        elif fence and (closes or any(dialect.pattern.match(info) for dialect in _dialects("fence"))):
            if closes:
                directives.pop()
            else:
                directives.append(run)
            yield line[: fence.start("run")] + ":" * len(run) + fence["info"]
        elif fence:
            code, deepest = run, fence.start("run") + 3  # an end that is indented more is code
            options = info.startswith("{")
            yield line[: fence.end("run")] + _CODE * len(fence["info"])
        else:
            yield line


def _without_indented(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines, with `_CODE` for the text of indented code.

    Indented code begins after a blank line, outside of lists and MkDocs blocks.
    """
    inside, blank, code = False, True, False
    for line in lines:
        text = line.lstrip(" \t")
        if not text:
            blank = True
        elif text[0] != _CODE:
            indent = line[: len(line) - len(text)]
            code = len(indent.expandtabs(4)) >= 4 and (code or blank) and not inside
            if code:
                line = indent + _CODE * len(text)
            elif _OPENS_BLOCK.match(text):
                inside = True
            elif not indent and blank:
                inside = False
            blank = False
        yield line


def _without_data(run: _Found) -> str:
    """Return fillers for base64 and minified code; keep tables, rulers, addresses under 2,000 characters."""
    word = run[0]
    if word.count("|") > 3 or ("://" in word and len(word) < LONGEST_ADDRESS):
        return word
    return FILL * len(word) if 5 * sum(map(str.isalnum, word)) >= 3 * len(word) else word
