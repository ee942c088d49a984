"""markdown-it-py's block rules, wrapped to note exact offsets, which its tokens do not carry."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from markdown_it import MarkdownIt, rules_block
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.html_block import HTML_SEQUENCES
from markdown_it.token import Token

from readers.blocks import Block, Heading, Kind, blank_gaps, shortened

MAX_DEPTH = 120
"""Lists and quotes nested deeper are read as text: the parser recurses, three calls a level."""
MAX_CONTAINERS = 250_000
"""Lists and quotes of one text; what comes after them is read as text: each costs as much as a line."""
MAX_TAG = 100_000
"""Characters of a line that a tag takes alone. A longer one is text: the parser's pattern takes memory for
each attribute, a hundred times the line's."""
MAX_LOOKED_AHEAD = 100_000
"""Lines of one text that are looked at for a quote which ends before them; from then on a quote has only the
lines with its mark. After `> ```` any line might go on with a paragraph of the quote, of which there is none,
and all lines up to the next blank one are looked at again for each quote."""
MAX_HEADER = 300
"""Characters of a table's header row that go with each of its rows; the row itself is a block, whole."""
KEPT_TOKENS = 1_024
"""More than are ever looked back at: those of one line, two a level."""

_Rule = Callable[[StateBlock, int, int, bool], bool]


class Recorder:
    """What the wrapped rules note down during one parse."""

    def __init__(self, text: str, *, base: int, shifts: list[int] | None) -> None:
        self.items: list[Block | Heading] = []
        self.containers: list[str] = []
        self.containers_left = MAX_CONTAINERS
        self.ahead_left = MAX_LOOKED_AHEAD
        self.farthest = 0
        self.refused = False
        self.quotes = 0
        self.line_starts: list[int] = []
        self.env: dict[str, object] = {"recorder": self}
        self._text = text
        self._base = base
        self._shifts = shifts

    def offset(self, position: int, line: int) -> int:
        """The offset in the text of the parser's `position`, which is on `line`."""
        return position + self._base + (self._shifts[line] if self._shifts else 0)

    @property
    def may_nest(self) -> bool:
        """Whether another list or quote may begin here."""
        return len(self.containers) < MAX_DEPTH and self.containers_left > 0

    def begins(self, found: bool) -> bool:
        """Whether a list or quote that was found begins, or is text of the next block."""
        self.refused |= found and not self.may_nest
        return found and self.may_nest

    def add(
        self,
        state: StateBlock,
        kind: Kind,
        lines: tuple[int, int],
        *,
        start: int = -1,
        header: str | None = None,
    ) -> Block | None:
        """Note a block on `lines` (first, end), from `start` or where its first line's content does."""
        first, end = lines
        if first >= end:
            return None
        if start < 0:
            start = state.bMarks[first] + state.tShift[first]
        block = Block(
            kind,
            self.offset(start, first),
            self.offset(state.eMarks[end - 1], end - 1),
            header,
            gaps=self._gaps(state, lines) if self.quotes else (),
            too_deep=self.refused,
        )
        if not blank_gaps(self._text, block).strip():
            return None
        self.items.append(block)
        self.refused = False
        return block

    def text_of(self, block: Block) -> str:
        """The block's text."""
        return self._text[block.start : block.end]

    def _gaps(self, state: StateBlock, lines: tuple[int, int]) -> tuple[tuple[int, int], ...]:
        return tuple(
            (self.offset(self.line_starts[line], line), self.offset(state.bMarks[line], line))
            for line in range(lines[0] + 1, lines[1])
            if state.bMarks[line] > self.line_starts[line]
        )


class LastTokens(list[Token]):
    """The parser's last tokens: all of them would take a hundred times the memory of the text."""

    def append(self, token: Token) -> None:
        """Add a token."""
        super().append(token)
        if len(self) > 2 * KEPT_TOKENS:
            del self[:KEPT_TOKENS]


@functools.cache
def block_parser() -> MarkdownIt:
    """The parser with these rules; its environment must hold a `Recorder`."""
    # The parser drops what is nested deeper than maxNesting: the limit of the rules below comes first.
    parser = MarkdownIt("commonmark", {"maxNesting": 4 * MAX_DEPTH}).enable("table")
    leaf_like = ["paragraph", "reference", "blockquote", "list"]
    rules: dict[str, tuple[_Rule, list[str]]] = {
        "table": (_table, ["paragraph", "reference"]),
        "code": (_code, []),
        "fence": (_fence, leaf_like),
        "blockquote": (_blockquote, leaf_like),
        "list": (_list, ["paragraph", "reference", "blockquote"]),
        "html_block": (_html_block, ["paragraph", "reference", "blockquote"]),
        "heading": (_heading, ["paragraph", "reference", "blockquote"]),
        "lheading": (_setext_heading, []),
        "paragraph": (_paragraph, []),
    }
    for name, (rule, alternatives) in rules.items():
        parser.block.ruler.at(name, rule, {"alt": alternatives})
    return parser


def _recorder(state: StateBlock) -> Recorder:
    recorder = state.env["recorder"]
    if not isinstance(recorder, Recorder):
        raise TypeError("these rules parse only through parse_blocks")
    return recorder


def _kind(recorder: Recorder) -> Kind:
    in_list = bool(recorder.containers) and recorder.containers[-1] == "list"
    return Kind.LIST_ITEM if in_list else Kind.PROSE


def _paragraph(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    recorder = _recorder(state)
    start = state.bMarks[line] + state.tShift[line]
    if recorder.containers:
        start = _number_start(state, line, start)
    rules_block.paragraph(state, line, end_line, silent)
    recorder.add(state, _kind(recorder), (line, state.line), start=start)
    return True


def _number_start(state: StateBlock, line: int, start: int) -> int:
    """Where the number of the ordered item that starts on this line is, else `start`.

    Unlike a bullet, a number is text that other text refers to ("go back to step 4").
    """
    numbered = False
    for token in reversed(state.tokens):
        if token.nesting != 1 or token.map is None or token.map[0] != line or token.type == "blockquote_open":
            break
        numbered = numbered or bool(token.info)
    if not numbered:
        return start
    markers = state.src[state.bMarks[line] : start]
    return state.bMarks[line] + next(i for i, character in enumerate(markers) if character.isdigit())


def _table(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    """The parser says where a table begins; its rows are noted here, without tokens for their cells."""
    found = rules_block.table(state, line, end_line, True)
    if silent or not found:
        return found
    recorder = _recorder(state)
    head = recorder.add(state, Kind.TABLE_ROW, (line, line + 1))
    header = None if head is None else shortened(recorder.text_of(head).strip(), MAX_HEADER)
    around, state.parentType = state.parentType, "table"
    endings = state.md.block.ruler.getRules("blockquote")
    row = line + 2
    while (
        row < end_line
        and _is_row(state, row)
        and not any(rule(state, row, end_line, True) for rule in endings)
    ):
        recorder.add(state, Kind.TABLE_ROW, (row, row + 1), header=header)
        row += 1
    state.parentType, state.line = around, row
    return True


def _is_row(state: StateBlock, line: int) -> bool:
    """Whether a line goes on with the table above it."""
    is_inside = state.sCount[line] >= state.blkIndent and not state.is_code_block(line)
    return is_inside and bool(state.src[state.bMarks[line] : state.eMarks[line]].strip())


def _code(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    found = rules_block.code(state, line, end_line, silent)
    if found and not silent:
        _recorder(state).add(state, Kind.CODE, (line, state.line), start=state.bMarks[line])
    return found


def _fence(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    found = rules_block.fence(state, line, end_line, silent)
    if silent:  # of what may end a quote, this is asked first
        _recorder(state).farthest = max(line, _recorder(state).farthest)
    elif found:
        last = state.line - 1
        tail = state.src[state.bMarks[last] + state.tShift[last] : state.eMarks[last]].strip()
        marker = state.tokens[-1].markup
        closed = last > line and tail.startswith(marker) and not tail.strip(marker[0])
        _recorder(state).add(state, Kind.CODE, (line + 1, last if closed else state.line))
    return found


def _html_block(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    start, end = state.bMarks[line] + state.tShift[line], state.eMarks[line]
    if end - start > MAX_TAG and not _begins_html(state.src[start:end]):
        return False
    found = rules_block.html_block(state, line, end_line, silent)
    if found and not silent:
        _recorder(state).add(state, Kind.HTML, (line, state.line))
    return found


def _begins_html(line: str) -> bool:
    """Whether a line begins a block of HTML by its first characters, whatever its end is."""
    return any(opening.match(line) for opening, _, _ in HTML_SEQUENCES[:-1])


def _heading(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    found = rules_block.heading(state, line, end_line, silent)
    if found and not silent:
        _add_heading(state, line, marker=len(state.tokens[-1].markup))
    return found


def _setext_heading(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    found = rules_block.lheading(state, line, end_line, silent)
    if found and not silent:
        _add_heading(state, line, marker=0)
    return found


def _add_heading(state: StateBlock, line: int, *, marker: int) -> None:
    """Note a heading, or, inside a list or quote, a block: it begins no section there."""
    recorder = _recorder(state)
    if recorder.containers:
        start = state.bMarks[line] + state.tShift[line] + marker
        recorder.add(state, _kind(recorder), (line, state.line - (0 if marker else 1)), start=start)
        return
    recorder.items.append(
        Heading(
            level=int(state.tokens[-1].tag[1]),
            title=state.tokens[-2].content,
            start=recorder.offset(state.bMarks[line], line),
            end=recorder.offset(state.eMarks[state.line - 1], state.line - 1),
        )
    )


def _blockquote(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    recorder = _recorder(state)
    if silent or not recorder.may_nest:
        return recorder.begins(rules_block.blockquote(state, line, end_line, True))
    if not recorder.line_starts:  # the first time, the marks are still the lines' own
        recorder.line_starts = list(state.bMarks)
    if recorder.ahead_left <= 0:
        end_line = _marked_end(state, line, end_line)
    around, recorder.farthest = recorder.farthest, line
    recorder.containers.append("blockquote")
    recorder.quotes += 1
    found = rules_block.blockquote(state, line, end_line, False)
    recorder.quotes -= 1
    recorder.containers.pop()
    recorder.containers_left -= found
    recorder.ahead_left -= max(0, recorder.farthest - state.line)
    recorder.farthest = around
    return found


def _marked_end(state: StateBlock, line: int, end_line: int) -> int:
    """Where the lines end that have a quote's mark themselves."""
    marked = (state.src.startswith(">", state.bMarks[at] + state.tShift[at]) for at in range(line, end_line))
    return line + sum(1 for _ in itertools.takewhile(bool, marked))


def _list(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    recorder = _recorder(state)
    if silent or not recorder.may_nest:
        return recorder.begins(rules_block.list_block(state, line, end_line, True))
    recorder.containers.append("list")
    found = rules_block.list_block(state, line, end_line, False)
    recorder.containers.pop()
    recorder.containers_left -= found
    return found
