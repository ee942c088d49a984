"""What experiments found, on disk: `RESULTS/EXPERIMENT/DIGEST.json` for each configuration.

The digest is over the configuration, the data, the code and the models: what ran with others is another file.
A file has no clock in it, so that the same run writes the same bytes; what it took is beside it, in
`DIGEST.ms.json`. Scores are kept question by question, and configurations are compared when they are read.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from evals.datasets import read_text
from evals.metrics import bootstrap, mean
from evals.significance import Comparison, compare, holm
from pipeline.errors import DatasetError, DiskFull, StoreError

RESULTS = Path("evals/results")
"""Where a run writes and a page reads, from the folder that it is started in."""
KEPT = Path(__file__).parent / "results"
"""Those of the repository."""
TIMES = ".ms.json"
LANGUAGE_MODEL = "language model"
NO_FIRST = (
    "The experiment's first configuration has no result here: run it, so that others are compared with it."
)
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)

Scores = tuple[FiniteFloat | None, ...]  # None: the metric is not about that question


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Times(_Record):
    """What a configuration took: all of it in seconds, and each step of a question in milliseconds."""

    finished: str  # ISO 8601
    seconds: float
    ms: Mapping[str, Mapping[str, float]]  # step → p50, p95


class Configuration(_Record):
    """One configuration: its mean over the questions for each metric, all 0..1 and higher is better."""

    name: str
    place: int  # in its experiment, from 0
    digest: str
    settings: Mapping[str, Any]  # those that it changes
    models: Mapping[str, str]  # role → name and fingerprint
    metrics: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]  # 95 % bootstrap
    ms: Mapping[str, Mapping[str, float]] = {}  # of `Times`
    tokens_in: int | None  # of all questions' passages, or of the prompts that a model's server counted
    tokens_out: int | None  # None: nothing was written by a model
    tokens_estimated: bool  # counted with cl100k
    cost: float | None = None  # of all questions; None: no price is set
    questions: tuple[str, ...]
    scores: Mapping[str, Scores]  # by metric, in the order of the questions


class ExperimentResult(_Record):
    """Configurations on one question set, and each compared with the first, the experiment's baseline."""

    experiment: str
    title: str
    axis: str = ""  # the setting whose value a plot has along its bottom
    dataset: str
    data: str  # hash of the questions and their corpus
    code: str  # hash of what ran
    base: str = ""  # hash of the settings that its configurations have in common
    configurations: tuple[Configuration, ...]
    comparisons: tuple[Comparison, ...] = ()
    finished: str = ""  # when the last of them was, ISO 8601

    @property
    def baseline(self) -> Configuration:
        """What the others are compared with."""
        return self.configurations[0]

    @property
    def uncompared(self) -> str:
        """Why none is compared with another; "" where they are."""
        return NO_FIRST if self.baseline.place else ""

    @property
    def margins(self) -> tuple[Comparison, ...]:
        """The comparisons with too few questions to see a difference of `significance.MARGIN`."""
        return tuple(one for one in self.comparisons if one.too_few)


Cost = Callable[[str, int, int], float | None]
"""What tokens in and out cost of a model by its name, as `Settings.cost` says; None: no price is set."""


def summary(scores: Mapping[str, Scores]) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """The mean of each metric over the questions that it is about, and its interval."""
    means: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    for metric, values in scores.items():
        if known := [value for value in values if value is not None]:
            interval = bootstrap(known)
            means[metric] = round(mean(known), 6)
            intervals[metric] = (round(interval.low, 6), round(interval.high, 6))
    return means, intervals


def write_result(folder: Path, result: ExperimentResult, times: Times) -> None:
    """Keep the one configuration of a result: its times first, so that a result never lacks them.

    Raises `DiskFull` and `StoreError`; what was kept before stays whole.
    """
    place = folder / result.experiment
    digest = result.baseline.digest
    _write_whole(place / f"{digest}{TIMES}", times.model_dump_json(indent=1) + "\n")
    _write_whole(place / f"{digest}.json", result.model_dump_json(exclude={"comparisons", "finished"}) + "\n")


def read_result(path: Path) -> ExperimentResult:
    """One configuration's file, with its times; raises `DatasetError` where it is damaged."""
    result = _read(ExperimentResult, path)
    if not result.configurations:
        raise _damaged(path, "it has no configuration")
    times = path.with_name(path.stem + TIMES)
    if not times.is_file():
        return result
    took = _read(Times, times)
    only = result.baseline.model_copy(update={"ms": took.ms})
    return result.model_copy(update={"configurations": (only,), "finished": took.finished})


def load_results(folder: Path, *, cost: Cost | None = None) -> list[ExperimentResult]:
    """All runs of all experiments below a folder, newest first: one code, data and settings make a run.

    None where the folder is not there. Raises `DatasetError` where a file is damaged.
    """
    runs: dict[tuple[str, ...], list[ExperimentResult]] = {}
    for path in sorted(folder.glob("*/*.json")):
        if not path.name.endswith(TIMES):
            one = read_result(path)
            runs.setdefault((one.experiment, one.code, one.data, one.base), []).append(one)
    together = [merged(parts, cost=cost) for parts in runs.values()]
    by_name = sorted(together, key=lambda result: result.experiment)
    return sorted(by_name, key=lambda result: result.finished, reverse=True)


def merged(parts: Iterable[ExperimentResult], *, cost: Cost | None = None) -> ExperimentResult:
    """One run of the configurations of several files, in their experiment's order, compared."""
    parts = sorted(parts, key=lambda part: part.baseline.place)
    configurations = tuple(
        one.model_copy(update={"cost": _cost_of(one, cost)}) for part in parts for one in part.configurations
    )
    return parts[0].model_copy(
        update={
            "configurations": configurations,
            "comparisons": compared(configurations),
            "finished": max(part.finished for part in parts),
        }
    )


def _cost_of(configuration: Configuration, cost: Cost | None) -> float | None:
    """What its tokens cost; None where no model wrote, or no price is set."""
    model, written = configuration.models.get(LANGUAGE_MODEL, ""), configuration.tokens_out
    if cost is None or written is None or configuration.tokens_in is None:
        return None
    return cost(model, configuration.tokens_in, written)


def compared(configurations: Sequence[Configuration]) -> tuple[Comparison, ...]:
    """Each but the first with the first, metric by metric, with p and verdict corrected for their number.

    Nothing where the experiment's own first is not among them.
    """
    if not configurations or configurations[0].place:
        return ()
    first = configurations[0]
    found = []
    for other in configurations[1:]:
        for metric in first.metrics:
            pairs = _paired(other, first, metric)
            if pairs:
                ours, theirs = zip(*pairs, strict=True)
                found.append(compare(other.name, first.name, metric, ours, theirs))
    return holm(found)


def _paired(ours: Configuration, theirs: Configuration, metric: str) -> list[tuple[float, float]]:
    """The scores of the questions that both have."""
    others = dict(zip(theirs.questions, theirs.scores.get(metric, ()), strict=False))
    own = zip(ours.questions, ours.scores.get(metric, ()), strict=False)
    return [
        (value, other)
        for question, value in own
        if value is not None and (other := others.get(question)) is not None
    ]


Read = TypeVar("Read", bound=_Record)


def _read(kind: type[Read], path: Path) -> Read:
    text = read_text(path)
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise _damaged(path, error.errors()[0]["msg"]) from error


def _damaged(path: Path, why: str) -> DatasetError:
    return DatasetError(
        f"Cannot read '{path}': it is cut off or no result of an experiment ({why}).",
        "Delete it, and run the experiment again: the other configurations stay.",
    )


def _write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        fix = "What was finished is kept: make room and run the same command again."
        if error.errno in NO_ROOM:
            raise DiskFull(f"Cannot write '{path}': the disk is full.", fix) from error
        raise StoreError(
            f"Cannot write '{path}': {error.strerror or error}.",
            "Let its folder be written, or name another with --results.",
        ) from error
