"""Talks and conversations played through the product, by bags of words and with nothing indexed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from athena import Athena, open_athena
from athena.settings import Settings
from evals.chats import evaluate_conversations
from evals.conversations import Asked, Conversation
from evals.playing import PlayedAthena, Reply, has_span, has_terms
from evals.talks import Step, Talk, evaluate_talks, has_words, is_right, load_talks
from memory.turn_index import Turn
from pipeline.answer import Answer, Mode
from pipeline.errors import DatasetError
from pipeline.steps.records import Step as PipelineStep
from tests.fakes import FakeEncoder


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Athena]:
    settings = Settings(data_dir=tmp_path, llm="none", cross_encoder="none")
    athena = open_athena(settings, encoder=FakeEncoder())
    yield athena
    athena.close()


def replied(text: str, *, mode: Mode = "memory", step: PipelineStep | None = None) -> Reply:
    return Reply(
        Answer("?", "?", text, mode, "", abstained=False, steps=(step or PipelineStep("recall"),)), text
    )


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
    ("text", "gold", "span", "terms"),
    [
        ("On 8 May: “I was at the beach.”", "A beach", True, True),
        ("She bought red boots and hats", "the red hats and boots", False, True),
        ("She bought a scarf", "red boots", False, False),
    ],
)
def test_gold_as_a_span_or_by_its_terms(text: str, gold: str, span: bool, terms: bool) -> None:
    assert (has_span(text, gold), has_terms(text, gold)) == (span, terms)


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
    report = evaluate_talks(live, [Talk(name="t", kind="hurried", steps=said)], failures=True)
    assert {name: (share["count"], share["of"]) for name, share in report.talks["hurried"].items()} == {
        "answered_right": (1, 1),
        "never_said_left_alone": (1, 1),
        "unrelated_recalled": (1, 1),
        "kept": (2, 3),
        "never_kept_violations": (1, 1),
        "false_live": (2, 3),
    }
    assert len(report.failures) == 5
    assert not live.conversations.list()


def test_conversations_are_stored_at_their_time_and_asked(
    live: Athena, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = datetime(2024, 5, 8, tzinfo=UTC).timestamp()
    turns = (
        Turn(id="D1:1", session="a", text="I have a red boat.", role="user", at=at),
        Turn(id="D1:3", session="b", text="I sail.", speaker="Ann", at=at),
    )
    asked = (
        Asked(question="What colour?", evidence=("D1:1", "D1:3"), category="4", answer="red"),
        Asked(question="Who sails?", evidence=("D1:3",), category="4"),
        Asked(question="Which car?", category="5", answer="blue"),
    )

    def ask(athena: PlayedAthena, question: str, *, user: str) -> Reply:
        infos = athena.conversations.list(user=user)
        first, second = sorted(
            (turn for info in infos for turn in athena.conversations.get(info.id).turns),
            key=lambda turn: turn.created_at,
        )
        assert [first.created_at, second.created_at, athena.at] == [at, at + 30, at + 30 + 86_400]
        assert second.question == "Ann: I sail."
        found = [{"memory_id": first.id, "relevance": 1}]
        verdict = "remembered" if question == "What colour?" else "closest"
        return replied("A red boat.", step=PipelineStep("recall", data={"turns": found, "verdict": verdict}))

    monkeypatch.setattr(PlayedAthena, "reply_to", ask)
    report = evaluate_conversations(live, [Conversation("one", turns, asked, left_out=0)])
    names = ("questions", "R@5", "hit@10", "answered", "left_alone")
    assert [report.chat[name] for name in names] == [3, 0.25, 0.5, 1, 1]
    assert report.chat["by_category"]["5"]["R@5"] is None
    assert (report.turns, report.never_said) == (2, 1)
    assert report.ms_per_turn > 0


def test_a_bad_talk_is_said_and_other_files_have_none(tmp_path: Path) -> None:
    path = tmp_path / "talks.json"
    path.write_text(json.dumps({"talks": [{"name": "a", "kind": "loud", "steps": []}]}), encoding="utf-8")
    with pytest.raises(DatasetError, match="has a bad talk"):
        load_talks(path)
    path.write_text("[]", encoding="utf-8")
    assert load_talks(tmp_path) == []
