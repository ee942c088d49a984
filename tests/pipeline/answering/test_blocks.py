"""The blocks of a passage, what introduces them, and the span of some leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.answering.blocks import PassageLeaves, blocks_of
from tests.pipeline.answering.leaves import passage_of

STEPS = "Do this in order:\n\n1. Open the locker.\n2. Load it.\n   ```\n   load\n   ```\n3. Close it."
TABLE = "These are the codes:\n\n| code | means |\n|---|---|\n| A | on |\n| B | off |\n| C | dead |"
CODE = "Run it:\n\n```sh\npump on\npump off\n```"
NOTE = "> ## A note\n>\n> Quoted here."
LIST = "- one\n- two\n  - nested"
SEVERAL = "\n\n".join(["The pump is old. It leaks.", STEPS, TABLE, CODE, NOTE, LIST, "End."])


def texts(found: PassageLeaves) -> list[str]:
    """The text of each block."""
    return [_text(found, block.first, block.last) for block in blocks_of(found)]


def _text(found: PassageLeaves, first: int, last: int) -> str:
    return found.text(*found.span(first, last))


def test_each_block_stands_with_what_introduces_it() -> None:
    found = passage_of(SEVERAL)
    assert [block.kind for block in blocks_of(found)] == [
        *("paragraph", "steps", "table", "code"),
        *("paragraph", "list", "paragraph"),
    ]
    assert texts(found)[:4] == ["The pump is old. It leaks.", STEPS, TABLE, CODE]
    assert texts(found)[-2:] == ["> Quoted here.\n\n- one\n- two\n  - nested", "End."]


@pytest.mark.parametrize(
    ("lead", "alone"),
    [
        ("It is so. " * 30, True),
        ("It is so. " * 30 + "Namely:", False),
        ("很长的句子。" * 60 + "如下：", False),
        ("A short one.", False),
    ],
)
def test_a_long_paragraph_introduces_a_list_only_with_a_colon(lead: str, *, alone: bool) -> None:
    blocks = blocks_of(passage_of(f"{lead}\n\n- one\n- two"))
    assert (len(blocks) == 2) is alone


def test_only_a_colon_makes_a_paragraph_introduce_a_paragraph() -> None:
    assert texts(passage_of("Note:\n\nIt is hot.")) == ["Note:\n\nIt is hot."]
    assert texts(passage_of("Note.\n\nIt is hot.")) == ["Note.", "It is hot."]
    assert texts(passage_of("One:\n\nTwo:\n\nThree:")) == ["One:\n\nTwo:", "Three:"]  # no chain of them


def test_nothing_is_introduced_across_a_heading() -> None:
    found = passage_of("See:\n\n- one")
    lead, item = found.leaves
    elsewhere = replace(item, metadata={**item.metadata, "heading_path": ["Other"]})  # type: ignore[type-var]
    assert len(blocks_of(found)) == 1
    assert len(blocks_of(replace(found, leaves=(lead, elsewhere)))) == 2


def test_spans_begin_with_their_bullet_number_or_fence() -> None:
    found = passage_of(SEVERAL)
    spans = {leaf.text: _text(found, place, place) for place, leaf in enumerate(found.leaves)}
    assert spans["one"] == "- one"
    assert spans["nested"] == "- nested"
    assert spans["1. Open the locker."] == "1. Open the locker."
    assert spans["| A | on |"] == "| A | on |"
    assert spans["pump on\npump off"] == "```sh\npump on\npump off\n```"
    assert spans["A note"] == "> ## A note"
    assert spans["It leaks."] == "It leaks."


def test_code_above_keeps_its_fence_where_several_sections_are_quoted() -> None:
    found = passage_of("```\nrun\n```\n\nIt starts.\n\nIt ends.")
    below = replace(found.leaves[-1], section_id="another")  # type: ignore[type-var]
    assert _text(replace(found, leaves=(*found.leaves[:-1], below)), 1, 2) == "It starts.\n\nIt ends."
