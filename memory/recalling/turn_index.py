"""The turns of one user, in the process: their pieces by word and by vector, and what stands beside what."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memory.reading.asking import corrects, only_asks, only_keywords, only_names
from memory.recalling.texts import Texts
from pipeline.analysis import analyse

if TYPE_CHECKING:
    Embed: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
    Scores: TypeAlias = NDArray[np.float32]
    Numbers: TypeAlias = NDArray[np.intp]

Role = Literal["user", "assistant"]
SPEAKERS = ("assistant", "you")

NONE = -1  # the number of a turn that is not there
NEXT = 3  # turns that are looked through for what the same person said next
NOT_KNOWN: Mapping[str, NDArray[np.float32]] = {}


@dataclass(frozen=True, slots=True)
class Layout:
    """What is known of each turn beside its words: arrays of the shape (turns,)."""

    before: Numbers  # the turn that was said before it in its session; `NONE` for the first
    sessions: Numbers  # the session's number, from 0
    speakers: Numbers  # the speaker's number in `names`
    names: Mapping[str, int]
    asking: Scores  # the share of its words that stand in questions
    dated: Scores  # 1 for turns that say when, else 0
    own: Scores  # 1 for what people said, 0 for what the assistant did


class TurnIndex:
    """Turns in the order in which they were added, which is the order of their sessions.

    `embed` gives texts' vectors of unit length, shape (texts, dimensions). Nothing is written to disk. Not
    for several threads at once.
    """

    def __init__(self, turns: Sequence[Turn] = (), *, embed: Embed) -> None:
        self._embed = embed
        self._texts = Texts()  # a row for each piece
        self.turns: list[Turn] = []
        self.numbers: dict[str, int] = {}  # of the turns, by id
        self._cuts: list[Pieces] = []
        self._first_pieces: list[int] = []
        self._before: list[int] = []
        self._after: list[int] = []
        self._sessions: list[int] = []
        self._last: dict[str, tuple[int, int]] = {}  # by session: its number, and that of its last turn
        self._layout: Layout | None = None
        self.add(turns)

    def __len__(self) -> int:
        return len(self.turns)

    def add(self, turns: Sequence[Turn], *, known: Mapping[str, Scores] = NOT_KNOWN) -> list[Turn]:
        """Take in turns that were said after those of their sessions that are in it; returns the embedded.

        `known` has vectors of some of them, by id, a row for each piece; all others are embedded.
        """
        cuts = [cut(turn.text, asks=asks_alone(turn)) for turn in turns]
        new = [
            number
            for number, turn in enumerate(turns)
            if len(known.get(turn.id, ())) != len(cuts[number].texts)
        ]
        texts = [text for number in new for text in cuts[number].texts]
        embedded = iter(self._embed(texts)) if texts else iter(())
        unknown = frozenset(new)
        for number, (turn, pieces) in enumerate(zip(turns, cuts, strict=True)):
            vectors = (
                np.stack([next(embedded) for _ in pieces.texts]) if number in unknown else known[turn.id]
            )
            self._put(turn, pieces, vectors)
        self._layout = None
        return [turns[number] for number in new]

    def _put(self, turn: Turn, pieces: Pieces, vectors: Scores) -> None:
        session, last = self._last.get(turn.session, (len(self._last), NONE))
        self._last[turn.session] = session, len(self.turns)
        self._before.append(last)
        self._after.append(NONE)
        if last != NONE:
            self._after[last] = len(self.turns)
        self._sessions.append(session)
        self._first_pieces.append(self._texts.size)
        said_on = date_words(turn.at)
        for text, vector in zip(pieces.texts, vectors, strict=True):
            self._texts.add(analyse(f"{text} {said_on}"), vector)
        self.numbers[turn.id] = len(self.turns)
        self.turns.append(turn)
        self._cuts.append(pieces)

    def vectors_of(self, turn_id: str) -> Scores:
        """The vectors of a turn, a row for each of its pieces."""
        number = self.numbers[turn_id]
        first = self._first_pieces[number]
        return self._texts.vectors[first : first + len(self._cuts[number].texts)]

    def correction_of(self, number: int) -> Turn | None:
        """What the same person said next, where it only puts a turn right: "sorry, 35"."""
        turn = self.turns[number]
        for after in self.turns[number + 1 : number + 1 + NEXT]:
            if (after.session, after.speaker, after.role) == (turn.session, turn.speaker, "user"):
                return after if corrects(after.text) else None
        return None

    def nearest_piece(self, turn_id: str, vector: NDArray[np.float32]) -> int | None:
        """Which piece of a turn is nearest to a vector; None where it is one piece."""
        rows = self.vectors_of(turn_id)
        return int(np.einsum("ij,j->i", rows, vector).argmax()) if len(rows) > 1 else None

    # -- what a search asks, one number a turn: shape (turns,) -------------------------------------------

    def keyword_scores(self, terms: Sequence[str]) -> Scores:
        """BM25 of each turn's best piece."""
        return self._best(self._texts.scores(terms))

    def similarities(self, vector: NDArray[np.float32]) -> Scores:
        """Cosine of each turn's nearest piece and a vector of unit length."""
        return self._best(self._texts.similarities(vector))

    def _best(self, pieces: Scores) -> Scores:
        return np.asarray(np.maximum.reduceat(pieces, self._first_pieces), dtype=np.float32)

    def has(self, terms: Sequence[str]) -> bool:
        """Whether each of the terms stands somewhere."""
        return all(term in self._texts for term in terms)

    def coverage(self, number: int, terms: Sequence[str]) -> float:
        """How many of the terms a turn and those beside it have, by their rarity: 0 to 1."""
        weights = {term: self._texts.rarity(term) for term in terms}
        there = {term for near in self._beside(number) for term in self._terms_of(near)}
        total = sum(weights.values())
        return sum(weight for term, weight in weights.items() if term in there) / total if total else 0.0

    def _beside(self, number: int) -> list[int]:
        """A turn with the one before it and the one after it in its session."""
        return [at for at in (self._before[number], number, self._after[number]) if at != NONE]

    def _terms_of(self, number: int) -> Iterator[str]:
        first = self._first_pieces[number]
        for piece in range(first, first + len(self._cuts[number].texts)):
            yield from self._texts.terms_of(piece)

    @property
    def layout(self) -> Layout:
        """What stands beside what, and who said it; made again after turns were added."""
        if self._layout is None:
            names = {
                name: number for number, name in enumerate(dict.fromkeys(turn.speaker for turn in self.turns))
            }
            self._layout = Layout(
                before=np.array(self._before, dtype=np.intp),
                sessions=np.array(self._sessions, dtype=np.intp),
                speakers=np.array([names[turn.speaker] for turn in self.turns], dtype=np.intp),
                names=names,
                asking=np.array([pieces.asking for pieces in self._cuts], dtype=np.float32),
                dated=np.array([pieces.dated for pieces in self._cuts], dtype=np.float32),
                own=np.array([turn.role == "user" for turn in self.turns], dtype=np.float32),
            )
        return self._layout


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

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")

# Words that date what is said. Months and days are capitalised: "may" is no month.
_DATED = re.compile(
    r"\b(?i:yesterday|today|tonight|tomorrow|ago|since|last|next|(?:week|month|year)s?|weekends?|"
    r"this (?:morning|evening)|spring|summer|autumn|winter|\d{4}|\d{1,2}(?:st|nd|rd|th))\b"
    r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Christmas|Easter)s?\b"
)


@dataclass(frozen=True, slots=True)
class Pieces:
    """A turn as it is indexed."""

    texts: tuple[str, ...]  # at least one
    asking: float  # the share of the turn's words that stand in questions, 0..1
    dated: bool  # whether it says when


def cut(text: str, *, asks: bool = False) -> Pieces:
    """Cut a turn into pieces of at most `PIECE_WORDS` words, between sentences where that is possible.

    A question is left out of a piece that says something, too: who asks something does not know it. A piece
    of nothing but questions stays, because the answer beside it is found by it. `asks` where all of it does,
    with or without its mark.
    """
    sentences = [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]
    words = [len(sentence.split()) for sentence in sentences]
    asked = sum(count for sentence, count in zip(sentences, words, strict=True) if _asks(sentence))
    groups: list[list[str]] = [[]]
    size = 0
    for sentence in sentences:
        for part in _parts(sentence):
            count = len(part.split())
            if groups[-1] and size + count > PIECE_WORDS:
                groups.append([])
                size = 0
            groups[-1].append(part)
            size += count
    texts = tuple(_said(group) for group in groups)
    asking = asked / sum(words) if sentences else 0.0
    return Pieces(texts, 1.0 if asks else asking, bool(_DATED.search(text)))


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
