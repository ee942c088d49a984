"""Settings: where they come from, what they refuse, and that each is documented."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from pydantic import ValidationError

from athena import load_settings, open_athena
from athena.loading import (
    CHANGEABLE,
    FILE_NAME,
    changeable,
    drafted,
    options_of,
    read_choices,
    with_choices,
    write_choices,
)
from athena.settings import Settings
from pipeline.errors import AthenaError, ConfigurationError
from pipeline.options import RetrievalOptions
from pipeline.redaction import MARK
from scripts.settings_page import page

ROOT = Path(__file__).parents[2]
FIELDS = Settings.model_fields

BAD = {
    "ollama_url": "localhost:11434",
    "formats": "md,doc",
    "context_window": "many",
    "alpha": "1.01",
    "user_header": "X User",
    "request_timeout_s": "nan",
    "price_in": "-1",
}


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a `.env`, and nothing set."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("ATHENA_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)


def test_flags_win_over_the_environment_and_that_over_dotenv(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("ATHENA_TOP_K=2\nATHENA_ALPHA=0.2\nATHENA_LLM=none\n", encoding="utf-8")
    monkeypatch.setenv("ATHENA_TOP_K", "3")
    monkeypatch.setenv("ATHENA_ALPHA", "0.3")
    settings = load_settings(top_k=4)
    assert (settings.top_k, settings.alpha, settings.llm) == (4, 0.3, "none")


def test_a_bad_value_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in BAD.items():
        variable = f"ATHENA_{name.upper()}"
        monkeypatch.setenv(variable, text)
        with pytest.raises(ConfigurationError) as caught:
            load_settings()
        monkeypatch.delenv(variable)
        assert caught.value.problem.startswith(f"{variable} cannot be {text!r}: ")
        assert "\n" not in caught.value.problem
        assert caught.value.fix


def test_options_have_the_values_of_the_settings_and_the_changes() -> None:
    settings = Settings(alpha=0.2, hyde="off", openai_api_key="sk-secret")
    options = options_of(settings, RetrievalOptions, hyde=settings.hyde == "on")
    assert (options.alpha, options.hyde, options.paths) == (0.2, False, None)
    assert not [name for name in options.model_dump() if "key" in name]  # they are stored with each answer
    with pytest.raises(ValidationError):
        options.but(alpha=2)
    with pytest.raises(ValidationError):
        options.but(alhpa=0.3)


@pytest.mark.parametrize("wrong", ["\u200b", "é", "\udcff", "\r\nX: y", "\x01"])
@pytest.mark.parametrize("name", ["openai_api_key", "weaviate_api_key"])
def test_a_key_that_no_request_can_carry_is_refused_and_not_shown(name: str, wrong: str) -> None:
    key = "sk-" + "0123456789" * 12
    with pytest.raises(
        ConfigurationError, match=f"^ATHENA_{name.upper()} .* character that no key"
    ) as refused:
        load_settings(**{name: f"{key}{wrong}0123"})
    assert "0123" not in str(refused.value)


def test_the_page_of_settings_is_the_generated_one() -> None:
    written = (ROOT / "docs" / "settings.md").read_text("utf-8")
    assert written == page(), "run scripts/settings_page.py"
    assert all(f"`ATHENA_{name.upper()}`" in written for name in FIELDS)


def test_an_env_file_that_is_not_utf8_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_bytes(b"ATHENA_LLM=none # caf\xe9\n")
    with pytest.raises(ConfigurationError, match=r"'\.env': .* 0xe9"):
        load_settings()


def test_only_a_local_embedding_model_is_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread.name))
    open_athena(Settings(embedding_model="ollama/nomic", ollama_url="http://127.0.0.1:9")).warm_up()
    assert started == []
    open_athena(Settings()).warm_up(serving=True)
    assert started == ["warm-up"] * 2  # the model, and the documents' words for spelling


# -- settings.json ------------------------------------------------------------------------------------------


def test_choices_come_back_and_only_their_owner_may_read_them(tmp_path: Path) -> None:
    assert read_choices(tmp_path / "data") == {}
    write_choices(tmp_path / "data", {"hyde": "on", "openai_api_key": "sk-9"})
    path = tmp_path / "data" / FILE_NAME
    path.chmod(0o644)
    write_choices(tmp_path / "data", {"hyde": "on"})
    assert read_choices(tmp_path / "data") == {"hyde": "on"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in path.parent.iterdir()] == [FILE_NAME]


def test_the_page_changes_what_nothing_else_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    write_choices(Path(".athena"), {"hyde": "on", "memory": "none", "llm": "ollama/a", "persona": "p.toml"})
    Path(".env").write_text("ATHENA_HYDE=off\nATHENA_TOP_K=3\n", encoding="utf-8")
    monkeypatch.setenv("ATHENA_TOP_K", "4")
    settings = load_settings(llm="none")
    assert (settings.hyde, settings.top_k, settings.llm, settings.memory) == ("off", 4, "none", "none")
    assert settings.fixed == {"hyde", "top_k", "llm"}
    assert changeable(settings) == frozenset(CHANGEABLE) - {"hyde", "llm"}


def test_an_empty_line_of_the_environment_sets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATHENA_OPENAI_API_KEY", "")
    write_choices(Path(".athena"), {"openai_api_key": "sk-chosen-1"})
    settings = load_settings()
    assert settings.openai_api_key == "sk-chosen-1"
    assert with_choices(settings, {}).openai_api_key == ""


def test_a_key_of_the_environment_goes_to_no_server_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    write_choices(Path(".athena"), {"openai_base_url": "http://127.0.0.1:9/v1"})
    assert load_settings().openai_base_url == "http://127.0.0.1:9/v1"
    monkeypatch.setenv("ATHENA_OPENAI_API_KEY", "sk-of-the-environment")
    settings = load_settings()
    assert settings.openai_base_url == ""
    assert "openai_base_url" not in changeable(settings)


def test_a_key_of_ollama_goes_to_no_server_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    write_choices(Path(".athena"), {"ollama_url": "http://127.0.0.1:9"})
    monkeypatch.setenv("OLLAMA_API_KEY", "key-of-the-environment")
    settings = load_settings()
    assert settings.ollama_url == FIELDS["ollama_url"].default
    assert drafted(settings, {"ollama_url": "http://127.0.0.1:10"}).ollama_url == settings.ollama_url


def test_a_key_goes_to_no_other_server_than_it_was_chosen_for() -> None:
    settings = load_settings()
    write_choices(settings.data_dir, {"openai_base_url": "http://127.0.0.1:9/v1", "openai_api_key": "sk-one"})
    assert drafted(settings, {"hyde": "on"}).openai_api_key == "sk-one"
    moved = drafted(settings, {"openai_base_url": "http://127.0.0.1:10/v1"})
    assert (moved.openai_base_url, moved.openai_api_key) == ("http://127.0.0.1:10/v1", "")
    both = {"openai_base_url": "http://127.0.0.1:10/v1", "openai_api_key": "sk-two"}
    assert drafted(settings, both).openai_api_key == "sk-two"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"hyde": "maybe"}, "ATHENA_HYDE cannot be 'maybe': "),
        ({"llm": "gpt"}, "ATHENA_LLM is 'gpt', which names no model."),
        ({"persona": "nowhere.toml"}, "ATHENA_PERSONA: 'nowhere.toml' cannot be read"),
    ],
)
def test_bad_choices_get_the_environments_errors(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        drafted(load_settings(), changes)
    assert caught.value.problem.startswith(problem)
    assert caught.value.fix


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"values": []}', "\udcff"])
def test_a_damaged_file_is_named(text: str) -> None:
    Path(".athena").mkdir()
    (Path(".athena") / FILE_NAME).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ConfigurationError, match=r"Cannot read '\.athena/settings\.json'"):
        load_settings()


def test_a_bad_value_names_the_file_and_a_bad_key_is_not_shown() -> None:
    write_choices(Path(".athena"), {"hyde": "many"})
    with pytest.raises(ConfigurationError, match=r"ATHENA_HYDE.*'many'.*settings\.json"):
        load_settings()
    Path(".athena", FILE_NAME).write_text(json.dumps({"values": {"openai_api_key": ["sk-31415926535"]}}))
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert "31415926535" not in str(caught.value)


def test_a_chosen_key_is_redacted() -> None:
    write_choices(Path(".athena"), {"openai_api_key": "sk-2718281828"})
    assert "2718281828" not in repr(load_settings())
    assert str(AthenaError("The server said sk-2718281828.")) == f"The server said {MARK}."


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    with pytest.raises(ConfigurationError, match=r"Cannot write .*settings\.json"):
        write_choices(in_the_way / "data", {"hyde": "on"})
