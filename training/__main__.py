"""`python -m training DATA WEIGHTS`: train the bundled cross-encoder. Needs the extra `[hf]` and `onnx`."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from typer import echo

from pipeline.models.cross_encoder import BUNDLED_MODEL
from training.train import train


def main() -> None:
    """Train on a folder of data, write the model with its recipe, and print the recipe."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder with pairs.jsonl.gz and sections.jsonl.gz")
    parser.add_argument("weights", type=Path, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("--into", type=Path, default=BUNDLED_MODEL.parent)
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    recipe = train(
        options.data, weights=options.weights, into=options.into, pairs=options.pairs, seed=options.seed
    )
    echo(recipe)


if __name__ == "__main__":
    main()
