"""Questions to documents, as strangers typed them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

QUESTIONS = Path(__file__).parents[2] / "evals" / "data" / "strangers"


def strangers(corpus: str) -> Sequence[str]:
    """The questions that rules are made on."""
    lines = (QUESTIONS / corpus / "dev" / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["text"] for line in lines]
