"""Test data in files: tables of texts, and attempts to have instructions remembered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parent


def rows(name: str, *, cells: int = 0) -> list[list[str]]:
    r"""A table's lines, each with at least so many cells; they stand between tabs, and `\n` is a new line."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    found = [line.replace("\\n", "\n").split("\t") for line in lines]
    return [row + [""] * (cells - len(row)) for row in found]


def attacks() -> Sequence[dict[str, str]]:
    """Scripted attempts of instructions to be remembered."""
    path = FOLDER.parents[1] / "evals" / "data" / "memory" / "attacks" / "attacks.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
