"""Play long conversations through the chat and ask about them: what is recalled and answered?"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from evals.conversations import Asked, Conversation
from evals.indexing import progress
from evals.metrics import mean, percentile, recall_at
from evals.playing import PlayedAthena, Reply, has_span, has_terms, playing
from pipeline.answer import Answer

if TYPE_CHECKING:
    from athena import Athena
    from evals.indexing import Bars

PAUSE_S = 30.0  # between turns that have the same date
DAY_S = 86_400.0  # between the last turn and the questions

Figures = dict[str, float | None]
Ids = dict[str, str]  # id of the data set's turn, by the id of the stored turn


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Output of `athena eval memory --json` for conversations; every share is 0..1, None without data."""

    conversations: int
    turns: int
    questions: int
    left_out: int  # questions whose evidence is missing
    never_said: int
    chat: Mapping[str, Any]  # the shares of all questions, and `by_category`
    ms_per_question: Mapping[str, float]
    ms_per_turn: float  # to store and remember one turn


@dataclass(frozen=True, slots=True)
class Heard:
    """One question with its answer, the ids of the recalled turns (best first) and milliseconds."""

    asked: Asked
    ranking: tuple[str, ...]
    reply: Reply
    ms: float

    @property
    def answered(self) -> bool:
        """Whether the memory answers with the gold answer, word for word or with most of its terms."""
        if self.reply.answer.mode != "memory":  # a number in a manual proves no memory
            return False
        text, gold = self.reply.text, self.asked.answer
        return has_span(text, gold) or has_terms(text, gold)


def evaluate_conversations(
    live: Athena, conversations: Sequence[Conversation], *, report: Bars | None = None
) -> MemoryReport:
    """Store each conversation as one user's chat, ask its questions, and return the shares."""
    heard: list[Heard] = []
    times: list[float] = []
    with playing(live) as athena:
        for number, held in enumerate(progress(conversations, report, "Talking"), start=1):
            user = f"{number} {held.name}"
            ids = _store(athena, held, user=user, times=times)
            heard += [_ask(athena, asked, user=user, ids=ids) for asked in held.asked]
    asked_ms = [item.ms for item in heard]
    categories = sorted({item.asked.category for item in heard})
    rows = {name: [item for item in heard if item.asked.category == name] for name in categories}
    return MemoryReport(
        conversations=len(conversations),
        turns=sum(len(held.turns) for held in conversations),
        questions=len(heard),
        left_out=sum(held.left_out for held in conversations),
        never_said=sum(item.asked.never_said for item in heard),
        chat={**_figures(heard), "by_category": {name: _figures(row) for name, row in rows.items()}},
        ms_per_question={"p50": percentile(asked_ms, 0.5), "p95": percentile(asked_ms, 0.95)},
        ms_per_turn=mean(times),
    )


def _store(athena: PlayedAthena, held: Conversation, *, user: str, times: list[float]) -> Ids:
    """Store and remember all turns as the chat does after an answer, each at its own time."""
    ids: Ids = {}
    for _, turns in groupby(held.turns, key=lambda turn: turn.session):
        conversation = athena.conversations.create(user=user).info.id
        memory = athena.chat(user=user, conversation_id=conversation).parts.memory
        for turn in turns:
            athena.at = max(turn.at or 0.0, athena.at + PAUSE_S) if ids else turn.at or 0.0
            started = time.perf_counter()
            text = f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
            answer = Answer(text, text, "", "quote", "", abstained=False)
            turn_id = athena.conversations.save_turn(conversation, answer)
            if memory is not None:
                stored = athena.conversations.turn(turn_id).answer
                memory.remember(stored, ())
                athena.finish()
            times.append((time.perf_counter() - started) * 1000)
            ids[turn_id] = turn.id
    athena.at += DAY_S
    return ids


def _ask(athena: PlayedAthena, asked: Asked, *, user: str, ids: Ids) -> Heard:
    started = time.perf_counter()
    reply = athena.reply_to(asked.question, user=user)
    ms = (time.perf_counter() - started) * 1000
    recalled = [item["memory_id"] for item in reply.recall.get("turns", ())]
    return Heard(asked, tuple(ids[turn] for turn in recalled if turn in ids), reply, ms)


def _figures(heard: Sequence[Heard]) -> Figures:
    """The number of questions, and each share over the questions that it applies to."""
    to_find = [item for item in heard if not item.asked.never_said]
    to_answer = [item for item in to_find if item.asked.answer]
    never_said = [item for item in heard if item.asked.never_said]

    def over(items: Sequence[Heard], value: Callable[[Heard], float]) -> float | None:
        return mean([float(value(item)) for item in items]) if items else None

    return {
        "questions": len(heard),
        "R@5": over(to_find, lambda item: recall_at(item.ranking, item.asked.evidence, 5)),
        "hit@10": over(to_find, lambda item: bool(set(item.ranking[:10]) & set(item.asked.evidence))),
        "answered": over(to_answer, lambda item: item.answered),
        "left_alone": over(never_said, lambda item: item.reply.left_alone),
    }
