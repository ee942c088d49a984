"""Leaves: what is one, what is divided, and what each knows."""

from __future__ import annotations

import pytest

from readers.levels import document_id, sentence_id
from tests.readers.oracle import check_cover, count_words, leaves_of, prose_positions, read, texts


def test_what_a_leaf_knows() -> None:
    text = "# ECS\n\nOne. Two.\n\n## Tanks\n\n- Full.\n"
    first, second, third = leaves_of(text)
    (section, _) = read(text)
    assert first.node_id == sentence_id(section.node_id, 0)
    assert first.metadata == {
        "source": "manual.md",
        "title": "ECS",
        "heading_path": ["ECS"],
        "aliases": ["manual"],
        "position": 0,
        "siblings": 2,
        "kind": "prose",
        "start_line": 3,
        "end_line": 3,
    }
    assert (second.metadata["position"], third.metadata["position"]) == (1, 0)
    assert third.metadata["heading_path"] == ["ECS", "Tanks"]
    assert text[second.start_char_idx : second.end_char_idx] == "Two."
    assert (first.section_id, section.document_id) == (section.node_id, document_id("manual.md"))


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        ("de", "Das ist z.B. gut. Es hält.", ["Das ist z.B. gut.", "Es hält."]),
        ("ja", "弁を閉じる。水を入れる！終わり", ["弁を閉じる。", "水を入れる！", "終わり"]),
        ("zh", "关闭阀门。“加水。”结束", ["关闭阀门。", "“加水。”", "结束"]),
        ("th", "ปิดวาล์ว เติมน้ำ", ["ปิดวาล์ว", "เติมน้ำ"]),
        ("ko", "밸브를 닫는다. 물을 넣는다.", ["밸브를 닫는다.", "물을 넣는다."]),
    ],
)
def test_sentences_end_by_the_rules_of_the_language(language: str, text: str, sentences: list[str]) -> None:
    leaves = leaves_of(text, language=language)
    assert [leaf.text for leaf in leaves] == sentences
    assert {leaf.metadata["language"] for leaf in leaves} == {language}


def test_table_rows_are_leaves_with_their_header() -> None:
    leaves = leaves_of(
        "Codes:\n\n| Code | Meaning |\n|---|:-:|\n| 11 | Low. Refill. |\n| 12 | a \\| b | more |\n\nEnd."
    )
    assert [(leaf.metadata["kind"], leaf.text, leaf.metadata.get("header")) for leaf in leaves] == [
        ("prose", "Codes:", None),
        ("table_row", "| Code | Meaning |", None),
        ("table_row", "| 11 | Low. Refill. |", "| Code | Meaning |"),
        ("table_row", "| 12 | a \\| b | more |", "| Code | Meaning |"),
        ("prose", "End.", None),
    ]


def test_a_long_row_is_divided_at_cells_and_keeps_its_header() -> None:
    leaves = leaves_of("| a | b |\n|-|-|\n| one two three four | five six seven eight |", max_tokens=6)
    assert [leaf.text for leaf in leaves] == ["| a | b |", "| one two three four |", "five six seven eight |"]
    assert [leaf.metadata.get("header") for leaf in leaves] == [None, "| a | b |", "| a | b |"]


def test_long_code_is_divided_at_line_ends() -> None:
    code = "\n".join(f"line {number} = {number};" for number in range(20))
    leaves = texts(f"```\n{code}\n```", max_tokens=12)
    assert "\n".join(leaves) == code
    assert all(count_words(leaf) <= 12 and leaf.startswith("line") and leaf.endswith(";") for leaf in leaves)


def test_the_oracle_sees_what_is_lost() -> None:
    text = "# A\n\nOne. Two.\n"
    leaves = leaves_of(text)
    check_cover(text, leaves, prose_positions(text))
    with pytest.raises(AssertionError, match="lost at 10"):
        check_cover(text, leaves[:1], prose_positions(text))
    with pytest.raises(AssertionError):
        check_cover(text, [leaves[0], leaves[0]], set())
