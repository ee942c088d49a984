"""MCP servers of the user: their tools, and that nobody waits for a server that is not there."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent import Agent
from agent.tools import read_servers
from athena import Athena
from pipeline.errors import ConfigurationError
from pipeline.redaction import redacted
from tests.agent.conftest import ANSWERED, Ask, call, calls, scripted

SCRIPT = Path(__file__).with_name("mcp_server.py")
KEY = "Bearer sk-a1B2c3D4e5F6g7H8i9J0k1L2"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine starts a server's process late."""
    monkeypatch.setattr("agent.tools.CONNECT_S", 60)


def agent_with(fan: Athena, tmp_path: Path, servers: dict[str, Any]) -> Agent:
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return Agent(athena=fan, servers=read_servers(file), consent=lambda *_: True)


def parts(*arguments: str) -> dict[str, Any]:
    return {"parts": {"command": sys.executable, "args": [str(SCRIPT), *arguments]}}


@pytest.mark.slow
def test_a_servers_tools_are_called_with_consent_alone(fan: Athena, ask: Ask, tmp_path: Path) -> None:
    agent = agent_with(fan, tmp_path, parts())
    llm = scripted([call("parts_add", first=1, second="2"), call("parts_order", part="fan"), ANSWERED])
    allowed = replace(agent, consent=lambda tool, *_: tool.name == "parts_add")
    added, ordered = calls(ask(llm, agent=allowed))
    assert (added.data["result"], added.data["kind"]) == ("3 parts", "tool")
    assert "did not allow" in ordered.detail


@pytest.mark.slow
def test_a_server_that_dies_in_a_call_fails_that_call_alone(fan: Athena, ask: Ask, tmp_path: Path) -> None:
    agent = agent_with(fan, tmp_path, parts())
    died, added = calls(ask([call("parts_die"), call("parts_add", first=1, second=2), ANSWERED], agent=agent))
    assert died.status == "failed" and added.status == "ok"


@pytest.mark.parametrize(
    "entry", [{"command": "no-such-program"}, {"command": "false"}, {"url": "http://127.0.0.1:9/mcp"}]
)
def test_a_server_that_is_not_there_is_said_and_done_without(
    fan: Athena, ask: Ask, tmp_path: Path, entry: dict[str, Any]
) -> None:
    agent = agent_with(fan, tmp_path, {"parts": entry})
    answer = ask([ANSWERED], agent=agent)
    assert any("cannot be used" in notice for notice in answer.notices)
    assert answer.citations


def test_a_slow_server_is_done_without(
    fan: Athena, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.tools.CONNECT_S", 0.2)
    agent = agent_with(fan, tmp_path, parts("slow"))
    ask([ANSWERED], agent=agent)
    monkeypatch.setattr("agent.tools.CONNECT_S", 500.0)  # the next question does not wait for it again
    answer = ask([ANSWERED], agent=agent)
    assert any("cannot be used" in notice for notice in answer.notices)
    assert answer.citations


def wait_for(port: int) -> None:
    """Wait until something listens there: an agent asks a server that was not there a minute later."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    pytest.fail("the server did not start")


@pytest.mark.slow
def test_headers_are_sent_and_shown_nowhere(fan: Athena, ask: Ask, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(SCRIPT), "http", str(port)], stderr=subprocess.DEVNULL)
    try:
        wait_for(port)
        entry = {"url": f"http://127.0.0.1:{port}/mcp", "headers": {"Authorization": KEY}}
        agent = agent_with(fan, tmp_path, {"parts": entry})
        [step] = calls(ask([call("parts_given"), ANSWERED], agent=agent))
    finally:
        process.terminate()
        process.wait()
    assert step.data["result"].startswith("asked with ") and KEY not in step.data["result"]
    assert KEY not in redacted(f"header {KEY}") and KEY not in repr(agent.servers)


@pytest.mark.parametrize("text", ["", "{", '{"mcpServers": 5}', '{"servers": {}}'])
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "servers.json").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"servers\.json"):
        read_servers(tmp_path / "servers.json")
    with pytest.raises(ConfigurationError):
        read_servers(tmp_path / "absent.json")
