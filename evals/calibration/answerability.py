"""How the verdict is calibrated: `python -m evals.calibration.answerability DATA --indexes FOLDER`.

Fits the model of `pipeline/finding/verdict.py` for an embedding model, on five collections of questions
(`evals/calibration/collections.py`). Every figure is of a model that was fitted on other collections,
with thresholds chosen by such estimates. Prints the figures by collection, then the calibration to put into
`pipeline/finding/verdict.py`: fitted on all collections.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from typer import echo

from evals.calibration.collections import Kind, SearchedQuestion, collections, everyday, searches
from evals.calibration.logistic import fit
from evals.datasets import default_folder
from evals.metrics import auroc
from pipeline.finding.verdict import Calibration, signals
from pipeline.terms import content_terms

SIGNALS = ("nearest_sentence", "nearest_section", "closeness", "agreed", "coverage", "known", "index_size")
# How much the kinds count, in each collection.
SHARES: Mapping[Kind, float] = {
    "answerable": 1.0, "near": 0.2, "far": 0.4, "everyday": 0.4, "foreign": 0.2,
}  # fmt: skip
RIDGE = 20.0
# Shares of the answerable questions that the choice aims at; the targets are .01 refused and .10 closest.
REFUSED, NOT_SURE = 0.004, 0.15
CHOSEN_ON = ("manuals", "rust-book", "opensearch-docs")  # documentation, asked by strangers


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
    question, sentences = found.ask.text, found.sentences
    values = signals(
        question,
        found.response,
        found.passages,
        sentences=sentences.count(),
        unknown=sentences.lacking(content_terms(question)),
    )
    return Row(found.collection, found.ask.kind, values)


def fitted(rows: Iterable[Row]) -> Calibration:
    """The model of some questions, without thresholds: each collection counts the same."""
    used = [row for row in rows if row.kind in SHARES]
    sizes = Counter((row.collection, row.kind) for row in used)
    weights = np.array([SHARES[row.kind] / sizes[row.collection, row.kind] for row in used])
    coefficients, intercept = fit(
        np.array([[row.values[name] for name in SIGNALS] for row in used]),
        np.array([float(row.answerable) for row in used]),
        weights=weights * len(used) / weights.sum(),
        ridge=RIDGE,
    )
    rounded = (round(float(value), 2) for value in coefficients)
    return Calibration(dict(zip(SIGNALS, rounded, strict=True)), round(intercept, 2), threshold=0.0, sure=0.0)


def held_out(rows: Sequence[Row]) -> list[float]:
    """Each row's probability, from a model of the other collections."""
    names = {row.collection for row in rows}
    models = {name: fitted(row for row in rows if row.collection != name) for name in names}
    return [models[row.collection].probability(row.values) for row in rows]


def chosen(rows: Sequence[Row], estimates: Sequence[float]) -> tuple[float, float]:
    """`threshold` and `sure`, by the shares of the answerable questions that may fall below each."""
    asked = [
        estimate
        for row, estimate in zip(rows, estimates, strict=True)
        if row.answerable and row.collection in CHOSEN_ON
    ]
    threshold, sure = np.quantile(asked, (REFUSED, REFUSED + NOT_SURE))
    return round(float(threshold), 3), round(float(sure), 3)


def print_figures(rows: Sequence[Row]) -> None:
    """The verdicts by collection and kind, and the calibration."""
    estimates = held_out(rows)
    threshold, sure = chosen(rows, estimates)
    echo(
        "| collection | questions | n | refused | closest | answered | AUROC |\n|---|---|--:|--:|--:|--:|--:|"
    )
    found: dict[tuple[str, Kind], list[float]] = {}
    for row, estimate in zip(rows, estimates, strict=True):
        found.setdefault((row.collection, row.kind), []).append(estimate)
    for (collection, kind), values in found.items():
        right = found[collection, "answerable"]
        area = auroc([*right, *values], [True] * len(right) + [False] * len(values))
        refused, sure_of = np.mean(np.array(values) < threshold), np.mean(np.array(values) >= sure)
        figures = f"{refused:.3f} | {1 - refused - sure_of:.3f} | {sure_of:.3f}"
        told_apart = "" if kind == "answerable" or area is None else f"{area:.3f}"
        echo(f"| {collection} | {kind} | {len(values)} | {figures} | {told_apart} |")
    model = fitted(rows)
    threshold, sure = chosen(rows, [model.probability(row.values) for row in rows])
    echo(f"\n{replace(model, threshold=threshold, sure=sure)}")


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
