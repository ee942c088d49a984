"""What is chosen on the Settings page: where it is kept, who may read it, and what wins over it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from athena import load_settings
from athena.chosen import CHANGEABLE, FILE_NAME, can_be_written, chosen_file, read_chosen, write_chosen
from athena.loading import changeable, with_chosen
from athena.settings import Settings
from athena.settings_changes import drafted
from pipeline.errors import AthenaError, ConfigurationError
from pipeline.redaction import MARK
from ui.shared.fields import SERVERS, origin_of


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a `.env`, and nothing set."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("ATHENA_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)


def test_choices_come_back_and_only_their_owner_may_read_them(tmp_path: Path) -> None:
    assert read_chosen(tmp_path / "data") == {}
    write_chosen(tmp_path / "data", {"quotes": 3, "openai_api_key": "sk-9"})
    path = tmp_path / "data" / FILE_NAME
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    write_chosen(tmp_path / "data", {"quotes": 4})
    assert read_chosen(tmp_path / "data") == {"quotes": 4}
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["version"] == 1
    assert [found.name for found in path.parent.iterdir()] == [FILE_NAME]


def test_flags_and_the_environment_and_dotenv_win(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {"quotes": 3, "hyde": "on", "rerank": False, "llm": "ollama/a"}
    write_chosen(Path(".athena"), chosen)
    Path(".env").write_text("ATHENA_HYDE=off\n", encoding="utf-8")
    monkeypatch.setenv("ATHENA_RERANK", "true")
    settings = load_settings(llm="none")
    assert (settings.quotes, settings.hyde, settings.rerank, settings.llm) == (3, "off", True, "none")
    assert changeable(settings) == frozenset(CHANGEABLE) - {"hyde", "rerank", "llm"}


def test_an_empty_line_of_the_environment_sets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATHENA_OPENAI_API_KEY", "")
    write_chosen(Path(".athena"), {"openai_api_key": "sk-chosen-1"})
    settings = load_settings()
    assert settings.openai_api_key == "sk-chosen-1"
    assert "openai_api_key" in changeable(settings)
    assert with_chosen(settings, {}).openai_api_key == ""


def test_the_data_folder_that_a_flag_names_is_read() -> None:
    write_chosen(Path("elsewhere"), {"quotes": 3})
    assert load_settings().quotes == 8
    assert load_settings(data_dir=Path("elsewhere")).quotes == 3


def test_a_choice_that_is_taken_back_is_the_default_again() -> None:
    settings = with_chosen(Settings(hyde="off"), {"quotes": 3, "persona": "p.toml", "hyde": "on"})
    assert (settings.quotes, settings.persona, settings.hyde) == (3, Path("p.toml"), "off")
    again = with_chosen(settings, {})
    assert (again.quotes, again.persona, again.hyde) == (8, None, "off")
    assert again == Settings(hyde="off")


def test_other_settings_in_the_file_are_not_read() -> None:
    Path(".athena").mkdir()
    values = {"host": "0.0.0.0", "quotes": 3}
    (Path(".athena") / FILE_NAME).write_text(json.dumps({"version": 1, "values": values}))
    assert (load_settings().host, load_settings().quotes) == ("127.0.0.1", 3)


def test_a_key_of_the_environment_goes_to_no_server_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    write_chosen(Path(".athena"), {"openai_base_url": "http://127.0.0.1:9/v1"})
    assert load_settings().openai_base_url == "http://127.0.0.1:9/v1"
    monkeypatch.setenv("ATHENA_OPENAI_API_KEY", "sk-of-the-environment")
    settings = load_settings()
    assert settings.openai_base_url == ""
    assert "openai_base_url" not in changeable(settings)


def test_a_key_of_ollama_goes_to_no_server_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    write_chosen(Path(".athena"), {"ollama_url": "http://127.0.0.1:9"})
    assert load_settings().ollama_url == "http://127.0.0.1:9"
    monkeypatch.setenv("OLLAMA_API_KEY", "key-of-the-environment")
    settings = load_settings()
    assert settings.ollama_url == Settings.model_fields["ollama_url"].default
    assert drafted(settings, {"ollama_url": "http://127.0.0.1:10"}).ollama_url == settings.ollama_url
    assert changeable(settings) == frozenset(CHANGEABLE) - {"ollama_url"}
    origin = origin_of(SERVERS[0], settings, {})
    assert origin == "Belongs to the key that `OLLAMA_API_KEY` sets: it cannot be changed here."


def test_a_key_goes_to_no_other_server_than_it_was_chosen_for() -> None:
    settings = load_settings()
    write_chosen(settings.data_dir, {"openai_base_url": "http://127.0.0.1:9/v1", "openai_api_key": "sk-one"})
    assert drafted(settings, {"quotes": 3}).openai_api_key == "sk-one"
    moved = drafted(settings, {"openai_base_url": "http://127.0.0.1:10/v1"})
    assert (moved.openai_base_url, moved.openai_api_key) == ("http://127.0.0.1:10/v1", "")
    both = {"openai_base_url": "http://127.0.0.1:10/v1", "openai_api_key": "sk-two"}
    assert drafted(settings, both).openai_api_key == "sk-two"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"quotes": 0}, "ATHENA_QUOTES cannot be 0: input should be greater than 0."),
        ({"hyde": "maybe"}, "ATHENA_HYDE cannot be 'maybe': "),
        ({"llm": "gpt"}, "ATHENA_LLM is 'gpt', which names no model."),
        ({"persona": "nowhere.toml"}, "ATHENA_PERSONA: cannot read 'nowhere.toml'"),
        ({"persona": "a\0b"}, "ATHENA_PERSONA has a NUL character in it."),
    ],
)
def test_bad_values_get_the_environments_errors(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        drafted(load_settings(), changes)
    assert caught.value.problem.startswith(problem)
    assert caught.value.fix


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"version": "1", "values": {}}', '{"version": 1, "values": []}', "\udcff"]
)
def test_a_file_that_is_none_of_ours_is_named(text: str) -> None:
    Path(".athena").mkdir()
    (Path(".athena") / FILE_NAME).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigurationError, match=r"Cannot read '\.athena/settings\.json': it is not as"):
        load_settings()


def test_a_newer_file_is_refused_and_a_bad_value_names_the_file() -> None:
    Path(".athena").mkdir()
    path = Path(".athena") / FILE_NAME
    path.write_text('{"version": 2, "values": {}}')
    with pytest.raises(ConfigurationError, match="format 2, this program knows up to 1"):
        load_settings()
    path.write_text('{"version": 1, "values": {"quotes": "many"}}')
    with pytest.raises(ConfigurationError, match=r"ATHENA_QUOTES cannot be 'many'.*settings\.json"):
        load_settings()


def test_a_bad_key_is_not_shown() -> None:
    Path(".athena").mkdir()
    Path(".athena", FILE_NAME).write_text('{"version": 1, "values": {"openai_api_key": ["sk-31415926535"]}}')
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert "31415926535" not in str(caught.value)


def test_a_chosen_key_is_taken_out_of_whatever_is_said() -> None:
    write_chosen(Path(".athena"), {"openai_api_key": "sk-2718281828"})
    settings = load_settings()
    assert "2718281828" not in repr(settings)
    assert str(AthenaError("The server said sk-2718281828.")) == f"The server said {MARK}."


def test_where_nothing_can_be_written_that_is_said(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    with pytest.raises(
        ConfigurationError, match=r"Cannot write .*settings\.json.*Make the data folder writable"
    ):
        write_chosen(in_the_way / "data", {"quotes": 3})
    assert can_be_written(tmp_path / "new")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(chosen_file(tmp_path))
    with pytest.raises(ConfigurationError, match="not a regular file"):
        read_chosen(tmp_path)
