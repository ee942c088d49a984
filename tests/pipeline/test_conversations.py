"""Conversations: kept, listed, renamed, deleted, exported, rated; from several threads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.answer import Answer, Citation, Support
from pipeline.conversations import ConversationStore, answer_from, title_of
from pipeline.errors import UnknownConversation
from pipeline.events import Step
from pipeline.history import TurnMemory
from tests.pipeline.test_provenance import citing

WORDS = st.text(max_size=20)
CITATIONS = st.builds(
    Citation,
    verified=st.booleans(),
    **{name: st.integers() for name in ("marker", "start", "end", "start_line", "end_line", "section_start")},
    heading_path=st.lists(WORDS, max_size=2).map(tuple),
    **dict.fromkeys(("source", "quote", "section_id", "file_hash", "quote_hash", "section_text"), WORDS),
)
ANSWERS = st.builds(
    Answer,
    mode=st.sampled_from(["quote", "generate"]),
    status=st.sampled_from(["complete", "stopped", "failed"]),
    abstained=st.booleans(),
    **dict.fromkeys(("question", "condensed_question", "text", "model"), WORDS),
    citations=st.lists(CITATIONS, max_size=2).map(tuple),
    nearest=st.lists(CITATIONS, max_size=1).map(tuple),
    support=st.lists(
        st.builds(
            Support,
            start=st.integers(),
            end=st.integers(),
            supported=st.booleans(),
            markers=st.lists(st.integers(1, 9)).map(tuple),
            missing=st.lists(WORDS).map(tuple),
            score=st.floats(0, 1),
        ),
        max_size=2,
    ).map(tuple),
    steps=st.lists(
        st.builds(
            Step,
            name=WORDS,
            ms=st.floats(0, 9),
            inputs=st.dictionaries(WORDS, WORDS, max_size=2),
            outputs=st.dictionaries(WORDS, st.lists(st.integers()), max_size=2),
        ),
        max_size=2,
    ).map(tuple),
    notices=st.lists(WORDS, max_size=2).map(tuple),
    seconds=st.floats(0, 9),
    settings=st.dictionaries(WORDS, WORDS, max_size=2),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ConversationStore]:
    opened = ConversationStore(tmp_path / "athena.sqlite")
    yield opened
    opened.close()


def answer(question: str = "Why?", text: str = "So [1].", **given: object) -> Answer:
    known = {"condensed_question": question, "mode": "generate", "model": "m", "abstained": False}
    return Answer(question=question, text=text, **known | given)  # type: ignore[arg-type]


@given(ANSWERS)
def test_an_answer_survives_its_json(given_answer: Answer) -> None:
    assert answer_from(json.loads(json.dumps(asdict(given_answer)))) == given_answer


def test_keys_of_a_later_version_are_ignored() -> None:
    stored = json.loads(json.dumps(asdict(answer(citations=(citing("The fan hums."),)))))
    stored["mood"] = stored["citations"][0]["mood"] = "good"
    assert answer_from(stored) == answer(citations=(citing("The fan hums."),))


def test_a_turn_is_written_once_and_then_over(store: ConversationStore) -> None:
    id_ = store.create().info.id
    turn = store.save_turn(id_, answer(text="", status="stopped"))
    assert store.save_turn(id_, answer(turn_id=turn)) == turn
    (kept,) = store.get(id_).turns
    assert kept.answer == answer(turn_id=turn, conversation_id=id_)
    assert store.get(id_).info.title == "Why?"


def test_they_are_listed_renamed_and_deleted(store: ConversationStore) -> None:
    first, second = store.create("First").info.id, store.create("Second").info.id
    store.save_turn(first, answer())
    assert [(info.title, info.turns) for info in store.list()] == [("First", 1), ("Second", 0)]
    store.rename(second, " Other ")
    assert store.get(second).info.title == "Other"
    store.delete(first)
    assert [info.id for info in store.list()] == [second]


def test_what_is_not_there_is_an_error(store: ConversationStore) -> None:
    for call in (
        lambda: store.get("x"),
        lambda: store.rename("x", "y"),
        lambda: store.delete("x"),
        lambda: store.save_turn("x", answer()),
        lambda: store.export_markdown("x"),
        lambda: store.set_feedback("x", 1),
    ):
        with pytest.raises(UnknownConversation, match="'x'"):
            call()


def test_feedback_is_kept_and_taken_back(store: ConversationStore) -> None:
    id_ = store.create().info.id
    turn = store.save_turn(id_, answer())
    store.set_feedback(turn, -1, "wrong")
    assert [(t.feedback, t.feedback_text) for t in store.get(id_).turns] == [(-1, "wrong")]
    store.set_feedback(turn, None)
    assert [(t.feedback, t.feedback_text) for t in store.get(id_).turns] == [(None, "")]


def test_export_has_footnotes_and_leaves_code_alone(store: ConversationStore) -> None:
    id_ = store.create("Fans").info.id
    store.save_turn(id_, answer(text="Hums [1], `x[1]`.", citations=(citing("The fan hums."),)))
    store.save_turn(id_, answer("And\nthen?", text="", status="failed"))
    text = store.export_markdown(id_)
    assert text.startswith("# Fans\n\n## Question 1\n\n> Why?\n\nHums [^1-1], `x[1]`.\n\n")
    assert "[^1-1]: fan.md › Fan, lines 3-3: “The fan hums.”" in text
    assert "> And\n> then?\n\n*No answer.*\n\n*This answer was failed.*" in text


def test_titles_are_first_words() -> None:
    assert title_of(" Why\n so? ") == "Why so?"
    assert title_of("word " * 40) == " ".join(["word"] * 11) + " …" or len(title_of("word " * 40)) <= 63


def test_several_threads_write_at_once(store: ConversationStore) -> None:
    id_ = store.create().info.id
    with ThreadPoolExecutor(8) as pool:
        turns = list(pool.map(lambda n: store.save_turn(id_, answer(f"Q{n}")), range(24)))
    kept = store.get(id_).turns
    assert {turn.id for turn in kept} == set(turns)
    assert len(kept) == 24


def test_the_history_leaves_out_turns_without_an_answer_and_markers(store: ConversationStore) -> None:
    id_ = store.create().info.id
    store.save_turn(id_, answer("One?", "Yes [1]."))
    store.save_turn(id_, replace(answer("Two?", " "), status="failed"))
    store.save_turn(id_, replace(answer("Three?", "Part"), status="stopped"))
    said = TurnMemory.of(store.get(id_)).said()
    assert [item.text for item in said] == ["One?", "Yes.", "Three?", "Part"]
