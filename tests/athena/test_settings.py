"""Settings: where they come from, what they refuse, and that each is documented."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from athena import Athena, load_settings
from athena.loading import part
from athena.missions import has_mission
from athena.settings import Settings
from pipeline.errors import ConfigurationError
from pipeline.options import RetrievalOptions

ROOT = Path(__file__).parents[2]
FIELDS = Settings.model_fields

# A good value for each setting that is not its default, as a text.
GOOD: dict[str, tuple[str, Any]] = {
    "data_dir": ("elsewhere", Path("elsewhere")),
    "corpus": ("manuals", Path("manuals")),
    "store": ("server", "server"),
    "mongodb_url": ("mongodb://u:p@db/", "mongodb://u:p@db/"),
    "mongodb_database": ("manuals", "manuals"),
    "weaviate_url": ("https://vectors", "https://vectors"),
    "weaviate_grpc_host": ("grpc.vectors", "grpc.vectors"),
    "weaviate_grpc_port": ("443", 443),
    "weaviate_api_key": ("k", "k"),
    "weaviate_prefix": ("Manuals", "Manuals"),
    "weaviate_replicas": ("3", 3),
    "weaviate_shards": ("6", 6),
    "weaviate_quantizer": ("rq", "rq"),
    "formats": ("md,pdf", "md,pdf"),
    "language": ("de", "de"),
    "max_file_mb": ("2.5", 2.5),
    "max_converted_mb": ("20", 20.0),
    "convert_timeout_s": ("5", 5.0),
    "max_upload_files": ("3", 3),
    "max_upload_mb": ("7", 7.0),
    "embedding_model": ("ollama/nomic", "ollama/nomic"),
    "embedding_threads": ("2", 2),
    "cross_encoder": ("none", "none"),
    "llm": ("none", "none"),
    "ollama_url": ("http://127.0.0.1:9", "http://127.0.0.1:9"),
    "openai_api_key": ("sk-1", "sk-1"),
    "openai_base_url": ("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"),
    "context_window": ("4096", 4096),
    "max_answer_tokens": ("77", 77),
    "answer_timeout_s": ("60", 60.0),
    "temperature": ("0", 0.0),
    "think": ("true", True),
    "price_in": ("0.5", 0.5),
    "price_out": ("1.5", 1.5),
    "prices": ("openai/a 0.1 0.2; ollama/b 0 0", "openai/a 0.1 0.2; ollama/b 0 0"),
    "connect_timeout_s": ("1.5", 1.5),
    "request_timeout_s": ("9", 9.0),
    "hyde": ("off", "off"),
    "hyde_timeout_s": ("4", 4.0),
    "alpha": ("1", 1.0),
    "candidates": ("12", 12),
    "spelling": ("false", False),
    "merge_up": ("false", False),
    "rerank": ("false", False),
    "top_k": ("3", 3),
    "context_tokens": ("900", 900),
    "answerable_threshold": ("0.25", 0.25),
    "history_tokens": ("100", 100),
    "quotes": ("2", 2),
    "memory": ("agent", "agent"),
    "memory_relevance": ("distance", "distance"),
    "memory_stm_size": ("5", 5),
    "memory_ltm_size": ("50", 50),
    "memory_tokens": ("90", 90),
    "memory_recency_weight": ("0.5", 0.5),
    "memory_importance_weight": ("0.5", 0.5),
    "memory_relevance_weight": ("2", 2.0),
    "memory_threshold": ("0.5", 0.5),
    "user": ("ada", "ada"),
    "persona": ("persona.toml", Path("persona.toml")),
    "phoenix_url": ("http://127.0.0.1:6006", "http://127.0.0.1:6006"),
    "host": ("0.0.0.0", "0.0.0.0"),
    "port": ("9000", 9000),
    "allowed_hosts": ("docs.example, wiki.example", "docs.example, wiki.example"),
    "user_header": ("X-Forwarded-User", "X-Forwarded-User"),
    "watch": ("true", True),
    "doors": ("all", "all"),
    "doors_a_minute": ("600", 600),
    "doors_at_once": ("8", 8),
    "doors_max_mb": ("2", 2.0),
    "doors_patience_s": ("5", 5.0),
    "tools": ("weather:forecast=reads", "weather:forecast=reads"),
    "mcp_servers": ("servers.json", Path("servers.json")),
    "agent_steps": ("4", 4),
    "agent_tokens": ("2000", 2000),
    "agent_timeout_s": ("30", 30.0),
}

BAD = {
    "formats": "md,doc",
    "language": "German",
    "max_file_mb": "0",
    "max_upload_files": "-1",
    "embedding_threads": "-1",
    "context_window": "many",
    "temperature": "2.1",
    "think": "perhaps",
    "hyde": "sometimes",
    "alpha": "1.01",
    "candidates": "0",
    "answerable_threshold": "2",
    "rerank": "maybe",
    "top_k": "2.5",
    "port": "0",
    "user_header": "X User",
    "doors": "http",
    "memory": "everything",
    "memory_relevance": "some",
    "memory_tokens": "0",
    "memory_recency_weight": "-1",
    "memory_relevance_weight": "inf",
    "user": "",
    "connect_timeout_s": "nan",
    "price_in": "-1",
    "prices": "openai/a 0.1",
}


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a `.env`, and nothing set."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("ATHENA_")]:
        monkeypatch.delenv(name)


def test_the_examples_are_of_all_settings() -> None:
    assert set(GOOD) == set(FIELDS)


def test_each_setting_says_what_it_does() -> None:
    for name, field in FIELDS.items():
        description = field.description or ""
        assert len(description) > 10, name
        assert not description.endswith("."), name


def test_every_setting_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = load_settings().model_dump()
    for name, (text, value) in GOOD.items():
        assert defaults[name] != value, name
        monkeypatch.setenv(f"ATHENA_{name.upper()}", text)
    assert load_settings().model_dump() == {name: value for name, (_, value) in GOOD.items()}


def test_every_setting_comes_from_a_dotenv_file() -> None:
    lines = [f"ATHENA_{name.upper()}={text}" for name, (text, _) in GOOD.items()]
    Path(".env").write_text("\n".join([*lines, "OTHER=1", "ATHENA_UNKNOWN=1"]) + "\n", encoding="utf-8")
    assert load_settings().model_dump() == {name: value for name, (_, value) in GOOD.items()}


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


def test_a_bad_flag_is_named_too() -> None:
    with pytest.raises(ConfigurationError, match=r"^ATHENA_ALPHA cannot be 7: .* command line\.$"):
        load_settings(alpha=7)


def test_a_part_has_the_values_of_the_settings_and_those_given() -> None:
    settings = Settings(alpha=0.2, hyde="off", openai_api_key="sk-secret")
    options = part(settings, RetrievalOptions, hyde=settings.hyde != "off")
    assert (options.alpha, options.hyde, options.paths) == (0.2, False, None)
    assert not [name for name in options.model_dump() if "key" in name]  # they are stored with each answer
    with pytest.raises(ValidationError):
        options.but(alpha=2)
    with pytest.raises(ValidationError):
        options.but(alhpa=0.3)


def test_the_key_is_not_shown() -> None:
    assert "sk-secret" not in repr(Settings(openai_api_key="sk-secret"))


@pytest.mark.parametrize("wrong", ["\u200b", "é", "\udcff", "\r\nX: y", "\x01"])
@pytest.mark.parametrize("name", ["openai_api_key", "weaviate_api_key"])
def test_a_key_that_no_request_can_carry_is_refused_and_not_shown(name: str, wrong: str) -> None:
    key = "sk-" + "0123456789" * 12
    with pytest.raises(
        ConfigurationError, match=f"^ATHENA_{name.upper()} .* character that no key"
    ) as refused:
        load_settings(**{name: f"{key}{wrong}0123"})
    assert "0123" not in str(refused.value)


def test_blanks_around_a_key_are_none_of_it() -> None:
    assert Settings(openai_api_key=" sk-secret\n").openai_api_key == "sk-secret"


def test_nothing_listens_to_others_unless_told() -> None:
    assert Settings().host == "127.0.0.1"


def test_the_page_of_settings_lists_each_with_its_default() -> None:
    page = (ROOT / "docs" / "settings.md").read_text("utf-8")
    rows = dict(re.findall(r"^\|\s*`(ATHENA_\w+)`\s*\|\s*([^|]*?)\s*\|", page, re.MULTILINE))
    assert set(rows) == {f"ATHENA_{name.upper()}" for name in FIELDS}
    for name, field in FIELDS.items():
        default = "" if field.default is None else str(field.default).removeprefix(f"{ROOT}/")
        assert default.lower() in rows[f"ATHENA_{name.upper()}"].lower(), name


def test_an_env_file_that_is_not_utf8_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_bytes(b"ATHENA_LLM=none # caf\xe9\n")
    with pytest.raises(ConfigurationError, match=r"^Cannot read '\.env': not UTF-8 \(byte 0xE9 at 21\)"):
        load_settings()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_an_env_file_without_an_end_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(".env")
    with pytest.raises(ConfigurationError, match=r"^Cannot read '\.env': it is not a regular file\."):
        load_settings()
    Path(".env").unlink()
    with Path(".env").open("wb") as file:
        file.truncate(5_000_000_000)
    with pytest.raises(ConfigurationError, match=r"^Cannot read '\.env': it has more than 1,000,000 bytes\."):
        load_settings()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_the_place_of_the_first_page_is_no_mission(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "index.md")
    assert not has_mission(Settings(corpus=tmp_path))


def test_only_a_local_embedding_model_is_warmed_up(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread.name))
    Athena(Settings(embedding_model="ollama/nomic", ollama_url="http://127.0.0.1:9")).warm_up()
    assert started == []
    Athena(Settings()).warm_up(serving=True)
    assert started == ["warm-up"] * 2  # the model, and the documents' words for spelling
    Athena(Settings(store="server")).warm_up()
    assert started == ["warm-up"] * 3
    Athena(Settings(store="server")).warm_up(serving=True)
    assert started == ["warm-up"] * 5
