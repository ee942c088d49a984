"""Talks with the product, step by step: what it answers later, and which statements it keeps.

`evals/data/README.md` describes the format and the counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from evals.conversations import seconds
from evals.datasets import read_json
from evals.indexing import Bars, progress
from evals.playing import PlayedAthena, Reply, playing
from pipeline.errors import DatasetError

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.stores.memories import Memory

ASKED, KEPT = "inject", "agent"  # memory presets: for the answers, and for the kept statements
NO_FACTS = ("qa", "summary")  # kinds of memories
SHOWN = 300  # characters of an answer in a list of failures

Words = list[str]


class Step(BaseModel):
    """One step of a talk at a time: a message (`say`), a question, or statements to look for."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    at: str
    say: str = ""
    session: int | None = None
    ask: str = ""
    any: list[Words] = []
    lacks: Words = []
    needs: Literal["", "turn", "session", "correction"] = ""
    source: str = ""
    reference: str = ""
    never_said: bool = False
    unrelated: str = ""
    live: list[Words] = []
    never: list[Words] = []
    true: list[Words] = []


class Talk(BaseModel):
    """All steps of one user."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    kind: Literal["hurried", "sessions", "unrelated"]
    steps: list[Step]


_TALKS = TypeAdapter(list[Talk])


@dataclass(frozen=True, slots=True)
class Judged:
    """One check: whether it counts for its metric, and a line that says what went wrong ("" = right)."""

    kind: str
    metric: str
    counts: bool
    failed: str = ""


@dataclass(frozen=True, slots=True)
class TalksReport:
    """Output of `athena eval memory --json` for talks: kind → metric → `count` and `of`."""

    talks: dict[str, dict[str, dict[str, int]]]
    failures: tuple[str, ...] = ()


def load_talks(path: Path) -> list[Talk]:
    """Return the talks of a file or of a folder's files, [] if they hold something else.

    Raises `DatasetError` for a talk in a wrong format.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path] if path.is_file() else []
    found = []
    for file in files:
        held = read_json(file)
        if isinstance(held, dict) and "talks" in held:
            try:
                found += _TALKS.validate_python(held["talks"])
            except ValidationError as error:
                fix = "evals/data/README.md has the format."
                raise DatasetError(f"'{file}' has a bad talk: {error.errors()[0]['msg']}.", fix) from error
    return found


def evaluate_talks(
    live: Athena, talks: Sequence[Talk], *, failures: bool = False, report: Bars | None = None
) -> TalksReport:
    """Play all talks twice: once for the answers, once for the statements that are kept unasked."""
    judged: list[Judged] = []
    for preset, judge in ((ASKED, _answered), (KEPT, _believed)):
        with playing(live, memory=preset) as athena:
            for talk in progress(talks, report, f"Talking ({preset})"):
                judged += played(athena, talk, judge)
    shares: dict[str, dict[str, dict[str, int]]] = {}
    for item in judged:
        share = shares.setdefault(item.kind, {}).setdefault(item.metric, {"count": 0, "of": 0})
        share["count"] += item.counts
        share["of"] += 1
    return TalksReport(shares, tuple(item.failed for item in judged if item.failed and failures))


Seen = TypeVar("Seen")
Judge = Callable[[PlayedAthena, Talk, Step, str], Iterator[Seen]]  # the string: id of the conversation


def played(athena: PlayedAthena, talk: Talk, judge: Judge[Seen]) -> Iterator[Seen]:
    """Play a talk and yield what the judge returns for every step that is no message."""
    conversation = ""
    for step in talk.steps:
        athena.at = seconds(step.at) or athena.at
        if step.say:
            conversation = "" if step.session else conversation
            answer = athena.say(step.say, user=talk.name, conversation_id=conversation or None)
            conversation = answer.conversation_id
        else:
            yield from judge(athena, talk, step, conversation)


# -- answers -----------------------------------------------------------------------------------------


def _answered(athena: PlayedAthena, talk: Talk, step: Step, conversation: str) -> Iterator[Judged]:
    if not (question := step.ask or step.unrelated):
        return
    inside = conversation if step.needs == "turn" else None
    reply = athena.reply_to(question, user=talk.name, conversation_id=inside)
    came = (
        f"{talk.name}: {question} → [{reply.answer.mode}, {reply.recall.get('verdict')}] {reply.text[:SHOWN]}"
    )
    if step.unrelated:
        yield _judged(talk, "unrelated_recalled", reply.recalls, came, wanted=False)
    elif step.never_said:
        yield _judged(talk, "never_said_left_alone", reply.left_alone, came)
    else:
        metric = f"answered_right_{step.needs}" if step.needs else "answered_right"
        yield _judged(talk, metric, is_right(reply, step), came)


def is_right(reply: Reply, step: Step) -> bool:
    """Whether the reply has all words of a list of `any` before any word of `lacks`.

    A line with both is right: a message about a change names the old and the new value. With a `source`,
    the documents must answer and cite it; else the memory must answer.
    """
    if step.source:
        if not any(citation.source == step.source for citation in reply.answer.citations):
            return False
    elif reply.answer.mode != "memory":
        return False

    def tells(text: str) -> bool:
        return any(has_words(text, words) for words in step.any)

    def is_wrong(text: str) -> bool:
        return any(has_words(text, [word]) for word in step.lacks)

    lines = reply.text.splitlines()
    first = next((line for line in lines if tells(line) or is_wrong(line)), reply.text)
    return tells(first)


# -- statements --------------------------------------------------------------------------------------


def _believed(athena: PlayedAthena, talk: Talk, step: Step, _conversation: str) -> Iterator[Judged]:
    memory = athena.memory_of(talk.name)
    live, ever = _facts(memory.list()), _facts(memory.list(history=True))
    where = f"{talk.name}, {step.at}:"
    for words in step.live:
        yield _judged(talk, "kept", _any(ever, words), f"{where} {words}")
    for words in step.never:
        yield _judged(talk, "never_kept_violations", _any(live, words), f"{where} {words}", wanted=False)
    for text in live if step.true else ():
        is_false = not any(has_words(text, words) for words in step.true)
        yield _judged(talk, "false_live", is_false, f"{where} {text}", wanted=False)


def _facts(memories: Sequence[Memory]) -> list[str]:
    """Return the texts of the memories that state what the user said."""
    return [item.text for item in memories if item.origin == "user" and item.kind not in NO_FACTS]


def _any(texts: Sequence[str], words: Words) -> bool:
    return any(has_words(text, words) for text in texts)


def _judged(talk: Talk, metric: str, counts: bool, came: str, *, wanted: bool = True) -> Judged:
    return Judged(talk.kind, metric, counts, "" if counts is wanted else f"{metric}: {came}")


# -- words --------------------------------------------------------------------------------------------


def has_words(text: str, words: Sequence[str]) -> bool:
    """Whether a text has all words, and none of the words that begin with a minus."""
    return all(
        _pattern(word.removeprefix("-")).search(text) is None
        if word.startswith("-")
        else _pattern(word).search(text) is not None
        for word in words
    )


@cache
def _pattern(word: str) -> re.Pattern[str]:
    """Match a whole word in any case; a star at its end matches any ending."""
    rest = r"\w*" if word.endswith("*") else ""
    return re.compile(rf"(?<!\w){re.escape(word.removesuffix('*'))}{rest}(?!\w)", re.IGNORECASE)
