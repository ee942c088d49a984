"""Judges on the page: the rules tested, a model's kept test, one that is damaged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

from streamlit.testing.v1 import AppTest

from athena import Athena
from evals.judges import TESTED, JudgeReport
from ui.evaluation.running import evaluations

Run = Callable[..., AppTest]


def said(app: AppTest) -> str:
    kinds = (app.text, app.caption, app.markdown, app.error, app.warning)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def test_the_rules_are_tested_on_the_labelled_answers(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="evaluation", view="Judges")
    app.button(key="test-rules").click().run()
    job = evaluations().current
    assert job is not None and job.wait(120)
    app.run()
    table = app.dataframe[0].value
    assert set(table["Answers"]) >= {"right", "vague", "wrong unit", "abstained"}
    assert dict(zip(table["Answers"], table["Should be"], strict=True))["vague"] == "refused"
    assert "Rules see numbers" in said(app)


def test_a_kept_test_is_shown_and_a_damaged_one_told(athena: Athena, run_app: Run) -> None:
    accepted = {
        "right": {"accepted": 9, "of": 10, "unparsed": 1},
        "vague": {"accepted": 6, "of": 10, "unparsed": 0},
    }
    kept = JudgeReport("ollama/sure", 20, accepted, {}, 1.0, 0.6, 1, "It sees little.")
    folder = athena.settings.data_dir / TESTED
    folder.mkdir()
    (folder / "sure.json").write_text(json.dumps(asdict(kept)))
    app = run_app(athena, page="evaluation", view="Judges")
    assert list(app.dataframe[0].value["Judged rightly"]) == ["90%", "40%"]
    assert "What it said of 1 answer could not be read" in said(app) and "It sees little." in said(app)
    (folder / "sure.json").write_text('{"judge": "ollama/sure"')
    assert "it is no test of a judge, or cut off" in said(app.run())


def test_without_a_model_it_says_how_to_name_one(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="evaluation", view="Judges")
    app.button(key="test-model").click().run()
    assert "No language model is connected. Name one, as ollama/NAME" in said(app)
    assert evaluations().current is None
