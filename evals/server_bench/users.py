"""An app's process with users who ask all the time: what each answer took, and the memory meanwhile.

python -m evals.server_bench.users --questions FILE --users 20 --seconds 600 --ramp-seconds 6 --report FILE

Settings come from the environment, as for the app.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

from pipeline.answer import Answer
from pipeline.chat import ChatRecipe
from pipeline.errors import AthenaError
from pipeline.events import AnswerFinished, RunFailed, TokenArrived
from wiring import Athena, load_settings, open_athena

RETRIEVAL_STEPS = frozenset({"wait", "embed", "search", "fuse", "merge", "rerank", "answerable", "select"})
"""What a search does itself, and its wait for others; the hypothesis is the language model's time."""

WARM_UP_QUESTIONS = 3
SAMPLE_EVERY_S = 2.0
PAUSE_AFTER_ERROR_S = 1.0  # else one failure would be counted thousands of times
STATM = Path("/proc/self/statm")


@dataclass(frozen=True, slots=True)
class Asked:
    """One question and what became of it; `error` is empty where it was answered."""

    at_s: float
    retrieval_ms: float = 0.0
    first_word_s: float = 0.0
    answer_s: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """What a number of users met: every question, and the process's memory in MB every two seconds."""

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
    report = {"asked": [asdict(item) for item in load.asked], "memory_mb": load.memory_mb}
    options.report.write_text(json.dumps(report), encoding="utf-8")


def run(
    athena: Athena, questions: Sequence[str], *, users: int, seconds: float, ramp_seconds: float = 0.0
) -> Load:
    """Let `users` ask for `seconds`, each as soon as the last answer is there; begun answers are ended."""
    athena.warm_up(serving=True)  # as the app does
    for question in questions[:WARM_UP_QUESTIONS]:
        ask(athena.chat(), question, started=0.0)
    started = time.monotonic()
    asked: list[Asked] = []
    numbers = count()
    threads = [
        threading.Thread(
            target=_ask_on, args=(athena, questions, numbers, asked, started, seconds), name=f"user-{user}"
        )
        for user in range(users)
    ]
    for thread in threads:
        thread.start()
        time.sleep(ramp_seconds / users)
    memory = list(_memory_until(started + seconds))
    for thread in threads:
        thread.join()
    return Load(asked, memory)


def _ask_on(
    athena: Athena,
    questions: Sequence[str],
    numbers: Iterator[int],
    asked: list[Asked],
    started: float,
    seconds: float,
) -> None:
    """One user: a new conversation a question, until the time is over.

    New, because this model would condense a follow-up into the same words each time.
    """
    while time.monotonic() - started < seconds:
        question = questions[next(numbers) % len(questions)]
        try:
            outcome = ask(athena.chat(), question, started=started)
        except AthenaError as error:
            outcome = Asked(time.monotonic() - started, error=str(error))
        asked.append(outcome)
        if outcome.error:
            time.sleep(PAUSE_AFTER_ERROR_S)


def ask(engine: ChatRecipe, question: str, *, started: float) -> Asked:
    """Ask one question and time it."""
    begun = time.monotonic()
    first_word = 0.0
    for event in engine.run(question):
        match event:
            case TokenArrived() if not first_word:
                first_word = time.monotonic() - begun
            case RunFailed(message=message):
                return Asked(begun - started, answer_s=time.monotonic() - begun, error=message)
            case AnswerFinished(answer=answer):
                took = time.monotonic() - begun
                return Asked(begun - started, retrieval_ms(answer), first_word, took, _problem(answer))
    return Asked(begun - started, error="The answer ended without a last event.")


def retrieval_ms(answer: Answer) -> float:
    """Milliseconds of the answer's search, without those of the language model."""
    return sum(step.ms for step in answer.steps if step.name in RETRIEVAL_STEPS)


def _problem(answer: Answer) -> str:
    """What went wrong although there is an answer: a step that failed, an answer that broke off."""
    failed = [f"{step.name}: {step.detail}" for step in answer.steps if step.status == "failed"]
    return "; ".join(failed) or ("" if answer.status == "complete" else f"the answer is {answer.status}")


def _memory_until(end: float) -> Iterator[float]:
    """A sample now, the others until the end."""
    yield memory_mb()
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(SAMPLE_EVERY_S, left))
        yield memory_mb()


def memory_mb() -> float:
    """Resident memory of this process now, 10^6 bytes."""
    pages = int(STATM.read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
