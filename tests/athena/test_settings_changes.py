"""Settings that change while Athena runs: the index stays open, and only what they concern is made again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from athena import Athena, load_settings, open_athena
from athena.loading import drafted, read_choices
from athena.models import try_connection
from pipeline.errors import ConfigurationError, ModelError
from tests.servers import OllamaServer, OpenAIServer, Reply
from tests.ui.conftest import VALVES


@pytest.fixture
def athena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Athena]:
    """Athena over two files; its settings leave open what the page may change."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATHENA_OLLAMA_URL")
    manuals = tmp_path / "manuals"
    manuals.mkdir()
    (manuals / "valves.md").write_text(VALVES, encoding="utf-8")
    (manuals / "tanks.md").write_text("# Tanks\n\nA cold LN2 tank may show OFFLINE, too.\n", encoding="utf-8")
    opened = open_athena(load_settings(data_dir=tmp_path / "data"))
    opened.change_settings({"ollama_url": "http://127.0.0.1:9"})
    opened.ingest([manuals])
    yield opened
    opened.close()


def test_a_change_is_kept_and_used_while_the_index_stays_open(athena: Athena, tmp_path: Path) -> None:
    store, encoder = athena.store, athena.encoder
    chat = athena.chat()
    (tmp_path / "persona.toml").write_text('name = "Selene"\n', encoding="utf-8")
    assert athena.persona.name == "Athena"
    athena.change_settings({"hyde": "on", "persona": str(tmp_path / "persona.toml")})
    assert (athena.settings.hyde, athena.persona.name, athena.options.hyde) == ("on", "Selene", True)
    assert chat.parts.persona.name == "Athena"  # a chat that has begun keeps its persona
    assert (athena.store, athena.encoder) == (store, encoder)
    assert load_settings(data_dir=athena.settings.data_dir).hyde == "on"
    athena.change_settings({"hyde": None})
    assert athena.settings.hyde == "off"
    assert "hyde" not in read_choices(athena.settings.data_dir)


def test_a_bad_value_changes_nothing(athena: Athena) -> None:
    before = athena.settings
    with pytest.raises(ConfigurationError):
        athena.change_settings({"hyde": "maybe"})
    with pytest.raises(ConfigurationError):
        athena.change_settings({"hyde": "on", "persona": "nowhere.toml"})
    assert athena.settings == before
    assert "hyde" not in read_choices(before.data_dir)


def test_a_model_is_connected_and_its_key_used_without_a_restart(athena: Athena) -> None:
    assert athena.models.language_model()[0] is None
    with OpenAIServer(key="sk-1234567") as server:
        address = {"openai_base_url": server.base_url, "llm": "openai/small-chat"}
        athena.change_settings({**address, "openai_api_key": "sk-1234567"})
        assert athena.models.language_model()[1].name == "openai/small-chat"
        athena.change_settings({"openai_api_key": None})
        assert athena.settings.openai_api_key == ""


def test_a_connection_is_tried_by_a_word(athena: Athena) -> None:
    with OllamaServer() as server:
        server.reply_with(Reply(("ready",)))
        said = try_connection(drafted(athena.settings, {"ollama_url": server.url}))
        assert said.startswith("ollama/llama3.2:latest answers")
        with pytest.raises(ModelError, match="model 'other'"):
            try_connection(drafted(athena.settings, {"ollama_url": server.url, "llm": "ollama/other"}))
    with pytest.raises(ModelError, match=r"Cannot reach Ollama|Ollama"):
        try_connection(athena.settings)


def test_a_wrong_key_is_told_and_not_shown(athena: Athena) -> None:
    with OpenAIServer(key="right") as server:
        changes = {"openai_base_url": server.base_url, "openai_api_key": "sk-wrong-99"}
        changes["llm"] = "openai/small-chat"
        with pytest.raises(ModelError, match="refused the key") as caught:
            try_connection(drafted(athena.settings, changes))
    assert "sk-wrong-99" not in str(caught.value)
