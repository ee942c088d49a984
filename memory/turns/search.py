"""Which turns answer a question.

question → its terms and wording → BM25 and vectors → one score a turn → neighbours → signals → session
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from memory.turns.asking import Asking, read_question
from memory.turns.index import NONE, Layout, TurnIndex
from memory.turns.records import FoundTurn

if TYPE_CHECKING:
    from memory.turns.index import Numbers, Scores
    from pipeline.models.base import Encoder

# Shares of the best turn's score (docs/decisions/memory-turns.md says how each was found).
DENSE = 0.55  # the vectors' share of the sum; the rest is BM25's
BEFORE, BEFORE_THAT, AFTER = 0.15, 0.2, 0.2  # of the neighbours' scores
SPEAKER = 0.15  # for turns of the one whom the question names
WHEN = 0.2  # for turns that say when, if that is asked
ASKING = 0.2  # against turns that ask rather than say
OWN = 0.3  # for what people said, where an assistant speaks as well
SESSION = 0.4  # of the best score in the session


def search_turns(index: TurnIndex, question: str, *, encoder: Encoder, top_k: int = 10) -> list[FoundTurn]:
    """The `top_k` turns that most likely answer a question, best first; ties keep the order of the index."""
    if not len(index):
        return []
    layout = index.layout
    asking = read_question(question, speakers=[name for name in layout.names if name])
    keywords = relative(index.keyword_scores(asking.terms))
    similar = relative(index.similarities(encoder.encode_query(asking.wording)))
    scores = relative((1 - DENSE) * keywords + DENSE * similar)
    scores = relative(with_neighbours(scores, layout.before))
    scores = relative(scores + signals(layout, asking))
    scores = with_sessions(scores, layout.sessions)
    return [FoundTurn(index.turns[number], float(scores[number])) for number in _best(scores, top_k)]


def _best(scores: Scores, count: int) -> Numbers:
    """The numbers of the `count` highest scores, best first; of equal ones the earlier first."""
    if count >= len(scores):
        return np.argsort(-scores, kind="stable")
    least = np.partition(scores, -count)[-count]
    among = np.flatnonzero(scores >= least)
    return np.asarray(among[np.argsort(-scores[among], kind="stable")][:count])


def with_neighbours(scores: Scores, before: Numbers) -> Scores:
    """Each turn's score and a share of those beside it: answers are found by what was asked before them.

    The turn before the one before is, in a dialogue, what the same speaker said last.
    """
    padded = np.append(scores, np.float32(0))  # what is not there has 0: `NONE` is the last one
    links = np.append(before, NONE)
    after = np.zeros_like(padded)
    after[before] = scores
    after[NONE] = 0
    return np.asarray(
        scores + BEFORE * padded[before] + BEFORE_THAT * padded[links[before]] + AFTER * after[:-1],
        dtype=np.float32,
    )


def signals(layout: Layout, asking: Asking) -> Scores:
    """What speaks for a turn beside its words: shape (turns,)."""
    total = -ASKING * layout.asking
    if asking.speaker:
        total = total + SPEAKER * (layout.speakers == layout.names[asking.speaker])
    if asking.when:
        total = total + WHEN * layout.dated
    if not asking.of_assistant:
        total = total + OWN * layout.own
    return np.asarray(total, dtype=np.float32)


def with_sessions(scores: Scores, sessions: Numbers) -> Scores:
    """Each turn's score and a share of the best one in its session.

    Not scaled again: the best scores of long sessions are all alike, and then say little about them.
    """
    best = np.zeros(sessions.max() + 1, dtype=np.float32)
    np.maximum.at(best, sessions, scores)
    return np.asarray(scores + SESSION * best[sessions], dtype=np.float32)


def relative(scores: Scores) -> Scores:
    """Scaled to 0..1 by the smallest and the largest; all 0 where they are equal."""
    low, high = scores.min(), scores.max()
    if high == low:
        return np.zeros_like(scores)
    return np.asarray((scores - low) / (high - low), dtype=np.float32)
