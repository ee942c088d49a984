"""Runs and their comparison on the page: own results, kept, stale and damaged ones; verdicts; a cancel."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from pyarrow.ipc import open_stream
from streamlit.testing.v1 import AppTest

from athena import Athena
from evals import experiments, results
from evals.datasets import load_queries
from evals.judges import TESTED, JudgeReport
from evals.results import LANGUAGE_MODEL, Configuration, ExperimentResult, Times, summary, write_result
from pipeline.errors import DiskFull
from ui.evaluation.running import evaluations

Run = Callable[..., AppTest]
FOLDER = Path(experiments.__file__).parent / "data" / "manuals"
QUESTIONS = [query.id for query in load_queries(FOLDER)][:60]
WORST = QUESTIONS[5]


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "own")
    monkeypatch.setattr(results, "KEPT", tmp_path / "kept")


def written(
    folder: Path, *, hits: dict[str, list[float]], code: str = "", day: int = 1, metric: str = "hit@3"
) -> None:
    """Results of configurations by name, the first being the baseline."""
    ours = experiments.load_experiment("A")
    for place, (name, values) in enumerate(hits.items()):
        scores = {metric: tuple(values)}
        means, intervals = summary(scores)
        one = Configuration(
            name=name, place=place, digest=f"{day}{place}", settings={},
            models={LANGUAGE_MODEL: "ollama/sure"}, metrics=means,
            intervals=intervals, tokens_in=500, tokens_out=None, tokens_estimated=True,
            questions=tuple(QUESTIONS), scores=scores,
        )  # fmt: skip
        result = ExperimentResult(
            experiment="A", title=ours.title, dataset="manuals", data=ours.data,
            code=code or experiments.code_version(), configurations=(one,),
        )  # fmt: skip
        finished = f"2026-11-0{day}T10:00:00+00:00"
        write_result(folder, result, Times(finished=finished, seconds=9, ms={"all": {"p50": 20, "p95": 41}}))


def all_but(*missed: int) -> list[float]:
    return [float(number not in missed) for number in range(len(QUESTIONS))]


def page(run_app: Run, athena: Athena, view: str) -> AppTest:
    return run_app(athena, page="evaluation", view=view)


def plotted(app: AppTest) -> list[dict[str, Any]]:
    (chart,) = app.get("vega_lite_chart")
    rows: list[dict[str, Any]] = open_stream(chart.proto.data.data).read_all().to_pylist()
    return rows


def said(app: AppTest) -> str:
    kinds = (app.text, app.caption, app.markdown, app.warning, app.error)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def test_without_results_it_says_how_to_get_some(athena: Athena, run_app: Run) -> None:
    for view in ("Runs", "Compare"):
        assert "Nothing was run yet." in said(page(run_app, athena, view))


def test_configurations_stand_side_by_side_with_their_verdicts(
    athena: Athena, run_app: Run, tmp_path: Path
) -> None:
    few = all_but(*range(40))
    written(tmp_path / "own", hits={"small": few, "large": all_but(), "same": few})
    app = page(run_app, athena, "Compare")
    shown = {row["name"]: (row["word"], row["shape"]) for row in plotted(app)}
    assert shown == {
        "small": ("baseline", "square"), "large": ("better", "triangle-up"), "same": ("noise", "circle")
    }  # fmt: skip
    table, compared = (frame.value for frame in app.dataframe)
    assert list(table["hit@3"]) == ["0.333 ■", "1.000 ▲", "0.333 ●"]
    assert list(table["Cost"]) == ["no price set"] * 3
    assert list(compared["Verdict"]) == ["▲ better", "● noise"]
    assert "came with Athena" not in said(app) and not app.warning


def test_kept_results_are_called_that_and_stale_ones_too(
    athena: Athena, run_app: Run, tmp_path: Path
) -> None:
    written(tmp_path / "kept", hits={"small": all_but(5)}, code="another")
    app = page(run_app, athena, "Compare")
    assert "these are the results that came with Athena" in said(app)
    assert "This run was made with other code than now" in said(app)
    app = page(run_app, athena, "Runs")
    assert list(app.dataframe[0].value["Code and data"]) == ["other code"]
    assert "these are the results that came with Athena" in said(app)


def test_the_worst_questions_come_first_and_lead_to_the_inspector(
    athena: Athena, run_app: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "own", hits={"small": all_but(5)})
    app = page(run_app, athena, "Compare")
    rows = [button.key for button in app.button if str(button.key).startswith("inspect-")]
    assert rows[0] == f"inspect-{WORST}" and len(rows) == 8
    left: list[dict[str, str]] = []
    monkeypatch.setattr("ui.shared.links.go", lambda key, **query: left.append({"page": key, **query}))
    app.button(key=rows[0]).click().run()
    (gone,) = left
    assert gone["page"] == "inspector" and gone["c"] in athena.private_conversations
    assert not athena.conversations.list()
    app.button(key="more-worst").click().run()
    assert sum(str(button.key).startswith("inspect-") for button in app.button) == 16


def test_beside_a_models_score_stands_how_far_it_can_be_believed(
    athena: Athena, run_app: Run, tmp_path: Path
) -> None:
    written(tmp_path / "own", hits={"small": all_but()}, metric="judged_groundedness")
    app = page(run_app, athena, "Compare")
    assert "A model sees what a sentence means." in said(app)
    assert "ollama/sure was not tested here: test it under Judges." in said(app)
    kept = JudgeReport("ollama/sure", 60, {}, {}, 0.95, 0.63, 0, "")
    folder = athena.settings.data_dir / TESTED
    folder.mkdir()
    (folder / "sure.json").write_text(json.dumps(asdict(kept)))
    assert "ollama/sure accepts 95% of right answers and 63% of wrong ones." in said(app.run())


def test_runs_are_plotted_over_time(athena: Athena, run_app: Run, tmp_path: Path) -> None:
    written(tmp_path / "own", hits={"small": all_but(5)}, code="before", day=1)
    written(tmp_path / "own", hits={"small": all_but()}, day=2)
    rows = plotted(page(run_app, athena, "Runs"))
    assert [(row["name"], row["value"]) for row in rows] == [
        ("small", 1.0),
        ("small", pytest.approx(59 / 60)),
    ]


def test_what_a_run_wrote_is_there_at_the_next_look(athena: Athena, run_app: Run, tmp_path: Path) -> None:
    written(tmp_path / "own", hits={"small": all_but(5)}, code="before", day=1)
    app = page(run_app, athena, "Runs")
    assert len(app.dataframe[0].value) == 1
    written(tmp_path / "own", hits={"small": all_but()}, day=2)
    assert len(app.run().dataframe[0].value) == 2


def test_a_run_was_finished_by_this_machines_clock(
    athena: Athena, run_app: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        written(tmp_path / "own", hits={"small": all_but(5)}, day=1)
        assert list(page(run_app, athena, "Runs").dataframe[0].value["Finished"]) == ["2026-11-01 19:00"]
        (run, *_) = page(run_app, athena, "Compare").selectbox(key="compared").options
        assert run.endswith(", 2026-11-01 19:00")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_result_that_is_cut_off_is_told_and_other_views_are_reached(
    athena: Athena, run_app: Run, tmp_path: Path
) -> None:
    written(tmp_path / "own", hits={"small": all_but()})
    file = tmp_path / "own" / "A" / "10.json"
    file.write_text(file.read_text()[:50])
    app = page(run_app, athena, "Compare")
    assert "it is cut off or no result of an experiment" in said(app) and "Delete it" in said(app)
    app.segmented_control(key="evaluation-shown").set_value("Usage").run()
    assert "Nothing was asked yet." in said(app)


def test_a_run_is_started_seen_by_another_visit_and_cancelled(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def run(plans: list[Any], *, results: Path, report: Callable[[str, int, int], None]) -> Iterator[Any]:
        assert results.name == "own"
        report("A: fixed 256/50", 3, 10)
        reached.set()
        go_on.wait(30)
        report("A: fixed 256/50", 4, 10)
        yield from plans

    monkeypatch.setattr(experiments, "run", run)
    app = page(run_app, athena, "Runs")
    assert "configurations to run." in said(app)
    app.button(key="run").click().run()
    job = evaluations().current
    assert job is not None and reached.wait(30)
    other = page(run_app, athena, "Runs")
    (bar,) = other.get("progress")
    assert "A: fixed 256/50 3 of 10" in bar.proto.text.replace("\\", "")
    assert other.button(key="run").disabled
    other.button(key="cancel-job").click().run()
    go_on.set()
    assert job.wait(30)
    assert "Cancelled:" in said(other.run())
    other.button(key="close-job").click().run()
    assert not other.button(key="run").disabled


def test_a_run_that_fails_says_why_and_what_to_do(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> Iterator[Any]:
        raise DiskFull("Cannot write 'A.json': the disk is full.", "Make room and run it again.")
        yield

    monkeypatch.setattr(experiments, "run", full)
    app = page(run_app, athena, "Runs")
    app.button(key="run").click().run()
    job = evaluations().current
    assert job is not None and job.wait(30)
    assert "the disk is full. Make room and run it again." in said(app.run())
