"""Languages are told by their small words and scripts, and a question of keywords is of none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evals.datasets import held_out
from pipeline.asking.language import language_of, other_language

DATA = Path(__file__).parents[3] / "evals" / "data"
ENGLISH = "The fan is in the cabin and it hums when you turn it on."


@pytest.mark.parametrize(
    ("language", "question"),
    [
        ("English", "How do I reset the breaker?"),
        ("German", "Wie lange reicht der Sauerstoff?"),
        ("German", "Was bedeutet Alarm W-202?"),
        ("French", "Comment redémarrer le ventilateur de la cabine ?"),
        ("French", "Que signifie l’alarme W-202 ?"),
        ("Spanish", "¿Dónde está la bomba?"),
        ("Italian", "Dove si trova la pompa?"),
        ("Portuguese", "Onde está a bomba?"),
        ("Dutch", "Hoe start ik de ventilator opnieuw?"),
        ("Swedish", "Hur startar jag om fläkten?"),
        ("Danish or Norwegian", "Hvordan starter jeg viften på nytt?"),
        ("Polish", "Jak uruchomić wentylator w kabinie?"),
        ("Czech", "Jak restartuji ventilátor v kabině?"),
        ("Finnish", "Miten käynnistän tuulettimen?"),
        ("Russian", "Где находится насос W-202?"),
        ("Ukrainian", "Де знаходиться насос і вентилятор?"),
        ("Greek", "Πού είναι η αντλία;"),
        ("Chinese", "泵在哪里？"),
        ("Japanese", "ポンプ室の扉はどこ？"),
        ("Korean", "펌프는 어디에 있나요?"),
        ("Arabic", "أين المضخة؟"),
        ("Hebrew", "איפה המשאבה?"),
        ("Hindi", "पंप कहाँ है?"),
        ("Thai", "ปั๊มอยู่ที่ไหน"),
    ],
)
def test_languages_are_told(language: str, question: str) -> None:
    assert language_of(question) == language


@pytest.mark.parametrize(
    "text",
    ["", "W-202", "fuel cell", "die", "de facto", "Fn vs FnMut", "`der die das ist`", "El Capitan", "café"],
)
def test_a_few_words_are_of_no_language(text: str) -> None:
    assert language_of(text) is None


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
