"""What a memory brings to mind for a message, and how it is named in what is stored.

Nothing recalled is evidence: it goes into the prompt as memory, and no citation, verification or verdict
rests on it. What is stored of a turn names memories as `[memory ID]`, so that forgetting one reaches it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.steps.records import Step

if TYPE_CHECKING:
    from pipeline.answer import Answer, Answerability, Verdict
    from pipeline.steps.records import MemoryVerdict

NAMED = re.compile(r"\[memory ([0-9A-Za-z-]+)\]")
FORGOTTEN = "(forgotten)"
BLOCK = "█"  # stands for each character that was overwritten
LEADS = 0.45
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """One memory as it is recalled; scores are 0 where it came without being asked for."""

    id: str
    text: str
    score: float = 0.0
    recency: float = 0.0
    importance: float | None = None
    relevance: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """What comes to mind for a message: who answers, what belongs to it, and whom or what it names."""

    preset: str = ""
    static: tuple[Recalled, ...] = ()
    memories: tuple[Recalled, ...] = ()  # best first
    graph: tuple[Recalled, ...] = ()  # relations and entities, by their ids
    related: tuple[str, ...] = ()  # the ids of those in the graph that are about what the message names
    turns: tuple[Recalled, ...] = ()  # what was said and answered before, best first
    told: str = ""  # what the memory answers, if it does; names what it tells by id
    told_ids: tuple[str, ...] = ()
    verdict: MemoryVerdict | None = None
    probability: float = 0.0  # that the message is answered by what was said
    asks: bool = True
    noted: bool = False  # the message states something of the user, and is found again
    stated: bool = False  # what it states is read as a fact of theirs: no document knows it
    personal: bool = False  # about the user, or whom they spoke of
    asked: bool = False  # what is told was asked once: documents that answer know more than who asks
    exchange: bool = False  # to be slipped into the history, each as a short exchange
    considered: int = 0
    threshold: float = 0.0
    tokens: int = 0
    detail: str = ""  # why there is nothing
    left: str = ""  # of the conversation: what had to leave the prompt, in at most 50 words

    @property
    def all(self) -> tuple[Recalled, ...]:
        """All of it, in the order of the prompt."""
        return (*self.static, *self.graph, *self.memories, *self.turns)

    @property
    def fits(self) -> bool:
        """Whether a model that is told it may answer from it, also where no document does."""
        return self.asks and bool(self.memories or self.told)

    def shown(self, verdict: Verdict | None) -> tuple[str, ...]:
        """The ids of what is shown under an answer: the memories, and what was said where that answers.

        Where neither documents nor memory are sure, by the documents' `verdict`, the closest is, too, if the
        question is about the user.
        """
        is_near = self.verdict == verdict == "closest" and self.personal and self.asks
        told = self.verdict == "remembered" or is_near
        return tuple(dict.fromkeys((*(item.id for item in self.memories), *(self.told_ids if told else ()))))

    def leads(self, documents: Answerability) -> bool:
        """Whether the memory answers, rather than the documents."""
        if not (self.asks and self.told):
            return False
        lack_a_word = documents.signals.get("coverage", 1.0) < 1
        surely_ours = self.personal and self.verdict == "remembered"
        if (surely_ours and (lack_a_word or documents.verdict == "closest")) or not documents.answerable:
            return True
        asked_once = self.asked and documents.verdict == "answered"  # they know more than who asks
        return not asked_once and self.answers_rather_than(documents) >= LEADS

    def answers_rather_than(self, documents: Answerability) -> float:
        """How probably what was said answers, and no document: fitted by `evals.calibration.leading`."""
        nearest = documents.signals.get("closeness", 0.0)
        total = 1.14 + 6.11 * self.probability - 13.04 * nearest + 1.28 * self.personal
        return 1 / (1 + math.exp(-total))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReply:
    """What the memory itself answers to a message about it; `text` names memories by `[memory ID]`."""

    text: str
    recalled: tuple[str, ...] = ()
    step: Step


def recalled_data(found: Recollection) -> dict[str, Any]:
    """Return the data of the "recall" step: memories and turns by id, never by text."""
    return {
        "preset": found.preset,
        "threshold": found.threshold,  # of relevance
        "considered": found.considered,
        "static": [item.id for item in found.static],
        "recalled": [_scored(item) for item in found.memories],  # best first
        "graph": [item.id for item in found.graph],  # relations and entities
        "turns": [_scored(item) for item in found.turns],
        "verdict": found.verdict,
        "probability": found.probability,
    }


def _scored(item: Recalled) -> dict[str, Any]:
    return {
        "memory_id": item.id,
        "score": item.score,
        "recency": item.recency,
        "importance": item.importance,
        "relevance": item.relevance,
    }


def nothing_left(answer: Answer) -> bool:
    """Whether nothing is to be remembered of an answer, as its steps say: nobody need look at it again."""
    planned = [step for step in answer.steps if step.name == "remember"]
    return not answer.recalled and bool(planned) and all(step.status == "skipped" for step in planned)


def looked_up(answer: Answer) -> bool:
    """Whether it was looked up what is remembered: requests to the memory and small talk go without."""
    return any(step.name == "recall" for step in answer.steps)


def named(memory_id: str) -> str:
    """A memory as stored texts name it."""
    return f"[memory {memory_id}]"


def memories_named(text: str) -> tuple[str, ...]:
    """The ids of the memories that a stored text names, each once."""
    return tuple(dict.fromkeys(NAMED.findall(text)))


def filled_in(text: str, texts: Mapping[str, str]) -> str:
    """A stored text with what the named memories say."""
    return NAMED.sub(lambda found: texts.get(found[1], FORGOTTEN), text)


def left_of(text: str) -> str:
    """What of a text may be told again: all of it, or the sentences in which nothing was overwritten."""
    if BLOCK not in text:
        return text
    return " ".join(sentence for sentence in _SENTENCE.split(text) if BLOCK not in sentence)
