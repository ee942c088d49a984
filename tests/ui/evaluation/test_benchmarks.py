"""The benchmarks of `docs/` as the page shows them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow.ipc import open_stream
from streamlit.testing.v1 import AppTest

from athena import Athena
from ui.evaluation import benchmarks

Run = Callable[..., AppTest]
MACHINE = {"cpu": "Z80", "cores": 1, "memory_gb": 1.0, "system": "CP/M", "versions": {"athena": "abc"}}


def record(name: str, **runs: list[float]) -> dict[str, object]:
    return {
        "name": name,
        "measured_at": "2026-11-01T10:00:00+00:00",
        "facts": {"commit": "abc"},
        "runs": runs,
    }


def written(folder: Path, *records: dict[str, object]) -> None:
    stored = {"machine": MACHINE, "benchmarks": {str(one["name"]): one for one in records}}
    (folder / "benchmarks.json").write_text(json.dumps(stored), encoding="utf-8")


def plotted(app: AppTest) -> list[dict[str, Any]]:
    """The rows of the one plot."""
    (chart,) = app.get("vega_lite_chart")
    sent = chart.proto.datasets[0].data if chart.proto.datasets else chart.proto.data
    rows: list[dict[str, Any]] = open_stream(sent.data).read_all().to_pylist()
    return rows


def test_amounts_are_plotted_with_their_spread_and_shares_by_their_mean(
    athena: Athena, run_app: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmarks, "DOCS", tmp_path)
    ours, theirs = record("ours", query_ms=[1.0, 2.0, 9.0]), record("theirs", query_ms=[4.0], found=[1, 0])
    written(tmp_path, ours, theirs)
    app = run_app(athena, page="evaluation", view="Benchmarks")
    found = {row["name"]: (row["value"], row.get("low"), row.get("high")) for row in plotted(app)}
    assert found == {"ours": (2.0, 1.0, 9.0), "theirs": (4.0, None, None)}
    assert any("Z80, 1 cores, 1 GB" in caption.value.replace("\\", "") for caption in app.caption)
    app.selectbox(key="measure-One user").select("found").run()
    assert [row["value"] for row in plotted(app)] == [0.5]


def test_without_the_repository_and_with_a_broken_file_it_says_so(
    athena: Athena, run_app: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmarks, "DOCS", tmp_path)
    app = run_app(athena, page="evaluation", view="Benchmarks")
    assert "this installation has none of it" in app.info[0].value
    (tmp_path / "benchmarks.json").write_text('{"machine": ', encoding="utf-8")
    app.run()
    assert "Cannot read the benchmarks" in app.error[0].value


def test_those_of_the_repository_are_all_shown(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="evaluation", view="Benchmarks")
    for title in benchmarks.FILES:
        app.selectbox(key="benchmarks-of").select(title).run()
        assert not app.exception
        assert plotted(app)
