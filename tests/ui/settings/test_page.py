"""The settings page as Streamlit runs it: what is offered, kept, taken back and tried."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from athena import Athena, load_settings, open_athena
from athena.loading import FILE_NAME, read_choices
from athena.settings_changes import change
from pipeline.errors import ConfigurationError
from tests.servers import OpenAIServer
from tests.ui.conftest import VALVES, texts

Run = Callable[..., AppTest]


@pytest.fixture
def open_to_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Athena]:
    """Athena over two files, of whose settings only the servers' addresses are set from outside."""
    monkeypatch.chdir(tmp_path)
    manuals = tmp_path / "manuals"
    manuals.mkdir()
    (manuals / "valves.md").write_text(VALVES, encoding="utf-8")
    (manuals / "tanks.md").write_text("# Tanks\n\nA cold LN2 tank may show OFFLINE, too.\n", encoding="utf-8")
    opened = open_athena(load_settings(data_dir=tmp_path / "data"))
    opened.ingest([manuals])
    yield opened
    opened.close()


def control(app: AppTest, kind: str, name: str) -> Any:
    """The control of a setting: its key ends in what the value was."""
    (found,) = [item for item in getattr(app, kind) if str(item.key).startswith(f"{name}-")]
    return found


def words(app: AppTest) -> str:
    return texts(app).replace("\\", "")


def test_what_is_set_from_outside_cannot_be_changed(open_to_change: Athena, run_app: Run) -> None:
    app = run_app(open_to_change, page="settings")
    assert control(app, "text_input", "ollama_url").disabled
    assert "Set by `ATHENA_OLLAMA_URL`" in words(app)
    assert not control(app, "text_input", "persona").disabled


def test_a_value_is_saved_used_and_reset(open_to_change: Athena, run_app: Run) -> None:
    app = run_app(open_to_change, page="settings")
    assert app.button(key="save").disabled
    control(app, "text_input", "openai_base_url").set_value("http://127.0.0.1:9/v1").run()
    assert open_to_change.settings.openai_base_url == ""
    app.button(key="save").click().run()
    assert open_to_change.settings.openai_base_url == "http://127.0.0.1:9/v1"
    assert read_choices(open_to_change.settings.data_dir) == {"openai_base_url": "http://127.0.0.1:9/v1"}
    assert "Chosen here." in words(app)
    app.button(key="reset-openai_base_url").click().run()
    assert open_to_change.settings.openai_base_url == ""


def test_a_key_is_kept_and_never_shown(open_to_change: Athena, run_app: Run) -> None:
    app = run_app(open_to_change, page="settings")
    assert control(app, "text_input", "openai_api_key").placeholder == "No key is set"
    control(app, "text_input", "openai_api_key").set_value("sk-161803398").run()
    assert "161803398" not in words(app)
    app.button(key="save").click().run()
    assert open_to_change.settings.openai_api_key == "sk-161803398"
    field = control(app, "text_input", "openai_api_key")
    assert (field.value, field.placeholder) == ("", "A key is set")
    assert "161803398" not in str(app._tree)
    path = open_to_change.settings.data_dir / FILE_NAME
    assert path.stat().st_mode & 0o077 == 0
    app.button(key="reset-openai_api_key").click().run()
    assert open_to_change.settings.openai_api_key == ""
    assert "161803398" not in path.read_text()


def test_a_bad_value_is_told_by_the_name_of_its_field(open_to_change: Athena, run_app: Run) -> None:
    app = run_app(open_to_change, page="settings")
    control(app, "text_input", "persona").set_value("nowhere.toml").run()
    app.button(key="save").click().run()
    assert "“Persona”: cannot read 'nowhere.toml'" in words(app)
    assert open_to_change.settings.persona is None


def test_what_is_no_address_is_refused_at_its_field(open_to_change: Athena, run_app: Run) -> None:
    app = run_app(open_to_change, page="settings")
    control(app, "text_input", "openai_base_url").set_value("not an address").run()
    assert "“Address of an OpenAI-compatible server” cannot be 'not an address'" in words(app)
    assert app.button(key="save").disabled
    app.button(key="test-connection").click().run()
    assert "ATHENA_OPENAI" not in "\n".join(item.value for item in (*app.error, *app.markdown))
    with pytest.raises(ConfigurationError, match="that is no address"):
        change(open_to_change, {"ollama_url": "localhost:11434"})
    assert read_choices(open_to_change.settings.data_dir) == {}


def test_saving_says_where_no_model_answers(open_to_change: Athena, run_app: Run) -> None:
    app = run_app(open_to_change, page="settings")
    control(app, "text_input", "openai_base_url").set_value("http://127.0.0.1:9/v1").run()
    app.button(key="save").click().run()
    assert "But no language model answers with it: Cannot reach" in words(app)
    assert "“Address of an OpenAI-compatible server”" in words(app)


def test_a_connection_is_tried_before_it_is_saved(open_to_change: Athena, run_app: Run) -> None:
    with OpenAIServer(key="right-key-1") as server:
        app = run_app(open_to_change, page="settings")
        control(app, "text_input", "openai_base_url").set_value(server.base_url).run()
        app.button(key="test-connection").click().run()
        assert "refused the key" in words(app)
        control(app, "text_input", "openai_api_key").set_value("right-key-1").run()
        app.button(key="test-connection").click().run()
        assert "openai/small-chat answers, by http://127.0.0.1" in "\n".join(
            item.value for item in app.success
        ).replace("\\", "")
    assert open_to_change.settings.openai_base_url == ""


def test_a_folder_that_can_only_be_read_says_so(
    open_to_change: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = os.access
    folder = open_to_change.settings.data_dir

    def access(path: Any, mode: int, **given: Any) -> bool:
        return (mode != os.W_OK or Path(path) != folder) and allowed(path, mode, **given)

    monkeypatch.setattr(os, "access", access)
    app = run_app(open_to_change, page="settings")
    assert "can only be read: nothing can be changed here." in words(app)
    assert control(app, "text_input", "persona").disabled
    assert control(app, "selectbox", "llm").disabled
