"""Learning the weights of the sentence scores: which leaves are gold, and what is learned from them."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest

from athena import Athena, load_settings, open_athena
from evals.calibration.quotes import Example, examples_of, is_gold, learn, report
from evals.datasets import Question, Span
from pipeline.answer import Answerability, Retrieval
from pipeline.answering.sentence_scores import SIGNALS
from tests.pipeline.answering.leaves import passage_of


def test_gold_is_found_whatever_the_case_the_marks_and_the_line_breaks() -> None:
    first, second = passage_of("The **fan** hums.\n\n> It turns\n> at 4000 rpm.").leaves
    asked = Question(_id="q", text="?", answers=(Span(text="it turns at 4000", source="file.md"),))
    assert not is_gold(first, asked)
    assert is_gold(second, asked) is ("\n> " not in second.text)
    whole = Question(_id="q", text="?", answers=(Span(text="So: the fan HUMS. Always."),))
    assert is_gold(first, whole)
    assert not is_gold(first, Question(_id="q", text="?", answers=(Span(text="The fan", source="b.md"),)))


def example(number: int, *, gold: int) -> Example:
    """A question about three leaves, of which the gold one is the closest."""
    signals = np.random.default_rng(number).normal(size=(3, len(SIGNALS)))
    signals[:, SIGNALS.index("closeness")] = [float(leaf == gold) for leaf in range(3)]
    labels = np.array([float(leaf == gold) for leaf in range(3)])
    found = Retrieval(f"q{number}", (), Answerability(1.0, 0.5))
    return Example("set", cast("Athena", None), found, lambda text, _: bool(text), signals, labels)


def test_the_signal_that_tells_gets_the_weight_and_a_stronger_ridge_a_smaller_one() -> None:
    examples = [example(number, gold=number % 3) for number in range(30)]
    weights = learn(examples, ridge=1.0)
    others = [abs(value) for name, value in weights.items() if name != "closeness"]
    assert weights["closeness"] > 2 * max(others)
    assert learn(examples, ridge=100.0)["closeness"] < weights["closeness"]


def test_a_question_whose_gold_was_not_found_teaches_nothing() -> None:
    examples = [example(number, gold=number % 3) for number in range(9)]
    assert learn([*examples, example(99, gold=7)]) == pytest.approx(learn(examples))


def test_the_report_has_rows_for_each_set_and_all_weights(tmp_path: Path) -> None:
    manual = tmp_path / "manual"
    manual.mkdir()
    facts = {"fan": "4000 rpm", "pump": "3 bar", "lamp": "40 W", "heater": "70 W"}
    for name, fact in facts.items():
        (manual / f"{name}.md").write_text(f"# The {name}\n\nThe {name} runs at {fact}.\n", encoding="utf-8")
    settings = load_settings(llm="none", hyde="off", data_dir=tmp_path / "data")
    with open_athena(settings) as athena:
        athena.ingest([manual])
        asked = [
            Question(_id=name, text=f"How fast is the {name}?", answer=fact) for name, fact in facts.items()
        ]
        unknown = Question(_id="u", text="Who?", answerable=False)
        examples = list(examples_of(athena, [*asked, unknown], set_name="made"))
        lines = list(report(examples))
    assert [item.gold.sum() for item in examples] == [1.0] * 4
    assert [line.split(" | ")[1:4] for line in lines if line.startswith("| ") and "made" in line] == [
        ["made", "4", "1.000"],
        ["made", "4", "1.000"],
    ]
    assert [line.split('"')[1] for line in lines if line.startswith("    ")] == list(SIGNALS)
