"""Who answers, documents or memory: fitted on questions to what was said, and on questions to manuals.

`python -m evals.calibration.leading --data-dir DIR` (an index of `docs_corpus`) plays the `dev` talks of
`evals/data/memory/talks`, each a user's of its own, and asks their questions; then it asks the manuals'
questions as a user who has said all of it. It prints the weights of what decides, and how many questions of
each kind the memory would answer from a probability on: by weights that were fitted without the question's
own fifth.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from athena import open_athena
from athena.settings import Settings
from evals.calibration.logistic import fit, held_out
from evals.datasets import load_queries
from evals.playing import PlayedAthena, playing
from evals.talks import ASKED, Step, Talk, has_words, load_talks, played
from pipeline.finding.verdict import sigmoid

DATA = Path(__file__).parents[1] / "data"
TALKS = ("dev", "strangers-dev")
QUESTIONS = (
    "manuals",
    "strangers/manuals/dev",
    "strangers/missions/dev",
    "relevance/manuals/dev",
    "near/manuals",
)
ALL = "all of them"  # the user who has said everything
TOLD = 5  # turns of which one has to answer
NAMES = ("probability of the memory", "closeness of the documents", "personal")
PROBABILITIES = (0.3, 0.4, 0.5, 0.6, 0.7)


@dataclass(frozen=True, slots=True)
class Example:
    """One question: of what kind, what the documents' verdict on it is, and the signs."""

    kind: str
    verdict: str
    signs: tuple[float, ...]


def examples(athena: PlayedAthena) -> Iterator[Example]:
    """Those of the talks, then those of the manuals."""
    talks = [talk for name in TALKS for talk in load_talks(DATA / "memory" / "talks" / f"{name}.json")]
    for talk in talks:
        yield from played(athena, talk, _asked)
        if talk.kind != "unrelated":
            for step in talk.steps:
                if step.say:
                    athena.say(step.say, user=ALL)
    for name in QUESTIONS:
        for question in load_queries(DATA / name):
            yield _example(athena, "manuals", question.text, user=ALL)


def _asked(athena: PlayedAthena, talk: Talk, step: Step, _conversation: str) -> Iterator[Example]:
    question = step.ask or step.unrelated
    found = athena.memory_of(talk.name).turns.search(question).found[:TOLD] if question else ()
    if step.unrelated or step.never_said:
        yield _example(athena, "unrelated" if step.unrelated else "never said", question, user=talk.name)
    elif any(has_words(item.turn.text, words) for item in found for words in step.any):
        yield _example(athena, "said", question, user=talk.name)


def _example(athena: PlayedAthena, kind: str, question: str, *, user: str) -> Example:
    told = athena.memory_of(user).told(question)
    documents = athena.search(question).answerability
    nearest = documents.signals.get("closeness", 0.0)
    return Example(kind, documents.verdict, (told.probability, nearest, float(told.personal)))


def main() -> None:
    """Print the weights, and who would answer what."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data-dir", type=Path, required=True)
    settings = Settings(data_dir=parser.parse_args().data_dir, llm="none")
    with open_athena(settings) as live, playing(live, memory=ASKED) as athena:
        found = list(examples(athena))
    fitted = [item for item in found if item.kind in ("said", "manuals")]
    signs = np.array([item.signs for item in fitted])
    labels = np.array([float(item.kind == "said") for item in fitted])
    counts = np.ones(len(labels))
    weights, intercept = fit(signs, labels, weights=counts)
    print(", ".join(f"{name} {weight:.2f}" for name, weight in zip(NAMES, weights, strict=True)))
    print(f"intercept {intercept:.2f}")
    others = [item for item in found if item not in fitted]
    rest = sigmoid(np.array([item.signs for item in others]) @ weights + intercept)
    shares = list(zip([*fitted, *others], [*held_out(signs, labels, weights=counts), *rest], strict=True))
    for kind, verdict in sorted({(item.kind, item.verdict) for item in found}):
        own = np.array([share for item, share in shares if (item.kind, item.verdict) == (kind, verdict)])
        reached = "  ".join(f"{least:.1f}: {np.count_nonzero(own >= least)}" for least in PROBABILITIES)
        print(f"{kind:11}{verdict:21}{len(own):4}  {reached}")


if __name__ == "__main__":
    main()
