"""`python -m training mine | negatives | train | export | check`, from the repository's root.

Reading clones and looking for negatives takes Athena alone; training takes the extra `[hf]`, and exporting
`onnx`, too.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from typer import echo

from training.data import SOURCES, load_sources
from training.network import BEGIN_FROM, CROSS_ENCODER, RECIPE


def main() -> None:
    """Run one of the five steps."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    steps = parser.add_subparsers(required=True)

    def step(run: Callable[[argparse.Namespace], None], what: str) -> argparse.ArgumentParser:
        added = steps.add_parser(run.__name__.strip("_"), help=what, description=what)
        added.add_argument("data", type=Path, help="the folder of sections, questions and negatives")
        added.set_defaults(run=run)
        return added

    mining = step(_mine, "find questions and sections in clones of the listed repositories")
    mining.add_argument("clones", type=Path, help="has OWNER+NAME for each of github.com")
    mining.add_argument("--sources", type=Path, default=SOURCES)
    step(_negatives, "find sections that a search would bring and that do not answer")
    training = step(_train, "train on all repositories that are not held out")
    training.add_argument("into", type=Path, help="where checkpoints and the learning curve go")
    training.add_argument(
        "--pairs", type=int, default=100_000, help="all of them, with what a resumed one has seen"
    )
    training.add_argument("--seed", type=int, default=3)
    training.add_argument(
        "--model", type=Path, default=BEGIN_FROM, help="the int8 file whose weights it begins with"
    )
    training.add_argument("--resume", type=Path, help="a checkpoint to go on from")
    exporting = step(_export, "write a checkpoint as int8 ONNX, and its recipe")
    exporting.add_argument("checkpoint", type=Path)
    exporting.add_argument("--into", type=Path, default=CROSS_ENCODER)
    checking = step(_check, "compare digests, and measure on held-out repositories")
    checking.add_argument("--model", type=Path, default=CROSS_ENCODER, help="the folder of an exported model")
    options = parser.parse_args()
    options.run(options)


def _mine(options: argparse.Namespace) -> None:
    from training.mine import mine

    echo(json.dumps(mine(load_sources(options.sources), options.clones, into=options.data), indent=2))


def _negatives(options: argparse.Namespace) -> None:
    from pipeline.models.embedding import OnnxEncoder
    from pipeline.models.onnx import BUNDLED_FOLDER
    from training.negatives import add_negatives

    echo(f"{add_negatives(options.data, OnnxEncoder(BUNDLED_FOLDER))} questions have negatives.")


def _train(options: argparse.Namespace) -> None:
    from training.train import train

    run = train(
        options.data,
        into=options.into,
        pairs=options.pairs,
        seed=options.seed,
        model=options.model,
        resume=options.resume,
    )
    echo(f"{run.pairs} pairs, loss {run.loss:.3f}")


def _export(options: argparse.Namespace) -> None:
    from training.export import export

    export(options.checkpoint, options.data, into=options.into)
    echo((options.into / RECIPE).read_text(encoding="utf-8"))


def _check(options: argparse.Namespace) -> None:
    from training.check import check_data, check_digest, report

    check_digest(options.model)
    check_data(options.model, options.data)
    recipe = json.loads((options.model / RECIPE).read_text(encoding="utf-8"))
    echo(json.dumps(recipe | asdict(report(options.model, options.data)), indent=2))


if __name__ == "__main__":
    main()
