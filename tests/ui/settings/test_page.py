"""The Settings page: the model is chosen, tested and pulled; a key is kept and never shown; usage."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from streamlit.testing.v1 import AppTest

from athena import Athena, load_settings, open_athena
from athena.loading import FILE_NAME, read_choices
from athena.usage import UsageRow
from pipeline.answer import Usage
from pipeline.errors import ModelError
from tests.servers import OpenAIServer
from tests.ui.conftest import VALVES, answered, until, words
from ui.settings import ollama
from ui.settings.ollama import Installed
from ui.settings.page import cells
from ui.shared.jobs import jobs
from ui.shared.words import in_labels

Run = Callable[..., AppTest]
OLLAMA = [Installed("tiny:1b", 800_000_000), Installed("large:70b", 40_000_000_000)]


@pytest.fixture
def open_to_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Athena]:
    """Athena over one file, of whose settings only the servers' addresses are set from outside."""
    monkeypatch.chdir(tmp_path)
    manuals = tmp_path / "manuals"
    manuals.mkdir()
    (manuals / "valves.md").write_text(VALVES, encoding="utf-8")
    opened = open_athena(load_settings(data_dir=tmp_path / "data"))
    opened.ingest([manuals])
    yield opened
    opened.close()


@pytest.fixture
def two_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ollama has two models."""
    names = [f"ollama/{one.name}" for one in OLLAMA] + ["none"]
    monkeypatch.setattr("athena.models.Models.language_models", lambda _: names)
    monkeypatch.setattr("ui.settings.ollama.installed_models", lambda *_, **__: OLLAMA)


def field(app: AppTest, kind: str, name: str) -> Any:
    """The field of a setting: its key ends in how often the fields were emptied."""
    [found] = [item for item in getattr(app, kind) if str(item.key).startswith(f"{name}-")]
    return found


def submit(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception
    return app


def test_what_is_set_from_outside_says_where_and_cannot_be_changed(
    open_to_change: Athena, run_app: Run
) -> None:
    app = run_app(open_to_change, page="settings")
    assert field(app, "text_input", "ollama_url").disabled
    assert "`ATHENA_OLLAMA_URL` was set" in words(app) and not field(app, "selectbox", "llm").disabled


def test_a_model_is_picked_from_those_of_ollama_with_their_sizes(
    open_to_change: Athena, run_app: Run, two_models: None
) -> None:
    app = run_app(open_to_change, page="settings")
    assert "0.8 GB" in words(app) and "40.0 GB" in words(app)
    field(app, "selectbox", "llm").set_value("ollama/tiny:1b")
    submit(app, "Save")
    assert open_to_change.settings.llm == "ollama/tiny:1b" and "in use" in words(app)
    field(app, "selectbox", "llm").set_value("none")
    submit(app, "Save")
    assert read_choices(open_to_change.settings.data_dir) == {"llm": "none"} and "Saved" in words(app)


def test_a_key_is_kept_and_never_shown(open_to_change: Athena, run_app: Run) -> None:
    app = run_app(open_to_change, page="settings")
    field(app, "text_input", "openai_api_key").set_value("sk-secret-of-ours")
    submit(app, "Save")
    file = open_to_change.settings.data_dir / FILE_NAME
    assert "sk-secret-of-ours" in file.read_text(encoding="utf-8")
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0
    again = field(run_app(open_to_change, page="settings"), "text_input", "openai_api_key")
    assert again.value == "" and again.placeholder == "A key is set"


def test_a_message_names_the_fields_of_the_page() -> None:
    assert in_labels("ATHENA_LLM=auto or `ATHENA_X_S`: [Errno 1] No") == "“Language model” to auto or “x”: No"


def test_a_connection_is_tested_with_what_was_just_typed(open_to_change: Athena, run_app: Run) -> None:
    with OpenAIServer(key="right-key-1") as server:
        app = run_app(open_to_change, page="settings")
        field(app, "text_input", "openai_base_url").set_value(server.base_url)
        submit(app, "Test connection")
        assert "refused the key" in words(app)
        field(app, "text_input", "openai_api_key").set_value("right-key-1")
        submit(app, "Test connection")
        assert "openai/small-chat answers" in words(app)
    assert open_to_change.settings.openai_base_url == ""


def test_a_pull_that_fails_says_why(
    open_to_change: Athena, run_app: Run, two_models: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pull(*_: object, **__: object) -> NoReturn:
        raise ModelError("Ollama has no model 'wrong'.", "Check its name.")

    monkeypatch.setattr(ollama, "pull_model", pull)
    app = run_app(open_to_change, page="settings")
    app.text_input(key="pull-name").set_value("wrong")
    submit(app, "Pull")
    assert until(lambda: not jobs("pulling").working)
    assert "Check its name" in words(app.run())


def test_usage_counts_and_leaves_out_what_is_not_known(athena: Athena, run_app: Run) -> None:
    assert "not asked anything" in words(run_app(athena, page="settings"))
    conversation = athena.conversations.create("Valves").info.id
    used = Usage(1200, 30, estimated=True, model="ollama/x")
    athena.conversations.save_turn(
        conversation, answered(mode="generate", model="x", usage=used, seconds=1.5)
    )
    app = run_app(athena, page="settings")
    shown = {metric.label: metric.value for metric in app.metric}
    assert shown == {"Questions": "1", "Answered": "1", "Not answered": "0", "Tokens in": "~1,200",
                     "Tokens out": "~30", "95 % within": "1.5 s", "With memories": "0"}  # fmt: skip
    assert list(app.dataframe[0].value["Model"]) == ["ollama/x"]
    assert cells(UsageRow(0, 0, 0, None, None, False, None, None))["Tokens in"] == "–"
    near = UsageRow(1, 1, 0, None, None, False, None, None, recalls=1, relevance=(0.4, 0.5, 0.9))
    assert cells(near)["Memory relevance"] == "0.40 · 0.50 · 0.90"
