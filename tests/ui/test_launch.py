"""The repository's configuration and the installed package's are one; what cannot start says why."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from athena import Athena
from athena.reading import MAX_UPLOAD_MB
from athena.settings import Settings
from pipeline.errors import ConfigurationError
from tests.server_processes import free_ports
from ui.launch import OPTIONS_FILE, require_free, serve, streamlit_options, url_of
from ui.serving import APP_FILE, serving

ROOT = Path(__file__).parents[2]


def test_config_of_the_repository_is_the_packages() -> None:
    assert (ROOT / ".streamlit/config.toml").read_bytes() == OPTIONS_FILE.read_bytes()


def test_the_scripts_folder_hides_no_package() -> None:
    """Streamlit puts it first on the path."""
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert "mission" in packages
    assert not packages & {path.stem for path in APP_FILE.parent.iterdir()}


def test_options_follow_the_settings_and_nothing_is_sent_or_looked_up_outside() -> None:
    options = streamlit_options(Settings(port=9000))
    assert (options["server.address"], options["server.port"]) == ("127.0.0.1", 9000)
    assert options["server.maxUploadSize"] == MAX_UPLOAD_MB
    assert options["browser.gatherUsageStats"] is False and options["logger.hideWelcomeMessage"] is True


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"Port {port} is in use"):
            require_free("127.0.0.1", port)
    require_free("127.0.0.1", port)
    assert url_of("::", 80) == "http://[::1]:80"


def test_without_streamlit_it_says_which_extra_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "streamlit", None)
    (port,) = free_ports(1)
    with pytest.raises(ConfigurationError, match=r"athena-docs\[page\]"):
        serve(Settings(port=port), say=print)


@pytest.mark.parametrize("name", ["foo", "openai/", ""])
def test_what_names_no_model_does_not_start(name: str) -> None:
    with pytest.raises(ConfigurationError, match="ollama/NAME"):
        serve(Settings(llm=name, doors="api"), say=print, page=False)


def test_doors_with_a_persona_that_cannot_be_read_do_not_start(tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text("= x", encoding="utf-8")
    settings = Settings(
        port=free_ports(1)[0], doors="api", persona=tmp_path / "wrong.toml", data_dir=tmp_path
    )
    with pytest.raises(ConfigurationError, match=r"wrong\.toml"):
        serve(settings, say=print, page=False)


def test_the_api_answers_beside_the_pages(empty_athena: Athena, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi")
    monkeypatch.setattr("ui.shared.process.opened", lambda: empty_athena)
    served = serving(empty_athena.settings.model_copy(update={"doors": "api"}))
    app = Starlette(middleware=served["middleware"])
    client = TestClient(app, "http://localhost", client=("127.0.0.1", 50_000))
    assert client.get("/api/documents").json() == []
    assert client.get("/api/documents/%00").json()["error"]["message"]
    assert client.get("/nowhere").status_code == 404


def test_streamlit_run_finds_the_guarded_app() -> None:
    from streamlit.web.server.app_discovery import discover_asgi_app

    found = discover_asgi_app(ROOT / "app.py")
    assert found.is_asgi_app
    assert found.import_string == "app:app"
