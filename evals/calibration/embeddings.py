r"""What the search finds with another model: `python -m evals.calibration.embeddings QUESTIONS=CORPUS …`.

`--model FOLDER` has a BERT-like model as `model.onnx` and its `tokenizer.json`; without it, the bundled one
is measured. All else of the search is as it is. Prints for each set of questions in how many the section with
the answer is first and among the first eight, nDCG@10, and what the quotes hold: with the weights as shipped,
which know the bundled model's cosines, and with weights learned for it on other corpora and questions.

    python -m evals.calibration.embeddings evals/data/strangers/{manuals,missions}/dev=docs_corpus \
        evals/data/manuals=docs_corpus evals/data/strangers/rust-book/dev=PATH/rust-book \
        --model FOLDER --pooling cls --query "Represent this sentence for searching relevant passages: "
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from typer import echo

from evals.calibration.quotes import (
    Example,
    cross_validated,
    examples_of,
    fold_of,
    judged,
    rows,
    to_build_with,
)
from evals.metrics import mean, ndcg_at
from evals.runs.answers import holds_gold
from evals.runs.asking import condensed
from evals.runs.passages import first_with_gold
from pipeline.answering.best_units import WEIGHTS
from pipeline.models.embedding import OnnxEncoder
from pipeline.models.fingerprint import file_fingerprint
from pipeline.models.onnx import TokenIds, model_inputs, open_session

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

    from athena import Athena
    from pipeline.models.base import Encoder

DEPTH = 20  # sections ranked a question
Pooling = Literal["cls", "mean"]


class FolderEncoder(OnnxEncoder):
    """A BERT-like model, `model.onnx` and `tokenizer.json`, with what it wants before its texts."""

    def __init__(
        self, folder: Path, *, pooling: Pooling = "mean", query: str = "", passage: str = ""
    ) -> None:
        super().__init__(folder, name=folder.resolve().name)
        self._pooling, self._query, self._passage = pooling, query, passage

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of the model file."""
        return file_fingerprint(self._folder / "model.onnx")

    def encode_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question: shape (dimensions,), unit length."""
        return super().encode_query(self._query + text)

    def encode_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Embed passages: shape (len(texts), dimensions), unit length."""
        return super().encode_passages([self._passage + text for text in texts], on_progress=on_progress)

    def _embed_batch(self, rows: list[TokenIds]) -> NDArray[np.float32]:
        inputs = model_inputs(self._session, np.stack(rows))
        hidden = np.asarray(self._session.run(["last_hidden_state"], inputs)[0], dtype=np.float32)
        pooled = hidden[:, 0] if self._pooling == "cls" else hidden.mean(axis=1)
        return np.asarray(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))

    @cached_property
    def _session(self) -> InferenceSession:
        with self._loading:
            return self.__dict__.get("_session") or open_session(self._folder / "model.onnx")


def athena_with(encoder: Encoder, data_dir: Path) -> Athena:
    """An Athena without other models, whose vectors are this encoder's."""
    from athena import Athena, load_settings

    class WithEncoder(Athena):
        @property
        def encoder(self) -> Encoder:
            return encoder

    settings = load_settings(llm="none", hyde="off", rerank=False, cross_encoder="none")
    return WithEncoder(settings.model_copy(update={"data_dir": data_dir, "store": "embedded"}))


def found_sections(examples: Sequence[Example]) -> tuple[float, float, float]:
    """The share of the questions whose answer is in the first section, in the first eight, and nDCG@10."""
    ranks, gains = [], []
    for example in examples:
        athena = example.athena
        options = athena.options.but(merge_up=False, follow_links=False, context_tokens=10**9, top_k=DEPTH)
        retrieval = athena.hybrid_search.search(condensed(example.query).question, options=options)
        ranks.append(first_with_gold(example.query, retrieval) or DEPTH + 1)
        if gold := _gold_sections(example):
            gains.append(ndcg_at([found.section.node_id for found in retrieval.passages], gold, 10))
    return mean([float(rank == 1) for rank in ranks]), mean([float(rank <= 8) for rank in ranks]), mean(gains)


def _gold_sections(example: Example) -> dict[str, int]:
    sections = example.athena.store.sections
    return {
        section.node_id: 1
        for info in sections.documents()
        for section in sections.document(info.source).sections
        if any(holds_gold(section.text, section.metadata["source"], gold) for gold in example.query.gold)
    }


def report(examples: Sequence[Example]) -> Iterator[str]:
    """The table of sections, then that of quotes."""
    yield "| questions | n | section first | among eight | nDCG@10 |\n|---|--:|--:|--:|--:|"
    for name in dict.fromkeys(item.name for item in examples):
        own = [item for item in examples if item.name == name]
        yield f"| {name} | {len(own)} | {' | '.join(f'{value:.3f}' for value in found_sections(own))} |"
    yield "\n| weights | questions | n | first | unfolded | any | words, median |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    yield from rows(examples, [judged(item, WEIGHTS) for item in examples], "as shipped")
    if len({item.corpus for item in examples}) > 1:
        yield from rows(examples, cross_validated(examples, lambda item: item.corpus), "other corpora")
    yield from rows(examples, cross_validated(examples, fold_of), "other questions")


def examples_with(
    encoder: Encoder, pairs: Iterable[tuple[Path, Path]], *, folder: Path, stack: ExitStack
) -> list[Example]:
    """The questions that have an answer, with what is found for them; indexes go below `folder`."""
    opened: dict[Path, Athena] = {}
    found: list[Example] = []
    for questions, corpus in pairs:
        if corpus not in opened:
            opened[corpus] = athena_with(encoder, folder / str(len(opened)))
            stack.callback(opened[corpus].close)
            opened[corpus].ingest([corpus])
        queries = to_build_with(questions, corpus)
        found += examples_of(opened[corpus], queries, name=str(questions), corpus=str(corpus))
    return found


def main() -> None:
    """Index each corpus with the model for the occasion, ask everything, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sets", nargs="+", help="QUESTIONS=CORPUS")
    parser.add_argument("--model", type=Path, help="a folder with model.onnx and tokenizer.json")
    parser.add_argument("--pooling", choices=("cls", "mean"), default="mean")
    parser.add_argument("--query", default="", help="what the model wants before a question")
    parser.add_argument("--passage", default="", help="what the model wants before a passage")
    given = parser.parse_args()
    encoder = (
        FolderEncoder(given.model, pooling=given.pooling, query=given.query, passage=given.passage)
        if given.model
        else OnnxEncoder()
    )
    pairs = [
        (Path(questions), Path(corpus)) for questions, _, corpus in (s.partition("=") for s in given.sets)
    ]
    with tempfile.TemporaryDirectory(prefix="athena-embeddings-") as scratch, ExitStack() as stack:
        for line in report(examples_with(encoder, pairs, folder=Path(scratch), stack=stack)):
            echo(line)


if __name__ == "__main__":
    main()
