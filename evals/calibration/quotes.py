r"""The weights of the sentence scores: `python -m evals.calibration.quotes QUESTIONS=CORPUS …`.

For each question the leaves of its passages compete: the weights make those likely that are in an answer of
the data set (softmax over the leaves, ridge penalty on standardised signals). Held-out questions are not
asked. Prints how often the quotes have the answer, with weights from other questions (five folds) and
from all, then the weights for `pipeline/answering/sentence_scores.py`:

    python -m evals.calibration.quotes evals/data/strangers/{manuals,missions}/dev=docs_corpus \
        evals/data/manuals=docs_corpus evals/data/strangers/rust-book/dev=PATH/rust-book
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from typer import echo

from evals.datasets import Question, held_out, load_queries, with_texts
from evals.indexing import indexed_corpus
from evals.judging import contains, holds_gold
from pipeline.answer import Retrieval
from pipeline.answering.quotes import Quote, choose_quotes, quotable
from pipeline.answering.sentence_scores import SIGNALS, Floats, sentence_signals
from pipeline.nodes import Node

if TYPE_CHECKING:
    from athena import Athena

RIDGE = 60.0  # of 20, 60 and 150 the best on other questions
STEPS, RATE = 300, 0.1  # of Adam; the loss no longer changes
FOLDS = 5
FEWEST_CHARACTERS = 12  # of a sentence that counts where it is a part of an answer

Weights = Mapping[str, float]
Holds = Callable[[str, str], bool]  # a text and its file → whether the text has the answer


@dataclass(frozen=True, slots=True)
class Example:
    """One question with what was found for it, its leaves' signals, and which leaves are gold."""

    set_name: str
    athena: Athena
    retrieval: Retrieval
    holds: Holds
    signals: Floats  # (leaves, SIGNALS)
    gold: Floats  # (leaves,), 0 or 1


def example_of(
    athena: Athena, question: str, holds: Holds, *, gold: Callable[[Node], bool], set_name: str
) -> Example | None:
    """Search for a question; None where nothing is found."""
    retrieval = athena.hybrid_search.search(question)
    found = quotable(retrieval, athena.store)
    leaves = [leaf for item in found for leaf in item.leaves]
    if not leaves:
        return None
    vectors = athena.store.sentences.vectors([leaf.node_id for leaf in leaves])
    signals = sentence_signals(
        retrieval.question, found, vectors, athena.encoder.encode_query(retrieval.question)
    )
    return Example(
        set_name, athena, retrieval, holds, signals, np.array([float(gold(leaf)) for leaf in leaves])
    )


def examples_of(athena: Athena, queries: Iterable[Question], *, set_name: str) -> Iterator[Example]:
    """Yield an example for each question whose answer the data set names."""
    for query in queries:
        if not (query.answerable and query.gold):
            continue

        def holds(text: str, source: str, query: Question = query) -> bool:
            return any(holds_gold(text, source, gold) for gold in query.gold)

        def gold(leaf: Node, query: Question = query) -> bool:
            return is_gold(leaf, query)

        example = example_of(athena, query.text, holds, gold=gold, set_name=set_name)
        if example:
            yield example


def is_gold(leaf: Node, query: Question) -> bool:
    """Tell whether a leaf has an answer, or is a sentence of one."""
    source = leaf.metadata["source"]
    golds = [gold.text for gold in query.gold if gold.text and gold.source in ("", source)]
    is_part = len(leaf.text) > FEWEST_CHARACTERS and any(contains(text, leaf.text) for text in golds)
    return is_part or any(contains(leaf.text, text) for text in golds)


def learn(examples: Sequence[Example], *, ridge: float = RIDGE) -> Weights:
    """Return the weights that make gold leaves likeliest, for signals as they are."""
    usable = [item for item in examples if item.gold.any()]
    everything = np.vstack([item.signals for item in usable])
    mean, spread = everything.mean(axis=0), everything.std(axis=0) + 1e-6
    designs = [((item.signals - mean) / spread, item.gold) for item in usable]
    weights, drift, scale = (np.zeros(len(SIGNALS)) for _ in range(3))
    for step in range(1, STEPS + 1):
        gradient = ridge * weights + sum(_gradient(design, gold, weights) for design, gold in designs)
        drift = 0.9 * drift + 0.1 * gradient
        scale = 0.999 * scale + 0.001 * gradient**2
        weights = weights - RATE * (drift / (1 - 0.9**step)) / (np.sqrt(scale / (1 - 0.999**step)) + 1e-8)
    return dict(zip(SIGNALS, (float(value) for value in weights / spread), strict=True))


def _gradient(design: Floats, gold: Floats, weights: Floats) -> Floats:
    """Return the gradient of minus the logarithm of the chance that a gold leaf is drawn."""
    logits = design @ weights
    chance = np.exp(logits - logits.max())
    chance /= chance.sum()
    right = chance * gold
    return np.asarray(design.T @ (chance - right / max(right.sum(), 1e-12)))


def quotes_with(example: Example, weights: Weights) -> list[Quote]:
    """Return the example's quotes with these weights."""
    athena = example.athena
    return choose_quotes(
        example.retrieval,
        store=athena.store,
        encoder=athena.encoder,
        limit=athena.settings.quotes,
        cross_encoder=athena.hybrid_search.cross_encoder,
        weights=weights,
    )


def fold_of(example: Example) -> int:
    """Return one of five folds, by the hash of the question."""
    return hashlib.sha256(f"quotes {example.retrieval.question}".encode()).digest()[0] % FOLDS


def report(examples: Sequence[Example]) -> Iterator[str]:
    """Yield the table of figures, then the weights."""
    yield "| weights from | questions | n | first | any | characters of the first, median |"
    yield "|---|---|--:|--:|--:|--:|"
    by_fold = {
        fold: learn([item for item in examples if fold_of(item) != fold])
        for fold in {*map(fold_of, examples)}
    }
    weights = learn(examples)
    for name in [*dict.fromkeys(item.set_name for item in examples), "all"]:
        chosen = [item for item in examples if name in (item.set_name, "all")]
        folded = [(item, by_fold[fold_of(item)]) for item in chosen]
        yield f"| other questions | {name} | {_figures(folded)} |"
        yield f"| all (in sample) | {name} | {_figures([(item, weights) for item in chosen])} |"
    yield ""
    yield from (f'    "{name}": {value:.3g},' for name, value in weights.items())


def _figures(weighed: Sequence[tuple[Example, Weights]]) -> str:
    first, anywhere, lengths = [], [], []
    for example, weights in weighed:
        quotes = quotes_with(example, weights)
        found = [example.holds(quote.shown, quote.citation.source) for quote in quotes]
        first.append(any(found[:1]))
        anywhere.append(any(found))
        lengths.append(len(quotes[0].shown) if quotes else 0)
    return f"{len(weighed)} | {np.mean(first):.3f} | {np.mean(anywhere):.3f} | {median(lengths):.0f}"


def main() -> None:
    """Index each corpus for the occasion, ask every question once, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sets", nargs="+", help="QUESTIONS=CORPUS")
    given = parser.parse_args()
    pairs = [item.partition("=")[::2] for item in given.sets]
    from athena import load_settings, open_athena

    with ExitStack() as stack:
        plain = stack.enter_context(open_athena(load_settings(llm="none", hyde="off")))
        opened = {
            corpus: stack.enter_context(indexed_corpus(plain, Path(corpus), Path(corpus), None))[0]
            for corpus in dict.fromkeys(corpus for _, corpus in pairs)
        }
        examples = [
            example
            for questions, corpus in pairs
            for example in examples_of(opened[corpus], _asked(questions, corpus), set_name=questions)
        ]
        for line in report(examples):
            echo(line)


def _asked(questions: str, corpus: str) -> list[Question]:
    """Return the questions of a data set that are not held out."""
    found = with_texts(load_queries(Path(questions)), Path(corpus))
    return [query for query in found if not held_out(query.id)]


if __name__ == "__main__":
    main()
