"""Whether a change of settings may be kept: by how the cases went before it and with it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Literal

from evals.cases import Replayed
from evals.significance import MARGIN, POWERED, compare
from pipeline.words import counted

FEWEST = 6  # cases that change alike: fewer could be chance (2 / 2^5 > 0.05)


@dataclass(frozen=True, slots=True)
class Trial:
    """How each case of a user went with the settings in use, and with other values, in the same order."""

    user: str
    values: Mapping[str, str]
    before: Sequence[Replayed]
    after: Sequence[Replayed]

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """1 or 0 for each case that could be asked: whether it passes with the others, and before."""
        return [
            (float(now.passed), float(was.passed))
            for was, now in zip(self.before, self.after, strict=True)
            if was.passed is not None and now.passed is not None
        ]


@dataclass(frozen=True, slots=True)
class Advice:
    """Whether to keep the change, and in words why; `missing` cases would tell, where these are too few."""

    keep: Literal["yes", "no", "too few"]
    why: str
    missing: int = 0


def advice(trial: Trial) -> Advice:
    """What a paired test over the cases says."""
    pairs = trial.pairs
    if not pairs:
        return Advice("too few", "No case has what it should find.", FEWEST)
    ours, theirs = zip(*pairs, strict=True)
    found = compare("others", "in use", "passed", ours, theirs)
    went = f"{sum(ours):.0f} of {counted(len(pairs), 'case')} pass, {sum(theirs):.0f} before."
    if found.verdict == "better":
        return Advice("yes", went)
    if found.verdict == "worse":
        return Advice("no", went)
    needed = _needed([one - other for one, other in pairs])
    if needed > len(pairs):
        return Advice("too few", went, needed - len(pairs))
    return Advice("yes", f"It makes no difference: {went}")


def _needed(differences: Sequence[float]) -> int:
    """How many cases show this difference four times of five, or where there is none that of `MARGIN`.

    If all go as these do: n = (2.8 · sd / difference)², and no fewer than 3 / margin (`questions_needed`).
    """
    spread = stdev(differences) if len(differences) > 1 else 0.0
    difference = abs(sum(differences)) / len(differences)
    fewest = FEWEST if difference else math.ceil(3 / MARGIN)
    return max(fewest, math.ceil((POWERED * spread / (difference or MARGIN)) ** 2))
