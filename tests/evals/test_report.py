"""The page of results and its plots, from results made by hand."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evals.plots import draw
from evals.report import newest, page
from evals.results import (
    Configuration,
    ExperimentResult,
    Times,
    compared,
    load_results,
    summary,
    write_result,
)
from pipeline.errors import ConfigurationError

QUESTIONS = tuple(f"q{number}" for number in range(40))
BOTH = {"hit@3": 1.0, "MRR": 0.5, "nDCG@10": 0.6, "similarity": 0.4}


def configuration(name: str, place: int, scale: float, **settings: Any) -> Configuration:
    scores = {metric: tuple(round(value * scale, 6) for _ in QUESTIONS) for metric, value in BOTH.items()}
    metrics, intervals = summary(scores)
    return Configuration(
        name=name,
        place=place,
        digest=f"{place:016}",
        settings=settings,
        models={"embedding": "bundled"},
        metrics=metrics,
        intervals=intervals,
        ms={"all": {"p50": 20.0, "p95": 41.0}},
        tokens_in=40_000,
        tokens_out=None,
        tokens_estimated=True,
        questions=QUESTIONS,
        scores=scores,
    )


def result(name: str, finished: str = "2026-01-02T03:04:05+00:00") -> ExperimentResult:
    made = (
        configuration("fixed 256/50", 0, 0.5, splitter="fixed 256/50"),
        configuration("fixed 1024/100", 1, 1.0, alpha=0.3),
        configuration("the same", 2, 0.5, alpha=0.7),
        configuration("off", 3, 0.25, rerank=False),
    )
    return ExperimentResult(
        experiment=name,
        title="Size",
        axis="tokens",
        dataset="manuals",
        data="d",
        code="c",
        configurations=made,
        comparisons=compared(made),
        finished=finished,
    )


def test_the_page_says_what_is_better_what_is_noise_and_what_cannot_be_told() -> None:
    text = page([result("A")], {"A": "pictures/A.svg"})
    assert "| A. Size | 4 | fixed 1024/100 | 1.000 | fixed 256/50 | +0.500 | better |" in text
    row = next(line for line in text.splitlines() if line.startswith("| off"))
    assert "0.250 [0.25, 0.25] ▼" in row
    assert row.endswith("20 (41) | 1,000 (est.) | – |")
    assert "*fixed 1024/100* is better than *fixed 256/50*: hit@3 +0.500 [+0.500, +0.500]" in text
    assert "No difference from *fixed 256/50* beyond noise: the same." in text
    assert "Too few questions to see a difference of 0.03" in text  # 40: that none differs says little
    assert "![Size](pictures/A.svg)" in text


def test_the_newest_run_of_each_is_shown() -> None:
    old, new = result("A", "2026-01-01T00:00:00"), result("A", "2026-01-03T00:00:00")
    assert newest([new, result("B"), old]) == [new, result("B")]


@pytest.mark.parametrize("name", ["A", "B", "C", "E"])
def test_each_picture_is_small_and_always_the_same(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawn = draw(result(name), tmp_path / "once")
    text = drawn.read_text(encoding="utf-8")
    assert text == draw(result(name), tmp_path / "twice").read_text(encoding="utf-8")
    assert len(text) < 100_000
    assert {"A": "similarity", "B": "fixed 256/50", "C": "tokens", "E": "rerank"}[name] in text
    assert drawn.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_without_the_package_plots_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    importing = builtins.__import__

    def without(name: str, *given: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return importing(name, *given, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigurationError, match=r"athena-docs\[plots\]"):
        draw(result("A"), tmp_path)


def test_the_command_writes_the_page_from_the_files(tmp_path: Path) -> None:
    made = result("B")
    took = Times(finished=made.finished, seconds=1.0, ms={"all": {"p50": 20.0, "p95": 41.0}})
    for one in made.configurations:
        kept = made.model_copy(update={"configurations": (one.model_copy(update={"ms": {}}),)})
        write_result(tmp_path / "results", kept, took)
    assert load_results(tmp_path / "results") == [made]
    out = tmp_path / "evaluation.md"
    given = ["--results", str(tmp_path / "results"), "--out", str(out)]
    subprocess.run([sys.executable, "-m", "evals.report", *given], check=True)
    assert "| B. Size |" in out.read_text(encoding="utf-8")
    none = [sys.executable, "-m", "evals.report", "--results", str(tmp_path / "none"), "--out", str(out)]
    ended = subprocess.run(none, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "has no results" in ended.stderr
