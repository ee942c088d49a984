"""The memories that are recalled for a message, and how stored texts refer to memories.

A recalled memory is not evidence: it is in the prompt, but no citation or verdict is based on it. A stored
text has `[memory ID]` in place of a memory's text, so that a forgotten memory also disappears from it.
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
LEADS = 0.45  # probability from which the memory answers, not the documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """One recalled memory, turn, relation or entity; its scores are 0 if it was not found by a search."""

    id: str
    text: str
    score: float = 0.0
    recency: float = 0.0
    relevance: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """All memories recalled for one message, and the memory's own answer to it."""

    preset: str = ""
    static: tuple[Recalled, ...] = ()  # memories from the persona
    memories: tuple[Recalled, ...] = ()  # best first
    graph: tuple[Recalled, ...] = ()  # relations and entities
    turns: tuple[Recalled, ...] = ()  # earlier messages, best first
    told: str = ""  # the memory's own answer, with ids for memories and turns; "" = none
    told_ids: tuple[str, ...] = ()
    verdict: MemoryVerdict | None = None
    probability: float = 0.0  # that earlier messages answer the message
    asks: bool = True  # the message is a question
    noted: str = ""  # fixed reply to a statement about the user or a message with a secret
    personal: bool = False  # the message is about the user or another speaker
    exchange: bool = False  # the prompt introduces memories by "Just so you know …"
    considered: int = 0  # how many memories were searched
    detail: str = ""  # why nothing is recalled
    left: str = ""  # summary of the messages that the prompt has no room for, at most 50 words

    @property
    def all(self) -> tuple[Recalled, ...]:
        """All recalled items, in the order of the prompt."""
        return (*self.static, *self.graph, *self.memories, *self.turns)

    def shown(self, verdict: Verdict | None) -> tuple[str, ...]:
        """Return the ids of memories and turns that the page lists under an answer.

        The ids of the memory's own answer are included if the memory is sure, or if it and the documents
        (`verdict`) are both only "closest" and the question is about the user.
        """
        is_near = self.verdict == verdict == "closest" and self.personal and self.asks
        told = self.told_ids if self.verdict == "remembered" or is_near else ()
        return tuple(dict.fromkeys((*(item.id for item in self.memories), *told)))

    def leads(self, documents: Answerability) -> bool:
        """Return whether the memory answers, not the documents."""
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
    """The memory's reply to a request; `text` has `[memory ID]` in place of memories."""

    text: str
    recalled: tuple[str, ...] = ()
    step: Step


def recalled_data(found: Recollection) -> dict[str, Any]:
    """Return the data of the "recall" step: memories and turns by id, never their texts."""
    return {
        "preset": found.preset,
        "considered": found.considered,
        "recalled": [{"memory_id": item.id, "relevance": item.relevance} for item in found.memories],
        "turns": [{"memory_id": item.id, "relevance": item.relevance} for item in found.turns],
        "verdict": found.verdict,
        "probability": found.probability,
    }


def looked_up(answer: Answer) -> bool:
    """Return whether the memory was searched for an answer; it is not for requests and small talk."""
    return any(step.name == "recall" for step in answer.steps)


def named(memory_id: str) -> str:
    """Return the reference to a memory for stored texts: `[memory ID]`."""
    return f"[memory {memory_id}]"


def memories_named(text: str) -> tuple[str, ...]:
    """Return the ids of the memories that a stored text refers to, each once, in order."""
    return tuple(dict.fromkeys(NAMED.findall(text)))


def filled_in(text: str, texts: Mapping[str, str]) -> str:
    """Return a stored text with its references replaced by the memories' texts, or by "(forgotten)"."""
    return NAMED.sub(lambda found: texts.get(found[1], FORGOTTEN), text)
