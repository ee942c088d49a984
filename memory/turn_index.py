"""An in-process index of one user's turns: by word, by vector, and by their place in the conversation."""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from memory.questions import corrects, only_asks
from memory.texts import Texts
from memory.times import date_words
from pipeline.analysis import analyse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memory.texts import Scores

    Numbers: TypeAlias = NDArray[np.intp]

Role = Literal["user", "assistant"]

ANSWER = "-answer"  # suffix of the id of the assistant's answer in a turn
NONE = -1  # the number of a turn that does not exist
NEXT = 3  # following turns that are searched for a correction

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a person (role `user`, perhaps with a speaker's name) or of the assistant."""

    id: str
    session: str  # the conversation: neighbours are looked for within it
    text: str
    speaker: str = ""  # the name that the message begins with ("Ann: …"), if any
    role: Role = "user"
    at: float | None = None  # seconds since the epoch


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn with the vector, of unit length, of its `stated_in` text."""

    turn: Turn
    vector: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """A turn with its score for a question: higher is better, comparable within one search only."""

    turn: Turn
    score: float
    similarity: float = 0.0  # cosine of turn and question


@dataclass(frozen=True, slots=True)
class Layout:
    """Metadata of the turns as arrays of shape (turns,), and the numbers of the speakers by name."""

    names: Mapping[str, int]
    before: Numbers  # number of the turn before in the session; `NONE` for the first
    sessions: Numbers  # the session's number, from 0
    speakers: Numbers  # the speaker's number in `names`
    asking: Scores  # 1 for a user's turn that only asks, else 0
    own: Scores  # 1 for a person's turn, 0 for the assistant's
    times: NDArray[np.float64]  # seconds since the epoch; 0 where unknown


class TurnIndex:
    """Turns in the order in which they were added. Not safe for several threads at once."""

    def __init__(self, said: Sequence[Spoken] = ()) -> None:
        self.texts = Texts()
        self.turns: list[Turn] = []
        self.numbers: dict[str, int] = {}  # by id
        self.names: dict[str, int] = {}
        self._last: dict[str, tuple[int, int]] = {}  # by session: its number, and that of its last turn
        self._columns: list[array[Any]] = [array(code) for code in "qqqffd"]  # arrays of `layout`
        self.add(said)

    def __len__(self) -> int:
        return len(self.turns)

    def add(self, said: Sequence[Spoken]) -> None:
        """Add turns; each follows the turns of its session that are already in the index."""
        for spoken in said:
            turn = spoken.turn
            session, before = self._last.get(turn.session, (len(self._last), NONE))
            self._last[turn.session] = session, len(self.turns)
            row = (
                before,
                session,
                self.names.setdefault(turn.speaker, len(self.names)),
                turn.role == "user" and only_asks(turn.text),
                turn.role == "user",
                turn.at or 0.0,
            )
            for column, value in zip(self._columns, row, strict=True):
                column.append(value)
            day = date_words(turn.at)
            self.texts.add(analyse(f"{stated_in(turn.text)} {day}"), spoken.vector)
            self.numbers[turn.id] = len(self.turns)
            self.turns.append(turn)

    @property
    def layout(self) -> Layout:
        """Return the metadata of the turns as arrays."""
        return Layout(self.names, *map(np.array, self._columns))

    def correction_of(self, number: int) -> int:
        """Return the number of the speaker's next message, if it only corrects this turn; else `NONE`."""
        turn = self.turns[number]
        for at, after in enumerate(self.turns[number + 1 : number + 1 + NEXT], start=number + 1):
            if (after.session, after.speaker, after.role) == (turn.session, turn.speaker, "user"):
                return at if corrects(after.text) else NONE
        return NONE

    def found(self, number: int, score: float, similarity: float) -> FoundTurn:
        """Return a turn, by its number, with its score and its cosine with the question."""
        return FoundTurn(self.turns[number], float(score), float(similarity))

    def coverage(self, number: int, terms: Collection[str]) -> float:
        """Return the share of the terms, weighted by rarity, in a turn and its neighbours: 0 to 1."""
        before = np.array(self._columns[0])
        beside = {number, int(before[number]), *np.flatnonzero(before == number).tolist()} - {NONE}
        there = frozenset[str]().union(*(self.texts.terms[one] for one in beside))
        weights = {term: self.texts.rarity(term) for term in terms}
        total = sum(weights.values())
        return sum(weight for term, weight in weights.items() if term in there) / total if total else 0.0


def stated_in(text: str) -> str:
    """Return the sentences of a turn that are not questions; all sentences if they all are."""
    sentences = [sentence.strip() for sentence in _SENTENCE.split(text)]
    return " ".join([sentence for sentence in sentences if not sentence.endswith("?")] or sentences)
