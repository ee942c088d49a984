"""markdown-it-py's block rules, wrapped to record exact offsets, which its tokens do not carry.

The rules read a mask (`readers/dialects.py`): it has no tags, so there is no rule for HTML blocks.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from markdown_it import MarkdownIt, rules_block
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from readers.blocks import Block, Heading, Kind, shortened
from readers.dialects import ITEM, LABEL, display, is_seen

MAX_DEPTH = 120
"""Lists and quotes nested deeper are read as text: the parser recurses, three calls a level."""
MAX_CONTAINERS = 250_000
"""Lists and quotes of one text; later ones are read as text: each costs as much as a line."""
MAX_LOOKED_AHEAD = 100_000
"""Lines of one text that are looked at for a quote which ends before them; from then on a quote has only the
lines with its mark. After `> ```` any line might go on with a paragraph of the quote, of which there is none,
and all lines up to the next blank one are looked at again for each quote."""
MAX_HEADER = 300
"""Characters of a table's header row that go with each of its rows; the row itself is a block, whole."""
KEPT_TOKENS = 1_024
"""The rules look back at the tokens of one line at most, two a level."""

_Rule = Callable[[StateBlock, int, int, bool], bool]


class Recorder:
    """The headings and blocks of one parse, and how much the text may still nest."""

    def __init__(self, text: str, *, base: int) -> None:
        self.items: list[Block | Heading] = []
        self.containers: list[str] = []
        self.containers_left = MAX_CONTAINERS
        self.ahead_left = MAX_LOOKED_AHEAD
        self.farthest = 0
        self.refused = False
        self._text = text
        self._base = base

    @property
    def may_nest(self) -> bool:
        """Whether another list or quote may begin here."""
        return len(self.containers) < MAX_DEPTH and self.containers_left > 0

    def begins(self, found: bool) -> bool:
        """Whether a list or quote that was found begins, or is text of the next block."""
        self.refused |= found and not self.may_nest
        return found and self.may_nest

    def kind(self) -> Kind:
        """The kind of a paragraph that begins here."""
        return Kind.LIST_ITEM if self.containers and self.containers[-1] == "list" else Kind.PROSE

    def add(
        self,
        state: StateBlock,
        kind: Kind,
        first: int,
        end: int,
        *,
        start: int = -1,
        header: str | None = None,
    ) -> Block | None:
        """Record a block of the lines from `first` to before `end`; None where these are blank.

        It begins at the parser's position `start`, or where the content of its first line does.
        """
        if first >= end:
            return None
        start = content_start(state, first) if start < 0 else start
        last = state.eMarks[end - 1]
        text = self._text[start:last]
        if not is_seen(text.replace(">", " ") if "quote" in self.containers else text):
            return None
        block = Block(
            kind, start + self._base, last + self._base, header, self.containers.count("quote"), self.refused
        )
        self.items.append(block)
        self.refused = False
        return block

    def add_heading(self, state: StateBlock, line: int) -> None:
        """Record the heading that the parser just read; in a list or quote it is a block, not a heading."""
        opening, inline = state.tokens[-3], state.tokens[-2]
        marker = len(opening.markup) if opening.markup.startswith("#") else 0
        if self.containers:
            start = content_start(state, line) + marker
            self.add(state, self.kind(), line, state.line - (0 if marker else 1), start=start)
            return
        start, end = state.bMarks[line] + self._base, state.eMarks[state.line - 1] + self._base
        self.items.append(Heading(int(opening.tag[1]), inline.content, start, end))


class LastTokens(list[Token]):
    """The parser's last tokens: all of them would take a hundred times the memory of the text."""

    def append(self, token: Token) -> None:
        """Add a token."""
        super().append(token)
        if len(self) > 2 * KEPT_TOKENS:
            del self[:KEPT_TOKENS]


@functools.cache
def block_parser(*, indented_code: bool = True) -> MarkdownIt:
    """The parser with these rules; its environment must hold a `Recorder`."""
    # The parser drops what is nested deeper than maxNesting: the limit of the rules below comes first.
    parser = MarkdownIt("commonmark", {"maxNesting": 4 * MAX_DEPTH}).enable("table").disable("html_block")
    leaf_like = ["paragraph", "reference", "blockquote", "list"]
    rules: dict[str, tuple[_Rule, list[str]]] = {
        "table": (_table, ["paragraph", "reference"]),
        "code": (_code, []),
        "fence": (_fence, leaf_like),
        "blockquote": (_blockquote, leaf_like),
        "list": (_list, ["paragraph", "reference", "blockquote"]),
        "heading": (_heading, ["paragraph", "reference", "blockquote"]),
        "lheading": (_heading_below, []),
        "paragraph": (_paragraph, []),
    }
    for name, (rule, alternatives) in rules.items():
        parser.block.ruler.at(name, rule, {"alt": alternatives})
    parser.block.ruler.before("table", "label", _label, {"alt": leaf_like})
    return parser if indented_code else parser.disable("code")


def content_start(state: StateBlock, line: int) -> int:
    """The parser's position of a line's first character behind its indent."""
    return int(state.bMarks[line] + state.tShift[line])


def _recorder(state: StateBlock) -> Recorder:
    recorder = state.env["recorder"]
    if not isinstance(recorder, Recorder):
        raise TypeError("these rules parse only through parse_blocks")
    return recorder


def _label(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:  # noqa: ARG001
    """A line of its own, such as the title of an admonition."""
    start = content_start(state, line)
    in_item = start >= len(ITEM) - 1 and state.src.startswith(ITEM, start - len(ITEM) + 1)
    if not in_item and not state.src.startswith(LABEL, start):
        return False
    if not silent:
        state.line = line + 1
        _recorder(state).add(state, Kind.PROSE, line, line + 1)
    return True


def _paragraph(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    recorder = _recorder(state)
    start = content_start(state, line)
    if recorder.containers:
        start = _number_start(state, line, start)
    rules_block.paragraph(state, line, end_line, silent)
    recorder.add(state, recorder.kind(), line, state.line, start=start)
    return True


def _number_start(state: StateBlock, line: int, start: int) -> int:
    """The position of the number of an ordered item that starts on this line, else `start`.

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
    """The parser says where a table begins; its rows are recorded here, without tokens for their cells."""
    found = rules_block.table(state, line, end_line, True)
    if silent or not found:
        return found
    recorder = _recorder(state)
    head = recorder.add(state, Kind.TABLE_ROW, line, line + 1)
    names = state.src[content_start(state, line) : state.eMarks[line]].strip()
    header = None if head is None else shortened(display(names), MAX_HEADER)
    around, state.parentType = state.parentType, "table"
    endings = state.md.block.ruler.getRules("blockquote")
    row = line + 2
    while (
        row < end_line
        and state.sCount[row] >= state.blkIndent
        and not state.is_code_block(row)
        and state.src[state.bMarks[row] : state.eMarks[row]].strip()
        and not any(rule(state, row, end_line, True) for rule in endings)
    ):
        recorder.add(state, Kind.TABLE_ROW, row, row + 1, header=header)
        row += 1
    state.parentType, state.line = around, row
    return True


def _code(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    found = rules_block.code(state, line, end_line, silent)
    if found and not silent:
        _recorder(state).add(state, Kind.CODE, line, state.line, start=state.bMarks[line])
    return found


def _fence(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    found = rules_block.fence(state, line, end_line, silent)
    if silent:  # of the rules that may end a quote, this is asked first
        _recorder(state).farthest = max(line, _recorder(state).farthest)
    elif found:
        last = state.line - 1
        tail = state.src[content_start(state, last) : state.eMarks[last]].strip()
        marker = state.tokens[-1].markup
        closed = last > line and tail.startswith(marker) and not tail.strip(marker[0])
        _recorder(state).add(state, Kind.CODE, line + 1, last if closed else state.line)
    return found


def _heading(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    found = rules_block.heading(state, line, end_line, silent)
    if found and not silent:
        _recorder(state).add_heading(state, line)
    return found


def _heading_below(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    found = rules_block.lheading(state, line, end_line, silent)
    if found and not silent:
        _recorder(state).add_heading(state, line)
    return found


def _blockquote(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    recorder = _recorder(state)
    if silent or not recorder.may_nest:
        return recorder.begins(rules_block.blockquote(state, line, end_line, True))
    if recorder.ahead_left <= 0:
        marked = (state.src.startswith(">", content_start(state, at)) for at in range(line, end_line))
        end_line = line + sum(1 for _ in itertools.takewhile(bool, marked))
    around, recorder.farthest = recorder.farthest, line
    found = _contained(rules_block.blockquote, state, line, end_line, "quote")
    recorder.ahead_left -= max(0, recorder.farthest - state.line)
    recorder.farthest = around
    return found


def _list(state: StateBlock, line: int, end_line: int, silent: bool) -> bool:
    recorder = _recorder(state)
    if silent or not recorder.may_nest:
        return recorder.begins(rules_block.list_block(state, line, end_line, True))
    block = state.src.startswith(ITEM, content_start(state, line))
    return _contained(rules_block.list_block, state, line, end_line, "block" if block else "list")


def _contained(rule: _Rule, state: StateBlock, line: int, end_line: int, container: str) -> bool:
    """Run the rule of a list or quote, in which `container` is the innermost."""
    recorder = _recorder(state)
    recorder.containers.append(container)
    found = rule(state, line, end_line, False)
    recorder.containers.pop()
    recorder.containers_left -= found
    return found
