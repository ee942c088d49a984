"""Markdown to HTML that is safe to insert: no raw HTML, no images; only web and mail links work.

Marked spans of the text become elements. Before parsing, a character of Unicode's private use area is put at
each end of a span (or replaces a chip). The renderer turns these into tags that never cross another element.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape, unescape
from pathlib import PurePosixPath
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from readers.dialects import display, display_titled, mask
from readers.front_matter import read_front_matter

Kind = Literal["mark", "answer", "unsupported", "chip"]

PRIVATE = re.compile("[\ue100-\uf8ff]")  # replaced in documents: there they would be read as marks
END = "\ue100"
BEGIN = {"mark": 0xE101, "answer": 0xE102}
UNSUPPORTED, CHIP = 0xE200, 0xE600  # plus the span's value, at most `MOST`
MOST = 0x3FF
ID = re.compile(r"\b[A-Z][A-Z0-9]{0,7}(?:-[A-Z0-9]{1,8})+\b")  # P-ATM-01, C-105: not broken at hyphens
TASK = re.compile(r"\[([ xX])\] ")
BLOCK_TAG = re.compile(r"</?(?:p|li|td|th|tr|br|pre|h[1-6])\b[^>]*>")
WEB = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
HEAD = re.compile(
    r"[ \t>\u2060-\u2063]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:\[[ xX]\] )?(?:#{1,6}[ \t]+)?\|?[ \t]*"
)
"""Block syntax at the start of a line; with a mark before it, Markdown would see no list item or row."""
RULE = re.compile(r"[ \t>]*(?:```|~~~|={3,}[ \t]*$|\|?[ \t]*:?-+:?[ \t|:-]*$)", re.MULTILINE)
"""A line that is a code fence, the underline of a heading, or the delimiter row of a table."""


@dataclass(frozen=True, slots=True)
class Span:
    """A marked span of a text, as character offsets; `value` is a chip's number or a sentence's index."""

    start: int
    end: int
    kind: Kind
    value: int = 0


@dataclass(slots=True)
class _State:
    """The state of the renderer between two tokens: the open HTML tags, and the headings so far."""

    open: list[str] = field(default_factory=list)
    headings: int = 0


def html_of(text: str, *, spans: Sequence[Span] = (), references: bool = True) -> str:
    """Return the HTML of a Markdown text, with an element for each span.

    `references=False` is for answers: a line "[1]: …" by the model must not turn the markers [1] into links.
    """
    return _html(display(_with_marks(_cleaned(text), spans)), references=references)


def file_html(
    text: str, *, source: str, spans: Sequence[Span] = (), start: int = 0, end: int | None = None
) -> str:
    """Return the HTML of `text[start:end]` of a file; the offsets of `spans` count from the file's beginning.

    Front matter and the syntax of site generators are left out. Headings get the ids `h-1`, `h-2` …
    """
    start = max(start, read_front_matter(text, source=source)[1])
    masked = mask(_cleaned(text), suffix=PurePosixPath(source).suffix)[start:end]
    moved = [Span(span.start - start, span.end - start, span.kind, span.value) for span in spans]
    return _html(display_titled(_with_marks(masked, moved)))


def headings_of(html: str) -> list[tuple[int, str, str]]:
    """Return (level, id, plain text) of each heading in the HTML of `file_html`."""
    found = re.findall(r'<h([1-6]) id="(h-\d+)">(.*?)</h\1>', html, re.DOTALL)
    return [(int(level), name, re.sub(r"<[^>]*>", "", inside).strip()) for level, name, inside in found]


def text_of(text: str) -> str:
    """Return a Markdown text as plain text on one line, without bars or blanks at its ends."""
    spaced = BLOCK_TAG.sub(" ", html_of(text))
    return " ".join(unescape(re.sub(r"<[^>]*>", "", spaced)).split()).strip("| ")


# -- marks in the text -------------------------------------------------------------------------------------


def _with_marks(text: str, spans: Sequence[Span]) -> str:
    """Return the text with a character at each end of a span, or in place of a chip; skip invalid spans."""
    put: list[tuple[int, int, str]] = []  # offset, length of the replaced text, new characters
    for span in spans:
        if not 0 <= span.start < span.end <= len(text) or span.value > MOST:
            continue
        if span.kind == "chip":
            put.append((span.start, span.end - span.start, chr(CHIP + span.value)))
            continue
        start, end = _inside(text, span.start, span.end)
        if start < end:
            begin = BEGIN.get(span.kind, UNSUPPORTED + span.value)
            put += [(start, 0, chr(begin)), (end, 0, END)]
    parts, at = list[str](), 0
    for where, length, characters in sorted(put, key=lambda item: (item[0], item[2] != END)):
        if where >= at:
            parts += [text[at:where], characters]
            at = where + length
    return "".join([*parts, text[at:]])


def _inside(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of a span without the block syntax, rule lines and blanks at its two ends."""
    while start < end:
        start += len(text[start:end]) - len(text[start:end].lstrip())
        line = text.rfind("\n", 0, start) + 1
        if RULE.match(text, line) and (after := text.find("\n", start)) >= 0:
            start = after + 1
            continue
        head = HEAD.match(text, line)
        start = max(start, head.end() if head else start)
        break
    while start < end:
        end = start + len(text[start:end].rstrip(" \t\r\n|\u2060\u2062"))
        line = text.rfind("\n", 0, end) + 1
        head = HEAD.match(text, line)
        if line <= start or not (RULE.match(text, line) or (head and end <= head.end())):
            break
        end = line - 1
    return start, end


def _cleaned(text: str) -> str:
    """Replace each character of the private use area by one other, so that offsets stay valid."""
    return PRIVATE.sub("\ufffd", text)


# -- the renderer ------------------------------------------------------------------------------------------


def _html(text: str, *, references: bool = True) -> str:
    parser = _parser(references)
    made: str = parser.renderer.render(parser.parse(text), parser.options, {"state": _State()})
    return made


@cache
def _parser(references: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    if not references:
        parser.disable("reference")
    parser.renderer.rules |= RULES  # type: ignore[attr-defined]  # of the HTML renderer
    return parser


def _text(content: str, state: _State, *, wrap: str = "{}") -> str:
    """Return the HTML of a text with its marks as elements; `wrap` is a format for the text between marks."""
    made = list[str]()
    for piece in re.split("([\ue100-\uf8ff])", content):
        if not piece:
            continue
        if PRIVATE.match(piece):
            made.append(_special(ord(piece), state))
        else:
            words = ID.sub(r'<span class="short">\g<0></span>', escape(piece))
            made.append(_marked(wrap.format(words), state.open))
    return "".join(made)


def _special(code: int, state: _State) -> str:
    if code >= CHIP:
        return f"<chip-{code - CHIP}>"
    if code == ord(END):
        if state.open:
            state.open.pop()
    elif code >= UNSUPPORTED:
        state.open.append(f'<span class="unsupported" tabindex="0" data-support="{code - UNSUPPORTED}">')
    else:
        state.open.append('<mark class="answer">' if code == BEGIN["answer"] else "<mark>")
    return ""


def _marked(html: str, marks: Sequence[str]) -> str:
    for mark in reversed(marks):
        html = f"{mark}{html}</{mark[1 : mark.index(' ')] if ' ' in mark else 'mark'}>"
    return html


Given = MutableMapping[str, Any]


def _words(tokens: Sequence[Token], place: int, _: Any, env: Given) -> str:
    content = tokens[place].content
    if place == 0 and (box := TASK.match(content)):
        sign = "☐ " if box[1] == " " else "☑ "
        return f'<span class="task">{sign}</span>{_text(content[box.end() :], env["state"])}'
    return _text(content, env["state"])


def _code_inline(tokens: Sequence[Token], place: int, _: Any, env: Given) -> str:
    return _text(tokens[place].content, env["state"], wrap="<code>{}</code>")


def _code(tokens: Sequence[Token], place: int, _: Any, env: Given) -> str:
    return f'<pre tabindex="0"><code>{_text(tokens[place].content, env["state"])}</code></pre>\n'


def _image(tokens: Sequence[Token], place: int, _: Any, __: Given) -> str:
    alt = PRIVATE.sub("", tokens[place].content) or "without a description"
    return f'<span class="image">Image: {escape(alt)}</span>'


def _link_open(tokens: Sequence[Token], place: int, _: Any, __: Given) -> str:
    href = escape(PRIVATE.sub("", str(tokens[place].attrGet("href") or "")))
    if WEB.match(href):
        return f'<a href="{href}" target="_blank" rel="noopener noreferrer">'
    return f'<a class="link" title="{href}">'


def _heading_open(tokens: Sequence[Token], place: int, _: Any, env: Given) -> str:
    env["state"].headings += 1
    return f'<{tokens[place].tag} id="h-{env["state"].headings}">'


def _constant(html: str) -> Any:
    return lambda *_: html


RULES: dict[str, Any] = {
    "text": _words,
    "code_inline": _code_inline,
    "fence": _code,
    "code_block": _code,
    "image": _image,
    "link_open": _link_open,
    "heading_open": _heading_open,
    "table_open": _constant('<div class="scroll" tabindex="0"><table>'),
    "table_close": _constant("</table></div>"),
}


# -- elements of ours --------------------------------------------------------------------------------------


def tag(name: str, *inside: str, **attributes: str | bool | None) -> str:
    """Return an HTML element around `inside`, which is HTML already; the values of attributes are escaped.

    `class_` becomes `class`, `data_x` becomes `data-x`. None and False omit it; True writes only the name.
    """
    written = [
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    ]
    return f"<{name}{''.join(written)}>{''.join(inside)}</{name}>"


def icon(name: str) -> str:
    """Return an icon of Streamlit's font."""
    return f'<span class="icon" aria-hidden="true">{name}</span>'


def crumbs(parts: Sequence[str]) -> str:
    """Return the HTML of a breadcrumb of plain texts; the last one is emphasised."""

    def each() -> Iterator[str]:
        for number, part in enumerate(parts, start=1):
            yield tag("span", escape(part), class_="here" if number == len(parts) else None)
            if number < len(parts):
                yield '<span class="sep" aria-hidden="true">›</span>'

    return tag("div", *each(), class_="crumbs")
