r"""The weights of the quotes' signals: `python -m evals.calibration.quotes QUESTIONS=CORPUS …`.

For each question the leaves of its passages compete: the weights make those likely that are in an answer of
the data set (softmax over the leaves, ridge penalty on standardised signals). Prints the quotes' figures with
weights from other corpora (one left out at a time), from other questions of all (five folds) and from
all, then the weights for `pipeline/answering/leaf_chances.py`.

The weights there come from the halves to build with; opensearch-docs was left out, to see what they do
elsewhere:

    python -m evals.calibration.quotes evals/data/strangers/{manuals,missions}/dev=docs_corpus \
        evals/data/manuals=docs_corpus evals/data/strangers/rust-book/dev=PATH/rust-book
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from typer import echo

from evals.datasets import Question, Span, held_out, load_queries, with_texts
from evals.indexing import indexed_corpus
from evals.judging import Heard, Judged, Shown, judge
from pipeline.answer import Passage, Retrieval
from pipeline.answering.leaf_chances import SIGNALS, Candidate, Floats, leaf_signals
from pipeline.answering.quotes import candidates_of, choose_quotes, quotable
from pipeline.answering.section_blocks import end_of, start_of

if TYPE_CHECKING:
    from athena import Athena

RIDGE = 80.0  # of 3, 10, 30 and 80 the best on other questions
STEPS, RATE = 300, 0.1  # of Adam; the loss no longer changes
FOLDS = 5
MARKS = frozenset("*_`>")

Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Example:
    """One question with what was found for it, its leaves' signals and which of them are gold."""

    name: str  # of its set
    corpus: str
    athena: Athena
    query: Question
    retrieval: Retrieval
    signals: Floats  # (leaves, SIGNALS)
    gold: Floats  # (leaves,), 0 or 1


def examples_of(athena: Athena, queries: Iterable[Question], *, name: str, corpus: str) -> list[Example]:
    """An example for each question whose answer the data set names."""
    found = []
    for query in queries:
        if not (query.answerable and query.gold):
            continue
        retrieval = athena.hybrid_search.search(query.text)
        candidates = candidates_of(quotable(retrieval, athena.store))
        if not candidates:
            continue
        vectors = athena.store.sentences.vectors([item.leaf.node_id for item in candidates])
        question = athena.encoder.encode_query(retrieval.question)
        values = leaf_signals(retrieval.question, candidates, vectors, question)
        gold = gold_leaves(query, candidates)
        found.append(Example(name, corpus, athena, query, retrieval, values, gold))
    return found


def gold_leaves(query: Question, candidates: Sequence[Candidate]) -> Floats:
    """1 for each leaf that shares characters with an answer, else 0."""
    spans: dict[int, list[tuple[int, int]]] = {}
    gold = np.zeros(len(candidates))
    for index, item in enumerate(candidates):
        if item.section not in spans:
            spans[item.section] = gold_spans(item.passage, query.gold)
        gold[index] = any(
            start_of(item.leaf) < end and end_of(item.leaf) > start for start, end in spans[item.section]
        )
    return gold


def gold_spans(passage: Passage, golds: Iterable[Span]) -> list[tuple[int, int]]:
    """Where in the file the passage has an answer; case, white space and Markdown's marks do not count."""
    section = passage.section
    text, places = _squashed(section.text)
    spans = []
    for gold in golds:
        wanted, _ = _squashed(gold.text)
        at = text.find(wanted) if wanted and gold.source in ("", section.metadata["source"]) else -1
        while at >= 0:
            offset = start_of(section)
            spans.append((offset + places[at], offset + places[at + len(wanted) - 1] + 1))
            at = text.find(wanted, at + 1)
    return spans


def _squashed(text: str) -> tuple[str, list[int]]:
    """The text without white space and marks, in one case, and where each of its characters was."""
    kept = [
        (folded, index)
        for index, character in enumerate(text)
        if not character.isspace() and character not in MARKS
        for folded in character.casefold()
    ]
    return "".join(folded for folded, _ in kept), [index for _, index in kept]


def learn(examples: Sequence[Example], *, ridge: float = RIDGE) -> Weights:
    """The weights that make gold leaves likeliest, for signals as they are."""
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
    """Of minus the logarithm of the chance that a gold leaf is drawn."""
    logits = design @ weights
    chance = np.exp(logits - logits.max())
    chance /= chance.sum()
    right = chance * gold
    return np.asarray(design.T @ (chance - right / max(right.sum(), 1e-12)))


def judged(example: Example, weights: Weights) -> Judged:
    """The example's quotes with these weights, judged."""
    athena = example.athena
    quotes = choose_quotes(
        example.retrieval,
        store=athena.store,
        encoder=athena.encoder,
        limit=athena.settings.quotes,
        weights=weights,
    )
    shown = [Shown(quote.shown, quote.passage.section.metadata["source"], quote.folded) for quote in quotes]
    return judge(example.query, Heard(example.retrieval, shown), ms=0.0)


def cross_validated(examples: Sequence[Example], fold: Callable[[Example], object]) -> list[Judged]:
    """Every example judged with weights from the examples of all other folds."""
    found = []
    for held in sorted({str(fold(item)) for item in examples}):
        weights = learn([item for item in examples if str(fold(item)) != held])
        found += [judged(item, weights) for item in examples if str(fold(item)) == held]
    return found


def fold_of(example: Example) -> int:
    """One of five folds, by the hash of the question's id."""
    return hashlib.sha256(f"quotes {example.query.id}".encode()).digest()[0] % FOLDS


def rows(examples: Sequence[Example], judgements: Sequence[Judged], how: str) -> Iterable[str]:
    """A line for each set, and one for all."""
    by_id = {item.query_id: item for item in judgements}
    sets: dict[str, list[Judged]] = {}
    for example in examples:
        for name in (example.name, "all"):
            sets.setdefault(name, []).append(by_id[example.query.id])
    for name, found in sets.items():
        if name != "all" or len(sets) > 2:
            yield f"| {how} | {name} | {len(found)} | {_figures(found)} |"


def _figures(found: Sequence[Judged]) -> str:
    shares = [[item.first, item.unfolded, item.any] for item in found]
    first, unfolded, any_quote = np.mean(np.array(shares, dtype=float), axis=0)
    return f"{first:.3f} | {unfolded:.3f} | {any_quote:.3f} | {median(item.words for item in found):.0f}"


def report(examples: Sequence[Example]) -> Iterable[str]:
    """The table of figures, then the weights."""
    yield "| weights from | questions | n | first | unfolded | any | words, median |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    if len({item.corpus for item in examples}) > 1:
        yield from rows(examples, cross_validated(examples, lambda item: item.corpus), "other corpora")
    yield from rows(examples, cross_validated(examples, fold_of), "other questions")
    weights = learn(examples)
    yield from rows(examples, [judged(item, weights) for item in examples], "all (in sample)")
    yield ""
    yield from (f'    "{name}": {value:.3g},' for name, value in weights.items())


def main() -> None:
    """Index each corpus for the occasion, ask everything once, and print the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sets", nargs="+", help="QUESTIONS=CORPUS")
    given = parser.parse_args()
    pairs = [
        (Path(questions), Path(corpus)) for questions, _, corpus in (s.partition("=") for s in given.sets)
    ]
    from athena import load_settings, open_athena

    settings = load_settings(llm="none", hyde="off", rerank=False, cross_encoder="none")
    with ExitStack() as stack:
        plain = stack.enter_context(open_athena(settings))
        opened = {
            corpus: stack.enter_context(indexed_corpus(plain, corpus, corpus, None))[0]
            for corpus in dict.fromkeys(corpus for _, corpus in pairs)
        }
        examples = [
            example
            for questions, corpus in pairs
            for example in examples_of(
                opened[corpus], to_build_with(questions, corpus), name=str(questions), corpus=str(corpus)
            )
        ]
        for line in report(examples):
            echo(line)


def to_build_with(questions: Path, corpus: Path) -> list[Question]:
    """The questions that are not held out."""
    return [query for query in with_texts(load_queries(questions), corpus) if not held_out(query.id)]


if __name__ == "__main__":
    main()
