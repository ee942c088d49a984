"""Doctor: every check runs, and what fails says what mends it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from athena.diagnosis import Check, Diagnosis, diagnose
from pipeline.errors import ConfigurationError, ModelUnavailable, StoreError
from pipeline.models.base import ModelChoice
from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import manifest_of
from tests.pipeline.searching import ENCODER

GOOD = ModelChoice("embedding", "fake", "bundled", "on disk")
NONE = ModelChoice("language model", "", "none", "none is connected", "Start Ollama.")


def raising(error: Exception) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def run(
    store: Any,
    folder: Path,
    *,
    encoder: FakeEncoder = ENCODER,
    make_encoder: Callable[[], Any] | None = None,
    models: tuple[Callable[[], ModelChoice], ...] = (lambda: GOOD, lambda: NONE),
) -> Diagnosis:
    return diagnose(
        data_dir=folder,
        open_store=store if callable(store) else lambda: store,
        manifest=lambda: manifest_of(encoder),
        encoder=make_encoder or (lambda: encoder),
        models=models,
    )


def check(diagnosis: Diagnosis, name: str) -> Check:
    (found,) = [item for item in diagnosis.checks if item.name == name]
    return found


def test_all_is_well(manual: EmbeddedStore, tmp_path: Path) -> None:
    diagnosis = run(manual, tmp_path)
    assert diagnosis.ok
    assert [item.name for item in diagnosis.checks] == [
        "python", "data folder", "index", "embedding works", "embedding", "language model"
    ]  # fmt: skip
    assert (
        check(diagnosis, "index").detail
        == "3 documents, 7 sections, 17 sentences, embedded with fake-encoder"
    )
    assert check(diagnosis, "embedding works").detail == "fake-encoder gave 32 dimensions"
    assert check(diagnosis, "embedding").detail == "fake (bundled): on disk"


def test_without_a_language_model_all_is_well_and_advised(manual: EmbeddedStore, tmp_path: Path) -> None:
    model = check(run(manual, tmp_path), "language model")
    assert model == Check("language model", True, "none is connected", "Start Ollama.")


def test_nothing_indexed(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    diagnosis = run(store, tmp_path)
    assert not diagnosis.ok
    assert check(diagnosis, "index") == Check(
        "index", False, "nothing is indexed", "Index a folder with `athena ingest FOLDER`."
    )
    store.close()


def test_an_index_of_another_model(manual: EmbeddedStore, tmp_path: Path) -> None:
    diagnosis = run(manual, tmp_path, encoder=FakeEncoder(name="another"))
    found = check(diagnosis, "index")
    assert not found.ok
    assert "fake-encoder, now another" in found.detail
    assert "--rebuild" in found.fix
    assert check(diagnosis, "embedding works").ok


def test_one_failing_check_keeps_none_from_running(tmp_path: Path) -> None:
    diagnosis = run(
        raising(StoreError("The file is damaged.", "Delete it.")),
        tmp_path,
        make_encoder=raising(ModelUnavailable("No Ollama at 'x'.", "Start it.")),
        models=(raising(ModelUnavailable("No key.", "Set one.")), lambda: GOOD),
    )
    assert [(item.name, item.ok, item.detail, item.fix) for item in diagnosis.checks[2:]] == [
        ("index", False, "The file is damaged.", "Delete it."),
        ("embedding works", False, "No Ollama at 'x'.", "Start it."),
        ("model", False, "No key.", "Set one."),
        ("embedding", True, "fake (bundled): on disk", ""),
    ]
    assert not diagnosis.ok


def test_a_full_disk(manual: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=150_000_000))
    found = check(run(manual, tmp_path / "not" / "made" / "yet"), "data folder")
    assert not found.ok
    assert "150 MB free" in found.detail
    assert "ATHENA_DATA_DIR" in found.fix
    assert not (tmp_path / "not").exists()


def test_tracing_is_checked_where_it_is_switched_on(manual: EmbeddedStore, tmp_path: Path) -> None:
    def diagnosed(tracing: Callable[[], str]) -> Check:
        return diagnose(
            data_dir=tmp_path,
            open_store=lambda: manual,
            manifest=lambda: manifest_of(ENCODER),
            encoder=lambda: ENCODER,
            models=(),
            tracing=tracing,
        ).checks[-1]

    assert diagnosed(lambda: "Phoenix takes traces") == Check("tracing", True, "Phoenix takes traces")
    no_phoenix = ConfigurationError("No Phoenix.", "Start it.")
    assert diagnosed(raising(no_phoenix)) == Check("tracing", False, "No Phoenix.", "Start it.")
    assert "tracing" not in [item.name for item in run(manual, tmp_path).checks]
