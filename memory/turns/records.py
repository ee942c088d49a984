"""What is searched and what is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing that was said: by a person (`user`; several have names) or by an assistant."""

    id: str
    session: str  # the sitting that it belongs to: neighbours are looked for in there
    text: str
    speaker: str = ""  # a name, if the conversation has names
    role: Role = "user"
    at: float | None = None  # seconds since the epoch


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """A turn with its score for a question: higher is better, comparable within one search only."""

    turn: Turn
    score: float
