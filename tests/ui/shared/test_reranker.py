"""The button that fetches the cross-encoder, and that nothing else does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from athena import Athena, open_athena
from athena.settings import Settings
from pipeline.models.base import ModelChoice, Pulling
from pipeline.models.cross_encoder_files import REVISIONS
from tests.ui.conftest import VALVES

BUTTON = "fetch-cross-encoder"


@pytest.fixture
def without_reranker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Athena]:
    """An answer of an Athena whose cross-encoder, one of the hub, is not on disk."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "manuals").mkdir()
    (tmp_path / "manuals" / "valves.md").write_text(VALVES, encoding="utf-8")
    (name,) = REVISIONS
    opened = open_athena(
        Settings(data_dir=tmp_path / "data", llm="none", cross_encoder=name, model_cache=tmp_path / "cache")
    )
    opened.ingest([tmp_path / "manuals"])
    list(opened.chat().run("When does the LN2 tank show OFFLINE?"))
    yield opened
    opened.close()


def test_the_button_says_how_many_megabytes_and_shows_how_far_it_is(
    without_reranker: Athena, run_app: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def fetch(on_progress: Callable[[Pulling], None]) -> tuple[None, ModelChoice]:
        on_progress(Pulling("Fetching", 12_000_000, 24_000_000))
        begun.set()
        go_on.wait(60)
        return None, ModelChoice("cross-encoder", "", "none", "The hub is away.", "Try again.")

    monkeypatch.setattr(without_reranker.models, "fetch_cross_encoder", fetch)
    app = run_app(without_reranker, page="inspector")
    button = app.button(key=BUTTON)
    assert button.label == "Fetch the cross-encoder from huggingface.co (24\u00a0MB)"
    button.click().run()
    assert begun.wait(60)
    app.run()
    assert not [button for button in app.button if button.key == BUTTON]
    assert "12 of 24 MB" in str(_protos(app))
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "fetch":
            thread.join(60)
    app.run()
    assert "The hub is away" in str(app.warning[0].value)
    assert app.button(key=BUTTON)


def test_no_search_fetches_or_converts(without_reranker: Athena, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Any:
        pytest.fail("fetched or converted")

    monkeypatch.setattr("pipeline.models.cross_encoder_files.download", refuse)
    monkeypatch.setattr("pipeline.models.cross_encoder_files.convert", refuse)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())  # as with the extra [hf]
    assert without_reranker.search("LN2 tank").passages
    list(without_reranker.chat().run("When does it show OFFLINE?"))


def _protos(app: AppTest) -> list[Any]:
    def walk(node: Any) -> Iterator[Any]:
        yield getattr(node, "proto", None)
        for child in getattr(node, "children", {}).values():
            yield from walk(child)

    return [proto for proto in walk(app._tree) if proto is not None]
