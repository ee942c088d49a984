"""What must be covered, worked out from the stock parser's tokens and by counting characters."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from llama_index.core.schema import TextNode
from markdown_it import MarkdownIt

from readers.front_matter import read_front_matter
from readers.llamaindex import MarkdownReader, PunktSentenceParser

ROOT = Path(__file__).resolve().parents[2]
TEST_DATA = Path(os.environ.get("ATHENA_TEST_DATA", ROOT / ".." / "shared" / "data"))
_NUMBERS = re.compile(r"^[\s>*+-]*(?:\d{1,9}[.)](?:[\s>*+-]+|$))+")
_TARGET = r"(?:\([^()]*\)|\[[^\[\]]*\])"
_MAY_BE_MARK = re.compile(
    r"<!--.*?-->|<(script|style)\b.*?</\1>|</?[A-Za-z](?:\"[^\"]*\"|[^<>\"])*>|\{/\*.*?\*/\}"
    r"|\{%-?\s*comment.*?endcomment\s*-?%\}|\{%.*?%\}|\{\{[#<%]?.*?\}\}|\{[:#./][^{}\n]*\}"
    rf"|\[?!\[[^\[\]]*\]{_TARGET}(?:\]{_TARGET})?|\[!\w+\]",
    re.DOTALL,
)
_LISTS_ALONE = re.compile(r"^[ \t]*\{:[^{}\n]*\}[ \t]*$", re.MULTILINE)
_INCLUDE = re.compile(r"\{\{#.*\}\}")
_INFO_BEFORE = re.compile(r"^[\s>*+\-\d.)]*[`~]{3,}")


def count_words(text: str) -> int:
    """Words and marks: more than a model's tokens never are, fewer than its characters."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def parser(**fields: Any) -> PunktSentenceParser:
    return PunktSentenceParser(**{"count_tokens": count_words, **fields})


def read(text: str, source: str = "manual.md") -> list[TextNode]:
    return MarkdownReader().read(text, source=source)


def leaves_of(text: str, **fields: Any) -> list[TextNode]:
    return [
        leaf for leaf in parser(**fields).get_nodes_from_documents(read(text)) if isinstance(leaf, TextNode)
    ]


def texts(text: str, **fields: Any) -> list[str]:
    return [leaf.text for leaf in leaves_of(text, **fields)]


def check_properties(text: str, *, max_tokens: int = 254) -> tuple[int, int]:
    """Assert the whole contract on one file's text; return how many sections and leaves it has."""
    sections = read(text)
    leaves = [
        leaf
        for leaf in parser(max_tokens=max_tokens).get_nodes_from_documents(sections)
        if isinstance(leaf, TextNode)
    ]
    prose = prose_positions(text)
    check_cover(text, sections, prose)
    check_cover(text, leaves, prose)
    assert len({node.node_id for node in [*sections, *leaves]}) == len(sections) + len(leaves)
    check_leaves(text, sections, leaves, max_tokens=max_tokens)
    return len(sections), len(leaves)


def check_cover(text: str, nodes: Sequence[TextNode], prose: set[int]) -> None:
    """Each node is its span, spans are in order and do not overlap, and no prose is outside."""
    position = 0
    covered: set[int] = set()
    for node in nodes:
        start, end = node.start_char_idx, node.end_char_idx
        assert start is not None
        assert end is not None
        assert position <= start < end <= len(text)
        assert node.text == text[start:end]
        assert node.text.strip()
        lines = re.split(r"\r\n?|\n", text[:start]), re.split(r"\r\n?|\n", text[:end])
        assert (node.metadata["start_line"], node.metadata["end_line"]) == tuple(map(len, lines))
        covered.update(range(start, end))
        position = end
    lost = sorted(prose - covered)
    assert not lost, f"lost at {lost[0]}: {text[max(0, lost[0] - 60) : lost[0] + 60]!r}"


def check_leaves(text: str, sections: list[TextNode], leaves: list[TextNode], *, max_tokens: int) -> None:
    by_id = {section.node_id: section for section in sections}
    families: dict[str, list[TextNode]] = {section.node_id: [] for section in sections}
    for leaf in leaves:
        assert leaf.parent_node is not None
        section = by_id[leaf.parent_node.node_id]
        families[section.node_id].append(leaf)
        assert leaf.text == leaf.text.strip()
        assert min(len(leaf.text), count_words(leaf.text)) <= max_tokens
        assert (section.start_char_idx or 0) <= (leaf.start_char_idx or 0)
        assert (leaf.end_char_idx or 0) <= (section.end_char_idx or 0)
        assert leaf.metadata["heading_path"] == section.metadata["heading_path"]
    for section in sections:
        family = families[section.node_id]
        assert family, f"a section without leaves: {section.text!r}"
        assert [leaf.metadata["position"] for leaf in family] == list(range(len(family)))
        assert {leaf.metadata["siblings"] for leaf in family} == {len(family)}
        assert [info.node_id for info in section.child_nodes or []] == [leaf.node_id for leaf in family]


def prose_positions(text: str) -> set[int]:
    """Where the letters and digits are that a reader would miss.

    Not counted: front matter, headings that begin a section, link definitions, what stands beside a
    fence, ordered items' numbers, and outside of code whatever might be a mark.
    """
    start = read_front_matter(text, source="oracle").end
    whole = re.sub(r"\r\n?|\n", "\n", text[start:]).replace("\0", "\ufffd")
    body = _LISTS_ALONE.sub("", whole)  # the parser sees a blank line
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text[start:])
    env: dict[str, Any] = {}
    parse = MarkdownIt("commonmark", {"maxNesting": 300}).enable("table").parse
    tokens = parse(body, env)
    skipped = _markup_lines(tokens, env)
    fences = {token.map[0] for token in tokens if token.type == "fence" and token.map}
    positions: set[int] = set()
    for number, line in enumerate(lines):
        if number not in skipped:
            before = _INFO_BEFORE if number in fences else _NUMBERS
            found = before.match(line)
            first = len(line) if found and number in fences else found.end() if found else 0
            positions.update(start + i for i in range(first, len(line)) if line[i].isalnum())
        start += len(line)
    # A blank line goes on with the code of a list's item, which an attribute list that stands there ends.
    code = _code_lines(tokens) & _code_lines(parse(whole))
    return positions - _may_be_marks(text, code, lines)


def _code_lines(tokens: Sequence[Any]) -> set[int]:
    """The lines of code, fences included."""
    return {
        line
        for token in tokens
        if token.type in ("fence", "code_block") and token.map
        for line in range(*token.map)
    }


def _may_be_marks(text: str, code_lines: set[int], lines: Sequence[str]) -> set[int]:
    """What looks like a tag, a comment or a directive to a cruder eye than the reader's."""
    starts = list(accumulate(map(len, lines), initial=len(text) - sum(map(len, lines))))
    code = {
        position
        for line in code_lines
        if line < len(lines)
        for position in range(starts[line], starts[line + 1])
    }
    return {
        position
        for found in _MAY_BE_MARK.finditer(text)
        for position in range(*found.span())
        if position not in code or _INCLUDE.fullmatch(found[0])
    }


def _markup_lines(tokens: Sequence[Any], env: dict[str, Any]) -> set[int]:
    spans = [token.map for token in tokens if token.type == "heading_open" and token.level == 0]
    spans += [definition["map"] for definition in env.get("references", {}).values()]
    spans += [definition["map"] for definition in env.get("duplicate_refs", [])]
    return {line for start, end in spans for line in range(start, end)}
