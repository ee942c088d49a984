"""Languages are told by their small words and scripts, and a question of keywords is of none."""

from __future__ import annotations

import json
from pathlib import Path

from evals.datasets import held_out
from pipeline.asking.language import language_of

DATA = Path(__file__).parents[3] / "evals" / "data"


def test_no_question_in_english_is_taken_for_another_language() -> None:
    files = [*DATA.glob("strangers/*/dev/queries.jsonl"), *DATA.glob("m*/queries.jsonl")]
    rows = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    seen = [row["text"] for row in rows if not held_out(row["_id"])]
    assert len(seen) > 200
    assert [text for text in seen if language_of(text) not in ("English", None)] == []
