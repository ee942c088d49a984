"""An ingest without its model: what reading, cutting and storing take, whatever embedding would.

    python -m tests.attack.unembedded FOLDER DATA_DIR

Prints the report as JSON. A model's time is that of so many tokens, which no construct can make more.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from athena import load_settings, open_athena

DIMENSIONS = 384


def some_vectors(
    _encoder: object, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
) -> NDArray[np.float32]:
    """Vectors of unit length: shape (len(texts), 384)."""
    if on_progress:
        on_progress(len(texts))
    rows = np.random.default_rng(len(texts)).standard_normal((len(texts), DIMENSIONS), dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def main(folder: str, data_dir: str) -> None:
    """Ingest a folder."""
    with (
        closing(open_athena(load_settings(data_dir=data_dir, llm="none"))) as athena,
        patch.object(type(athena.encoder), "encode_passages", some_vectors),
    ):
        report = athena.ingest([folder])
    print(json.dumps({"sections": report.sections, "sentences": report.sentences}))


if __name__ == "__main__":
    main(*sys.argv[1:])
