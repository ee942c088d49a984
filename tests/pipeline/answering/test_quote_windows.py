"""Which spans of a section can be quoted: wholes, with what they need to be understood."""

from __future__ import annotations

import pytest

from pipeline.answering.quote_windows import Window, part_of, windows, words_of
from pipeline.answering.section_blocks import SectionLeaves
from tests.pipeline.answering.leaves import section_leaves, text_of

STEPS = "Do this in order:\n\n1. Open the locker.\n2. Load it.\n   ```\n   load\n   ```\n3. Close it."
TABLE = "These are the codes:\n\n| code | means |\n|---|---|\n| A | on |\n| B | off |\n| C | dead |"
SEVERAL = (
    f"The pump is old. It leaks. Call the crew.\n\n{STEPS}\n\n**Possible causes.** The seal is worn."
    f"\n\n{TABLE}\n\nRun it:\n\n```sh\npump on\npump off\n```\n\n> ## A note\n>\n> Quoted here."
    "\n\n- one\n- two\n  - nested\n\nThe end."
)


def quotable(section: SectionLeaves, most: int = 500) -> set[str]:
    """The text of every window."""
    found = windows(section, most_words=most, most_in_block=most)
    return {text_of(section, window.first, window.last) for window in found}


def whole(section: SectionLeaves, first: int, last: int) -> Window:
    """The window of these leaves within one block."""
    return Window(first, last, section.block_of(last))


def test_blocks_are_found_with_what_introduces_them() -> None:
    section = section_leaves(SEVERAL)
    assert [block.kind for block in section.blocks] == [
        *("paragraph", "paragraph", "steps", "paragraph", "paragraph", "table", "paragraph", "code"),
        *("paragraph", "paragraph", "list", "paragraph"),
    ]
    leads = {block.kind: block.lead for block in section.blocks if block.lead is not None}
    assert {kind: section.leaves[lead].text for kind, lead in leads.items()} == {
        "steps": "Do this in order:",
        "table": "These are the codes:",
        "code": "Run it:",
        "list": "Quoted here.",
    }


def test_a_lead_that_points_back_comes_with_what_it_points_to() -> None:
    paragraph = "Much was said about the order of these. " * 6 + "Shed the load from the top. It is short."
    section = section_leaves(f"{paragraph}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    (lead,) = [block.lead for block in section.blocks if block.lead is not None]
    assert section.leaves[lead].text == "Shed the load from the top."


def test_what_says_this_table_is_quoted_with_the_table() -> None:
    paragraph = "Load is shed from the top of this table. " + "Each line of it can be shed. " * 6
    section = section_leaves(f"{paragraph}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert {text.endswith("| 1 | 2 |") for text in quotable(section) if "this table" in text} == {True}


def test_a_sentence_that_points_back_never_begins_a_quote() -> None:
    texts = quotable(section_leaves("The pump is old. It leaks. Call the crew."))
    assert texts == {
        "The pump is old.",
        "The pump is old. It leaks.",
        "The pump is old. It leaks. Call the crew.",
        "Call the crew.",
    }


def test_no_quote_ends_on_a_label_or_on_what_announces_the_next() -> None:
    texts = quotable(section_leaves(SEVERAL))
    assert not [text for text in texts if text.endswith(("causes.**", ":", "A note"))]
    assert "**Possible causes.** The seal is worn." in texts
    assert not [text for text in texts if text.startswith("The seal")]


def test_no_quote_ends_on_the_caption_above_a_table() -> None:
    caption = "Table 3-1: Codes of all kinds that there are in the ship"
    section = section_leaves(f"The ship has codes.\n\n{caption}\n\n{TABLE.split(':', 1)[1].strip()}")
    texts = quotable(section)
    assert "The ship has codes." in texts
    assert any(text.startswith(caption) for text in texts)
    assert not any(text.endswith(caption) for text in texts)


def test_quotes_begin_with_their_bullet_number_or_fence() -> None:
    section = section_leaves(SEVERAL)
    positions = {leaf.text: number for number, leaf in enumerate(section.leaves)}
    spans = {text: text_of(section, number, number) for text, number in positions.items()}
    assert spans["one"] == "- one"
    assert spans["nested"] == "- nested"
    assert spans["1. Open the locker."] == "1. Open the locker."
    assert spans["| A | on |"] == "| A | on |"
    assert spans["pump on\npump off"] == "```sh\npump on\npump off\n```"
    assert spans["A note"] == "> ## A note"


def test_a_list_or_table_is_quoted_in_part_only_by_itself() -> None:
    section = section_leaves(SEVERAL)
    for window in windows(section, most_words=500, most_in_block=500):
        if window.block is None:
            for block in section.blocks:
                inside = range(max(block.first, window.first), min(block.last, window.last) + 1)
                complete = len(inside) in (0, block.last - block.first + 1)
                assert complete or block.kind == "paragraph"
        else:
            assert window.last <= window.block.last
            assert window.first >= (window.block.first if window.block.lead is None else window.block.lead)


def test_rows_that_do_not_fit_are_counted_and_the_header_leads() -> None:
    section = section_leaves(TABLE)
    table = section.blocks[-1]
    assert section.leaves[table.first].text == "| code | means |"
    part = part_of(section, whole(section, table.first + 2, table.first + 2), table.first + 2)
    assert (part.kind, part.left_out_before, part.left_out_after) == ("table", 1, 1)
    assert part.lead == "These are the codes:\n\n| code | means |\n|---|---|"
    first = part_of(section, whole(section, 0, table.first + 1), table.first + 1)
    assert (first.lead, first.left_out_before, first.left_out_after) == ("", 0, 2)
    assert section.text[part.start - section.offset : part.end - section.offset] == TABLE


def test_a_table_that_would_lack_one_short_row_is_shown_whole() -> None:
    table = "| code | means |\n|---|---|\n" + "\n".join(f"| {code} | word word |" for code in "ABCDE")
    section = section_leaves(f"{TABLE.split(chr(10))[0]}\n\n{table}")
    (block,) = (block for block in section.blocks if block.kind == "table")
    every = section.words(0, block.last)
    for most, complete in ((every - 1, True), (every - 10, False)):
        inside = [w for w in windows(section, most_words=1, most_in_block=most) if w.block == block]
        assert (inside == [Window(0, block.last, block)]) is complete


def test_a_long_item_is_left_out_though_it_is_the_only_one() -> None:
    section = section_leaves(f"- one\n- two\n- three\n- {'word ' * 60}")
    inside = [w for w in windows(section, most_words=20, most_in_block=20) if w.block]
    assert max(window.last - window.first for window in inside) == 2


def test_steps_that_do_not_fit_are_counted_without_the_code_in_them() -> None:
    section = section_leaves(STEPS)
    steps = section.blocks[-1]
    last = part_of(section, whole(section, steps.last, steps.last), steps.last)
    assert (last.kind, last.left_out_before, last.left_out_after) == ("steps", 2, 0)
    assert last.lead == "Do this in order:\n"


def test_lines_of_code_that_do_not_fit_are_counted() -> None:
    lines = "\n".join(f"word {' x' * 20} {number}" for number in range(8))
    section = section_leaves(f"Run it:\n\n```sh\n{lines}\n```")
    code = section.blocks[-1]
    assert (code.kind, code.last > code.first) == ("code", True)
    part = part_of(section, whole(section, code.last, code.last), code.last)
    shown = section.leaves[code.last].text.count("\n") + 1
    assert (part.left_out_before, part.left_out_after) == (8 - shown, 0)
    assert part.lead == "Run it:\n\n```sh"


@pytest.mark.parametrize("most", [1, 5, 20, 500])
def test_every_leaf_can_be_quoted_whatever_the_limit(most: int) -> None:
    section = section_leaves(SEVERAL)
    covered = {
        position
        for window in windows(section, most_words=most, most_in_block=most)
        for position in range(window.first, window.last + 1)
    }
    assert covered == set(range(len(section.leaves)))


def test_limits_are_kept_where_more_than_a_leaf_with_its_need_is_quoted() -> None:
    section = section_leaves(SEVERAL)
    for window in windows(section, most_words=20, most_in_block=25):
        assert words_of(section, window) <= 25 or window.last - window.first <= 1


def test_markup_is_no_text_to_begin_or_end_with() -> None:
    texts = quotable(section_leaves("Said.\n\n<!-- old -->\n\nMore.\n\n<a id='x'></a>"))
    assert texts == {"Said.", "More.", "Said.\n\n<!-- old -->\n\nMore."}
