"""Twenty people at once: every one gets his own whole answer."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from athena import Athena, load_settings, open_athena
from bench.athena import ROOT
from bench.attack.attack import Outcome
from bench.processes import BenchmarkError
from pipeline.answer import Answer
from pipeline.chat import ChatRecipe
from pipeline.steps.events import AnswerFinished

SESSIONS = 20
QUESTIONS = (
    "What feeds the cabin fan?",
    "remember that my call sign is {name}",
    "what is my call sign?",
    "How do I align the inertial unit?",
)


def sessions(folder: Path) -> Outcome:
    """Ask from as many threads as there are people, each in a conversation and under a name of his own."""
    with closing(open_athena(load_settings(data_dir=folder / "data", llm="none"))) as athena:
        athena.ingest([ROOT / "docs_corpus"])
        names = [f"Pilot{number}" for number in range(SESSIONS)]
        with ThreadPoolExecutor(SESSIONS) as people:
            wrong = [*people.map(lambda name: _asks(athena, name), names)]
    failures = tuple(line for lines in wrong for line in lines)
    return Outcome(SESSIONS * len(QUESTIONS), failures, f"{SESSIONS} people, {len(QUESTIONS)} messages each")


def _answer(chat: ChatRecipe, question: str) -> Answer:
    *_, last = chat.run(question)
    if not isinstance(last, AnswerFinished):
        raise BenchmarkError(f"“{question}” was not answered: {last}.", "Ask it by hand.")
    return last.answer


def _asks(athena: Athena, name: str) -> Sequence[str]:
    conversation, failures = "", []
    for question in QUESTIONS:
        chat = athena.chat(conversation_id=conversation or None, user=name)
        answer, texts = athena.with_memories(_answer(chat, question.format(name=name)), user=name)
        conversation = chat.conversation_id
        others = [other for other in texts.values() if name not in other]
        if answer.status != "complete" or not (answer.citations or answer.mode == "memory") or others:
            failures.append(f"{name}: {question}: {answer.status}, {answer.text[:60]!r}, {others}")
    kept = len(athena.conversations.get(conversation).turns)
    return failures if kept == len(QUESTIONS) else [*failures, f"{name}: {kept} turns are kept"]
