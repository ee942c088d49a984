"""How the verdict is calibrated: `python -m evals.calibration.answerability DATA --indexes FOLDER`.

Fits the two models of `pipeline/finding/verdict_weights.py` for an embedding model, on questions of five
collections (`evals/calibration/collections.py`). Every figure is of models that were fitted on the *other*
collections than the one they are tried on, with a `threshold` and `sure` chosen by these models' estimates.
Prints the figures by collection, then what goes into `pipeline/finding/verdict_weights.py`: the models
fitted on all, with a `threshold` and `sure` chosen by their own estimates, as each model has a scale of
its own.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from typer import echo

from evals.calibration.collections import Kind, SearchedQuestion, collections, everyday, searches
from evals.calibration.logistic import fit
from evals.datasets import default_folder
from evals.metrics import auroc
from pipeline.finding.verdict_signals import signals
from pipeline.finding.verdict_weights import Calibration, Scorer

TOPIC = ("nearest_sentence", "nearest_section", "agreed", "index_size", "lacks_word")
ANSWER = ("closeness", "nearest_section", "lacks_fact", "asks_focus", "focus_missing", "index_size")
# How much the kinds count, in each collection; all answerable ones together as much as all others.
TOPIC_SHARES: Mapping[Kind, float] = {"answerable": 1.0, "far": 0.4, "everyday": 0.4, "foreign": 0.2}
ANSWER_SHARES: Mapping[Kind, float] = {
    "answerable": 1.0, "near": 0.6, "taken": 0.1, "far": 0.1, "everyday": 0.1,
}  # fmt: skip
RIDGE = 20.0
# Shares of the answerable questions that the choice aims at; the targets are .01 refused and .10 closest.
REFUSED, NOT_SURE = 0.004, 0.085
CHOSEN_ON = ("manuals", "rust-book", "opensearch-docs")  # documentation, asked by strangers
KINDS: tuple[Kind, ...] = ("answerable", "near", "taken", "far", "everyday", "foreign")


@dataclass(frozen=True, slots=True)
class Row:
    """One question's signals."""

    collection: str
    kind: Kind
    values: Mapping[str, float]

    @property
    def answerable(self) -> bool:
        """True for questions that the documents answer."""
        return self.kind == "answerable"


def row_of(found: SearchedQuestion) -> Row:
    """The signals of one search."""
    question, passages = found.ask.text, found.passages
    values = signals(question, found.response, passages, found.index)
    return Row(found.collection, found.ask.kind, values)


def fitted(rows: Iterable[Row], names: Sequence[str], shares: Mapping[Kind, float]) -> Scorer:
    """A model over the named signals; each collection counts the same, and in it each kind by its share."""
    used = [row for row in rows if row.kind in shares]
    sizes = Counter((row.collection, row.kind) for row in used)
    weights = np.array([shares[row.kind] / sizes[row.collection, row.kind] for row in used])
    coefficients, intercept = fit(
        np.array([[row.values[name] for name in names] for row in used]),
        np.array([float(row.answerable) for row in used]),
        weights=weights * len(used) / weights.sum(),
        ridge=RIDGE,
    )
    rounded = (round(float(value), 2) for value in coefficients)
    return Scorer(dict(zip(names, rounded, strict=True)), round(intercept, 2))


def models(rows: Collection[Row]) -> tuple[Scorer, Scorer]:
    """Topic and answer."""
    return fitted(rows, TOPIC, TOPIC_SHARES), fitted(rows, ANSWER, ANSWER_SHARES)


def held_out(rows: Sequence[Row]) -> dict[int, tuple[float, float]]:
    """Both probabilities of each row (by its place), from models of the other collections."""
    found: dict[int, tuple[float, float]] = {}
    for collection in {row.collection for row in rows}:
        topic, answer = models([row for row in rows if row.collection != collection])
        for place, row in enumerate(rows):
            if row.collection == collection:
                found[place] = topic.probability(row.values), answer.probability(row.values)
    return found


def in_sample(rows: Sequence[Row]) -> dict[int, tuple[float, float]]:
    """Both probabilities of each row (by its place), from the models of all."""
    topic, answer = models(rows)
    return {
        place: (topic.probability(row.values), answer.probability(row.values))
        for place, row in enumerate(rows)
    }


def chosen(rows: Sequence[Row], estimates: Mapping[int, tuple[float, float]]) -> tuple[float, float]:
    """`threshold` and `sure`, by the shares of the answerable questions that may fall below each."""
    asked = [place for place, row in enumerate(rows) if row.answerable and row.collection in CHOSEN_ON]
    threshold = round(float(np.quantile([estimates[place][0] for place in asked], REFUSED)), 3)
    merged = [_merged(estimates[place], threshold) for place in asked]
    return threshold, round(float(np.quantile(merged, REFUSED + NOT_SURE)), 3)


def _merged(estimates: tuple[float, float], threshold: float) -> float:
    """The one scale of `Calibration.probability`."""
    on_topic, answered = estimates
    return on_topic if on_topic < threshold else threshold + (1 - threshold) * answered


def print_figures(rows: Sequence[Row]) -> None:
    """Print the verdicts by collection and kind, and the calibration."""
    estimates = held_out(rows)
    threshold, sure = chosen(rows, estimates)
    merged = {place: _merged(both, threshold) for place, both in estimates.items()}
    echo(
        "| collection | questions | n | refused | closest | answered | AUROC |\n|---|---|--:|--:|--:|--:|--:|"
    )
    for collection in dict.fromkeys(row.collection for row in rows):
        for kind in KINDS:
            _print_kind(rows, merged, collection, kind, threshold=threshold, sure=sure)
    topic, answer = models(rows)
    echo(f"\n{Calibration(topic, answer, *chosen(rows, in_sample(rows)))}")


def _print_kind(
    rows: Sequence[Row],
    merged: Mapping[int, float],
    collection: str,
    kind: Kind,
    *,
    threshold: float,
    sure: float,
) -> None:
    own = {place: row for place, row in enumerate(rows) if row.collection == collection}
    found = [merged[place] for place, row in own.items() if row.kind == kind]
    if not found:
        return
    right = [merged[place] for place, row in own.items() if row.answerable]
    area = auroc([*right, *found], [True] * len(right) + [False] * len(found))
    shares = (
        np.mean([value < threshold for value in found]),
        np.mean([threshold <= value < sure for value in found]),
        np.mean([value >= sure for value in found]),
    )
    figures = " | ".join(f"{share:.3f}" for share in shares)
    told_apart = "" if kind == "answerable" or area is None else f"{area:.3f}"
    echo(f"| {collection} | {kind} | {len(found)} | {figures} | {told_apart} |")


def main() -> None:
    """Parse, index, search, print."""
    from athena import load_settings, open_athena

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=default_folder())
    parser.add_argument(
        "--indexes", type=Path, required=True, help="where indexes are kept for the next time"
    )
    parser.add_argument("--embedding-model", default="auto", help="as ATHENA_EMBEDDING_MODEL")
    given = parser.parse_args()
    settings = load_settings(
        llm="none", hyde="off", rerank=False, cross_encoder="none",
        embedding_model=given.embedding_model, data_dir=given.indexes / "none",
    )  # fmt: skip
    athena = open_athena(settings)
    all_of_them = collections(athena, given.data, given.indexes)
    world = everyday(given.data)
    rows = [
        row_of(found)
        for own in all_of_them
        for found in searches(athena, own, [other for other in all_of_them if other is not own], world)
        if found.passages
    ]
    print_figures(rows)


if __name__ == "__main__":
    main()
