"""Leaves: where sentences end, how long texts are divided, and the metadata of each leaf."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.cutting import CELLS, CLAUSES, LINES, WORDS, TokenLimit, divide
from readers.language import ABBREVIATIONS, Cut, mask_markup, sentence_ends
from readers.levels import document_id, sentence_id
from tests.readers.oracle import count_words, leaves_of, read

ends = sentence_ends("en")


def test_abbreviations_are_those_of_the_trained_model_and_ours() -> None:
    assert list(ends("As in Fig. 3, Dr. Liu left in Jan. by bus. Go.")) == [42, 46]
    model = sentence_ends("en").args[0]._params  # type: ignore[attr-defined]
    assert {"dr", "jan", *ABBREVIATIONS} <= model.abbrev_types
    assert len(model.ortho_context) == 20_366
    assert all(len(pair) == 2 for pair in model.collocations)


@given(st.text(alphabet=".!?*_`[](){}<>:/\"' \n\tabAB1é\u2028”", max_size=200))
def test_ends_rise_to_the_text_s_end_and_masks_keep_lengths(text: str) -> None:
    found = list(ends(text))
    assert found == sorted(set(found)) or not text
    assert found[-1:] in ([len(text)], [])
    assert len(mask_markup(text)) == len(text)


def pieces(text: str, max_tokens: int, *cuts: Cut) -> list[str]:
    limit = TokenLimit(count_words, max_tokens)
    return [text[start:end] for start, end in divide(text, limit=limit, cuts=cuts)]


@given(
    st.text(alphabet="ab ,;\n|.x", max_size=300),
    st.integers(1, 20),
    st.sampled_from([(), (WORDS,), (CLAUSES, WORDS), (LINES, CELLS, WORDS)]),
)
def test_pieces_cover_the_text_and_fit(text: str, max_tokens: int, cuts: tuple[Cut, ...]) -> None:
    parts = pieces(text, max_tokens, *cuts)
    assert "".join(parts) == text
    assert all(min(len(part.strip()), count_words(part)) <= max_tokens for part in parts)


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
