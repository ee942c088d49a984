"""The weights of the search over turns: what each is worth, and weights chosen on other conversations.

`python -m evals.calibration.turn_weights PATH…`, each a file or folder as `athena eval memory` takes them,
prints R@5, hit@10 and MRR

- as shipped, with each weight at 0, and with BM25 or vectors alone;
- of weights chosen anew, one by one, on all conversations but the one that is asked.

Each path is searched twice: its conversations one by one, and as one: as if all were one user's, dialogues
between the same two people. That makes the haystack about as large as the published ones are.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evals.conversations import Asked, Conversation, load_conversations
from evals.turn_search import MemoryReport, evaluate
from memory.turn_search import WEIGHTS, Weights
from pipeline.models.embedding import OnnxEncoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.models.base import Encoder

FACTORS = (0.0, 0.5, 1.0, 1.5, 2.0)  # of a shipped weight, when it is chosen anew
SHOWN = ("R@5", "hit@10", "MRR")


class CachedEncoder:
    """An encoder that embeds each text once."""

    def __init__(self, encoder: Encoder) -> None:
        self.encode_query = cache(encoder.encode_query)
        self.name = encoder.name
        self._encoder = encoder
        self._known: dict[str, NDArray[np.float32]] = {}

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of the texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known |= dict(zip(new, self._encoder.encode_passages(new), strict=True))
        return np.stack([self._known[text] for text in texts])


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks conversations with weights."""

    encoder: CachedEncoder

    def report(self, conversations: Sequence[Conversation], weights: Weights) -> MemoryReport:
        """What is found."""
        return evaluate(conversations, encoder=self.encoder, weights=weights)  # type: ignore[arg-type]


def variants() -> dict[str, Weights]:
    """As shipped, and each weight at 0."""
    found = {
        "as shipped": WEIGHTS,
        "BM25 alone": replace(WEIGHTS, dense=0.0),
        "vectors alone": replace(WEIGHTS, dense=1.0),
    }
    nothing = Weights(**{item.name: 0.0 for item in fields(Weights)})
    found["single turns, half and half"] = replace(nothing, dense=0.5)
    for item in fields(Weights):
        if item.name != "dense":
            found[f"without {item.name}"] = replace(WEIGHTS, **{item.name: 0.0})
    return found


def chosen(conversations: Sequence[Conversation], asker: Asker) -> Weights:
    """Each weight in turn at the factor with the best R@5, ties by MRR; it begins with the shipped ones."""
    best = WEIGHTS
    for item in fields(Weights):
        shipped = asdict(WEIGHTS)[item.name]
        factors = [factor for factor in FACTORS if item.name != "dense" or shipped * factor <= 1]
        tried = [replace(best, **{item.name: shipped * factor}) for factor in factors]
        best = max(tried, key=lambda weights: _goodness(asker.report(conversations, weights)))
    return best


def left_out(conversations: Sequence[Conversation], asker: Asker) -> dict[str, float]:
    """The metrics of each conversation with weights chosen on the others, means over the questions."""
    reports = []
    for number, held in enumerate(conversations):
        others = [*conversations[:number], *conversations[number + 1 :]]
        reports.append(asker.report([held], chosen(others, asker)))
    weights = [report.questions for report in reports]
    return {
        metric: float(np.average([report.metrics[metric] for report in reports], weights=weights))
        for metric in SHOWN
    }


def as_one(conversations: Sequence[Conversation]) -> list[Conversation]:
    """All conversations as one user's; where they have two speakers each, these have the same names."""
    parts = [_renamed(held, str(number)) for number, held in enumerate(conversations)]
    return [
        Conversation(
            "all of them",
            tuple(turn for part in parts for turn in part.turns),
            tuple(asked for part in parts for asked in part.asked),
            sum(part.left_out for part in parts),
        )
    ]


def _renamed(held: Conversation, prefix: str) -> Conversation:
    speakers = list(dict.fromkeys(turn.speaker for turn in held.turns if turn.speaker))
    names = dict(zip(speakers, ("Nadia", "Oskar"), strict=False))

    def said(text: str) -> str:
        return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), text)

    turns = [
        replace(
            turn,
            id=f"{prefix}/{turn.id}",
            session=f"{prefix}/{turn.session}",
            text=said(turn.text),
            speaker=said(turn.speaker),
        )
        for turn in held.turns
    ]
    asked = [
        Asked(said(item.question), tuple(f"{prefix}/{known}" for known in item.evidence), item.category)
        for item in held.asked
    ]
    return Conversation(held.name, tuple(turns), tuple(asked), held.left_out)


def _goodness(report: MemoryReport) -> tuple[float, float]:
    return report.metrics["R@5"], report.metrics["MRR"]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="+")
    paths: Sequence[str] = parser.parse_args().path
    asker = Asker(CachedEncoder(OnnxEncoder()))
    sets: dict[str, list[Conversation]] = {}
    for path in paths:
        conversations = load_conversations(Path(path))
        sets[path] = conversations
        sets[f"{path} as one"] = as_one(conversations)
    print("each cell:", " / ".join(SHOWN))
    for number, name in enumerate(sets, start=1):
        print(f"column {number}: {name}")
    for name, weights in variants().items():
        _print(name, [_cell(asker.report(held, weights).metrics) for held in sets.values()])
    print("\nchosen on the other conversations")
    for path, held in sets.items():
        if len(held) > 1:
            _print(path, [_cell(left_out(held, asker))])


def _cell(metrics: dict[str, float]) -> str:
    return " / ".join(f"{metrics[metric]:.3f}" for metric in SHOWN)


def _print(name: str, cells: Sequence[str]) -> None:
    print(f"{name:30}" + "".join(f"{cell:>24}" for cell in cells))


if __name__ == "__main__":
    main()
