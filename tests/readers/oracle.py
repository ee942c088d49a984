"""Reading a text, and which of its letters must be covered, by the tokens of another parser."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from readers.cutting import DEFAULT_MAX_TOKENS, SentenceCutter
from readers.dialects import display, mask
from readers.front_matter import read_front_matter
from readers.levels import Section, Sentence
from readers.sections import read_sections

ROOT = Path(__file__).resolve().parents[2]
_NUMBERS = re.compile(r"^[\s>*+-]*(?:\d{1,9}[.)](?:[\s>*+-]+|$))+")
_INFO_BEFORE = re.compile(r"^[\s>*+\-\d.)]*[`~]{3,}")


def count_words(text: str) -> int:
    """Words and marks: more than a model's tokens never are, fewer than its characters."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def read(text: str, source: str = "manual.md", language: str = "") -> list[Section]:
    return read_sections(text, source=source, language=language)


def leaves_of(
    text: str, *, source: str = "manual.md", language: str = "", max_tokens: int = DEFAULT_MAX_TOKENS
) -> list[Sentence]:
    cutter = SentenceCutter(count_words, max_tokens=max_tokens)
    return cutter.cut_all(read(text, source, language))


def shown_texts(text: str, *, source: str = "manual.md") -> list[str]:
    """The leaves as readers see them."""
    return [shown(leaf) for leaf in leaves_of(text, source=source)]


def shown(node: Section | Sentence) -> str:
    return display(node.metadata.get("shown", node.text))


def check_properties(text: str, *, max_tokens: int = 254) -> tuple[int, int]:
    """Assert the whole contract on one file's text; return how many sections and leaves it has."""
    sections = read(text)
    leaves = SentenceCutter(count_words, max_tokens=max_tokens).cut_all(sections)
    prose = prose_positions(text)
    check_cover(text, sections, prose)
    check_cover(text, leaves, prose)
    assert len({node.node_id for node in [*sections, *leaves]}) == len(sections) + len(leaves)
    for section in sections:
        family = [leaf for leaf in leaves if leaf.section_id == section.node_id]
        assert family, f"a section without leaves: {section.text!r}"
        assert [leaf.metadata["position"] for leaf in family] == list(range(len(family)))
    for leaf in leaves:
        seen = shown(leaf)
        assert min(len(seen), count_words(seen)) <= max_tokens
    return len(sections), len(leaves)


def check_cover(text: str, nodes: Sequence[Section | Sentence], prose: set[int]) -> None:
    """Each node is its span, spans are in order and do not overlap, and no prose is outside."""
    position = 0
    covered: set[int] = set()
    for node in nodes:
        start, end = node.start_char_idx, node.end_char_idx
        assert position <= start < end <= len(text)
        assert node.text == text[start:end]
        assert len(node.metadata.get("shown", node.text)) == len(node.text)
        assert node.text == node.text.strip() or node.text.lstrip().startswith(node.text.strip())
        lines = re.split(r"\r\n?|\n", text[:start]), re.split(r"\r\n?|\n", text[:end])
        assert (node.metadata["start_line"], node.metadata["end_line"]) == tuple(map(len, lines))
        covered.update(range(start, end))
        position = end
    lost = sorted(prose - covered)
    assert not lost, f"lost at {lost[0]}: {text[max(0, lost[0] - 60) : lost[0] + 60]!r}"


def prose_positions(text: str) -> set[int]:
    """Where the letters and digits are that a reader would miss.

    Not counted: front matter, headings that begin a section, link definitions, what stands beside a fence,
    ordered items' numbers, and what the mask hides.
    """
    _, start = read_front_matter(text, source="oracle")
    masked = mask(text[start:])
    body = re.sub(r"\r\n?|\n", "\n", masked).replace("\0", "\ufffd")
    env: dict[str, Any] = {}
    parse = MarkdownIt("commonmark", {"maxNesting": 300}).enable("table").disable("html_block").parse
    tokens = parse(body, env)
    spans = [token.map for token in tokens if token.type == "heading_open" and token.level == 0]
    definitions = [*env.get("references", {}).values(), *env.get("duplicate_refs", [])]
    spans += [definition["map"] for definition in definitions]
    skipped = {line for first, last in spans for line in range(first, last)}
    fences = {token.map[0] for token in tokens if token.type == "fence" and token.map}
    positions: set[int] = set()
    for number, line in enumerate(re.split(r"(?<=\n)|(?<=\r)(?!\n)", masked)):
        if number not in skipped:
            found = (_INFO_BEFORE if number in fences else _NUMBERS).match(line)
            first = len(line) if found and number in fences else found.end() if found else 0
            positions.update(start + i for i in range(first, len(line)) if line[i].isalnum())
        start += len(line)
    return positions
