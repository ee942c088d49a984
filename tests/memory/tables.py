"""Messages of tests that are data: tables of what is read of each, and questions as strangers typed them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

FOLDER = Path(__file__).parent
QUESTIONS = FOLDER.parents[1] / "evals" / "data" / "strangers"


def rows(name: str, *, cells: int = 0) -> list[list[str]]:
    r"""A table's lines, each with at least so many cells; they stand between tabs, and `\n` is a new line."""
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    found = [line.replace("\\n", "\n").split("\t") for line in lines]
    return [row + [""] * (cells - len(row)) for row in found]


def strangers(corpus: str) -> Sequence[str]:
    """Questions to documents, those that rules are made on."""
    lines = (QUESTIONS / corpus / "dev" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]


def attacks() -> Sequence[dict[str, str]]:
    """Scripted attempts of instructions to be remembered."""
    path = FOLDER.parents[1] / "evals" / "data" / "memory" / "attacks" / "attacks.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
