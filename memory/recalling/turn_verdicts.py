"""Whether what was found among the turns answers a question: a probability, and a verdict by it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.recalling.turn_index import FoundTurn
    from pipeline.steps.records import MemoryVerdict

REMEMBERED, CLOSEST = 0.55, 0.1
REMEMBERED_OF_OTHERS, CLOSEST_OF_OTHERS = 0.6, 0.35
"""The least probabilities of the verdicts, for questions about the user and for all others."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for it: of the best turns of a search."""

    similarity: float  # cosine of the question and the nearest of them
    coverage: float  # of the question's content words, by their rarity, in one of them and those beside it
    side: float  # how much more the one whom the question names said of it than others, -1..1

    @property
    def probability(self) -> float:
        """That one of the turns answers: fitted by `python -m evals.calibration.turn_verdicts`."""
        total = -3.98 + 8.29 * self.similarity + 0.82 * self.coverage + 4.17 * self.side
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


def verdict_of(probability: float, *, personal: bool, of_another: bool = False) -> MemoryVerdict:
    """What is said of the best turns for a question, which is `personal` where it is about the user.

    What somebody else than the one whom the question names said better, `of_another`, is no answer for sure.
    """
    if probability >= (REMEMBERED if personal else REMEMBERED_OF_OTHERS) and not of_another:
        return "remembered"
    return "closest" if probability >= (CLOSEST if personal else CLOSEST_OF_OTHERS) else "not remembered"
