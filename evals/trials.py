"""Cases asked again, and whether a change of settings may be kept: by how they went before it and with it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import stdev
from typing import TYPE_CHECKING, Literal

from athena.settings_changes import with_values
from evals.cases import Replayed, State, replay
from evals.indexing import Bars, bar
from evals.metrics import percentile
from evals.significance import MARGIN, POWERED, compare
from pipeline.words import counted

if TYPE_CHECKING:
    from athena import Athena

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

    If all go as these do: n = (2.8 · sd / difference)², so many that `FEWEST` of them change, or where none
    does no fewer than 3 / margin (`questions_needed`).
    """
    spread = stdev(differences) if len(differences) > 1 else 0.0
    difference = abs(sum(differences)) / len(differences)
    changed = sum(map(bool, differences))
    fewest = math.ceil(FEWEST * len(differences) / changed) if difference else math.ceil(3 / MARGIN)
    return max(fewest, math.ceil((POWERED * spread / (difference or MARGIN)) ** 2))


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case in a report; `before` is how it went with the settings in use, or at the last replay."""

    id: str
    question: str
    state: State
    passed: bool | None
    before: bool | None
    why: str
    ms: float


@dataclass(frozen=True, slots=True)
class CasesReport:
    """What `athena eval cases --json` prints; `regressed`: the ids of those that fail and passed before."""

    cases: int
    states: Mapping[str, int]
    results: tuple[CaseResult, ...]
    regressed: tuple[str, ...]
    settings: Mapping[str, str]  # the values that were tried instead of those in use
    advice: Advice | None  # whether these may be kept; None where none were tried
    ms_per_case: Mapping[str, float]


def evaluate_cases(
    athena: Athena, *, user: str | None = None, values: Mapping[str, str], report: Bars | None = None
) -> CasesReport:
    """Replay the cases of a user, or of all, and where there are other `values` of settings, with these too.

    Raises `ConfigurationError` for a setting or a value that cannot be, and what ends an answer.
    """
    settings = with_values(athena.settings, values) if values else None
    kept = athena.cases.list(user)
    last = [case.passed for case in kept]
    found = [*replay(athena, kept, report=bar(report, "Asking"))]
    if settings is None:
        return _report(found, last)
    tried = [*replay(athena, kept, settings=settings, report=bar(report, "With the others"))]
    trial = Trial(user or "", values, found, tried)
    return replace(_report(tried, [one.passed for one in found]), settings=dict(values), advice=advice(trial))


def _report(found: Sequence[Replayed], before: Sequence[bool | None]) -> CasesReport:
    pairs = [*zip(found, before, strict=True)]
    states: Counter[str] = Counter(one.state for one in found)
    times = [one.ms for one in found if one.answer]
    return CasesReport(
        cases=len(found),
        states={state: states[state] for state in ("passing", "failing", "moved")},
        results=tuple(
            CaseResult(one.case.id, one.case.question, one.state, one.passed, was, one.why, round(one.ms, 1))
            for one, was in pairs
        ),
        regressed=tuple(one.case.id for one, was in pairs if one.regressed or (was and one.passed is False)),
        settings={},
        advice=None,
        ms_per_case={"p50": percentile(times, 0.5), "p95": percentile(times, 0.95)},
    )
