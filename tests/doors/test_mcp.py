"""MCP in this process: what tools, resources and prompts say to the official client, in both eras."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference, TextContent, TextResourceContents

from athena import Athena, open_athena
from athena.settings import Settings
from athena.tools import document_tools
from athena.tools.addresses import Addresses
from athena.tools.tool import Caller as Who
from doors.mcp.http import McpDoor
from doors.mcp.server import TOOLS, make_server
from pipeline.nodes import StoredNode
from tests.doors.mcp_clients import ERAS, LONG_LINE, Caller, talk, write_manuals

Talk = Callable[[Callable[[Caller], Awaitable[None]]], None]


@pytest.fixture(scope="module")
def athena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Athena]:
    folder = tmp_path_factory.mktemp("mcp")
    athena = open_athena(Settings(_env_file=None, data_dir=folder / "data", llm="none", cross_encoder="none"))
    athena.ingest([write_manuals(folder / "manuals")])
    yield athena
    athena.close()


@pytest.fixture(params=ERAS)
def talking(athena: Athena, request: pytest.FixtureRequest) -> Talk:
    """Talks to the server as the user anna, who may do everything."""
    return partial(talk, make_server(lambda: athena, lambda _: Who("anna")), era=request.param)


def test_tools_say_what_they_do_in_a_sentence_and_what_they_change(talking: Talk) -> None:
    async def work(caller: Caller) -> None:
        tools = (await caller.client.list_tools()).tools
        assert {tool.name for tool in tools} == set(TOOLS)
        for tool in tools:
            assert tool.title
            assert tool.description is not None
            assert len(tool.description.split()) <= 15
            assert tool.input_schema["additionalProperties"] is False
            assert tool.output_schema is not None
            assert tool.annotations is not None
        reading = {tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint}
        assert reading == {name for name, tool in TOOLS.items() if tool.right == "read"}
        destroying = {tool.name for tool in tools if tool.annotations and tool.annotations.destructive_hint}
        assert destroying == {"delete_document", "forget", "update_memory"}

    talking(work)


def test_right_calls_are_right(athena: Athena) -> None:
    for tool in TOOLS.values():
        assert isinstance(tool.read(tool.example), tool.takes)


def test_search_and_fetch_have_the_shape_that_clients_with_only_these_expect(talking: Talk) -> None:
    async def work(caller: Caller) -> None:
        found = await caller.get("search", query="What feeds the cabin fan?", limit="5")
        first = found["results"][0]
        assert {"id", "title", "url", "text"} <= set(first)
        assert first["source"] == "systems/fan.md"
        assert found["notice"] == document_tools.CONTENT
        fetched = await caller.get("fetch", id=first["id"])
        assert {"id", "title", "text", "url"} <= set(fetched)
        assert "main inverter" in fetched["text"]
        assert "growl" not in fetched["text"]
        assert '"lines": "3-7"' in fetched["more"]  # the sections below
        compact = await caller.get("search", query="fan", compact=True, path="systems", mode="words")
        assert all("text" not in result for result in compact["results"])
        assert {result["source"] for result in compact["results"]} == {"systems/fan.md"}

    talking(work)


def test_beside_a_page_results_are_read_on_it() -> None:
    node = StoredNode("1", "It hums.", {"source": "a b.md"}, 5, 13, document_id="2")
    assert Addresses("http://127.0.0.1:8501/").section(node) == (
        "http://127.0.0.1:8501/documents?source=a+b.md&start=5&end=13"
    )
    assert Addresses().section(node) == "athena://sections/1"
    assert Addresses().document("a/b.md") == "athena://documents/a%2Fb.md"


WRONG = [
    ("search", {"querry": "fan"}, ["'query' is missing", "did you mean 'query'?", 'search({"query": ']),
    ("search", {"query": "fan", "limit": "many"}, ["whole number from 1 to 50", '"many"']),
    ("search", {"query": "fan", "limit": 99}, ["whole number from 1 to 50"]),
    ("search", {"query": "fan", "mode": "fast"}, ["one of hybrid, words, meaning"]),
    ("search", {"query": "?!"}, ["no word"]),
    ("search", {"query": "fan", "compact": "perhaps"}, ["true or false"]),
    ("get", {"id": "systems/fann.md"}, ["Did you mean 'systems/fan.md'?"]),
    ("get", {"id": "systems/fan.md", "lines": "first"}, ["'first' names no lines", '"lines": "10-40"']),
    ("get", {"id": "systems/fan.md", "lines": "99"}, ["Ask for lines 1-8"]),
    ("multi_get", {"pattern": "nothing/*"}, ["No document matches"]),
    ("status", {"more": 1}, ["takes no 'more'"]),
    ("update_memory", {"id": "nothing", "text": "I moved."}, ["No memory 'nothing'"]),
    ("update_memory", {"id": "x", "text": "I moved."}, ["a text of at least 4 characters"]),
    ("forget", {"ids": ["home"] * 101}, ["a list of at most 100 texts"]),
    ("forget", {"ids": ["x" * 1_001]}, ["texts of at most 1,000 characters"]),
    ("forget", {}, ["one of ids, search and token"]),
    ("forget", {"token": "guessed"}, ["never given"]),
    ("delete_document", {"source": "absent.md"}, ["Nothing has the id"]),
    ("store_note", {"title": "x", "text": "?"}, ["words in them"]),
]


@pytest.mark.parametrize(("tool", "given", "said"), WRONG)
def test_what_is_wrong_is_said_in_our_words(athena: Athena, tool: str, given: Any, said: list[str]) -> None:
    async def work(caller: Caller) -> None:
        refusal = await caller.refusal(tool, **given)
        assert all(part in refusal for part in said), refusal
        assert not re.search(r"pydantic|Traceback|validation error", refusal)
        assert str(athena.settings.data_dir) not in refusal

    talk(make_server(lambda: athena, lambda _: Who("anna")), work)


def test_numbers_as_texts_and_nulls_are_taken(talking: Talk) -> None:
    async def work(caller: Caller) -> None:
        found = await caller.get("search", query="fan", limit="1", path=None, compact="true")
        assert len(found["results"]) == 1
        assert "text" not in found["results"][0]

    talking(work)


def test_a_long_document_is_read_in_parts_without_a_gap(talking: Talk) -> None:
    async def work(caller: Caller) -> None:
        got = await caller.get("get", id="parts.md")
        text = got["text"]
        while rest := re.search(r'"lines": "((\d+)(\.\d+)?-\d+)"', got.get("more", "")):
            got = await caller.get("get", id="parts.md", lines=rest[1])
            text += ("" if rest[3] else "\n") + got["text"]
        assert text.count("## Part") == 1_500
        assert text.rstrip().endswith(f"grams.\n\n{LONG_LINE}")
        outline = await caller.get("outline", source="parts.md")
        assert "left out" in outline["more"]
        several = await caller.get("multi_get", pattern="parts.md, systems/*.md", max_bytes="500")
        assert [text["source"] for text in several["documents"]] == [
            "parts.md", "systems/fan.md", "systems/pump.md",
        ]  # fmt: skip
        assert '"lines"' in several["documents"][0]["more"]

    talking(work)


def test_documents_are_listed_outlined_and_compared(talking: Talk) -> None:
    async def work(caller: Caller) -> None:
        listed = await caller.get("list_documents", path="systems")
        assert [item["source"] for item in listed["documents"]] == ["systems/fan.md", "systems/pump.md"]
        outline = await caller.get("outline", source="systems/fan.md")
        assert [item["title"] for item in outline["sections"]] == ["Cabin fan", "Cabin fan › Worn bearings"]
        near = await caller.get("similar", id="systems/fan.md", limit=3)
        assert "systems/fan.md" not in {item["source"] for item in near["results"]}
        assert near["results"]

    talking(work)


def test_an_answer_has_exact_citations_and_tells_how_far_it_is(talking: Talk, athena: Athena) -> None:
    async def work(caller: Caller) -> None:
        told: list[str | None] = []

        async def progress(_: float, __: float | None, message: str | None) -> None:
            told.append(message)

        question = {"question": "What feeds the cabin fan?"}
        result = await caller.client.call_tool("ask", question, progress_callback=progress)
        answer: Any = result.structured_content
        assert not answer["abstained"]
        assert "main inverter" in answer["citations"][0]["quote"]
        await anyio.sleep(0)
        assert any("Searching" in (message or "") for message in told)
        nothing = await caller.get("ask", question="Who won the world cup of 2010?")
        assert nothing["abstained"]
        assert nothing["citations"] == []

    talking(work)
    assert not athena.conversations.list(user="anna")


def test_a_note_is_kept_once_found_and_deleted(talking: Talk) -> None:
    async def work(caller: Caller) -> None:
        note = {"title": "Fan swap: day 3", "text": "Fan two howls on Thursdays.", "tags": "fan"}
        stored = await caller.get("store_note", **note)
        assert stored["stored"]
        again = await caller.get("store_note", **{**note, "title": "Another"})
        assert again == {**stored, "stored": False}
        found = await caller.get("search", query="Who howls on Thursdays?", limit=1)
        assert found["results"][0]["source"] == stored["source"]
        assert (await caller.get("delete_document", source=stored["source"]))["file"] == "deleted"
        assert "Nothing has the id" in await caller.refusal("fetch", id=stored["source"])

    talking(work)


def test_what_is_remembered_is_recalled_changed_and_forgotten_after_a_look(talking: Talk) -> None:
    async def work(caller: Caller) -> None:
        kept = await caller.get("remember", text="I live in Turin.")
        (turin,) = kept["memories"]
        recalled = await caller.get("recall", query="where do I live?")
        assert recalled["memories"][0]["id"] == turin["id"]
        changed = await caller.get("update_memory", id=turin["id"], text="I live in Genoa, by the harbour.")
        assert [item["id"] for item in (await caller.get("list_memories"))["memories"]] == [turin["id"]]
        assert changed["memories"][0]["id"] == turin["id"]
        preview = await caller.get("forget", ids=[turin["id"]])
        assert {item["id"] for item in preview["would_forget"]} == {turin["id"]}
        assert (await caller.get("list_memories"))["memories"]  # nothing is forgotten yet
        assert (await caller.get("forget", token=preview["token"]))["forgotten"] == 1
        assert "used" in await caller.refusal("forget", token=preview["token"])
        assert not (await caller.get("list_memories"))["memories"]

    talking(work)


def test_resources_are_listed_read_and_completed(talking: Talk) -> None:
    async def work(caller: Caller) -> None:
        client = caller.client
        listed = [resource.uri for resource in (await client.list_resources()).resources]
        assert "athena://documents/systems%2Ffan.md" in listed
        sources, ids = (await client.list_resource_templates()).resource_templates
        (read,) = (await client.read_resource(listed[-1])).contents
        assert isinstance(read, TextResourceContents)
        assert read.text.startswith("# Pump")
        assert read.meta is not None
        assert read.meta["athena/notice"] == document_tools.CONTENT
        source = await client.complete(
            ResourceTemplateReference(uri=sources.uri_template), {"name": "source", "value": "fa"}
        )
        assert source.completion.values == ["systems/fan.md"]
        section = await client.complete(
            ResourceTemplateReference(uri=ids.uri_template), {"name": "id", "value": "growl"}
        )
        (read,) = (await client.read_resource(f"athena://sections/{section.completion.values[0]}")).contents
        assert isinstance(read, TextResourceContents)
        assert "growl" in read.text
        for uri in ("athena://documents/absent.md", "file:///etc/passwd"):
            with pytest.raises(MCPError, match=r"Nothing has the id|is no resource"):
                await client.read_resource(uri)

    talking(work)


def test_prompts_are_filled_in(talking: Talk) -> None:
    async def work(caller: Caller) -> None:
        client = caller.client
        names = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert names == ["answer_with_citations", "what_do_you_know_about_me"]
        (message,) = (await client.get_prompt(names[0], {"question": "Why {this}?"})).messages
        assert isinstance(message.content, TextContent)
        assert "Why {this}?" in message.content.text
        with pytest.raises(MCPError, match="takes 'question'"):
            await client.get_prompt(names[0])
        with pytest.raises(MCPError, match="takes no argument"):
            await client.get_prompt(names[1], {"question": "?"})
        done = await client.complete(PromptReference(name=names[0]), {"name": "question", "value": "W"})
        assert done.completion.values == []

    talking(work)


def test_an_unknown_tool_is_refused_with_the_nearest_one(talking: Talk) -> None:
    async def work(caller: Caller) -> None:
        with pytest.raises(MCPError, match="Did you mean 'search'"):
            await caller.result("serch", query="fan")

    talking(work)


@pytest.mark.parametrize("rights", [{"read"}, {"read", "remember"}, {"remember"}])
def test_a_key_sees_and_does_what_it_may_and_no_more(athena: Athena, rights: set[str]) -> None:
    async def work(caller: Caller) -> None:
        seen = {tool.name for tool in (await caller.client.list_tools()).tools}
        assert seen == {name for name, tool in TOOLS.items() if tool.right in rights}
        for name in TOOLS.keys() - seen:
            assert "This key may not" in await caller.refusal(name, **TOOLS[name].example)
        if "read" not in rights:
            with pytest.raises(MCPError, match="may not read"):
                await caller.client.list_resources()

    talk(make_server(lambda: athena, lambda _: Who("carl", frozenset(rights))), work)


def test_what_one_user_is_shown_another_cannot_forget(athena: Athena) -> None:
    shown: dict[str, str] = {}

    async def anna(caller: Caller) -> None:
        await caller.get("remember", text="My dog is called Rex.")
        shown.update(await caller.get("forget", search="dog"))

    async def ben(caller: Caller) -> None:
        assert "never given" in await caller.refusal("forget", token=shown["token"])
        assert not (await caller.get("recall", query="What is my dog called?"))["memories"]
        assert not (await caller.get("list_memories"))["memories"]
        assert "No memory" in await caller.refusal("forget", ids=[shown["would_forget"][0]["id"]])  # type: ignore[index]

    talk(make_server(lambda: athena, lambda _: Who("anna2")), anna)
    talk(make_server(lambda: athena, lambda _: Who("ben")), ben)
    assert athena.memory_of("anna2").list()


def test_nothing_is_opened_before_a_call_needs_it(tmp_path: Path) -> None:
    made = open_athena(Settings(_env_file=None, data_dir=tmp_path / "data", llm="none"))

    async def work(caller: Caller) -> None:
        await caller.client.list_tools()
        await caller.client.list_prompts()
        assert not (tmp_path / "data").exists()
        assert "Nothing is indexed in 'data' yet" in await caller.refusal("search", query="fan")

    talk(make_server(lambda: made, lambda _: Who("anna")), work)
    made.close()


def test_a_client_that_cancels_stops_the_work(athena: Athena, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = anyio.Event()
    tool = TOOLS["ask"]

    def slow(call: Any, _: Any) -> None:
        for _ in range(500):
            if call.stop.wait(0.02):
                return call.tell("never heard")
        raise AssertionError("nobody stopped it")

    async def work(caller: Caller) -> None:
        seen = []
        monkeypatch.setattr(
            "doors.mcp.server.TOOLS", {"ask": _with_run(tool, lambda *a: seen.append(slow(*a)))}
        )
        with anyio.move_on_after(0.3):
            await caller.result("ask", question="What?")
        with anyio.fail_after(5):
            while not seen:
                await anyio.sleep(0.02)
        stopped.set()

    talk(make_server(lambda: athena, lambda _: Who("anna")), work, era="legacy")
    assert stopped.is_set()


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_hangs_up_stops_the_work(
    athena: Athena, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def slow(call: Any, _: Any) -> None:
        begun.set()
        if call.stop.wait(20):
            stopped.set()

    envelope = "io.modelcontextprotocol/"
    about = {f"{envelope}protocolVersion": era, f"{envelope}clientInfo": {"name": "t", "version": "1"},
             f"{envelope}clientCapabilities": {}}  # fmt: skip
    params = {"name": "ask", "arguments": {"question": "What?"}} | (
        {} if era == "legacy" else {"_meta": about}
    )
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "host": "x",
    }
    if era != "legacy":
        headers |= {"mcp-protocol-version": era, "mcp-method": "tools/call", "mcp-name": "ask"}
    scope = {
        "type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "state": {"caller": Who("anna")},
    }  # fmt: skip
    received = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Any:
        if message := next(received, None):
            return message
        await anyio.to_thread.run_sync(begun.wait, 20)
        return {"type": "http.disconnect"}

    async def send(_: Any) -> None:
        """Nobody hears it."""

    async def work() -> None:
        door = McpDoor(lambda: athena, page=False)
        async with door.lifespan():
            await door(scope, receive, send)
            await anyio.to_thread.run_sync(stopped.wait, 20)

    monkeypatch.setattr("doors.mcp.server.TOOLS", {"ask": _with_run(TOOLS["ask"], slow)})
    asyncio.run(work())
    assert stopped.is_set()


def _with_run(tool: Any, run: Any) -> Any:
    return replace(tool, run=run)


def test_what_should_not_happen_is_said_without_its_words(
    athena: Athena, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        raise KeyError("/home/somebody/secret")

    async def work(caller: Caller) -> None:
        monkeypatch.setattr("doors.mcp.server.TOOLS", {"ask": _with_run(TOOLS["ask"], broken)})
        with pytest.raises(MCPError, match="Something went wrong here") as failed:
            await caller.result("ask", question="What?")
        assert "secret" not in str(failed.value)

    talk(make_server(lambda: athena, lambda _: Who("anna")), work)
    assert "secret" in caplog.text


def test_the_page_for_clients_names_each_tool_with_its_parameters() -> None:
    page = (Path(__file__).parents[2] / "docs" / "doors-mcp.md").read_text(encoding="utf-8")
    for name, tool in TOOLS.items():
        given = ", ".join(tool.takes.model_fields)
        assert f"| `{name}({given})` | `{tool.right}` |" in page
