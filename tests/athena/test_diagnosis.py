"""Doctor: every check runs, and what fails says how to fix it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from athena import Athena, open_athena
from athena.diagnosis import Check, Diagnosis, diagnose
from athena.models import Models
from athena.settings import Settings
from pipeline.errors import ModelUnavailable, StoreError
from pipeline.models.base import ModelChoice
from pipeline.stores.embedded.database import Database
from tests.fakes import FakeEncoder
from tests.pipeline.searching import write_manual


@pytest.fixture
def athena(tmp_path: Path) -> Iterator[Athena]:
    opened = opened_in(tmp_path)
    opened.ingest([write_manual(tmp_path)])
    yield opened
    opened.close()


def opened_in(folder: Path, *, encoder: Any = None, **given: Any) -> Athena:
    known = {"data_dir": folder / "data", "llm": "none", "cross_encoder": "none"}
    return open_athena(Settings(**known | given), encoder=encoder or FakeEncoder())


def check(diagnosis: Diagnosis, name: str) -> Check:
    (found,) = [item for item in diagnosis.checks if item.name == name]
    return found


def test_all_is_well(athena: Athena) -> None:
    diagnosis = diagnose(athena)
    assert diagnosis.ok
    assert [item.name for item in diagnosis.checks] == [
        "python", "data folder", "store", "index", "embedding works",
        "embedding", "cross-encoder", "language model",
    ]  # fmt: skip
    assert "3 documents" in check(diagnosis, "index").detail
    assert "32 dimensions" in check(diagnosis, "embedding works").detail


def test_nothing_indexed(tmp_path: Path) -> None:
    with opened_in(tmp_path) as athena:
        found = check(diagnose(athena), "index")
    assert not found.ok
    assert "athena ingest" in found.fix


def test_an_index_of_another_model(athena: Athena, tmp_path: Path) -> None:
    with opened_in(tmp_path, encoder=FakeEncoder(name="another")) as other:
        diagnosis = diagnose(other)
    assert not check(diagnosis, "index").ok
    assert "--rebuild" in check(diagnosis, "index").fix
    assert check(diagnosis, "embedding works").ok


def test_an_index_whose_rebuild_was_interrupted(athena: Athena) -> None:
    with athena.store.writing(athena.manifest, rebuild=True):
        pass
    found = check(diagnose(athena), "index")
    assert not found.ok and "interrupted" in found.detail


def test_one_failing_check_keeps_none_from_running(athena: Athena, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(_: Database) -> list[str]:
        raise StoreError("The file is damaged.", "Delete it.")

    def unreachable(*_: object) -> tuple[None, ModelChoice]:
        raise ModelUnavailable("No key.", "Set one.")

    monkeypatch.setattr(Database, "check", damaged)
    monkeypatch.setattr(Models, "language_model", unreachable)
    diagnosis = diagnose(athena)
    assert not diagnosis.ok
    assert check(diagnosis, "store") == Check("store", False, "The file is damaged.", "Delete it.")
    assert check(diagnosis, "language model") == Check("language model", False, "No key.", "Set one.")
    assert check(diagnosis, "index").ok


def test_damage_of_the_file_is_found(athena: Athena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Database, "check", lambda _: ["page 7 is wrong"])
    found = check(diagnose(athena), "store")
    assert (found.ok, found.detail) == (False, "page 7 is wrong")
    assert "backup" in found.fix


def test_documents_that_the_bundled_model_cannot_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "ja.md").write_text("# 弁\n\nポンプは弁が閉じている間うなります。\n", encoding="utf-8")
    with open_athena(Settings(data_dir=tmp_path / "data", llm="none", cross_encoder="none")) as athena:
        athena.ingest([tmp_path / "ja.md"])
        found = check(diagnose(athena), "index")
    assert found.ok
    assert "English (ja)" in found.fix
