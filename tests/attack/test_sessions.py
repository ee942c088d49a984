"""Twenty people at once: every one gets his own whole answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from athena import Athena, load_settings, open_athena
from pipeline.steps.events import AnswerFinished

pytestmark = pytest.mark.slow

PEOPLE = [f"Pilot{number}" for number in range(20)]
QUESTIONS = (
    "What feeds the cabin fan?",
    "remember that my call sign is {name}",
    "what is my call sign?",
    "How do I align the inertial unit?",
)


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Sequence[str]]]:
    """What is wrong with each person's answers, all asked at the same time."""
    data_dir = tmp_path_factory.mktemp("data")
    with closing(open_athena(load_settings(data_dir=data_dir, llm="none"))) as athena:
        athena.ingest([Path("docs_corpus").resolve()])
        with ThreadPoolExecutor(len(PEOPLE)) as people:
            found = people.map(lambda name: [*_asks(athena, name)], PEOPLE)
            yield dict(zip(PEOPLE, found, strict=True))


@pytest.mark.parametrize("name", PEOPLE)
def test_everybody_gets_their_own_whole_answers(name: str, wrong: dict[str, Sequence[str]]) -> None:
    assert not wrong[name]


def _asks(athena: Athena, name: str) -> Iterator[str]:
    conversation = ""
    for question in QUESTIONS:
        chat = athena.chat(conversation_id=conversation or None, user=name)
        *_, last = chat.run(question.format(name=name))
        assert isinstance(last, AnswerFinished)
        answer, texts = athena.with_memories(last.answer, user=name)
        conversation = chat.conversation_id
        others = [other for other in texts.values() if name not in other]
        if answer.status != "complete" or not (answer.citations or answer.mode == "memory") or others:
            yield f"{question}: {answer.status}, {answer.text[:60]!r}, {others}"
    kept = len(athena.conversations.get(conversation).turns)
    if kept != len(QUESTIONS):
        yield f"{kept} turns are kept"
