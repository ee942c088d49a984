"""Leaves: what is one, what is divided, and what each knows."""

from __future__ import annotations

import pytest
from llama_index.core.schema import Document, TextNode

from readers.cutting import SentenceCutter
from readers.levels import document_id, sentence_id
from readers.llamaindex import PunktSentenceParser
from readers.sections import read_sections
from tests.readers.oracle import check_cover, count_words, leaves_of, parser, prose_positions, read, texts


def test_what_a_leaf_knows() -> None:
    text = "# ECS\n\nOne. Two.\n\n## Tanks\n\n- Full.\n"
    first, second, third = leaves_of(text)
    (section, _) = read(text)
    assert first.id_ == sentence_id(section.id_, 0)
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
    assert first.parent_node is not None
    assert first.parent_node.node_id == section.id_
    assert first.ref_doc_id == document_id("manual.md")


def test_sections_get_their_children() -> None:
    (section,) = read("One. Two. Three.")
    leaves = parser().get_nodes_from_documents([section])
    assert [child.node_id for child in section.child_nodes or []] == [leaf.node_id for leaf in leaves]


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
    sections = read_sections(text, source="a.md", language=language)
    leaves = SentenceCutter(count_words).cut_all(sections)
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


def test_nodes_from_elsewhere_are_parsed_by_their_text() -> None:
    node = TextNode(id_="n1", text="# Title\n\nOne. Two.\n\n- Item\n", start_char_idx=100)
    leaves = [leaf for leaf in parser().get_nodes_from_documents([node]) if isinstance(leaf, TextNode)]
    assert [leaf.text for leaf in leaves] == ["# Title", "One.", "Two.", "Item"]
    assert [leaf.start_char_idx for leaf in leaves] == [100, 109, 114, 122]
    assert [leaf.metadata["start_line"] for leaf in leaves] == [1, 3, 3, 5]
    assert leaves[0].ref_doc_id is None


def test_sections_that_lost_their_blocks_give_the_same_leaves() -> None:
    text = (
        "# A\n\n    code\n\n> One.\n> Two.\n\n1. Item\n\n| a |\n|---|\n| b |\n\n[r]: /x\n\n## B\n\nText.\r\n"
    )
    sections = read(text)
    forgetful = [TextNode.from_json(section.to_json()) for section in sections]
    expected = parser().get_nodes_from_documents(sections)
    assert parser().get_nodes_from_documents(forgetful) == expected


def test_documents_of_the_reader_and_of_llama_index() -> None:
    (section,) = read("Intro.\n", source="a.md")
    document = Document(
        id_=section.id_, text="Moved. Twice.", metadata={"start_char_idx": 50, "start_line": 7}
    )
    first, second = parser().get_nodes_from_documents([document])
    assert isinstance(second, TextNode)
    assert (second.start_char_idx, second.end_char_idx, second.metadata["start_line"]) == (57, 63, 7)
    assert first.parent_node is not None
    assert first.parent_node.node_id == section.id_


def test_how_tokens_are_counted_is_the_callers() -> None:
    assert PunktSentenceParser().count_tokens("The cabin fan hums.") == 6
    assert "count_tokens" not in parser().to_dict()
    assert PunktSentenceParser.class_name() == "PunktSentenceParser"


def test_the_oracle_sees_what_is_lost() -> None:
    text = "# A\n\nOne. Two.\n"
    leaves = leaves_of(text)
    check_cover(text, leaves, prose_positions(text))
    with pytest.raises(AssertionError, match="lost at 10"):
        check_cover(text, leaves[:1], prose_positions(text))
    with pytest.raises(AssertionError):
        check_cover(text, [leaves[0], leaves[0]], set())
