"""MCP as it is served: the official client against `athena mcp` and against the doors over HTTP."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from athena import open_athena
from athena.settings import Settings
from doors.mcp.server import TOOLS
from pipeline.stores.keys import new_key
from tests.doors.mcp_clients import ERAS, Caller, talk, write_manuals

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mcp")
    settings = Settings(_env_file=None, data_dir=folder / "data", llm="none", cross_encoder="none")
    athena = open_athena(settings)
    athena.ingest([write_manuals(folder / "manuals")])
    athena.close()
    return folder / "data"


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def stdio(data: Path) -> StdioServerParameters:
    arguments = ["-m", "athena", "mcp", "--data-dir", str(data)]
    return StdioServerParameters(command=sys.executable, args=arguments, env=environment(), cwd=data.parent)


@pytest.mark.parametrize("era", ERAS)
def test_over_stdio_a_client_searches_asks_and_remembers(data: Path, era: str) -> None:
    async def work(caller: Caller) -> None:
        assert len((await caller.client.list_tools()).tools) == len(TOOLS)
        found = await caller.get("search", query="What feeds the cabin fan?", limit="1")
        assert found["results"][0]["source"] == "systems/fan.md"
        assert (await caller.get("status"))["user"] == "local"
        kept = await caller.get("remember", text="I sleep in bunk two.")
        preview = await caller.get("forget", ids=[kept["memories"][0]["id"]])
        assert (await caller.get("forget", token=preview["token"]))["forgotten"] == 1

    talk(stdio_client(stdio(data)), work, era=era)


def test_what_is_no_message_is_answered_as_the_protocol_has_it(data: Path) -> None:
    lines = [
        b"{bad", json.dumps(INITIALIZE).encode(), b"\xff\xfe", b"[]",
        b'{"jsonrpc":"2.0","id":2,"method":"nothing"}',
        b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get","arguments":"x"}}',
        b'{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"get","arguments":{"id":"\\u00ff"}}}',
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "athena", "mcp", "--data-dir", str(data)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(), cwd=data.parent,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    answers: list[Any] = []
    for line in lines:
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        answers.append(json.loads(process.stdout.readline()))
    out, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out == b""
    assert b"Traceback" not in said
    codes = [answer.get("error", {}).get("code") for answer in answers]
    assert codes == [-32700, None, -32700, -32600, -32601, -32602, None]
    assert "must be an object. Call it like this" in answers[5]["error"]["message"]
    assert answers[6]["result"]["isError"]


def test_what_clients_want_in_their_settings_is_printed(data: Path) -> None:
    command = [sys.executable, "-m", "athena", "mcp", "--print-config", "--data-dir", str(data)]
    printed = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True).stdout
    first = json.loads(printed.partition("\n")[2].partition("\n\n#")[0])
    started = first["mcpServers"]["athena"]
    assert started["args"][-3:] == ["mcp", "--data-dir", str(data.resolve())]
    assert "/mcp" in printed


@pytest.fixture(scope="module")
def keys(data: Path) -> dict[str, str]:
    """What the users anna and ben send, who may do everything, and carl, who may only read."""
    athena = open_athena(Settings(_env_file=None, data_dir=data, llm="none"))
    sent = {}
    for user, rights in {"anna": None, "ben": None, "carl": ("read",)}.items():
        key, sent[user] = new_key(user, user=user, **({"rights": rights} if rights else {}))
        athena.keys.add(key)
    athena.close()
    return sent


@pytest.fixture(scope="module")
def url(data: Path, keys: dict[str, str]) -> Iterator[str]:
    """Where `athena serve --no-page` answers MCP."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "athena",
        "serve",
        "--no-page",
        "--data-dir",
        str(data),
        "--port",
        str(port),
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**environment(), "ATHENA_DOORS": "mcp"}, cwd=data.parent,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            httpx.get(f"http://127.0.0.1:{port}/health").raise_for_status()
            break
        except httpx.TransportError:
            assert process.poll() is None, process.communicate()
            time.sleep(0.2)
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.communicate(timeout=60)


@asynccontextmanager
async def over_http(url: str, key: str) -> AsyncIterator[Any]:
    """A transport that sends a key."""
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        create_mcp_http_client(headers=headers) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


@pytest.mark.parametrize("era", ERAS)
def test_over_http_two_keys_see_nothing_of_each_other(url: str, keys: dict[str, str], era: str) -> None:
    hers: dict[str, Any] = {}

    async def anna(caller: Caller) -> None:
        found = await caller.get("search", query="What feeds the cabin fan?", limit=1)
        assert found["results"][0]["source"] == "systems/fan.md"
        hers.update(await caller.get("remember", text="My safe word is marzipan."))
        assert (await caller.get("recall", query="safe word"))["memories"]

    async def ben(caller: Caller) -> None:
        memory = hers["memories"][0]["id"]
        everything = [
            await caller.result("recall", query="safe word marzipan"),
            await caller.result("list_memories"),
            await caller.result("ask", question="What is my safe word?"),
            await caller.result("search", query="marzipan"),
            await caller.result("forget", search="marzipan"),
        ]
        assert not any("marzipan" in str(result.structured_content).replace("“", "").split("looked for")[0]
                       for result in everything)  # fmt: skip
        assert "No memory" in await caller.refusal("update_memory", id=memory, text="x y")
        assert "No memory" in await caller.refusal("forget", ids=[memory])

    async def carl(caller: Caller) -> None:
        assert (await caller.get("status"))["may"] == ["read"]
        assert "This key may not" in await caller.refusal("remember", text="I am here.")
        assert "This key may not" in await caller.refusal("delete_document", source="parts.md")

    for user, work in {"anna": anna, "ben": ben, "carl": carl}.items():
        talk(over_http(url, keys[user]), work, era=era)


def test_what_cannot_come_in_over_http(url: str, keys: dict[str, str]) -> None:
    send = partial(
        httpx.post,
        url,
        headers={
            "Authorization": f"Bearer {keys['anna']}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        },
        timeout=60,
    )
    assert httpx.post(url, json=INITIALIZE).status_code == 401
    assert httpx.get(url, headers={"Authorization": f"Bearer {keys['anna']}"}).status_code == 405
    assert send(content=b"x" * 1_100_000).status_code == 413
    malformed = send(content=b"{bad")
    assert malformed.json()["error"]["code"] == -32700
    assert "Traceback" not in malformed.text
    assert send(json=INITIALIZE).json()["result"]["serverInfo"]["name"] == "athena"
