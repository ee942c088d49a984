"""The commands about stores: migrate, backup, and what doctor says of servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from athena import cli, load_settings
from athena.loading import options_of
from pipeline.errors import ConfigurationError
from tests.server_stores import server_addresses

runner = CliRunner()


@pytest.fixture
def manuals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one indexed manual, no language model."""
    monkeypatch.setenv("ATHENA_LLM", "none")
    monkeypatch.setenv("ATHENA_DATA_DIR", str(tmp_path / "data"))
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "fan.md").write_text("# Fan\n\nThe cabin fan moves 120 litres of air a second.\n")
    assert runner.invoke(cli.app, ["ingest", str(folder)]).exit_code == 0
    return folder


@pytest.mark.server
def test_an_index_moves_to_the_servers_and_back(
    manuals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server_addresses() as addresses:
        monkeypatch.setenv("ATHENA_MONGODB_URL", addresses.mongodb_url)
        monkeypatch.setenv("ATHENA_MONGODB_DATABASE", addresses.mongodb_database)
        monkeypatch.setenv("ATHENA_WEAVIATE_URL", addresses.weaviate_url)
        monkeypatch.setenv("ATHENA_WEAVIATE_GRPC_PORT", str(addresses.weaviate_grpc_port))
        moved = runner.invoke(cli.app, ["migrate", "--to", "server", "--json"])
        assert json.loads(moved.stdout)["documents"] == 1
        monkeypatch.setenv("ATHENA_STORE", "server")
        asked = runner.invoke(cli.app, ["ask", "How much air does the cabin fan move?", "--json"])
        shape = json.loads(asked.stdout)
        assert "120 litres" in shape["answer"]
        assert [citation["source"] for citation in shape["citations"]] == ["fan.md"]
        checks = {
            c["name"]: c for c in json.loads(runner.invoke(cli.app, ["doctor", "--json"]).stdout)["checks"]
        }
        assert checks["store"]["ok"]
        monkeypatch.setenv("ATHENA_DATA_DIR", str(tmp_path / "back"))
        back = runner.invoke(cli.app, ["migrate", "--to", "embedded"])
        assert "ATHENA_STORE=embedded" in back.stdout


@pytest.mark.slow
def test_a_server_that_is_not_there_is_named_with_its_setting(
    manuals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATHENA_STORE", "server")
    monkeypatch.setenv("ATHENA_MONGODB_URL", "mongodb://user:secret@127.0.0.1:9/")
    for command in (["search", "fan"], ["ask", "fan?"], ["migrate", "--to", "server"]):
        result = runner.invoke(cli.app, command)
        assert result.exit_code == 1
        assert "127.0.0.1:9" in result.stderr
        assert "ATHENA_MONGODB_URL" in result.stderr
        assert "secret" not in result.stderr


def test_a_backup_is_searched_in_the_place_of_the_original(
    manuals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "other" / "athena.sqlite"
    copy.parent.mkdir()
    assert runner.invoke(cli.app, ["backup", str(copy)]).exit_code == 0
    assert runner.invoke(cli.app, ["backup", str(copy)]).exit_code == 1  # it exists already
    monkeypatch.setenv("ATHENA_DATA_DIR", str(copy.parent))
    found = json.loads(runner.invoke(cli.app, ["search", "cabin fan", "--json"]).stdout)
    assert found["results"][0]["source"] == "fan.md"


def test_a_url_that_cannot_be_is_said() -> None:
    from pipeline.stores.server import ServerAddresses

    with pytest.raises(ConfigurationError, match="ATHENA_WEAVIATE_URL"):
        options_of(load_settings(weaviate_url="weaviate:8080"), ServerAddresses)
