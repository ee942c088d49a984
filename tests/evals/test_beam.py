from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evals.conversations import load_conversations
from pipeline.errors import DatasetError

CHAT: list[dict[str, Any]] = [
    {
        "batch_number": 1,
        "time_anchor": "March-15-2024",
        "turns": [
            [
                {"role": "user", "id": 0, "content": "I use Flask.", "time_anchor": "March-15-2024"},
                {"role": "assistant", "id": 1, "content": "Fine."},
            ],
            [[{"role": "user", "id": 2, "content": "And SQLite."}]],
        ],
    },
    {
        "batch_number": 2,
        "turns": [{"role": "user", "id": 3, "content": "Flask 3 now.", "time_anchor": "soon"}],
    },
]
PROBING: dict[str, Any] = {
    "knowledge_update": [
        {"question": "Which Flask?", "source_chat_ids": {"original_info": [0], "updated_info": [[3]]}}
    ],
    "information_extraction": [{"question": "Which database?", "source_chat_ids": ["2"]}],
    "event_ordering": [
        {"question": "In which order?", "source_chat_ids": 0, "rubric": ["First Flask,", "then SQLite."]}
    ],
    "abstention": [{"question": "Which shoes?"}, {"question": "Which hat?", "source_chat_ids": [99]}],
}


def chat(folder: Path, found: Any = CHAT, probing: Any = PROBING) -> Path:
    (folder / "probing_questions").mkdir(parents=True)
    (folder / "chat.json").write_text(json.dumps(found), encoding="utf-8")
    path = folder / "probing_questions" / "probing_questions.json"
    path.write_text(json.dumps(probing), encoding="utf-8")
    return folder


def test_turns_of_any_depth_with_roles_times_and_sessions(tmp_path: Path) -> None:
    (found,) = load_conversations(chat(tmp_path / "7"))
    assert found.name == "7"
    assert [(turn.id, turn.role, turn.session) for turn in found.turns] == [
        ("0", "user", "0"),
        ("1", "assistant", "0"),
        ("2", "user", "0"),
        ("3", "user", "1"),
    ]
    assert found.turns[0].at == found.turns[2].at is not None
    assert found.turns[3].at is None


def test_ids_of_any_depth_and_kinds_as_categories(tmp_path: Path) -> None:
    (found,) = load_conversations(chat(tmp_path))
    assert [(asked.category, asked.evidence) for asked in found.asked] == [
        ("knowledge_update", ("0", "3")),
        ("information_extraction", ("2",)),
        ("event_ordering", ("0",)),
        ("abstention", ()),
        ("abstention", ()),
    ]
    assert found.asked[2].gold == "First Flask, then SQLite."
    assert found.left_out == 0


def test_folders_of_chats_in_the_order_of_their_numbers_and_one_chat(tmp_path: Path) -> None:
    for name in ("10", "2"):
        chat(tmp_path / "100K" / name)
    assert [found.name for found in load_conversations(tmp_path)] == ["2", "10"]
    assert [found.name for found in load_conversations(tmp_path / "100K")] == ["2", "10"]
    assert [found.name for found in load_conversations(tmp_path / "100K" / "10" / "chat.json")] == ["10"]


def test_batches_below_plans_are_found(tmp_path: Path) -> None:
    (found,) = load_conversations(chat(tmp_path, [{"plan-1": CHAT[:1]}, {"plan-2": CHAT[1:]}]))
    assert len(found.turns) == 4


@pytest.mark.parametrize(
    ("found", "probing"),
    [
        ([{"turns": [{"role": "user", "content": "no id"}]}], PROBING),
        ([{"turns": ["text"]}], PROBING),
        (CHAT, [1]),
        (CHAT, {"kind": [{"source_chat_ids": [0]}]}),
    ],
)
def test_what_is_no_chat_is_said(tmp_path: Path, found: Any, probing: Any) -> None:
    with pytest.raises(DatasetError, match="not in BEAM's format"):
        load_conversations(chat(tmp_path, found, probing))


def test_a_chat_without_turns_or_without_questions_is_said(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no turns"):
        load_conversations(chat(tmp_path / "1", []))
    folder = chat(tmp_path / "2")
    (folder / "probing_questions" / "probing_questions.json").unlink()
    with pytest.raises(DatasetError, match="Cannot read"):
        load_conversations(folder)
