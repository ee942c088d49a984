"""An app's process with users who ask all the time: what each answer took, and the process's memory.

python -m bench.users --questions FILE --users 20 --seconds 600 --ramp-seconds 6 --report FILE

Settings come from the environment, as for the app.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

import psutil

from athena import Athena, load_settings, open_athena
from pipeline.answer import Answer
from pipeline.chat import ChatRecipe
from pipeline.errors import AthenaError
from pipeline.steps.events import AnswerFinished, RunFailed, TokenArrived

RETRIEVAL_STEPS = frozenset({"embed", "search", "fuse", "merge", "rerank", "answerable", "select"})
"""What a search does itself, and its wait for others; the hypothesis is the language model's time."""

WARM_UP_QUESTIONS = 3
SAMPLE_EVERY_S = 2.0
PAUSE_AFTER_ERROR_S = 1.0  # else one failure would be counted thousands of times


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with its times; `error` is empty where it was answered."""

    retrieval_ms: float = 0.0
    first_word_s: float = 0.0
    answer_s: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """Every question that was asked, and the process's memory every two seconds."""

    asked: list[Asked]
    memory_mb: list[float]


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("questions", "report"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--ramp-seconds", type=float, default=0.0, help="in which the users come")
    options = parser.parse_args(arguments)
    questions = json.loads(options.questions.read_text(encoding="utf-8"))
    athena = open_athena(load_settings())
    try:
        load = run(
            athena,
            questions,
            users=options.users,
            seconds=options.seconds,
            ramp_seconds=options.ramp_seconds,
        )
    finally:
        athena.close()
    options.report.write_text(json.dumps(asdict(load)), encoding="utf-8")


def run(
    athena: Athena, questions: Sequence[str], *, users: int, seconds: float, ramp_seconds: float = 0.0
) -> Load:
    """Let `users` ask for `seconds`, each as soon as the last answer is there; begun answers are ended."""
    athena.warm_up(serving=True)  # as the app does
    for question in questions[:WARM_UP_QUESTIONS]:
        ask(athena.chat(), question)
    started = time.monotonic()
    asked: list[Asked] = []
    numbers = count()
    threads = [
        threading.Thread(
            target=_ask_on, args=(athena, questions, numbers, asked, started + seconds), name=f"user-{user}"
        )
        for user in range(users)
    ]
    for thread in threads:
        thread.start()
        time.sleep(ramp_seconds / users)
    memory = list(_memory(until=started + seconds))
    for thread in threads:
        thread.join()
    return Load(asked, memory)


def _ask_on(
    athena: Athena,
    questions: Sequence[str],
    numbers: Iterator[int],
    asked: list[Asked],
    until: float,
) -> None:
    """One user: a new conversation a question, until the time is over.

    New, because this model would condense a follow-up into the same words each time.
    """
    while time.monotonic() < until:
        question = questions[next(numbers) % len(questions)]
        try:
            outcome = ask(athena.chat(), question)
        except AthenaError as error:
            outcome = Asked(error=str(error))
        asked.append(outcome)
        if outcome.error:
            time.sleep(PAUSE_AFTER_ERROR_S)


def ask(engine: ChatRecipe, question: str) -> Asked:
    """Ask one question and time it."""
    begun = time.monotonic()
    first_word = 0.0
    for event in engine.run(question):
        match event:
            case TokenArrived() if not first_word:
                first_word = time.monotonic() - begun
            case RunFailed(message=message):
                return Asked(answer_s=time.monotonic() - begun, error=message)
            case AnswerFinished(answer=answer):
                took = time.monotonic() - begun
                return Asked(retrieval_ms(answer), first_word, took, _problem(answer))
    return Asked(error="The answer ended without a last event.")


def retrieval_ms(answer: Answer) -> float:
    """Milliseconds of the answer's search, without those of the language model."""
    return sum(step.ms for step in answer.steps if step.name in RETRIEVAL_STEPS)


def _problem(answer: Answer) -> str:
    """What went wrong although there is an answer: a step that failed, an answer that broke off."""
    failed = [f"{step.name}: {step.detail}" for step in answer.steps if step.status == "failed"]
    return "; ".join(failed) or ("" if answer.status == "complete" else f"the answer is {answer.status}")


def _memory(*, until: float) -> Iterator[float]:
    """Resident memory of this process, 10^6 bytes: now, and every two seconds until then."""
    process = psutil.Process()
    yield process.memory_info().rss / 1e6
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(SAMPLE_EVERY_S, left))
        yield process.memory_info().rss / 1e6


if __name__ == "__main__":
    main()
