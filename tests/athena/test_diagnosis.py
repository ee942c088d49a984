"""Doctor: every check runs, and what fails says how to fix it."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from athena.diagnosis import Check, Diagnosis, diagnose
from athena.settings import Settings
from pipeline.errors import ModelUnavailable, StoreError, StoreUnavailable
from pipeline.models.base import ModelChoice
from pipeline.steps.tracing import TurnTracer
from pipeline.stores.base import Manifest
from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import manifest_of, run_ingest
from tests.pipeline.otlp_receiver import OtlpReceiver
from tests.pipeline.searching import ENCODER

GOOD = ModelChoice("embedding", "fake", "bundled", "on disk")
CROSS = ModelChoice("cross-encoder", "small", "sentence-transformers", "on disk")
NONE = ModelChoice("language model", "", "none", "none is connected", "Start Ollama.")


class FakeAthena:
    """What doctor looks at; an exception stands for what raises it."""

    def __init__(self, folder: Path, *, store: Any, encoder: Any = ENCODER, **given: Any) -> None:
        self.settings = Settings(data_dir=folder, **given.pop("settings", {}))
        known = {"encoder": encoder, "choice": GOOD, "conversations": SimpleNamespace(list=list)}
        self._given = known | {"store": store, "embedded_store": store} | given

    def __getattr__(self, name: str) -> Any:
        value = self._given[name]
        if isinstance(value, Exception):
            raise value
        return value

    @property
    def manifest(self) -> Manifest:
        return manifest_of(self.encoder)

    @property
    def models(self) -> FakeModels:
        return FakeModels(self)


class FakeModels:
    def __init__(self, athena: FakeAthena) -> None:
        self._athena = athena

    @property
    def encoder(self) -> tuple[Any, ModelChoice]:
        return None, self._athena.choice

    def cross_encoder(self) -> tuple[None, ModelChoice]:
        return None, CROSS

    def language_model(self) -> tuple[None, ModelChoice]:
        return None, NONE


def run(store: Any, folder: Path, **given: Any) -> Diagnosis:
    return diagnose(FakeAthena(folder, store=store, **given))  # type: ignore[arg-type]


def check(diagnosis: Diagnosis, name: str) -> Check:
    (found,) = [item for item in diagnosis.checks if item.name == name]
    return found


def test_all_is_well(manual: EmbeddedStore, tmp_path: Path) -> None:
    diagnosis = run(manual, tmp_path)
    assert diagnosis.ok
    assert [item.name for item in diagnosis.checks] == [
        "python", "data folder", "index", "file", "words", "search",
        "embedding works", "embedding", "cross-encoder", "language model",
    ]  # fmt: skip
    assert (
        check(diagnosis, "index").detail
        == "3 documents, 7 sections, 17 sentences, embedded with fake-encoder"
    )
    assert check(diagnosis, "embedding works").detail == "fake-encoder gave 32 dimensions"
    assert check(diagnosis, "embedding").detail == "fake (bundled): on disk"
    advised = Check("language model", True, "none is connected", "Start Ollama.")
    assert check(diagnosis, "language model") == advised


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
        StoreError("The file is damaged.", "Delete it."),
        tmp_path,
        encoder=ModelUnavailable("No Ollama at 'x'.", "Start it."),
        choice=ModelUnavailable("No key.", "Set one."),
    )
    assert [(item.name, item.ok, item.detail, item.fix) for item in diagnosis.checks[2:6]] == [
        ("index", False, "The file is damaged.", "Delete it."),
        ("file", False, "The file is damaged.", "Delete it."),
        ("embedding works", False, "No Ollama at 'x'.", "Start it."),
        ("model", False, "No key.", "Set one."),
    ]
    assert [item.ok for item in diagnosis.checks[6:]] == [True, True]
    assert not diagnosis.ok


def test_documents_that_the_embedding_model_cannot_read_are_named_once(tmp_path: Path) -> None:
    (tmp_path / "ja.md").write_text("# 弁\n\nポンプは弁が閉じている間うなります。\n", encoding="utf-8")
    (tmp_path / "en.md").write_text("# Valve\n\nIt is shut.\n", encoding="utf-8")
    with closing(EmbeddedStore(tmp_path / "store")) as store:
        run_ingest(store, tmp_path, encoder=ENCODER)
        advice = check(run(store, tmp_path), "languages")
        assert advice.ok and advice.detail.startswith("1 document not in English (ja): ")
        other = ModelChoice("embedding", "bge-m3", "ollama", "multilingual")
        assert "languages" not in [item.name for item in run(store, tmp_path, choice=other).checks]


def test_a_full_disk(manual: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=150_000_000))
    found = check(run(manual, tmp_path / "not" / "made" / "yet"), "data folder")
    assert not found.ok
    assert "150 MB free" in found.detail
    assert "ATHENA_DATA_DIR" in found.fix
    assert not (tmp_path / "not").exists()


def test_tracing_is_checked_where_it_is_switched_on(manual: EmbeddedStore, tmp_path: Path) -> None:
    with OtlpReceiver() as receiver:
        for receiver.status in (200, 400):
            given = {"settings": {"phoenix_url": receiver.url}, "tracer": TurnTracer(receiver.url)}
            found = run(manual, tmp_path, **given).checks[-1]
            assert (found.name, found.ok) == ("tracing", receiver.status == 200)
    assert "tracing" not in [item.name for item in run(manual, tmp_path).checks]


def test_the_servers_and_their_versions_are_named(manual: EmbeddedStore, tmp_path: Path) -> None:
    servers = SimpleNamespace(versions=lambda: ("7.0", "1.36.0"))
    diagnosis = run(manual, tmp_path, server_store=servers, settings={"store": "server"})
    assert check(diagnosis, "servers").detail == "MongoDB 7.0, Weaviate 1.36.0"
    dead = StoreUnavailable("MongoDB does not answer.", "Start it.")
    diagnosis = run(manual, tmp_path, server_store=dead, settings={"store": "server"})
    assert (check(diagnosis, "servers").ok, check(diagnosis, "servers").fix) == (False, "Start it.")


def test_damage_of_the_file_is_told(
    manual: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manual.database, "check", lambda: ["page 7 is wrong"])
    found = check(run(manual, tmp_path), "file")
    assert (found.ok, found.detail) == (False, "page 7 is wrong")
    assert "backup" in found.fix
