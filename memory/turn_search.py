"""Search over turns: rank turns as answers to a question, and estimate the probability that one answers it.

BM25 and vectors → one score per turn → neighbours → speaker → session → later turns about the same thing
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memory.questions import is_of_answers, is_of_questions
from memory.turn_index import NONE, FoundTurn, Layout, TurnIndex
from pipeline.analysis import content_terms

if TYPE_CHECKING:
    from memory.texts import Scores
    from memory.turn_index import Numbers
    from pipeline.models.base import Encoder
    from pipeline.steps.records import MemoryVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Weights and thresholds fitted to one embedding model (docs/decisions/memory.md).

    The first six weight scores scaled to 0..1; the next four are the coefficients of a logistic probability.
    """

    dense: float = 0.6  # weight of the cosine; the rest is BM25's
    before: float = 0.15  # weight of the score of the turn before
    before_that: float = 0.2  # of the turn before that one: in a dialogue, the same speaker's
    after: float = 0.2  # of the turn after
    speaker: float = 0.3  # added to the turns of the speaker whom the question names
    session: float = 0.3  # weight of the best score in the session
    intercept: float = -3.64  # of the probability
    similarity: float = 8.43  # weight of the best cosine
    coverage: float = 0.0  # weight of the share of the question's words that occur
    side: float = 4.19  # weight of the named speaker's lead
    same_matter: float = 0.44  # least cosine of two turns about the same thing


CALIBRATIONS: Mapping[str, Calibration] = {"all-MiniLM-L6-v2": Calibration()}

UNCALIBRATED = Calibration(dense=0.5, intercept=-7.0, similarity=0.0, coverage=8.0, same_matter=0.8)
"""For every other model: its cosines may be high for unrelated texts, so the probability rests on words."""


MOST_LATER = 2
SHARING = 10  # turns with the best BM25 that are checked for shared words
SPARE = 3  # candidates per wanted turn, because repetitions are dropped
LEADING = 3  # best turns, whose best cosine and coverage give the probability
LEAST_COVERAGE = 0.22  # for a question that is not about the user: one common word is an accident
REMEMBERED = 0.6  # probability from which the memory answers
CLOSEST, CLOSEST_OF_OTHERS = 0.1, 0.4  # probability of "closest": questions about the user, and all others

_PAST = re.compile(r"\b(?:was|were|had|first|before|used to)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asking:
    """A question prepared for the search."""

    terms: tuple[str, ...]  # for BM25: content words, without the names of speakers
    wording: str  # for the vector: in the first person, where it names a speaker
    speaker: str  # whom it names; "" for nobody or several
    names_speaker: bool
    of_questions: bool  # it is about earlier questions, so these may answer it
    of_answers: bool  # it is about the assistant's answers


@dataclass(frozen=True, slots=True)
class FoundTurns:
    """The found turns, best first, and the probability that one of them answers."""

    found: tuple[FoundTurn, ...] = ()
    probability: float = 0.0
    later: tuple[FoundTurn, ...] = ()  # said after the best one about the same thing, latest first
    coverage: float = 0.0  # share of the question's words, by rarity, in one turn and its neighbours
    side: float = 0.0  # lead of the speaker whom the question names, -1..1
    names_speaker: bool = False  # the question names a speaker of the turns


def look_up(
    index: TurnIndex, question: str, *, encoder: Encoder, top_k: int = 10, without: Collection[str] = ()
) -> FoundTurns:
    """Return at most `top_k` turns that may answer a question, best first, except ids in `without`.

    A question about the assistant's answers finds only answers, any other only persons' turns. Turns that
    only ask are found only by a question about earlier questions. Ties keep the order of the index.
    """
    if not len(index):
        return FoundTurns()
    known, layout = CALIBRATIONS.get(encoder.name, UNCALIBRATED), index.layout
    asking = read_question(question, speakers=[name for name in layout.names if name])
    keywords, vector = index.texts.scores(asking.terms), encoder.encode_query(asking.wording)
    similar = index.texts.similarities(vector)
    scores = _scores(keywords, similar, layout, asking, known)
    best = np.argsort(-scores, kind="stable")
    best = best[layout.own[best] == float(not asking.of_answers)]
    best = best if asking.of_questions else best[layout.asking[best] < 1]
    best = best[~np.isin(best, [index.numbers[known] for known in without if known in index.numbers])]
    numbers = _distinct(index, best[: SPARE * top_k], question)[:top_k]
    if not numbers:
        return FoundTurns()
    found = tuple(index.found(number, scores[number], similar[number]) for number in numbers)
    leading = numbers[:LEADING]
    nearest = float(similar[leading].max())
    coverage = max(index.coverage(number, asking.terms) for number in leading)
    side = _side(layout, asking, relative(keywords) + relative(similar))
    probability = probability_of(known, similarity=nearest, coverage=coverage, side=side)
    later = () if _PAST.search(question) else _later(index, numbers[0], layout, known, without)
    return FoundTurns(found, probability, later, coverage, side, asking.names_speaker)


def _scores(
    keywords: Scores, similar: Scores, layout: Layout, asking: Asking, weights: Calibration
) -> Scores:
    """Return one score for each turn: its words and vector, its neighbours, its speaker and its session."""
    scores = (1 - weights.dense) * relative(keywords) + weights.dense * relative(similar)
    scores = relative(with_neighbours(relative(scores), layout.before, weights))
    if asking.speaker:
        scores = relative(scores + weights.speaker * (layout.speakers == layout.names[asking.speaker]))
    return with_sessions(scores, layout.sessions, share=weights.session)


def probability_of(
    known: Calibration, *, similarity: float = 0.0, coverage: float = 0.0, side: float = 0.0
) -> float:
    """Return the probability that a turn answers, from cosine, share of the words and speaker's lead."""
    total = known.intercept + known.similarity * similarity + known.side * side
    return 1 / (1 + math.exp(-total - known.coverage * coverage))


def verdict_of(probability: float, *, personal: bool, uncertain: bool = False) -> MemoryVerdict:
    """Return the verdict for a probability: lower limits if `personal`, at most "closest" if `uncertain`."""
    if probability >= REMEMBERED and not uncertain:
        return "remembered"
    return "closest" if probability >= (CLOSEST if personal else CLOSEST_OF_OTHERS) else "not remembered"


def _later(
    index: TurnIndex, number: int, layout: Layout, known: Calibration, without: Collection[str]
) -> tuple[FoundTurn, ...]:
    """Return later turns of persons about the same thing as a turn, latest first: they may correct it.

    These are the `MOST_LATER` nearest with a near vector or two shared content words, and a message that only
    corrects the turn ("sorry, 35").
    """
    turn = index.turns[number]
    terms = content_terms(turn.text)
    alike = index.texts.similarities(index.texts.vectors[number])
    after = (layout.own > 0) & (layout.times > layout.times[number]) & (layout.asking < 1)
    near = set(np.flatnonzero((alike >= known.same_matter) & after).tolist())
    shared = np.where(after, index.texts.scores(terms), 0)
    for at in np.argsort(-shared, kind="stable")[:SHARING].tolist():
        if after[at] and len({*terms} & {*content_terms(index.turns[at].text)}) > 1:
            near.add(at)
    nearest = {*sorted(near, key=lambda at: -alike[at])[:MOST_LATER], index.correction_of(number)} - {NONE}
    latest = sorted(nearest, key=lambda at: -layout.times[at])
    return tuple(index.found(at, 0.0, alike[at]) for at in latest if index.turns[at].id not in without)


def _side(layout: Layout, asking: Asking, scores: Scores) -> float:
    """Return the score of the named speaker's best turn less the others' best, halved; 0 if none is named."""
    if not asking.speaker:
        return 0.0
    own = layout.speakers == layout.names[asking.speaker]
    return float(scores[own].max() - scores[~own].max(initial=0.0)) / 2


def _distinct(index: TurnIndex, numbers: Numbers, question: str) -> list[int]:
    """Return the numbers, without turns that repeat a better one of their speaker or the question itself."""
    asked, kept = _words(question), dict[tuple[str, ...], int]()
    for number in numbers.tolist():
        turn = index.turns[number]
        if (words := _words(turn.text)) != asked:
            kept.setdefault((turn.role, turn.speaker, *words), number)
    return [*kept.values()]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def with_neighbours(scores: Scores, before: Numbers, weights: Calibration) -> Scores:
    """Return the scores plus shares of the neighbours': a question before an answer helps to find it."""
    padded = np.append(scores, np.float32(0))  # which `NONE` (-1) selects
    links = np.append(before, NONE)
    after = np.zeros_like(padded)
    after[before] = scores
    after[NONE] = 0
    earlier = weights.before * padded[before] + weights.before_that * padded[links[before]]
    return np.asarray(scores + earlier + weights.after * after[:-1], dtype=np.float32)


def with_sessions(scores: Scores, sessions: Numbers, *, share: float) -> Scores:
    """Return each turn's score plus a share of the best score in its session."""
    best = np.zeros(sessions.max() + 1, dtype=np.float32)
    np.maximum.at(best, sessions, scores)
    return np.asarray(scores + share * best[sessions], dtype=np.float32)


def relative(scores: Scores) -> Scores:
    """Return the scores scaled to 0..1 by the smallest and the largest; all 0 where they are equal."""
    low, high = scores.min(), scores.max()
    if high == low:
        return np.zeros_like(scores)
    return np.asarray((scores - low) / (high - low), dtype=np.float32)


def read_question(question: str, *, speakers: Collection[str]) -> Asking:
    """Return a question prepared for the search.

    Speakers call themselves "I", and their names occur in turns that address them: so a speaker's name is
    left out of the terms, and becomes "I" or "my" in the wording.
    """
    named = [name for name in sorted(speakers) if re.search(rf"\b{re.escape(name)}\b", question)]
    others, own = question, question
    for name in map(re.escape, named):
        others = re.sub(rf"\b{name}\b(?:['’]s?\b)?", "", others)
        own = re.sub(rf"\b{name}\b", "I", re.sub(rf"\b{name}['’]s?(?=\s)", "my", own))
    return Asking(
        terms=content_terms(others),
        wording=own,
        speaker=named[0] if len(named) == 1 else "",
        names_speaker=bool(named),
        of_questions=is_of_questions(question),
        of_answers=is_of_answers(question),
    )
