"""Languages are told by their small words and scripts, and a question of keywords is of none."""

from __future__ import annotations

import json
from pathlib import Path

from evals.datasets import held_out
from pipeline.asking.language import language_of, other_language

DATA = Path(__file__).parents[3] / "evals" / "data"
ENGLISH = "The fan is in the cabin and it hums when you turn it on."


def test_no_question_in_english_is_taken_for_another_language() -> None:
    files = [*DATA.glob("strangers/*/dev/queries.jsonl"), *DATA.glob("m*/queries.jsonl")]
    rows = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    seen = [row["text"] for row in rows if not held_out(row["_id"])]
    assert len(seen) > 200
    assert [text for text in seen if language_of(text) not in ("English", None)] == []


def test_a_question_is_compared_with_what_was_found() -> None:
    assert other_language("Wo ist das Ventil?", [ENGLISH]) == ("German", "English")
    assert other_language("Where is the valve?", ["Das Ventil ist in der Kabine."]) == ("English", "German")
    assert other_language("Where is the valve?", [ENGLISH]) is None
    assert other_language("Ventil", [ENGLISH]) is None
    assert other_language("Wo ist das Ventil?", ["let x = 5;"]) is None
    assert other_language("Wo ist das Ventil?", []) is None
