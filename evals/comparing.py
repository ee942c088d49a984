"""`athena eval compare`: two runs over the same questions, question by question."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from evals.datasets import read_text
from evals.significance import Comparison, compare, holm
from pipeline.errors import DatasetError

MADE_BY = (
    "Name two files that `athena eval answers DIR --json` or `athena eval retrieval DIR --json` printed."
)


class Run(BaseModel):
    """What is read of a run's `--json`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    dataset: str
    per_question: dict[str, dict[str, FiniteFloat]]


@dataclass(frozen=True, slots=True)
class CompareReport:
    """What `athena eval compare --json` prints; the verdicts are on the second run."""

    a: str
    b: str
    questions: int  # in both
    comparisons: tuple[Comparison, ...]
    left_out: tuple[str, ...]  # ids of questions that only one of them has


def compare_runs(a: Path, b: Path) -> CompareReport:
    """Each metric that both have, over the questions that both have, with Holm's correction."""
    first, second = load_run(a), load_run(b)
    if first.dataset != second.dataset:
        raise DatasetError(
            f"'{a}' is a run over {first.dataset}, '{b}' one over {second.dataset}.",
            "Compare runs over the same questions.",
        )
    ours, theirs = second.per_question, first.per_question
    both = [name for name in ours if name in theirs]
    found = []
    for metric in dict.fromkeys(metric for name in both for metric in ours[name]):
        about = [name for name in both if metric in ours[name] and metric in theirs[name]]
        if about:
            values = [[run[name][metric] for name in about] for run in (ours, theirs)]
            found.append(compare(b.stem, a.stem, metric, *values))
    if not found:
        raise DatasetError(f"'{a}' and '{b}' have no question in common.", MADE_BY)
    only_one = tuple(sorted(ours.keys() ^ theirs.keys()))
    return CompareReport(a.stem, b.stem, len(both), holm(found), only_one)


def load_run(path: Path) -> Run:
    """A run as it was printed; raises `DatasetError`."""
    try:
        return Run.model_validate(json.loads(read_text(path)))
    except (json.JSONDecodeError, RecursionError) as error:
        raise DatasetError(f"'{path}' is not JSON, or cut off: {error}.", MADE_BY) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise DatasetError(f"'{path}' is no run: {where}: {first['msg']}.", MADE_BY) from error
