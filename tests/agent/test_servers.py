"""Tools of MCP servers, which are real processes: what they give, and what becomes of those that fail."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import agent.servers as module
from agent import Agent
from agent.servers import MOST_TOOLS, Servers, _transport
from agent.tools import AgentTool, named_tools
from athena import Athena
from athena.tools.addresses import Addresses
from athena.tools.tool import Call, Caller
from pipeline.errors import AthenaError, ConfigurationError
from pipeline.redaction import redacted
from tests.agent.conftest import ANSWERED, call, calls
from tests.fake_llm import FakeLLM
from tests.server_processes import free_ports
from tests.server_stores import is_open

pytestmark = pytest.mark.slow
SCRIPT = str(Path(__file__).with_name("mcp_server.py"))
QUESTION = "At how many rpm does the cabin fan hum?"

ONCE = """\
import pathlib, runpy, time
mark = pathlib.Path({mark!r})
if mark.exists():
    time.sleep(300)
mark.touch()
runpy.run_path({script!r}, run_name="__main__")
"""

Start = Callable[..., Servers]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setattr(module, "START_S", 90.0)  # a machine that does much else starts processes slowly
    opened: list[Servers] = []

    def started(*arguments: str, **given: Any) -> Servers:
        entry = {"command": sys.executable, "args": [SCRIPT, *arguments], **given}
        file = tmp_path / "servers.json"
        file.write_text(json.dumps({"mcpServers": {"t": entry}}))
        opened.append(Servers.of(file))
        return opened[-1]

    yield started
    for servers in opened:
        servers.close()


def test_tools_of_a_server_are_called_and_converted(start: Start, fan: Athena) -> None:
    agent = Agent(athena=fan, servers=start())
    assert {name: tool.writes for name, tool in agent.servers.tools().items()} == {
        "t_add": False, "t_die": False, "t_given": False, "t_hang": False, "t_order": True, "t_refuse": False,
    }  # fmt: skip
    llm = FakeLLM(
        [
            call("t_add", first="2", second=3),
            call("t_order", part="fan"),
            call("t_refuse"),
            call("t_add"),
            ANSWERED,
        ]
    )
    added, ordered, refused, wrong = calls(fan.ask(QUESTION, llm=llm, agent=agent))[1:]
    assert (added.data["result"], added.data["origin"], added.data["kind"]) == ("5 parts", "t", "tool")
    assert "did not allow" in ordered.detail
    assert (refused.status, refused.data["attempts"]) == ("failed", 2) and "refuse" in refused.detail
    assert "'first' is missing" in wrong.detail


def test_a_server_that_dies_in_a_call_is_told_and_started_again(start: Start, fan: Athena) -> None:
    agent = Agent(athena=fan, servers=start())
    llm = FakeLLM([call("t_die"), call("t_add", first=1, second=1), ANSWERED])
    died, added = calls(fan.ask(QUESTION, llm=llm, agent=agent))[1:]
    assert died.status == "failed" and "The MCP server 't' failed" in died.detail
    assert added.data["result"] == "2 parts"


def test_a_server_that_is_slow_to_start_is_done_without(
    start: Start, fan: Athena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "START_S", 1.0)
    agent, begun = Agent(athena=fan, servers=start("slow")), time.monotonic()
    answer = fan.ask(QUESTION, llm=FakeLLM([ANSWERED]), agent=agent)
    assert time.monotonic() - begun < 60 and answer.citations
    assert agent.servers.problems == {"t": "The MCP server 't' did not start within 1 s."}


def test_a_server_that_was_down_is_there_at_the_next_run(fan: Athena, tmp_path: Path) -> None:
    """It is tried again by a run, not by a look at the tools, and not waited for as long as at first."""
    script, file = tmp_path / "later.py", tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"t": {"command": sys.executable, "args": [str(script)]}}}))
    agent = Agent(athena=fan, servers=Servers.of(file))
    fan.ask(QUESTION, llm=FakeLLM([ANSWERED]), agent=agent)
    assert "cannot be used" in agent.servers.problems["t"] and "t_add" not in agent.all_tools
    script.write_text(Path(SCRIPT).read_text())
    assert "t_add" not in agent.all_tools
    deadline = time.monotonic() + 90
    while agent.servers.problems and time.monotonic() < deadline:
        answer = fan.ask(QUESTION, llm=FakeLLM([call("t_add", first=1, second=1), ANSWERED]), agent=agent)
    assert not agent.servers.problems and calls(answer)[-1].data["result"] == "2 parts"
    agent.servers.close()


def test_nobody_waits_for_a_server_that_another_starts_again(fan: Athena, tmp_path: Path) -> None:
    once, file = tmp_path / "once.py", tmp_path / "servers.json"
    once.write_text(ONCE.format(mark=str(tmp_path / "begun"), script=SCRIPT))
    entries = {
        name: {"command": sys.executable, "args": [path]} for name, path in (("t", str(once)), ("u", SCRIPT))
    }
    file.write_text(json.dumps({"mcpServers": entries}))
    servers, here = Servers.of(file), Call(fan, Caller("me"), Addresses(), threading.Event(), lambda _: None)
    tools = servers.tools()
    assert _call(tools["t_add"], here, first=1, second=1) == "2 parts"
    with pytest.raises(AthenaError, match="failed"):
        _call(tools["t_die"], here)
    starting = threading.Thread(target=_stopped, args=(tools["t_add"], here))
    starting.start()
    begun = time.monotonic()
    assert _call(tools["u_add"], here, first=1, second=1) == "2 parts" and len(servers.tools()) == len(tools)
    assert time.monotonic() - begun < 60 and starting.is_alive()
    here.stop.set()
    starting.join(10)
    assert not starting.is_alive()
    servers.close()


def _call(tool: AgentTool, here: Call, **given: Any) -> Any:
    return tool.tool.run(here, tool.tool.read(given))


def _stopped(tool: AgentTool, here: Call) -> None:
    with pytest.raises(AthenaError, match="did not start"):
        _call(tool, here, first=1, second=1)


def test_a_server_is_reached_by_its_url_with_its_headers_and_again_once_it_is_back(
    fan: Athena, tmp_path: Path
) -> None:
    port, file = free_ports(1)[0], tmp_path / "servers.json"
    url = f"http://127.0.0.1:{port}/mcp?key=5e4d3c2b1a09"
    entry = {
        "url": url,
        "headers": {"Authorization": "Bearer 9f8e7d6c5b4a"},
        "tools": ["add", "die", "given"],
    }
    file.write_text(json.dumps({"mcpServers": {"t": entry}}))
    agent = Agent(athena=fan, servers=Servers.of(file))
    llm = FakeLLM([call("t_given"), call("t_add", first="2", second=3), ANSWERED])
    with _over_http(port):
        given, added = calls(fan.ask(QUESTION, llm=llm, agent=agent))[1:]
    assert (given.data["result"], given.data["origin"]) == ("asked with [secret]", "t")
    assert added.data["result"] == "5 parts" and not agent.servers.problems
    gone = calls(fan.ask(QUESTION, llm=FakeLLM([call("t_add", first=2, second=2), ANSWERED]), agent=agent))[
        -1
    ]
    assert gone.status == "failed" and "The MCP server 't'" in gone.detail
    assert "5e4d3c2b1a09" not in gone.detail
    with _over_http(port):
        back = FakeLLM([call("t_die"), call("t_add", first=1, second=1), ANSWERED])
        died, _ = calls(fan.ask(QUESTION, llm=back, agent=agent))[1:]
        assert died.status == "failed" and "The MCP server 't'" in died.detail
    with _over_http(port):
        again = FakeLLM([call("t_add", first=1, second=1), ANSWERED])
        assert calls(fan.ask(QUESTION, llm=again, agent=agent))[-1].data["result"] == "2 parts"
    agent.servers.close()


@contextmanager
def _over_http(port: int) -> Iterator[None]:
    process = subprocess.Popen([sys.executable, SCRIPT, "http", str(port)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 90
        while not is_open("127.0.0.1", port) and time.monotonic() < deadline:
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/mcp", "http://[", "ftp://127.0.0.1/mcp", "no address"])
def test_a_server_whose_url_leads_nowhere_is_named(url: str, tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"gone": {"url": url}}}))
    servers = Servers.of(file)
    assert servers.tools() == {}
    assert "The MCP server 'gone' cannot be used: " in servers.problems["gone"]
    servers.close()


def test_of_500_tools_some_are_used_and_which_can_be_chosen(start: Start) -> None:
    servers = start("many")
    assert len(servers.tools()) == MOST_TOOLS
    assert "lists 506 tools" in servers.problems["t"]
    chosen = start("many", tools=["tool_499", "add"])
    assert sorted(chosen.tools()) == ["t_add", "t_tool_499"] and not chosen.problems


def test_a_server_that_cannot_be_started_is_named(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    file.write_text('{"mcpServers": {"gone": {"command": "/no/such/program"}}}')
    servers = Servers.of(file)
    assert servers.tools() == {}
    assert "The MCP server 'gone' cannot be used: FileNotFoundError" in servers.problems["gone"]
    servers.close()


def test_a_server_that_writes_what_is_no_message_is_used_without_a_traceback(
    tmp_path: Path, start: Start, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    program = tmp_path / "talks.py"
    program.write_text(
        f"import runpy\nprint('Ready.', flush=True)\nrunpy.run_path({SCRIPT!r}, run_name='__main__')\n"
    )
    servers = start(args=[str(program)])
    assert "t_add" in servers.tools() and not servers.problems
    assert not caplog.records
    assert "Traceback" not in capfd.readouterr().err


def test_a_server_gets_no_key_of_ours_and_its_own_are_never_shown(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATHENA_OPENAI_API_KEY", "sk-0123456789abcdef")
    servers = start(env={"SHOP_TOKEN": "shop-9f8e7d6c5b"}, headers={"Authorization": "Bearer 5e4d3c2b1a09"})
    given = asyncio.run(_transport(servers.given["t"], AsyncExitStack()))
    assert given.env == {"SHOP_TOKEN": "shop-9f8e7d6c5b"}  # with what mcp gives to everybody
    assert redacted("shop-9f8e7d6c5b and 5e4d3c2b1a09") == "[secret] and [secret]"


@pytest.mark.parametrize("text", ["", "[]", '{"servers": {}}', '{"mcpServers": {"a": 3}}'])
def test_a_file_that_names_no_servers_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "servers.json").write_text(text)
    with pytest.raises(ConfigurationError, match="which names no servers"):
        Servers.of(tmp_path / "servers.json")
    with pytest.raises(ConfigurationError, match="which names no servers"):
        Servers.of(tmp_path / "none.json")


def test_functions_of_the_setting() -> None:
    [reads, writes] = named_tools("posixpath:basename=reads, shutil:rmtree")
    assert (reads.tool.name, reads.writes, reads.origin) == ("basename", False, "posixpath")
    assert writes.writes
    for wrong in ("basename", "posixpath:none", "no_such_module:f", "..:f", "os:sep", "a:b=writes"):
        with pytest.raises(ConfigurationError, match="ATHENA_TOOLS"):
            list(named_tools(wrong))


@pytest.mark.parametrize("schema", [{"required": None}, {"properties": ["a"]}, {"required": [["a"]]}])
def test_a_tool_that_does_not_say_what_it_takes_is_done_without(schema: dict[str, Any]) -> None:
    servers = Servers()
    listed = SimpleNamespace(name="odd", title="", description="", input_schema=schema, annotations=None)
    assert servers._as_ours("shop", listed) is None
    assert "does not say what its tool 'odd' takes" in servers.problems["shop"]
