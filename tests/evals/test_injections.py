"""The threshold that is set for the bundled model, on the messages that it was set on."""

from __future__ import annotations

from pathlib import Path

import pytest

from athena import load_settings, open_athena
from evals.injections import count_injections
from memory.options import OTHER_THRESHOLD, MemoryOptions
from pipeline.errors import DatasetError
from tests.memory.fake_memories import FakeEncoder


def test_no_unrelated_message_gets_a_memory(tmp_path: Path) -> None:
    report = count_injections(open_athena(load_settings(data_dir=tmp_path)).encoder)
    assert (report.memories, report.related, report.unrelated) == (20, 40, 50)
    assert report.as_set.threshold == report.threshold
    assert report.as_set.false_injections == 0
    assert report.as_set.missed <= 3
    assert report.at[0].false_injections > 0  # the messages can tell


def test_a_model_that_was_not_calibrated_is_trusted_with_little() -> None:
    assert count_injections(FakeEncoder()).threshold == OTHER_THRESHOLD
    assert MemoryOptions(memory_threshold=0.5).threshold_for("any") == 0.5


def test_a_file_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DatasetError, match=r"bad\.json"):
        count_injections(FakeEncoder(), tmp_path / "bad.json")
