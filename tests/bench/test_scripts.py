from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.scripts import load_scripts
from pipeline.errors import DatasetError


def written(folder: Path, *steps: dict[str, Any]) -> Path:
    at = {"at": "2025-01-01T10:00", "user": "ada"}
    text = json.dumps({"about": "A test.", "steps": [{**at, **step} for step in steps]})
    (folder / "test.json").write_text(text, encoding="utf-8")
    return folder


def test_our_scripts_have_all_that_is_to_be_looked_at() -> None:
    scripts = load_scripts()
    assert len(scripts) >= 12
    assert all(script.about.endswith(".") for script in scripts)
    kinds = {step.kind for script in scripts for step in script.steps}
    assert kinds == {
        "say", "document", "ask", "keeps", "unrelated", "message", "nowhere", "disputed", "forget", "again"
    }  # fmt: skip
    assert len({step.user for script in scripts for step in script.steps}) > 1
    for script in scripts:
        times = [step.at for step in script.steps]
        assert times == sorted(times), script.name


@pytest.mark.parametrize("step", [{}, {"say": "a", "ask": "b"}, {"say": "a", "unknown": 1}, {"fact": True}])
def test_a_step_is_one_thing(tmp_path: Path, step: dict[str, Any]) -> None:
    with pytest.raises(DatasetError, match=r"test.json' is no script: .*steps › 0"):
        load_scripts(written(tmp_path, step))


def test_no_scripts_and_no_json_are_said(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no scripts"):
        load_scripts(tmp_path)
    (tmp_path / "a.json").write_text("{", encoding="utf-8")
    with pytest.raises(DatasetError, match="no script"):
        load_scripts(tmp_path)
