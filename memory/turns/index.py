"""The turns of one user, in the process: their pieces by word and by vector, and what stands beside what."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from memory.keywords import Keywords
from pipeline.analysis import analyse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Embed: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]
    Scores: TypeAlias = NDArray[np.float32]
    Numbers: TypeAlias = NDArray[np.intp]

NONE = -1  # the number of a turn that is not there


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

    `embed` gives texts' vectors of unit length, shape (texts, dimensions). It is asked for each piece once an
    index: who builds one anew, because turns were deleted, keeps the vectors by text. Nothing is written to
    disk. Not for several threads at once.
    """

    def __init__(self, turns: Sequence[Turn] = (), *, embed: Embed) -> None:
        self._embed = embed
        self._keywords = Keywords()
        self.turns: list[Turn] = []
        self._cuts: list[Pieces] = []
        self._first_pieces: list[int] = []
        self._pieces = 0
        self._vectors: list[NDArray[np.float32]] = []
        self._layout: Layout | None = None
        self.add(turns)

    def __len__(self) -> int:
        return len(self.turns)

    def add(self, turns: Sequence[Turn]) -> None:
        """Take in turns that were said after those of their sessions that are in it."""
        if not turns:
            return
        cuts = [cut(turn.text) for turn in turns]
        self._vectors.append(self._embed([text for pieces in cuts for text in pieces.texts]))
        for turn, pieces in zip(turns, cuts, strict=True):
            self._first_pieces.append(self._pieces)
            said_on = date_words(turn.at)
            for text in pieces.texts:
                self._keywords.add(self._pieces, analyse(f"{text} {said_on}"))
                self._pieces += 1
        self.turns += turns
        self._cuts += cuts
        self._layout = None

    # -- what a search asks, one number a turn: shape (turns,) -------------------------------------------

    def keyword_scores(self, terms: Sequence[str]) -> Scores:
        """BM25 of each turn's best piece."""
        return self._best(self._keywords.scores(terms, size=self._pieces))

    def similarities(self, vector: NDArray[np.float32]) -> Scores:
        """Cosine of each turn's nearest piece and a vector of unit length."""
        if len(self._vectors) > 1:
            self._vectors = [np.concatenate(self._vectors)]
        # `@` wakes a thread a core for a millisecond's work, and on a busy machine waits for all of them.
        return self._best(np.einsum("ij,j->i", self._vectors[0], vector))

    def _best(self, pieces: Scores) -> Scores:
        return np.asarray(np.maximum.reduceat(pieces, self._first_pieces), dtype=np.float32)

    @property
    def layout(self) -> Layout:
        """What stands beside what, and who said it; made again after turns were added."""
        if self._layout is None:
            self._layout = _layout(self.turns, self._cuts)
        return self._layout


def _layout(turns: Sequence[Turn], cuts: Sequence[Pieces]) -> Layout:
    last: dict[str, int] = {}
    before = []
    for number, turn in enumerate(turns):
        before.append(last.get(turn.session, NONE))
        last[turn.session] = number
    sessions = {session: number for number, session in enumerate(last)}
    names = {name: number for number, name in enumerate(dict.fromkeys(turn.speaker for turn in turns))}
    return Layout(
        before=np.array(before, dtype=np.intp),
        sessions=np.array([sessions[turn.session] for turn in turns], dtype=np.intp),
        speakers=np.array([names[turn.speaker] for turn in turns], dtype=np.intp),
        names=names,
        asking=np.array([pieces.asking for pieces in cuts], dtype=np.float32),
        dated=np.array([pieces.dated for pieces in cuts], dtype=np.float32),
        own=np.array([turn.role == "user" for turn in turns], dtype=np.float32),
    )


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


def cut(text: str) -> Pieces:
    """Cut a turn into pieces of at most `PIECE_WORDS` words, between sentences where that is possible.

    A question is left out of a piece that says something, too: who asks something does not know it. A piece
    of nothing but questions stays, because the answer beside it is found by it.
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
    return Pieces(texts, asked / sum(words) if sentences else 0.0, bool(_DATED.search(text)))


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
