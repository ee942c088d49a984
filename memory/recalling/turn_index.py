"""The turns of one user, in the process: their pieces by word and by vector, and what stands beside what."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from memory.reading.asking import corrects, only_asks, only_keywords, only_names
from memory.recalling.texts import Texts
from pipeline.analysis import analyse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from memory.recalling.texts import Scores

    Numbers: TypeAlias = NDArray[np.intp]
    Vectors: TypeAlias = NDArray[np.float32]

Role = Literal["user", "assistant"]
SPEAKERS = ("assistant", "you")

NONE = -1  # the number of a turn that is not there
NEXT = 3  # turns that are looked through for what the same person said next


@dataclass(frozen=True, slots=True)
class Layout:
    """What is known of each turn beside its words: arrays of the shape (turns,)."""

    names: Mapping[str, int]
    before: Numbers  # the turn that was said before it in its session; `NONE` for the first
    sessions: Numbers  # the session's number, from 0
    speakers: Numbers  # the speaker's number in `names`
    asking: Scores  # the share of its words that stand in questions
    dated: Scores  # 1 for turns that say when, else 0
    own: Scores  # 1 for what people said, 0 for what the assistant did
    times: NDArray[np.float64]  # when it was said; 0 where that is not known


class TurnIndex:
    """Turns in the order in which they were added, which is the order of their sessions.

    Nothing is written to disk. Not for several threads at once.
    """

    def __init__(self, said: Sequence[Spoken] = ()) -> None:
        self.texts = Texts()
        self.turns: list[Turn] = []
        self.numbers: dict[str, int] = {}  # of the turns, by id
        self.names: dict[str, int] = {}
        self.words: Counter[str] = Counter()
        self._last: dict[str, tuple[int, int]] = {}  # by session: its number, and that of its last turn
        self._columns: list[array[Any]] = [array(code) for code in "qqqfffd"]  # the layout
        self.add(said)

    def __len__(self) -> int:
        return len(self.turns)

    def add(self, said: Sequence[Spoken]) -> None:
        """Take in turns that were said after those of their sessions that are in it."""
        for spoken in said:
            turn = spoken.turn
            session, before = self._last.get(turn.session, (len(self._last), NONE))
            self._last[turn.session] = session, len(self.turns)
            row = (
                before,
                session,
                self.names.setdefault(turn.speaker, len(self.names)),
                asking_in(turn),
                bool(_DATED.search(turn.text)),
                turn.role == "user",
                turn.at or 0.0,
            )
            for column, value in zip(self._columns, row, strict=True):
                column.append(value)
            self.words.update(_WORD.findall(turn.text.lower()))
            said_on = date_words(turn.at)
            self.texts.add([analyse(f"{text} {said_on}") for text in spoken.pieces], spoken.vectors)
            self.numbers[turn.id] = len(self.turns)
            self.turns.append(turn)

    @property
    def layout(self) -> Layout:
        """What stands beside what, and who said it."""
        return Layout(self.names, *map(np.array, self._columns))

    def vocabulary(self) -> Mapping[str, int]:
        """How often each word was said."""
        return self.words

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """Those of the terms that nobody said."""
        return frozenset(term for term in terms if term not in self.texts)

    def correction_of(self, number: int) -> Turn | None:
        """What the same person said next, where it only puts a turn right: "sorry, 35"."""
        turn = self.turns[number]
        for after in self.turns[number + 1 : number + 1 + NEXT]:
            if (after.session, after.speaker, after.role) == (turn.session, turn.speaker, "user"):
                return after if corrects(after.text) else None
        return None

    def nearest_piece(self, number: int, vector: Vectors) -> int | None:
        """Which piece of a turn is nearest to a vector; None where it is one piece."""
        rows = self.texts.vectors_of(number)
        return int(np.einsum("ij,j->i", rows, vector).argmax()) if len(rows) > 1 else None

    def coverage(self, number: int, terms: Sequence[str]) -> float:
        """How many of the terms a turn and those beside it have, by their rarity: 0 to 1."""
        before = np.array(self._columns[0])
        beside = {number, int(before[number]), *np.flatnonzero(before == number).tolist()} - {NONE}
        there = frozenset[str]().union(*map(self.texts.terms_of, beside))
        weights = {term: self.texts.rarity(term) for term in terms}
        total = sum(weights.values())
        return sum(weight for term, weight in weights.items() if term in there) / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Spoken:
    """A turn as it is indexed: its pieces, and their vectors of unit length, a row for each."""

    turn: Turn
    pieces: tuple[str, ...]
    vectors: Vectors


def asks_alone(turn: Turn) -> bool:
    """Whether a turn tells nothing: a question, or the few words that a user looks for ("C-112").

    Of several who speak with each other, few words are an answer.
    """
    if turn.role != "user" or not turn.text.strip():
        return False
    return only_asks(turn.text) or (not turn.speaker and (only_names(turn.text) or only_keywords(turn.text)))


def date_words(at: float | None) -> str:
    """A time as words that a question may have: "Monday 8 May 2023", local time; "" for none."""
    if at is None:
        return ""
    moment = datetime.fromtimestamp(at).astimezone()
    return f"{moment:%A} {moment.day} {moment:%B} {moment.year}"


PIECE_WORDS = 60
"""A turn up to this long is one piece. A small embedding model was trained on texts of this size."""

_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")

# Words that date what is said. Months and days are capitalised: "may" is no month.
_DATED = re.compile(
    r"\b(?i:yesterday|today|tonight|tomorrow|ago|since|last|next|(?:week|month|year)s?|weekends?|"
    r"this (?:morning|evening)|spring|summer|autumn|winter|\d{4}|\d{1,2}(?:st|nd|rd|th))\b"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Christmas|Easter)s?\b"
)


def asking_in(turn: Turn) -> float:
    """The share of a turn's words that stand in questions, 0 to 1."""
    if asks_alone(turn):
        return 1.0
    words = [(len(sentence.split()), _asks(sentence)) for sentence in _sentences(turn.text)]
    return sum(count for count, asked in words if asked) / max(1, sum(count for count, _ in words))


def cut(text: str) -> tuple[str, ...]:
    """Cut a turn into pieces of at most `PIECE_WORDS` words, between sentences where that is possible.

    At least one. A question is left out of a piece that says something, too: who asks something does not know
    it. A piece of nothing but questions stays, because the answer beside it is found by it.
    """
    groups: list[list[str]] = [[]]
    size = 0
    for part in (part for sentence in _sentences(text) for part in _parts(sentence)):
        count = len(part.split())
        if groups[-1] and size + count > PIECE_WORDS:
            groups.append([])
            size = 0
        groups[-1].append(part)
        size += count
    return tuple(map(_said, groups))


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]


def _parts(sentence: str) -> list[str]:
    """A sentence, or pieces of one that is too long to be one (code, tables, lists)."""
    words = sentence.split()
    if len(words) <= PIECE_WORDS:
        return [sentence.strip()]
    return [" ".join(words[start : start + PIECE_WORDS]) for start in range(0, len(words), PIECE_WORDS)]


def _said(sentences: list[str]) -> str:
    return " ".join([sentence for sentence in sentences if not _asks(sentence)] or sentences)


def _asks(sentence: str) -> bool:
    return sentence.rstrip().endswith("?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing that was said: by a person (`user`; several have names) or by an assistant."""

    id: str
    session: str  # the sitting that it belongs to: neighbours are looked for in there
    text: str
    speaker: str = ""  # a name, if the conversation has names
    role: Role = "user"
    at: float | None = None  # seconds since the epoch

    @property
    def who(self) -> str:
        """Who said it: "you", "assistant" or a name."""
        return self.speaker or SPEAKERS[self.role == "user"]


@dataclass(frozen=True, slots=True)
class FoundTurn:
    """A turn with its score for a question: higher is better, comparable within one search only."""

    turn: Turn
    score: float
    similarity: float = 0.0  # cosine of its nearest piece and the question
    piece: int | None = None  # the number of that piece, where it has several
    corrected_by: Turn | None = None  # what was said next, where that only corrects it
