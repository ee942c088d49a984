"""Which turns answer a question, and whether one of them does: a probability, and a verdict by it.

question → its terms and wording → BM25 and vectors → one score a turn → neighbours → signals → session
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memory.recalling.turn_index import NONE, FoundTurn, Layout, TurnIndex, asks_alone
from pipeline.terms import content_terms

if TYPE_CHECKING:
    from memory.recalling.texts import Scores
    from memory.recalling.turn_index import Numbers, Turn
    from pipeline.models.base import Encoder
    from pipeline.steps.records import MemoryVerdict


@dataclass(frozen=True, slots=True)
class Weights:
    """What counts how much: shares of the best turn's score (docs/decisions/memory-turns.md)."""

    dense: float = 0.6  # the vectors' share of the sum; the rest is BM25's
    before: float = 0.15  # of the score of the turn before
    before_that: float = 0.2  # of the one before that: in a dialogue, what the same speaker said last
    after: float = 0.2  # of the turn after
    speaker: float = 0.3  # for turns of the one whom the question names
    when: float = 0.2  # for turns that say when, if that is asked
    asking: float = 0.2  # against turns that ask rather than say
    own: float = 0.4  # for what people said, where an assistant speaks as well
    session: float = 0.4  # of the best score in the session


WEIGHTS = Weights()
SAME_MATTER = 0.44  # cosine of two turns of which the later one may hold
MOST_LATER = 2
SHARING = 10  # turns with the most of its words that are looked at
SPARE = 3  # times as many are looked at as are wanted: some say the same
LEADING = 3  # turns that tell something, of which the best one says whether something was found


def look_up(
    index: TurnIndex, question: str, *, encoder: Encoder, top_k: int = 10, weights: Weights = WEIGHTS
) -> FoundTurns:
    """The `top_k` turns that most likely answer a question, best first, and how probably one of them does.

    Ties keep the order of the index.
    """
    if not len(index):
        return FoundTurns()
    layout = index.layout
    asking = read_question(question, speakers=[name for name in layout.names if name])
    keywords = index.texts.scores(asking.terms)
    vector = encoder.encode_query(asking.wording)
    similar = index.texts.similarities(vector)
    scores = (1 - weights.dense) * relative(keywords) + weights.dense * relative(similar)
    scores = relative(with_neighbours(relative(scores), layout.before, weights))
    scores = relative(scores + signals(layout, asking, weights))
    scores = with_sessions(scores, layout.sessions, share=weights.session)
    best = _distinct(index, _best(scores, SPARE * top_k), question)[:top_k]
    if not best.size:
        return FoundTurns()
    turns = [index.turns[number] for number in best]
    pieces = [index.nearest_piece(int(number), vector) for number in best]
    corrections = [index.correction_of(int(number)) for number in best]
    found = map(FoundTurn, turns, scores[best].tolist(), similar[best].tolist(), pieces, corrections)
    leading = [
        int(number)
        for number in best
        if layout.asking[number] < 1 or (asking.of_talk and not is_of_talk(index.turns[number].text))
    ][:LEADING]
    signs = Signs(
        similarity=max((float(similar[number]) for number in leading), default=0.0),
        coverage=max((index.coverage(number, asking.terms) for number in leading), default=0.0),
        side=_side(layout, asking, relative(keywords) + relative(similar)),
    )
    later = () if _PAST.search(question) else _later(index, [*leading, int(best[0])][0], layout)
    return FoundTurns(tuple(found), signs.probability, later, signs)


def _later(index: TurnIndex, number: int, layout: Layout) -> tuple[FoundTurn, ...]:
    """What was said later about the same as a turn, latest first: it may hold instead.

    About the same is what is near to it, and what says that something is otherwise in two of its words.
    """
    turn = index.turns[number]
    terms = content_terms(turn.text)
    alike, shared = index.texts.similarities(index.texts.vectors_of(number)[0]), index.texts.scores(terms)
    after = (layout.own > 0) & (layout.times > layout.times[number])
    near = set(np.flatnonzero((alike >= SAME_MATTER) & after))
    for at in _best(np.where(after, shared, 0), SHARING):
        text = index.turns[at].text
        if after[at] and _OTHERWISE.search(text) and len(set(terms) & set(content_terms(text))) > 1:
            near.add(at)
    nearest = sorted(near, key=lambda at: -alike[at])[:MOST_LATER]
    return tuple(
        FoundTurn(index.turns[at], 0.0, float(alike[at]), corrected_by=index.correction_of(int(at)))
        for at in sorted(nearest, key=lambda at: -layout.times[at])
    )


def _side(layout: Layout, asking: Asking, scores: Scores) -> float:
    """By how much the best turn of the one whom the question names is better than the others' best, -1..1."""
    if not asking.speaker:
        return 0.0
    own = layout.speakers == layout.names[asking.speaker]
    return float(scores[own].max() - scores[~own].max(initial=0.0)) / 2


def _best(scores: Scores, count: int) -> Numbers:
    """The numbers of the `count` highest scores, best first; of equal ones the earlier first."""
    if count >= len(scores):
        return np.argsort(-scores, kind="stable")
    least = np.partition(scores, -count)[-count]
    among = np.flatnonzero(scores >= least)
    return np.asarray(among[np.argsort(-scores[among], kind="stable")][:count])


def _distinct(index: TurnIndex, numbers: Numbers, question: str) -> Numbers:
    """The first of those in which one speaker says the same, and none that asks this very question."""
    asked = _plain(question)
    kept: dict[tuple[str, str, str], int] = {}
    for number in numbers:
        turn = index.turns[number]
        if (plain := _plain(turn.text)) != asked:
            kept.setdefault((turn.role, turn.speaker, plain), int(number))
    return np.asarray(list(kept.values()), dtype=np.int64)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def with_neighbours(scores: Scores, before: Numbers, weights: Weights = WEIGHTS) -> Scores:
    """Each turn's score and a share of those beside it: answers are found by what was asked before them."""
    padded = np.append(scores, np.float32(0))  # what is not there has 0: `NONE` is the last one
    links = np.append(before, NONE)
    after = np.zeros_like(padded)
    after[before] = scores
    after[NONE] = 0
    beside = (
        weights.before * padded[before]
        + weights.before_that * padded[links[before]]
        + weights.after * after[:-1]
    )
    return np.asarray(scores + beside, dtype=np.float32)


def signals(layout: Layout, asking: Asking, weights: Weights = WEIGHTS) -> Scores:
    """What speaks for a turn beside its words: shape (turns,)."""
    total = -weights.asking * layout.asking * (not asking.of_talk)
    if asking.speaker:
        total = total + weights.speaker * (layout.speakers == layout.names[asking.speaker])
    if asking.when:
        total = total + weights.when * layout.dated
    if not asking.of_assistant:
        total = total + weights.own * layout.own
    return np.asarray(total, dtype=np.float32)


def with_sessions(scores: Scores, sessions: Numbers, *, share: float = WEIGHTS.session) -> Scores:
    """Each turn's score and a share of the best one in its session.

    Not scaled again: the best scores of long sessions are all alike, and then say little about them.
    """
    best = np.zeros(sessions.max() + 1, dtype=np.float32)
    np.maximum.at(best, sessions, scores)
    return np.asarray(scores + share * best[sessions], dtype=np.float32)


def relative(scores: Scores) -> Scores:
    """Scaled to 0..1 by the smallest and the largest; all 0 where they are equal."""
    low, high = scores.min(), scores.max()
    if high == low:
        return np.zeros_like(scores)
    return np.asarray((scores - low) / (high - low), dtype=np.float32)


_OTHERWISE = re.compile(
    r"\b(?:now|not|no longer|instead|any ?more|chang(?:ed|ing)|mov(?:ed|ing)|swapp?ed|switched|re\w+ed|new"
    r"|actually|cancell?ed|off|back|gone|sold|left|quit|stopped)\b",
    re.IGNORECASE,
)
"""Of a message that may say that something said before is otherwise now."""
_PAST = re.compile(r"\b(?:was|were|had|first|before|used to)\b", re.IGNORECASE)
"""Of a question about what was so: what was said later does not change it."""
_WHEN = re.compile(
    r"\b(?:when|how long|since when|(?:what|which) (?:date|day|week|month|year|time))\b", re.IGNORECASE
)
_OF_TALK = re.compile(
    r"\b(?:i|we|you)(?: \w+)? (?:ask|sa(?:y|id)|t(?:ell|old)|mention|answer)", re.IGNORECASE
)
_TO_ASSISTANT = re.compile(r"\byou(?:r|rs)?\b", re.IGNORECASE)
_THIRD_PERSON = (
    (re.compile(r"\b(?:his|her|their)\b", re.IGNORECASE), "my"),
    (re.compile(r"\b(?:he|she)\b", re.IGNORECASE), "I"),
    (re.compile(r"\b(?:him|himself|herself)\b", re.IGNORECASE), "me"),
)


@dataclass(frozen=True, slots=True)
class Asking:
    """A question as it is searched for."""

    terms: tuple[str, ...]  # for BM25: content words, without the names of speakers
    wording: str  # to be embedded: as the speaker himself would ask it
    speaker: str  # the one whom it names; "" for none or several
    when: bool  # whether it asks for a time
    of_assistant: bool  # whether it asks what the assistant said
    of_talk: bool  # whether it asks what was asked or said: what only asks may answer it


def read_question(question: str, *, speakers: Collection[str]) -> Asking:
    """What a question asks for.

    Speakers call each other by name and say "I" of themselves: a name in the question finds the turns that
    address him. So it is taken out of the terms, and is "I" in the wording.
    """
    named = [name for name in sorted(speakers) if re.search(rf"\b{re.escape(name)}\b", question)]
    return Asking(
        terms=content_terms(_without(question, named)),
        wording=_first_person(question, named),
        speaker=named[0] if len(named) == 1 else "",
        when=bool(_WHEN.search(question)),
        of_assistant=bool(_TO_ASSISTANT.search(question)),
        of_talk=is_of_talk(question),
    )


def is_of_talk(question: str) -> bool:
    """Whether a question is about what was asked or said: "which hose did I ask you about?"."""
    return _OF_TALK.search(question) is not None


def may_answer(question: str, turn: Turn) -> bool:
    """Whether a turn tells something, or asks what the question is about."""
    return not asks_alone(turn) or (is_of_talk(question) and not is_of_talk(turn.text))


def _without(question: str, names: Collection[str]) -> str:
    for name in names:
        question = re.sub(rf"\b{re.escape(name)}\b(?:['’]s?\b)?", "", question)
    return question


def _first_person(question: str, names: Collection[str]) -> str:
    for name in names:
        question = re.sub(rf"\b{re.escape(name)}['’]s?(?=\s)", "my", question)
        question = re.sub(rf"\b{re.escape(name)}\b", "I", question)
    if names:
        for pattern, word in _THIRD_PERSON:
            question = pattern.sub(word, question)
    return question


REMEMBERED = 0.6
"""The least probability at which something is remembered."""
CLOSEST, CLOSEST_OF_OTHERS = 0.1, 0.4
"""The least ones of what is told as the closest, of questions about the user and of all others."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for it: of the best turns of a search."""

    similarity: float  # cosine of the question and the nearest of them
    coverage: float  # of the question's content words, by their rarity, in one of them and those beside it
    side: float  # how much more the one whom the question names said of it than others, -1..1

    @property
    def probability(self) -> float:
        """That one of the turns answers: fitted by `python -m evals.calibration.turn_verdicts`."""
        total = -3.64 + 8.43 * self.similarity + 4.19 * self.side
        return 1 / (1 + math.exp(-total))


@dataclass(frozen=True, slots=True)
class FoundTurns:
    """The turns that a search found, best first, and the probability that one of them answers."""

    found: tuple[FoundTurn, ...] = ()
    probability: float = 0.0
    later: tuple[FoundTurn, ...] = ()  # what was said after the best one about the same, latest first
    signs: Signs | None = None  # what the probability is made of; None where nothing was said

    def fit(self, *, personal: bool) -> bool:
        """Whether enough of a question's words were said, where it is not about the user."""
        return personal or self.signs is None or self.signs.coverage >= LEAST_COVERAGE

    @property
    def of_another(self) -> bool:
        """Whether somebody else than the one whom the question names said more of it."""
        return self.signs is not None and self.signs.side < 0


LEAST_COVERAGE = 0.22
"""Of a question that is not about the user: one word in common is an accident."""


def verdict_of(probability: float, *, personal: bool, uncertain: bool = False) -> MemoryVerdict:
    """What is said of the best turns for a question, which is `personal` where it is about the user.

    Where somebody else than the one whom the question names said more of it, or no turn has what is asked
    for, it is `uncertain` whether they answer, however near they are.
    """
    if probability >= REMEMBERED and not uncertain:
        return "remembered"
    return "closest" if probability >= (CLOSEST if personal else CLOSEST_OF_OTHERS) else "not remembered"
