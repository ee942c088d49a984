"""How far a text's vector depends on its batch, and how fast a model file is.

    python -m bench.quantisation [MODEL.onnx …] [--texts FOLDER] [--count 300] [--rounds 5]

Compares the bundled model with other files of the same network (an older one: `git show COMMIT:PATH`), in
batches of one text and in those of an ingest. Models and batches take turns, one thread, and processor time
is counted, so that other programs of the machine disturb little. Texts are lines of Markdown files.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pipeline.models.onnx import (
    BUNDLED_FOLDER,
    TokenIds,
    equal_length_batches,
    open_session,
    open_tokenizer,
    tokenize,
)

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

MANUALS = Path(__file__).resolve().parent.parent / "docs_corpus"
BUNDLED = BUNDLED_FOLDER / "model-int8.onnx"
SHORTEST = 20  # characters of a line
MAX_TOKENS = 256
WIDTH = 384


@dataclass
class Trial:
    """A model in batches of one kind: its vectors, and the seconds of each round."""

    model: Path
    session: InferenceSession
    batches: list[list[int]]
    vectors: NDArray[np.float32]
    seconds: list[float] = field(default_factory=list)

    def run(self, ids: Sequence[TokenIds]) -> None:
        """Embed all texts once."""
        start = time.thread_time()
        for batch in self.batches:
            inputs = {"input_ids": np.stack([ids[index] for index in batch])}
            means = np.asarray(self.session.run(["last_hidden_state"], inputs)[0]).mean(axis=1)
            self.vectors[batch] = means / np.linalg.norm(means, axis=1, keepdims=True)
        self.seconds.append(time.thread_time() - start)


def main() -> None:
    """Print a row for each model and kind of batch."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", type=Path, nargs="*", metavar="MODEL.onnx")
    parser.add_argument("--texts", type=Path, default=MANUALS)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    tokenizer = open_tokenizer(BUNDLED_FOLDER / "tokenizer.json", max_tokens=MAX_TOKENS)
    ids = tokenize(tokenizer, lines(options.texts, options.count))
    pairs = [trials(model, ids) for model in (BUNDLED, *options.models)]
    for _ in range(options.rounds):
        for trial in random.sample([trial for pair in pairs for trial in pair], 2 * len(pairs)):
            trial.run(ids)
    print(f"{len(ids)} lines, {statistics.mean(map(len, ids)):.0f} tokens in the mean")
    first = pairs[0][1]
    for alone, together in pairs:
        report("one text a batch", alone, alone=alone, first=first)
        report("as an ingest", together, alone=alone, first=first)


def lines(folder: Path, count: int) -> list[str]:
    """A sample of the different lines in a folder's Markdown files, always the same."""
    found = {line for path in folder.rglob("*.md") for line in path.read_text("utf-8").splitlines()}
    usable = sorted(line for line in found if len(line) >= SHORTEST)
    return random.Random(0).sample(usable, min(count, len(usable)))


def trials(model: Path, ids: Sequence[TokenIds]) -> tuple[Trial, Trial]:
    """A model with each text alone, and with the batches of an ingest."""
    session = open_session(model)
    together = equal_length_batches([len(row) for row in ids])
    alone = [[index] for index in range(len(ids))]

    def trial(batches: list[list[int]]) -> Trial:
        return Trial(model, session, batches, np.zeros((len(ids), WIDTH), np.float32))

    return trial(alone), trial(together)


def report(kind: str, trial: Trial, *, alone: Trial, first: Trial) -> None:
    """Speed, and how near the vectors are to those of each text alone."""
    cosines = (trial.vectors * alone.vectors).sum(axis=1)
    equal = (trial.vectors == alone.vectors).all(axis=1).mean()
    ratio = statistics.median(mine / other for mine, other in zip(trial.seconds, first.seconds, strict=True))
    speed = len(trial.vectors) / statistics.median(trial.seconds)
    print(
        f"{trial.model.name:20} {kind:17} {speed:5.0f} texts/s, time × {ratio:.2f}; "
        f"bit-equal to the text alone {equal:.0%}, worst cosine {cosines.min():.4f}"
    )


if __name__ == "__main__":
    main()
