"""Markdown to a tree of allowed elements that a component builds as DOM nodes.

Nothing here makes HTML: a tree is strings and `{"t": tag, "c": children}`, so that whatever a document or a
model wrote reaches the page as text. Each piece of text knows its offset in the source, which is how the
cited sentence is marked exactly, and how citation markers become chips.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, Literal

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

from readers.blocks import PAGE_MARK
from readers.formats import MARKDOWN, format_of

Tree = list[Any]  # strings and {"t": tag, "c": Tree, …}
SpanKind = Literal["mark", "answer", "chip", "unsupported"]  # an answer is a mark, and stronger

ELEMENTS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
    "em": "em",
    "strong": "strong",
    "s": "s",
}
BLOCKS = frozenset({"p", "li", "pre", "blockquote", "br", "h1", "h2", "h3", "h4", "h5", "h6"})
TASK = re.compile(r"\[([ xX])\] ")
ELSEWHERE = re.compile(r"\]\[([^\[\]\n]*[A-Za-z][^\[\]\n]+)\]|\[([^\[\]\n]*[A-Za-z][^\[\]\n]+)\]\[\]")
"""A link by its label, which may be defined in a part of the file that is not shown; `a[i][j]` is none."""
SAFE_LINK = re.compile(r"^(https?://|mailto:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the source to be shown differently; `value` is a chip's number or a span's index."""

    start: int
    end: int
    kind: SpanKind
    value: int = 0


@cache
def _parser(with_references: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    # `text_join` would fold `\*` and `&amp;` into their neighbours, and with them their offsets.
    parser.disable("text_join")
    if not with_references:
        parser.disable("reference")
    return parser.use(front_matter_plugin)


def markdown_tree(text: str, *, spans: Sequence[Span] = (), base: int = 0, references: bool = True) -> Tree:
    """The tree of a Markdown text; `spans` count from `base`, the text's own offset in its file.

    `references=False` is for answers: a model's "[1]: …" at the end must not swallow the markers [1].
    """
    moved = [Span(span.start - base, span.end - base, span.kind, span.value) for span in spans]
    builder = _Builder(text, moved)
    return builder.blocks(_tokens(text, references=references))


def _tokens(text: str, *, references: bool) -> list[Token]:
    """The tokens of a text; a link whose definition stands elsewhere is one without an address."""
    parser = _parser(references)
    known: dict[str, Any] = {}
    tokens = parser.parse(text, known)
    labels = [first or second for first, second in ELSEWHERE.findall(text)] if references else []
    missing = {normalizeReference(label) for label in labels} - known.get("references", {}).keys()
    if not missing:
        return tokens
    nowhere = {label: {"href": "", "title": ""} for label in missing}
    return parser.parse(text, {"references": known.get("references", {}) | nowhere})


def tree_text(tree: Tree) -> str:
    """The words of a tree; table cells are set apart by dots, blocks by a space."""
    parts = []
    for node in tree:
        if isinstance(node, str):
            parts.append(node)
        elif node.get("k") == "page":  # no word of the text
            continue
        elif node["t"] in ("td", "th"):
            parts.append(f"{tree_text(node['c'])} · ")
        elif node["t"] == "tr":
            parts.append(f"{tree_text(node['c']).removesuffix(' · ')} ")
        else:
            parts.append(tree_text(node["c"]) + (" " if node["t"] in BLOCKS else ""))
    return "".join(parts)


@dataclass(slots=True)
class _Builder:
    text: str
    spans: list[Span]
    cursor: int = 0
    upper: int = 0
    lines: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines = [0, *(m.end() for m in re.finditer("\n", self.text)), len(self.text)]
        self.upper = len(self.text)

    def blocks(self, tokens: Iterable[Token]) -> Tree:
        """Children of the document."""
        return self._nested(tokens, self._single)

    def _nested(self, tokens: Iterable[Token], single: Callable[[Token], Tree]) -> Tree:
        """The tree of a flat list of tokens: a stack of open elements, filled in their order."""
        root: Tree = []
        stack: list[Tree] = [root]
        for token in tokens:
            self._enter(token)
            if token.nesting == 1:
                element = _element(token)
                stack[-1].append(element)
                stack.append(element["c"])
            elif token.nesting == -1:
                stack.pop()
                if token.type == "link_close":
                    self._skip_destination()
            else:
                stack[-1].extend(single(token))
        return root

    def _enter(self, token: Token) -> None:
        """Keep the search for text inside the lines of the block that it belongs to."""
        if token.map and token.nesting >= 0:
            first, last = token.map
            self.cursor = max(self.cursor, self._line(first))
            self.upper = self._line(last)

    def _line(self, number: int) -> int:
        return self.lines[min(number, len(self.lines) - 1)]

    def _single(self, token: Token) -> Tree:
        match token.type:
            case "inline":
                return self._inline(token.children or [])
            case "fence" | "code_block":
                return [{"t": "pre", "c": [{"t": "code", "c": self._code(token)}]}]
            case "front_matter":
                return [{"t": "pre", "k": "front-matter", "c": [token.content]}]
            case "hr":
                return [{"t": "hr", "c": []}]
            case _:
                return self.found(token.content)

    def _inline(self, tokens: list[Token]) -> Tree:
        """The tree of a paragraph; of a task's, after its box."""
        if not tokens or not (box := TASK.match(tokens[0].content)):
            return self._nested(tokens, self._inline_single)
        tokens[0].content = tokens[0].content[box.end() :]
        sign = "☐ " if box[1] == " " else "☑ "
        return [{"t": "span", "k": "task", "c": [sign]}, *self._nested(tokens, self._inline_single)]

    def _inline_single(self, token: Token) -> Tree:
        match token.type:
            case "softbreak":
                return [" "]
            case "hardbreak":
                return [{"t": "br", "c": []}]
            case "code_inline":
                return [{"t": "code", "c": self.found(token.content)}]
            case "image":
                alt = token.content or "without a description"
                return [{"t": "span", "k": "image", "c": [f"Image: {alt}"]}]
            case "text_special":
                return self.found(token.content, written=token.markup)
            case _:
                return self._with_pages(token.content)

    def _with_pages(self, content: str) -> Tree:
        """A text, with the name of each page of a converted document where its mark stands."""
        tree: Tree = []
        for number, part in enumerate(PAGE_MARK.split(content)):
            tree += [{"t": "span", "k": "page", "c": [f"Page {part}"]}] if number % 2 else self.found(part)
        return tree

    def _code(self, token: Token) -> Tree:
        """A code block line by line, as its lines may have been unindented."""
        tree: Tree = []
        for line in token.content.splitlines():
            tree += [*self.found(line), "\n"]
        return tree

    def _skip_destination(self) -> None:
        """Step over `](…)`, so that text after a link is not looked for in its address."""
        closing = re.compile(r"\]\([^)\n]*\)|\]\[[^\]\n]*\]|>").match(self.text, self.cursor)
        if closing:
            self.cursor = closing.end()

    def found(self, content: str, *, written: str = "") -> Tree:
        """The leaves of a piece of text, placed where the source has it next, or without a place."""
        if not content:
            return []
        start, length = self._find(written or content)
        if start < 0:
            return [content]
        self.cursor = start + length
        return self.leaf(content, start, self.cursor)

    def _find(self, written: str) -> tuple[int, int]:
        start = self.text.find(written, self.cursor, self.upper)
        if start >= 0 or " " not in written:
            return start, len(written)
        # A line end inside `code` has become a space.
        pattern = r"\s+".join(map(re.escape, written.split()))
        match = re.compile(pattern).search(self.text, self.cursor, self.upper)
        return (match.start(), match.end() - match.start()) if match else (-1, 0)

    def leaf(self, content: str, start: int, end: int) -> Tree:
        """One text, cut where spans begin and end; chips replace their text, the others wrap it."""
        inside = [span for span in self.spans if span.start < end and span.end > start]
        if not inside:
            return [content]
        if end - start != len(content):  # an escape or entity: all or nothing
            return [_wrap(content, [s for s in inside if s.kind != "chip"])]
        cuts = sorted({start, end, *(min(max(c, start), end) for s in inside for c in (s.start, s.end))})
        tree: Tree = []
        for left, right in pairwise(cuts):
            covering = [span for span in inside if span.start <= left and span.end >= right]
            tree.append(_piece(content[left - start : right - start], left, right, covering))
        return tree


def _piece(text: str, left: int, right: int, spans: Sequence[Span]) -> Any:
    chip = next((span for span in spans if span.kind == "chip"), None)
    others = [span for span in spans if span.kind != "chip"]
    if chip is not None and (chip.start, chip.end) == (left, right):
        return {"t": "chip", "n": chip.value, "c": []}
    return _wrap(text, others)


def _wrap(text: str, spans: Sequence[Span]) -> Any:
    wrapped: Any = text
    for span in spans:
        kind = {"t": "mark", "k": "answer"} if span.kind == "answer" else {"t": span.kind}
        wrapped = {**kind, "n": span.value, "c": [wrapped]}
    return wrapped


def _element(token: Token) -> dict[str, Any]:
    kind = token.type.removesuffix("_open")
    element: dict[str, Any] = {"t": ELEMENTS.get(kind, "span"), "c": []}
    if kind == "heading":
        element["t"] = token.tag
    elif kind == "link":
        href = str(token.attrGet("href") or "")
        element |= {"t": "a", "href": href} if SAFE_LINK.match(href) else {"k": "link", "title": href}
    elif kind == "ordered_list" and token.attrGet("start") is not None:
        element["start"] = int(str(token.attrGet("start")))
    elif kind == "paragraph" and token.hidden:
        element["t"] = "span"  # a paragraph of a tight list
    if kind in ("th", "td"):
        style = str(token.attrGet("style") or "")
        element["align"] = style.removeprefix("text-align:")
    return element


def converted_from(source: str) -> str:
    """The format that a document was converted from, as a sentence begins; "" for Markdown."""
    known = format_of(source)
    return "" if known in (None, MARKDOWN) else f"Converted from {known.title}"


def document_tree(text: str, *, source: str = "", spans: Sequence[Span] = ()) -> Tree:
    """The tree of a document, without the front matter that its conversion wrote."""
    tree = markdown_tree(text, spans=spans)
    if not converted_from(source):
        return tree
    return [node for node in tree if isinstance(node, str) or node.get("k") != "front-matter"]
