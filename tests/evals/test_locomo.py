"""Conversations in LoCoMo's format: what is read, mended and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evals.conversations import load_conversations, repaired
from pipeline.errors import DatasetError

SAMPLE: dict[str, Any] = {
    "sample_id": "ana-ben",
    "conversation": {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_10_date_time": "1:05 pm on 10 June, 2023",
        "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "I have a dog now."}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ana", "dia_id": "D2:1", "text": "Hello!"},
            {"speaker": "Ben", "dia_id": "D2:2", "text": "", "blip_caption": "a photo of a red tent"},
            {"speaker": "Ana", "dia_id": "D2:3", "text": "Nice!", "blip_caption": None, "img_url": ["x"]},
        ],
        "session_11_date_time": "1:05 pm on 11 June, 2023",
    },
    "qa": [
        {"question": "What has Ben got?", "answer": 7, "evidence": ["D2:2", "D10:01"], "category": 1},
        {"question": "What has Ana got?", "adversarial_answer": "x", "evidence": [], "category": 5},
        {"question": "Who says hello?", "evidence": ["D99:1"], "category": 4},
        {"question": "Who is there?", "evidence": "D2:1; D 2:3"},
    ],
}


def written(folder: Path, found: Any, name: str = "locomo.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("evidence", "ids"),
    [
        (["D1:3; D2:4"], ("D1:3", "D2:4")),
        (["D 1:03", "D:11:26"], ("D1:3", "D11:26")),
        ([["d1 : 3,D1:3"], {"more": "D2:1"}], ("D1:3", "D2:1")),
        (["D"], ()),
        (None, ()),
    ],
)
def test_malformed_ids_are_repaired(evidence: Any, ids: tuple[str, ...]) -> None:
    assert repaired(evidence) == ids


def test_sessions_in_order_captions_among_the_words_and_times(tmp_path: Path) -> None:
    (found,) = load_conversations(written(tmp_path, [SAMPLE]))
    assert found.name == "ana-ben"
    assert [turn.id for turn in found.turns] == ["D2:1", "D2:2", "D2:3", "D10:1"]
    assert [turn.speaker for turn in found.turns] == ["Ana", "Ben", "Ana", "Ben"]
    assert found.turns[1].text == "[a photo of a red tent]"
    assert found.turns[2].text == "Nice!"
    assert found.turns[0].session != found.turns[3].session
    assert found.turns[0].at is not None
    assert found.turns[3].at - found.turns[0].at > 30 * 86_400  # type: ignore[operator]


def test_questions_without_evidence_are_left_out_and_counted(tmp_path: Path) -> None:
    (found,) = load_conversations(written(tmp_path, [SAMPLE]))
    assert [asked.evidence for asked in found.asked] == [("D2:2", "D10:1"), (), ("D2:1", "D2:3")]
    assert [asked.never_said for asked in found.asked] == [False, True, False]
    assert [asked.answer for asked in found.asked] == ["7", "", ""]
    assert found.left_out == 1


@pytest.mark.parametrize(
    "found",
    [
        3,
        [{**SAMPLE, "conversation": {"session_1": [{"speaker": "Ana", "text": "no id"}]}}],
        [{**SAMPLE, "qa": [{"evidence": ["D1:1"]}]}],
    ],
)
def test_what_is_no_sample_is_said(tmp_path: Path, found: Any) -> None:
    with pytest.raises(DatasetError, match=r"not in LoCoMo's format.*`conversation`"):
        load_conversations(written(tmp_path, found))


def test_a_file_that_is_not_json_or_has_nothing_to_ask_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text("[{", encoding="utf-8")
    with pytest.raises(DatasetError, match="not JSON"):
        load_conversations(path)
    with pytest.raises(DatasetError, match="none"):
        load_conversations(tmp_path / "none")
    with pytest.raises(DatasetError, match="has evidence"):
        load_conversations(written(tmp_path, {**SAMPLE, "qa": []}))
