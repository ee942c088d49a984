"""The memories that are recalled for a message, and how stored texts name memories.

A recalled memory is no evidence: it goes into the prompt as memory, and no citation or verdict rests on it. A
stored text names a memory as `[memory ID]`, so that forgetting the memory reaches the text.
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
LEADS = 0.45  # probability from which the memory answers rather than the documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """One recalled memory, turn, relation or entity; scores are 0 where it was not searched for."""

    id: str
    text: str
    score: float = 0.0
    recency: float = 0.0
    relevance: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """Everything that is recalled for one message, and the memory's own answer to it."""

    preset: str = ""
    static: tuple[Recalled, ...] = ()  # the persona's
    memories: tuple[Recalled, ...] = ()  # best first
    graph: tuple[Recalled, ...] = ()  # relations and entities
    turns: tuple[Recalled, ...] = ()  # earlier messages, best first
    told: str = ""  # the memory's answer, which names memories and turns by id; "" = none
    told_ids: tuple[str, ...] = ()
    verdict: MemoryVerdict | None = None
    probability: float = 0.0  # that earlier messages answer the message
    asks: bool = True  # the message is a question
    noted: str = ""  # the reply to a message that says something about the user, or has a secret
    personal: bool = False  # the message is about the user, or somebody who speaks
    exchange: bool = False  # memories go in as "Just so you know …"
    considered: int = 0  # memories that were searched
    detail: str = ""  # why nothing is recalled
    left: str = ""  # summary of the messages that the prompt has no room for, at most 50 words

    @property
    def all(self) -> tuple[Recalled, ...]:
        """Return all of it in the order of the prompt."""
        return (*self.static, *self.graph, *self.memories, *self.turns)

    def shown(self, verdict: Verdict | None) -> tuple[str, ...]:
        """Return the ids of memories and turns that the page lists under an answer.

        Those of the memory's own answer are among them if the memory is sure, or if both it and the documents
        (`verdict`) are only close and the question is about the user.
        """
        is_near = self.verdict == verdict == "closest" and self.personal and self.asks
        told = self.told_ids if self.verdict == "remembered" or is_near else ()
        return tuple(dict.fromkeys((*(item.id for item in self.memories), *told)))

    def leads(self, documents: Answerability) -> bool:
        """Tell whether the memory answers rather than the documents."""
        if not (self.asks and self.told):
            return False
        lack_a_word = documents.signals.get("coverage", 1.0) < 1
        surely_ours = self.personal and self.verdict == "remembered"
        if (surely_ours and (lack_a_word or documents.verdict == "closest")) or not documents.answerable:
            return True
        # A logistic, fitted at commit d5836ab4: the probability that the memory answers and no document.
        nearest = documents.signals.get("closeness", 0.0)
        total = 1.14 + 6.11 * self.probability - 13.04 * nearest + 1.28 * self.personal
        return 1 / (1 + math.exp(-total)) >= LEADS


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReply:
    """The memory's reply to a request; `text` names memories by `[memory ID]`."""

    text: str
    recalled: tuple[str, ...] = ()
    step: Step


def recalled_data(found: Recollection) -> dict[str, Any]:
    """Return the data of the "recall" step: memories and turns by id, never by text."""
    return {
        "preset": found.preset,
        "considered": found.considered,
        "recalled": [{"memory_id": item.id, "relevance": item.relevance} for item in found.memories],
        "turns": [{"memory_id": item.id, "relevance": item.relevance} for item in found.turns],
        "verdict": found.verdict,
        "probability": found.probability,
    }


def looked_up(answer: Answer) -> bool:
    """Tell whether memories were recalled for an answer: not for requests and small talk."""
    return any(step.name == "recall" for step in answer.steps)


def named(memory_id: str) -> str:
    """Return the name of a memory in stored texts."""
    return f"[memory {memory_id}]"


def memories_named(text: str) -> tuple[str, ...]:
    """Return the ids of the memories that a stored text names, each once."""
    return tuple(dict.fromkeys(NAMED.findall(text)))


def filled_in(text: str, texts: Mapping[str, str]) -> str:
    """Return a stored text with the texts of the memories that it names."""
    return NAMED.sub(lambda found: texts.get(found[1], FORGOTTEN), text)
