"""What a memory brings to mind for a message, and how it is named in what is stored.

Nothing recalled is evidence: it goes into the prompt as memory, and no citation, verification or verdict
rests on it. What is stored of a turn names memories as `[memory ID]`, so that forgetting one reaches it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.steps.records import RememberStep

if TYPE_CHECKING:
    from pipeline.answer import Answer

NAMED = re.compile(r"\[memory ([0-9A-Za-z-]+)\]")
FORGOTTEN = "(forgotten)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """One memory as it is recalled; scores are 0 where it came without being asked for."""

    id: str
    text: str
    score: float = 0.0
    recency: float = 0.0
    importance: float | None = None
    relevance: float = 0.0
    disputed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recollection:
    """What comes to mind for a message: who answers, what belongs to it, and whom or what it names."""

    preset: str = ""
    static: tuple[Recalled, ...] = ()
    memories: tuple[Recalled, ...] = ()  # best first
    graph: tuple[Recalled, ...] = ()  # relations and entities, by their ids
    exchange: bool = False  # to be slipped into the history, each as a short exchange
    considered: int = 0
    threshold: float = 0.0
    tokens: int = 0
    detail: str = ""  # why there is nothing
    left: str = ""  # of the conversation: what had to leave the prompt, in at most 50 words

    @property
    def all(self) -> tuple[Recalled, ...]:
        """All of it, in the order of the prompt."""
        return (*self.static, *self.graph, *self.memories)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReply:
    """What the memory itself answers to a message about it; `text` names memories by `[memory ID]`."""

    text: str
    recalled: tuple[str, ...] = ()
    step: RememberStep


def nothing_left(answer: Answer) -> bool:
    """Whether nothing is to be remembered of an answer, as its steps say: nobody need look at it again."""
    planned = [step for step in answer.steps if isinstance(step, RememberStep)]
    return not answer.recalled and bool(planned) and all(step.status == "skipped" for step in planned)


def named(memory_id: str) -> str:
    """A memory as stored texts name it."""
    return f"[memory {memory_id}]"


def memories_named(text: str) -> tuple[str, ...]:
    """The ids of the memories that a stored text names, each once."""
    return tuple(dict.fromkeys(NAMED.findall(text)))


def filled_in(text: str, texts: Mapping[str, str]) -> str:
    """A stored text with what the named memories say."""
    return NAMED.sub(lambda found: texts.get(found[1], FORGOTTEN), text)
