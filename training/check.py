"""What the exported file is worth on repositories never trained on, and whether it is the recorded one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.calibration.logistic import fit
from evals.metrics import auroc
from pipeline.models.cross_encoder import OnnxCrossEncoder
from pipeline.models.embedding import OnnxEncoder
from pipeline.models.onnx import BUNDLED_FOLDER, file_fingerprint
from training.data import Data, data_digest, load_data
from training.examples import Example, held_out_examples
from training.network import MODEL, RECIPE

Scores = NDArray[np.float64]  # of a question's passages; the first answers it

SHOWN = 8  # passages that a search brings
REFUSED = (0.5, 0.8, 0.9)  # of the questions whose answer is not there


@dataclass(frozen=True, slots=True)
class Ranking:
    """In how many questions the answer comes first of eight passages, and the mean of 1 / its place."""

    first: float
    mrr: float


@dataclass(frozen=True, slots=True)
class Line:
    """A probability from a logit: 1 / (1 + exp(-(slope · logit + shift)))."""

    slope: float
    shift: float


@dataclass(frozen=True, slots=True)
class Report:
    """What `python -m training check` prints, beside the recipe."""

    repositories: int
    questions: int
    cross_encoder: Ranking
    embeddings: Ranking
    passage_answers: Line  # of eight passages, one of which answers
    answer_is_there: Line  # by the best of eight, half of the questions without theirs; 1 and 0 as exported
    area: float  # under that ROC curve
    kept: dict[str, float]  # the share of answerable questions that is kept, by the share of others refused


def check_digest(folder: Path) -> None:
    """Raise `SystemExit` where the model is not the one that its recipe was written for."""
    recorded = json.loads((folder / RECIPE).read_text(encoding="utf-8"))["model_sha256"]
    if (found := file_fingerprint(folder / MODEL)) != recorded:
        raise SystemExit(f"'{folder / MODEL}' is {found}, but its recipe was written for {recorded}.")


def check_data(folder: Path, data: Path) -> None:
    """Raise `SystemExit` where the model was trained on other data."""
    recorded = json.loads((folder / RECIPE).read_text(encoding="utf-8"))["data_sha256"]
    if (found := data_digest(data)) != recorded:
        raise SystemExit(f"'{data}' is {found}, but the model was trained on {recorded}.")


def report(folder: Path, data_folder: Path) -> Report:
    """All numbers of an exported model, on all questions of the held-out repositories."""
    data = load_data(data_folder)
    examples = all_held_out(data)
    scores = scored(folder / MODEL, examples)
    shown, encoder = [row[:SHOWN] for row in scores], OnnxEncoder(BUNDLED_FOLDER)
    with_answer, without = best_scores(scores)
    there = [True] * len(with_answer) + [False] * len(without)
    return Report(
        repositories=len(data.held_out()),
        questions=len(examples),
        cross_encoder=ranking(shown),
        embeddings=ranking([row[:SHOWN] for row in map(partial(cosines, encoder=encoder), examples)]),
        passage_answers=line(
            [float(row[0]) for row in shown], [float(score) for row in shown for score in row[1:]]
        ),
        answer_is_there=line(with_answer, without),
        area=round(auroc([*with_answer, *without], there) or 0.0, 4),
        kept=kept(with_answer, without),
    )


def all_held_out(data: Data) -> list[Example]:
    """Every question of the held-out repositories, with one passage more than a search brings."""
    return held_out_examples(data, number=len(data.questions), negatives=SHOWN)


def scored(model: Path, examples: Sequence[Example]) -> list[Scores]:
    """The logits of an ONNX file for each example's passages."""
    encoder = OnnxCrossEncoder(model)
    return [encoder.score(one.question, one.passages).astype(np.float64) for one in examples]


def best_scores(scores: Sequence[Scores]) -> tuple[list[float], list[float]]:
    """The best of the passages that a search brings, and the best where it brings another for the answer."""
    return [float(row[:SHOWN].max()) for row in scores], [float(row[1:].max()) for row in scores]


def cosines(example: Example, *, encoder: OnnxEncoder) -> Scores:
    """What the bundled embeddings say of an example's passages."""
    vectors = encoder.encode_passages([encoder.opening(text) for text in example.passages])
    return np.asarray(vectors @ encoder.encode_query(example.question), np.float64)


def ranking(scores: Sequence[Scores]) -> Ranking:
    """Of questions' passages; a passage with the answer's own score stands before it."""
    places = np.array([1 + (row[1:] >= row[0]).sum() for row in scores])
    return Ranking(round(float((places == 1).mean()), 4), round(float((1 / places).mean()), 4))


def line(yes: Sequence[float], no: Sequence[float]) -> Line:
    """Platt's scaling of scores that should be probable and of others that should not."""
    signals, labels = np.array([*yes, *no])[:, None], np.repeat([1.0, 0.0], [len(yes), len(no)])
    weights, shift = fit(signals, labels, weights=np.ones(len(labels)), ridge=1e-6)
    return Line(round(float(weights[0]), 4), round(shift, 4))


def kept(with_answer: Sequence[float], without: Sequence[float]) -> dict[str, float]:
    """How many questions with an answer score above a share of those without."""
    return {
        f"{share:.2f}": round(float((np.array(with_answer) > np.quantile(without, share)).mean()), 4)
        for share in REFUSED
    }
