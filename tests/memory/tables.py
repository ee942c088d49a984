"""Test data in files: tables of texts, and attempts to have instructions remembered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parent


def rows(name: str) -> list[list[str]]:
    r"""A table's lines as cells, which stand between tabs; `\n` is a new line."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line.replace("\\n", "\n").split("\t") for line in lines]


def attacks() -> Sequence[dict[str, str]]:
    """Scripted attempts of instructions to be remembered."""
    path = FOLDER.parents[1] / "evals" / "data" / "memory" / "attacks" / "attacks.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
