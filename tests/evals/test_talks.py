"""Talks and dialogues: what is read and refused, and what is counted when they are played."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from athena import Athena, open_athena
from athena.settings import Settings
from evals.playing import Moment, Reply
from evals.remembering import evaluate_memory, has_terms, has_words, is_right
from evals.talks import Step, Talk, load_talks, repaired
from pipeline.answer import Answer, Mode
from pipeline.errors import DatasetError
from pipeline.steps.records import Step as PipelineStep
from tests.fakes import FakeEncoder

SAMPLE: dict[str, Any] = {
    "sample_id": "ana-ben",
    "conversation": {
        "speaker_a": "Ana",
        "session_10_date_time": "1:05 pm on 10 June, 2023",
        "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "I have a dog now."}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ana", "dia_id": "D2:1", "text": "Hello!"},
            {"speaker": "Ben", "dia_id": "D2:2", "text": "", "blip_caption": "a photo of a red tent"},
        ],
    },
    "qa": [
        {"question": "What has Ben got?", "answer": 7, "evidence": ["D2:2", "D10:01"], "category": 1},
        {"question": "What has Ana got?", "adversarial_answer": "x", "evidence": [], "category": 5},
        {"question": "Who says hello?", "evidence": ["D99:1"], "category": 4},
    ],
}


def written(folder: Path, found: Any) -> Path:
    path = folder / "talks.json"
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("evidence", "ids"),
    [
        (["D1:3; D2:4"], ("D1:3", "D2:4")),
        (["D 1:03", "D:11:26"], ("D1:3", "D11:26")),
        ([["d1 : 3,D1:3"], {"more": "D2:1"}], ("D1:3", "D2:1")),
        (None, ()),
    ],
)
def test_malformed_ids_are_repaired(evidence: Any, ids: tuple[str, ...]) -> None:
    assert repaired(evidence) == ids


def test_a_dialogue_is_read_in_order_with_its_questions(tmp_path: Path) -> None:
    (found,) = load_talks(written(tmp_path, [SAMPLE]))
    first, tent, dog, what, never = found.steps
    assert [(it.id, it.speaker, it.session) for it in (first, tent, dog)] == [
        ("D2:1", "Ana", 2), ("D2:2", "Ben", None), ("D10:1", "Ben", 10),
    ]  # fmt: skip
    assert tent.say == "[a photo of a red tent]"
    assert dog.at and first.at and dog.at - first.at > 30 * 86_400
    assert (what.evidence, what.reference, what.category) == (("D2:2", "D10:1"), "7", "1")
    assert (never.never_said, found.left_out) == (True, 1)


@pytest.mark.parametrize(
    ("held", "says"),
    [
        (3, "not in LoCoMo's format"),
        ([{**SAMPLE, "conversation": {"session_1": [{"speaker": "Ana", "text": "no id"}]}}], "LoCoMo"),
        ([{**SAMPLE, "qa": [{"evidence": ["D1:1"]}]}], "LoCoMo"),
        ({**SAMPLE, "qa": []}, "asks nothing"),
        ({"talks": [{"name": "a", "kind": "loud", "steps": []}]}, "has a bad talk"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, held: Any, says: str) -> None:
    with pytest.raises(DatasetError, match=says):
        load_talks(written(tmp_path, held))


# -- what is right -----------------------------------------------------------------------------------------


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Athena]:
    settings = Settings(data_dir=tmp_path, llm="none", cross_encoder="none")
    athena = open_athena(settings, encoder=FakeEncoder())
    yield athena
    athena.close()


def replied(text: str, *, mode: Mode = "memory", step: PipelineStep | None = None) -> Reply:
    steps = (step or PipelineStep("recall"),)
    return Reply(Answer("?", "?", text, mode, "", abstained=False, steps=steps), text)


@pytest.mark.parametrize(
    ("text", "words", "has"),
    [
        ("Karl's in Munich.", ["karl", "munich"], True),
        ("He ran it in 1:56:40", ["1:56*"], True),
        ("Row 240", ["24"], False),
        ("Was 880, now 940", ["940", "-was"], False),
    ],
)
def test_words_are_whole_unless_starred(text: str, words: list[str], has: bool) -> None:
    assert has_words(text, words) is has


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Karl is in Munich.\nBefore: Karl lives in Berlin.", True),
        ("Karl lives in Berlin.\nThen: Karl is in Munich.", False),
        ("Karl is in Munich, not in Berlin.", True),
        ("He lives in Munich.", False),
    ],
)
def test_a_right_answer_tells_what_holds_first(text: str, right: bool) -> None:
    step = Step(at="2026-01-01", ask="Where is Karl?", any=[["karl", "munich"]], lacks=["berlin"])
    assert is_right(replied(text), step) is right
    assert not is_right(replied(text, mode="quote"), step)


@pytest.mark.parametrize(
    ("text", "gold", "has"),
    [("She bought red boots and hats", "the red hats and boots", True), ("A scarf", "red boots", False)],
)
def test_a_gold_answer_is_found_by_its_terms(text: str, gold: str, has: bool) -> None:
    assert has_terms(replied(text), gold) is has
    assert not has_terms(replied(text, mode="quote"), gold)


def test_a_talk_is_played_for_its_answers_and_for_what_is_live(live: Athena) -> None:
    said = [
        Step(at="2026-01-01T10:00", say="Remember that my locker is 12."),
        Step(at="2026-01-01T10:01", say="Remember that I live in Bonn."),
        Step(at="2026-01-02T10:00", live=[["bonn"], ["whale"]], never=[["locker"]]),
        Step(at="2026-03-01T10:00", say="Remember that I live in Rome now.", session=2),
        Step(at="2026-03-02T10:00", ask="What is my locker?", any=[["12"]]),
        Step(at="2026-03-02T10:01", ask="Which ship is mine?", never_said=True),
        Step(at="2026-03-02T10:02", unrelated="What is my locker?"),
        Step(at="2026-03-02T10:03", live=[["rome"]], true=[["rome"]]),
    ]
    report = evaluate_memory(live, [Talk(name="t", kind="hurried", steps=said)], failures=True)
    assert {name: (found["count"], found["of"]) for name, found in report.kinds["hurried"].items()} == {
        "answered_right": (1, 1),
        "never_said_left_alone": (1, 1),
        "unrelated_recalled": (1, 1),
        "kept": (2, 3),
        "never_kept_violations": (1, 1),
        "false_live": (2, 3),
    }
    assert len(report.failures) == 5
    assert not live.conversations.list()


def test_a_dialogue_is_stored_at_its_time_and_asked(live: Athena, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [
        Step(at=1000, say="I have a red boat.", speaker="Ann", id="D1:1", session=1),
        Step(at=1000, say="I sail.", speaker="Ben", id="D1:3"),
        Step(at=5000, ask="What colour?", evidence=("D1:1", "D1:3"), category="4", reference="red"),
        Step(at=5000, ask="Who sails?", evidence=("D1:3",), category="4"),
        Step(at=5000, ask="Which car?", category="5", never_said=True),
    ]

    def ask(moment: Moment) -> Reply:
        (info,) = moment.athena.conversations.list(user="t")
        first, second = moment.athena.conversations.get(info.id).turns
        assert (first.created_at, second.created_at, moment.athena.at >= 5000) == (1000, 1001, True)
        assert second.question == "Ben: I sail."
        verdict = "remembered" if moment.step.ask == "What colour?" else "closest"
        data = {"turns": [{"memory_id": first.id, "relevance": 1}], "verdict": verdict}
        return replied("A red boat.", step=PipelineStep("recall", data=data))

    monkeypatch.setattr(Moment, "reply", ask)
    report = evaluate_memory(live, [Talk(name="t", kind="dialogue", steps=steps)])
    shares = {name: found["share"] for name, found in report.kinds["dialogue"].items()}
    assert shares == {"R@5": 0.25, "hit@10": 0.5, "answered": 1, "left_alone": 1}
    assert set(report.kinds["dialogue 5"]) == {"left_alone"}
    assert (report.messages, report.talks) == (2, 1)
