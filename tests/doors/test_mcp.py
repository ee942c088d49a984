"""The MCP server with the official client: in this process, over standard input, and over HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent, TextResourceContents

from athena import Athena, open_athena
from athena.settings import Settings
from doors.access import Caller, Right
from doors.mcp_server import make_server
from tests.doors.conftest import FAN, Serve

TOOLS = {"search", "ask", "read", "list_documents", "recall", "neighbourhood", "remember", "forget"}
Work = Callable[[Client], Awaitable[None]]


@pytest.fixture
def athena(tmp_path: Path) -> Iterator[Athena]:
    (tmp_path / "manuals" / "systems").mkdir(parents=True)
    (tmp_path / "manuals" / "systems" / "fan.md").write_text(FAN, encoding="utf-8")
    long = "# Parts\n\n" + "".join(f"## Part {i}\n\nPart {i} weighs {i} grams.\n\n" for i in range(700))
    (tmp_path / "manuals" / "parts.md").write_text(long, encoding="utf-8")
    with open_athena(Settings(data_dir=tmp_path / "data", llm="none")) as opened:
        opened.ingest([tmp_path / "manuals"])
        yield opened


def talk(to: Any, work: Work) -> None:
    """Do the work on a connection to a server or transport."""

    async def connected() -> None:
        async with Client(to) as client:
            await work(client)

    asyncio.run(connected())


def as_user(athena: Athena, name: str, work: Work, *rights: Right) -> None:
    caller = Caller(name, frozenset(rights)) if rights else Caller(name)
    talk(make_server(lambda: athena, lambda _: caller), work)


async def get(client: Client, tool: str, **given: Any) -> Any:
    """Return what a tool gives as structured content."""
    result = await client.call_tool(tool, given)
    assert not result.is_error, result.content
    found: Any = result.structured_content
    return found["result"] if found.keys() == {"result"} else found


async def refusal(client: Client, tool: str, **given: Any) -> str:
    result = await client.call_tool(tool, given)
    [content] = result.content
    assert result.is_error and isinstance(content, TextContent)
    return content.text


def test_every_tool_is_listed_with_its_effect_and_can_be_called(athena: Athena) -> None:
    async def work(client: Client) -> None:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert listed.keys() == TOOLS
        hints = {name: tool.annotations for name, tool in listed.items()}
        assert {name for name, hint in hints.items() if hint and hint.destructive_hint} == {"forget"}
        writing = {name for name, hint in hints.items() if hint and not hint.read_only_hint}
        assert writing == {"remember", "forget"}
        assert all(tool.description and tool.output_schema for tool in listed.values())
        found = await get(client, "search", query="What feeds the cabin fan?", limit="3", path="systems")
        assert found["answerable"]["verdict"] == "answered"
        assert "inverter" in await get(client, "read", id=found["results"][0]["section_id"])
        answered = await get(client, "ask", question="What feeds the cabin fan?")
        assert "inverter of bus A" in answered["citations"][0]["quote"]
        assert await get(client, "list_documents") == ["parts.md", "systems/fan.md"]
        assert await get(client, "list_documents", path="systems/") == ["systems/fan.md"]
        [kept] = await get(client, "remember", text="Ann works with Bob.")
        assert [one["id"] for one in await get(client, "recall", query="Bob")] == [kept["id"]]
        assert any("Bob" in one for one in await get(client, "neighbourhood", name="Ann"))
        assert kept["id"] in await get(client, "forget", ids=[kept["id"]])
        assert await get(client, "recall", query="Bob") == []

    as_user(athena, "ann", work)
    assert athena.private_conversations.list() == []


def test_a_long_document_is_read_in_parts_without_a_gap(athena: Athena) -> None:
    async def work(client: Client) -> None:
        first = (await get(client, "read", id="parts.md")).partition("\n\n(More follows")[0]
        rest = await get(client, "read", id="parts.md", offset=len(first))
        assert first + rest == athena.store.document("parts.md").text

    as_user(athena, "ann", work)


def test_documents_are_resources(athena: Athena) -> None:
    async def work(client: Client) -> None:
        listed = (await client.list_resources()).resources
        assert [one.name for one in listed] == ["parts.md", "systems/fan.md"]
        [read] = (await client.read_resource(listed[1].uri)).contents
        assert isinstance(read, TextResourceContents) and read.text == FAN
        for uri in ("athena://documents/absent.md", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)

    as_user(athena, "ann", work)


def test_errors_say_what_to_do_and_hide_what_is_unexpected(
    athena: Athena, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("/home/somebody/secret")

    async def work(client: Client) -> None:
        assert "absent.md" in await refusal(client, "read", id="absent.md")
        assert "limit" in await refusal(client, "search", query="fan", limit=0)
        assert "Nothing is known" in await refusal(client, "neighbourhood", name="Zed")
        monkeypatch.setattr(athena, "ask", broken)
        assert "secret" not in await refusal(client, "ask", question="What?")

    as_user(athena, "ann", work)


def test_what_one_user_remembers_another_neither_sees_nor_forgets(athena: Athena) -> None:
    ids = list[str]()

    async def ann(client: Client) -> None:
        ids.extend(one["id"] for one in await get(client, "remember", text="My dog is called Rex."))

    async def ben(client: Client) -> None:
        assert await get(client, "recall", query="dog Rex") == []
        assert "No memory" in await refusal(client, "forget", ids=ids)

    async def reader(client: Client) -> None:
        assert "lacks the right" in await refusal(client, "remember", text="My cat is called Tom.")
        assert "lacks the right" in await refusal(client, "forget", ids=ids)

    as_user(athena, "ann", ann)
    as_user(athena, "ben", ben)
    as_user(athena, "ann", reader, "read")
    assert [one.id for one in athena.memory_of("ann").list()] == ids


def test_nothing_is_opened_before_a_call_needs_it(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        await client.list_tools()
        assert not (tmp_path / "data").exists()
        assert "Nothing is indexed" in await refusal(client, "search", query="fan")

    with open_athena(Settings(data_dir=tmp_path / "data", llm="none")) as empty:
        as_user(empty, "ann", work)


def test_over_http_a_call_is_made_as_the_user_of_the_key(serve: Serve) -> None:
    served = serve()
    client = served.client(served.key("ann"), Accept="application/json, text/event-stream")
    call = {"name": "remember", "arguments": {"text": "My dog is called Rex."}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    answered = client.post("/mcp", json=body)
    assert "Rex" in answered.text and not answered.json()["result"].get("isError")
    assert [one.text for one in served.athena.memory_of("ann").list()] == ["My dog is called Rex."]
    assert served.athena.memory_of("local").list() == []


@pytest.mark.slow
def test_over_standard_input_a_client_searches(athena: Athena) -> None:
    async def work(client: Client) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        found = await get(client, "search", query="What feeds the cabin fan?")
        assert found["results"][0]["source"] == "systems/fan.md"

    root, data = Path(__file__).parents[2], athena.settings.data_dir
    given = {**os.environ, "PYTHONPATH": str(root)}
    arguments = ["-m", "athena", "mcp", "--data-dir", str(data)]
    talk(stdio_client(StdioServerParameters(command=sys.executable, args=arguments, env=given)), work)
