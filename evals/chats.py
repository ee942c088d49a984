"""Long conversations played through the chat: is what answers a question recalled, and is it answered?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from evals.conversations import Asked, Conversation
from evals.metrics import mean, percentile, recall_at
from evals.playing import PlayedAthena, Reply, has_span, has_terms, playing
from pipeline.answer import Answer
from pipeline.answering.turns import FinishedTurn

if TYPE_CHECKING:
    from athena import Athena
    from evals.indexing import Report
    from memory.turn_index import Turn

PAUSE_S = 30.0  # between turns that have one date
DAY_S = 86_400.0  # from the last turn to the questions

Figures = dict[str, float | None]
Ids = dict[str, tuple[str, ...]]  # of the turns of the data, by the id that a recall names


@dataclass(frozen=True, slots=True)
class Heard:
    """One question, what was recalled and answered, and how long that took."""

    asked: Asked
    ranking: tuple[str, ...]  # the data's ids of the recalled turns, best first
    reply: Reply
    ms: float

    @property
    def held(self) -> tuple[bool, bool]:
        """Whether the memory's answer has the gold: as a span, and most of its content terms."""
        if self.reply.answer.mode != "memory":  # a manual that has the same number answers nothing
            return False, False
        text, gold = self.reply.text, self.asked.gold
        return has_span(text, gold), has_terms(text, gold)


def play(
    live: Athena, conversations: Sequence[Conversation], *, report: Report | None = None
) -> tuple[dict[str, object], Figures]:
    """The `chat` and the `made` of a report; every conversation is a user's of its own."""
    heard: list[Heard] = []
    times: list[float] = []
    with playing(live) as athena:
        before, made = athena.bytes(), 0
        for number, held in enumerate(conversations, start=1):
            user = f"{number} {held.name}"
            ids = _store(athena, held, user=user, times=times)
            heard += [_ask(athena, asked, user=user, ids=ids) for asked in held.asked]
            made += len(athena.memory_of(user).index.memories)
            if report:
                report(number, len(conversations))
        grown = athena.bytes() - before
    asked_ms = [item.ms for item in heard]
    categories = sorted({item.asked.category for item in heard})
    chat: dict[str, object] = {
        **_figures(heard),
        "by_category": {
            name: {"questions": len(chosen), **_figures(chosen)}
            for name in categories
            if (chosen := [item for item in heard if item.asked.category == name])
        },
        "ms_per_question": {"p50": percentile(asked_ms, 0.5), "p95": percentile(asked_ms, 0.95)},
    }
    return chat, {
        "memories": made,
        "ms_per_turn": mean(times),
        "bytes_per_turn": round(grown / len(times)) if times else None,
    }


def _store(athena: PlayedAthena, held: Conversation, *, user: str, times: list[float]) -> Ids:
    """Store all turns as the chat does after an answer, each at its time."""
    ids: Ids = {}
    for _, turns in groupby(held.turns, key=lambda turn: turn.session):
        conversation = athena.conversations.create(user=user).info.id
        for question, answers in _exchanges(list(turns)):
            athena.at = max(question.at or 0.0, athena.at + PAUSE_S) if ids else question.at or 0.0
            started = time.perf_counter()
            turn_id = _keep(athena, question, answers, conversation=conversation, user=user)
            times.append((time.perf_counter() - started) * 1000)
            ids[turn_id] = (question.id,)
            ids[f"{turn_id}-answer"] = tuple(turn.id for turn in answers)
    athena.at += DAY_S
    return ids


def _exchanges(turns: Sequence[Turn]) -> list[tuple[Turn, list[Turn]]]:
    """Each turn of a user's with what the assistant said after it; what opens a conversation has none."""
    found: list[tuple[Turn, list[Turn]]] = []
    for turn in turns:
        if found and turn.role == "assistant":
            found[-1][1].append(turn)
        else:
            found.append((turn, []))
    return found


def _keep(athena: PlayedAthena, said: Turn, answers: Sequence[Turn], *, conversation: str, user: str) -> str:
    """Store one turn, and remember it; a speaker's name stands before the text."""
    text = f"{said.speaker}: {said.text}" if said.speaker else said.text
    answer = Answer(
        question=text,
        condensed_question=text,
        text="\n\n".join(turn.text for turn in answers),
        mode="generate" if answers else "quote",
        model="",
        abstained=False,
    )
    turn_id = athena.conversations.save_turn(conversation, answer)
    memory = athena.chat(user=user, conversation_id=conversation).parts.memory
    if memory is not None:
        stored = athena.conversations.turn(turn_id).answer
        memory.remember(FinishedTurn(stored, (), (), "", "", athena.at, 0.0))
        athena.finish()
    return turn_id


def _ask(athena: PlayedAthena, asked: Asked, *, user: str, ids: Ids) -> Heard:
    started = time.perf_counter()
    reply = athena.reply_to(asked.question, user=user)
    ms = (time.perf_counter() - started) * 1000
    ranking = tuple(
        known for item in reply.recall.get("turns", ()) for known in ids.get(item["memory_id"], ())
    )
    return Heard(asked, ranking, reply, ms)


def _figures(heard: Sequence[Heard]) -> Figures:
    """Shares of the questions that each is about; None where there is none."""
    to_find = [item for item in heard if not item.asked.never_said]
    to_answer = [item for item in to_find if item.asked.gold]
    never_said = [item for item in heard if item.asked.never_said]

    def over(items: Sequence[Heard], value: Callable[[Heard], float]) -> float | None:
        return mean([float(value(item)) for item in items]) if items else None

    return {
        "R@5": over(to_find, lambda item: recall_at(item.ranking, item.asked.evidence, 5)),
        "hit@10": over(to_find, lambda item: bool(set(item.ranking[:10]) & set(item.asked.evidence))),
        "answered": over(to_answer, lambda item: any(item.held)),
        "span": over(to_answer, lambda item: item.held[0]),
        "tokens": over(to_answer, lambda item: item.held[1]),
        "left_alone": over(never_said, lambda item: item.reply.left_alone),
    }
