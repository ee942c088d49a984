"""Learning the weights of the quotes' signals: which leaves are gold, and what is learned from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from athena import load_settings, open_athena
from evals.calibration import quotes as calibration
from evals.calibration.quotes import Example, examples_of, gold_spans, learn, report
from evals.datasets import Question, Span
from pipeline.answering.leaf_chances import SIGNALS
from tests.pipeline.passages import make_passage

TEXT = "The **fan** hums.\nIt turns\n> at 4000 rpm."


def test_gold_is_found_whatever_the_case_the_marks_and_the_line_breaks() -> None:
    passage = make_passage("s1", text=TEXT)
    spans = gold_spans(
        passage, [Span(text="it turns at 4000 rpm"), Span(text="the fan HUMS", source="fan.md")]
    )
    assert [TEXT[start:end] for start, end in spans] == ["It turns\n> at 4000 rpm", "The **fan** hums"]
    assert gold_spans(passage, [Span(text="The fan hums", source="pump.md"), Span(text="")]) == []


def example(number: int, corpus: str, *, gold: int) -> Example:
    """A question about three leaves, of which the gold one is the closest."""
    values = np.random.default_rng(number).normal(size=(3, len(SIGNALS)))
    values[:, SIGNALS.index("closeness")] = [float(leaf == gold) for leaf in range(3)]
    labels = np.array([float(leaf == gold) for leaf in range(3)])
    query = Question(_id=f"q{number}", text="?")
    return Example("set", corpus, None, query, None, values, labels)  # type: ignore[arg-type]


def test_the_signal_that_tells_gets_the_weight_and_a_stronger_ridge_a_smaller_one() -> None:
    examples = [example(number, "one", gold=number % 3) for number in range(30)]
    weights = learn(examples, ridge=1.0)
    others = [abs(value) for name, value in weights.items() if name != "closeness"]
    assert weights["closeness"] > 2 * max(others)
    assert learn(examples, ridge=100.0)["closeness"] < weights["closeness"]


def test_a_question_whose_gold_was_not_found_teaches_nothing() -> None:
    examples = [example(number, "one", gold=number % 3) for number in range(9)]
    lost = example(99, "one", gold=7)
    assert learn([*examples, lost]) == pytest.approx(learn(examples))


def test_the_report_has_a_row_for_each_set_and_all_weights(tmp_path: Path) -> None:
    manual = tmp_path / "manual"
    manual.mkdir()
    facts = {"fan": "4000 rpm", "pump": "3 bar", "lamp": "40 W", "heater": "70 W"}
    for name, fact in facts.items():
        (manual / f"{name}.md").write_text(f"# The {name}\n\nThe {name} runs at {fact}.\n", encoding="utf-8")
    settings = load_settings(
        llm="none", hyde="off", rerank=False, cross_encoder="none", data_dir=tmp_path / "data"
    )
    athena = open_athena(settings)
    try:
        athena.ingest([manual])
        questions = [
            Question(_id=f"{name}", text=f"How fast is the {name}?", answer=fact)
            for name, fact in facts.items()
        ]
        unknown = Question(_id="u", text="Who?", answerable=False)
        examples = [
            item
            for corpus in ("one", "two")
            for item in examples_of(athena, [*questions, unknown], name=corpus, corpus=corpus)
        ]
        examples = [item for number, item in enumerate(examples) if number % 2 == (item.corpus == "two")]
        lines = list(report(examples))
    finally:
        athena.close()
    assert len(examples) == 4
    assert all(item.gold.sum() == 1 for item in examples)
    table = [line.split(" | ") for line in lines if line.startswith("|")][2:]
    assert [row[0].strip("| ") for row in table] == [
        *["other corpora"] * 3, *["other questions"] * 3, *["all (in sample)"] * 3,
    ]  # fmt: skip
    assert {row[1] for row in table} == {"one", "two", "all"}
    assert [line.split(":")[0].strip(' "') for line in lines if line.startswith("    ")] == list(SIGNALS)


def test_held_out_questions_are_left_alone() -> None:
    folder = Path("evals/data/manuals")
    kept = calibration.to_build_with(folder, Path("docs_corpus"))
    assert 0 < len(kept) < 158
    assert not [query for query in kept if calibration.held_out(query.id)]
