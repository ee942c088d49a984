"""The benchmark: processes are measured, known items are found."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.__main__ import measure
from bench.contenders import CONTENDERS
from bench.corpora import KnownItem, existing, known_items
from bench.processes import BenchmarkError, run_measured
from pipeline.errors import DatasetError

PAGES = {
    "a.md": "# Pumps\n\n## Coolant pump speed\n\n4200 rpm.\n\n## Usage\n\nTurn it on.\n",
    "b.md": "# Fans\n\n## Cabin fan noise\n\nIt hums.\n\n## Usage\n\nTurn it on.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    return tmp_path / "docs"


def test_headings_that_stand_once_and_say_enough_are_questions(folder: Path) -> None:
    items = [KnownItem("Cabin fan noise", "b.md"), KnownItem("Coolant pump speed", "a.md")]
    assert sorted(known_items(folder, count=9), key=lambda item: item.text) == items
    assert len(known_items(folder, count=1)) == 1
    with pytest.raises(DatasetError, match="nowhere"):
        existing(folder / "nowhere")


def test_a_process_is_measured_and_a_failed_one_named(tmp_path: Path) -> None:
    outlives_a_sample = "import time; x = bytearray(50_000_000); time.sleep(0.5); print('out')"
    done = run_measured([sys.executable, "-c", outlives_a_sample], cwd=tmp_path)
    assert done.output == "out\n" and done.peak_mb > 50 and done.seconds >= 0.5
    with pytest.raises(BenchmarkError, match="no luck"):
        run_measured([sys.executable, "-c", "raise SystemExit('no luck')"], cwd=tmp_path)


@pytest.mark.slow
def test_athena_is_measured(folder: Path, tmp_path: Path) -> None:
    found = measure(CONTENDERS[0], folder, tmp_path, questions=2)
    assert found.passages.endswith("sentences") and found.reciprocal_ranks == [1, 1]
    assert len(found.ms) == 2 and found.ingest_seconds > 0
