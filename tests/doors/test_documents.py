"""Documents that are put and deleted over HTTP: whole or not at all, whatever fails."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from athena import Athena, open_athena
from athena.reading import UPLOADS
from athena.settings import Settings
from athena.tools.document_tools import MultiGet, _multi_get
from athena.tools.tool import Call
from doors.mcp.writing_tools import DELETE_DOCUMENT, DeleteDocument
from pipeline.errors import DiskFull, StoreUnavailable
from tests.doors.conftest import ASKED, Serve, Served, message
from ui.documents import page
from ui.launch import doors_alone
from ui.shared import process

FIRST = {"text": "# Pump\n\nThe pump hums.\n"}
OTHER = {"text": "# Pump\n\nThe quokka hums.\n"}


def files(served: Served) -> dict[str, str]:
    """What lies in the folder of the uploads."""
    folder = served.athena.settings.data_dir / UPLOADS
    return {path.name: path.read_text() for path in folder.rglob("*.md")}


def test_a_document_is_put_replaced_and_deleted(serve: Serve) -> None:
    served = serve()
    client = served.client()
    assert client.put("/api/documents/notes/./pump.md", json=FIRST).json()["source"] == "notes/pump.md"
    assert client.put("/api/documents/notes/pump.md", json=OTHER).is_success
    assert "quokka" in client.get("/api/documents/notes/pump.md").json()["text"]
    for name in ("notes/Pump.md", "FAN.md"):
        taken = client.put(f"/api/documents/{name}", json=FIRST)
        assert taken.status_code == 409
        assert f"'{name}' would take the place of" in message(taken)
    assert client.put("/api/documents/fan.md", json=FIRST).status_code == 409
    assert client.delete("/api/documents/notes/pump.md").json()["file_deleted"]
    assert files(served) == {}


def test_one_that_fails_takes_nothing_of_another_that_is_put_meanwhile(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve()
    client, other = served.client(), served.client()
    client.put("/api/documents/pump.md", json=FIRST)
    refused, put = threading.Event(), threading.Event()
    ingest = served.athena.ingest

    def slowly(*given: Any, **more: Any) -> Any:
        report = ingest(*given, **more)
        if report.problems:  # the empty text will be put back: time for somebody else
            refused.set()
            put.wait(1)
        return report

    monkeypatch.setattr(served.athena, "ingest", slowly)
    empty = threading.Thread(
        target=client.put, args=["/api/documents/pump.md"], kwargs={"json": {"text": " "}}
    )
    empty.start()
    assert refused.wait(20)
    assert other.put("/api/documents/pump.md", json=OTHER).is_success
    put.set()
    empty.join()
    assert files(served) == {"pump.md": OTHER["text"]}


def by_a_tool(athena: Athena) -> None:
    call = Call(athena, None, None, threading.Event(), print)  # type: ignore[arg-type]
    DELETE_DOCUMENT.run(call, DeleteDocument(source="pump.md"))


def on_the_page(athena: Athena) -> None:
    page.delete("pump.md")


@pytest.mark.parametrize("delete", [by_a_tool, on_the_page])
def test_what_is_deleted_while_a_put_fails_stays_deleted(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, delete: Callable[[Athena], None]
) -> None:
    served = serve()
    client = served.client()
    client.put("/api/documents/pump.md", json=FIRST)
    monkeypatch.setattr(process, "athena", lambda: served.athena)
    deleting = threading.Thread(target=delete, args=[served.athena])

    def fails(*_: Any, **__: Any) -> None:
        deleting.start()
        deleting.join(1)  # it waits for this to end, which puts the former file back
        raise DiskFull("The disk is full.", "Make room.")

    monkeypatch.setattr(served.athena, "ingest", fails)
    assert client.put("/api/documents/pump.md", json=OTHER).status_code == 507
    deleting.join(60)
    assert files(served) == {}
    assert client.get("/api/documents/pump.md").status_code == 404


@pytest.mark.parametrize(
    ("failing", "status", "what_to_do"),
    [
        (
            DiskFull("Cannot write '/data/athena.sqlite': the disk is full.", "Free some space."),
            507,
            "Free some",
        ),
        (StoreUnavailable("Weaviate does not answer.", "Start it."), 503, "Start it."),
    ],
)
def test_what_cannot_be_indexed_leaves_the_former_document(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, failing: Exception, status: int, what_to_do: str
) -> None:
    served = serve()
    client = served.client()
    client.put("/api/documents/pump.md", json=FIRST)

    def fails(*_: Any, **__: Any) -> None:
        raise failing

    with monkeypatch.context() as broken:
        broken.setattr(served.athena, "ingest", fails)
        for name in ("pump.md", "new.md"):
            answered = client.put(f"/api/documents/{name}", json=OTHER)
            assert answered.status_code == status
            assert what_to_do in message(answered)
            assert "/data" not in answered.text
    assert client.put("/api/documents/pump.md", json={"text": "\0" * 100}).status_code == 422
    assert files(served) == {"pump.md": FIRST["text"]}
    served.athena.ingest([served.athena.settings.data_dir / UPLOADS])
    assert "quokka" not in client.get("/api/documents/pump.md").json()["text"]


def test_a_full_disk_is_507_and_says_what_to_do(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve()
    client = served.client()
    client.put("/api/documents/pump.md", json=FIRST)

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pipeline.ingesting.uploads.Path.open", full)
    answered = client.put("/api/documents/other.md", json=OTHER)
    assert answered.status_code == 507
    assert "the disk is full. Free some space" in message(answered)
    monkeypatch.undo()
    assert files(served) == {"pump.md": FIRST["text"]}


def test_a_store_that_is_down_is_503_in_the_shape_of_each_protocol(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve()
    client = served.client(headers={"Accept": "application/json, text/event-stream"})
    down = StoreUnavailable(
        "Weaviate at 'http://127.0.0.1:9' does not answer.", "Start it: /home/me/start.sh"
    )

    def fails(*_: Any, **__: Any) -> None:
        raise down

    tool = {"name": "search", "arguments": {"query": "fan"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}
    with monkeypatch.context() as searching:
        searching.setattr(served.athena.store.sentences, "search", fails)
        answers = [
            client.post("/api/search", json={"query": "fan"}),
            client.post("/v1/chat/completions", json=ASKED),
        ]
        assert [answer.status_code for answer in answers] == [503, 503]
        streamed = client.post("/v1/chat/completions", json=ASKED | {"stream": True})
        called = client.post("/mcp", json=call)
    [error] = [line for line in streamed.text.splitlines() if '"error"' in line]
    assert json.loads(error.removeprefix("data: "))["error"]["code"] == "503"
    assert called.json()["result"]["isError"]
    monkeypatch.setattr(served.athena.keys, "list", fails)  # also who calls cannot be known
    answers += [client.get("/v1/models"), client.post("/mcp", json=call)]
    assert [answer.status_code for answer in answers[2:]] == [503, 503]
    assert answers[3].json()["error"]["code"] == -32603
    for answer in (*answers, streamed, called):
        assert "Weaviate at 'http://127.0.0.1:9' does not answer. Start it" in answer.text
        assert "/home" not in answer.text and "Traceback" not in answer.text
    assert client.get("/health").is_success


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("search", {"query": "fan", "limit": True}, "limit"),
        ("search", {"query": "fan", "limit": "5"}, "limit"),
        ("feedback", {"turn_id": "t", "value": True}, "value"),
        ("feedback", {"turn_id": "t", "value": 2}, "value"),
    ],
)
def test_true_is_no_number(serve: Serve, path: str, body: dict[str, Any], param: str) -> None:
    answered = serve().client().post(f"/api/{path}", json=body)
    assert answered.status_code == 400
    assert answered.json()["error"]["param"] == param


def test_servers_that_are_down_are_503_without_a_trace(tmp_path: Path) -> None:
    pytest.importorskip("weaviate")
    down = "mongodb://me:hush@127.0.0.1:9/?serverSelectionTimeoutMS=50"
    settings = Settings(
        data_dir=tmp_path / "data", llm="none", doors="all",
        store="server", mongodb_url=down, weaviate_url="http://127.0.0.1:9",
    )  # fmt: skip
    with open_athena(settings) as athena:
        client = TestClient(doors_alone(athena), "http://localhost", client=("127.0.0.1", 50_000))
        for method, at in (("PUT", "/api/documents/a.md"), ("POST", "/mcp")):
            answered = client.request(method, at, json=FIRST)
            assert answered.status_code == 503
            assert "ATHENA_MONGODB_URL" in message(answered)
            assert "hush" not in answered.text and str(tmp_path) not in answered.text
            assert (answered.json().get("jsonrpc") == "2.0") == (at == "/mcp")
    assert not (tmp_path / "data" / UPLOADS).exists()


def test_work_for_a_client_that_hung_up_ends(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve()
    client = served.client()
    heard = threading.Event()

    def slow(*_: Any, should_stop: Any, **__: Any) -> None:
        heard.wait(0.6)  # the client waits for less
        for _ in range(400):
            if should_stop():
                heard.set()
                break
            threading.Event().wait(0.01)
        raise DiskFull("Nobody reads this.")

    monkeypatch.setattr(served.athena, "ingest", slow)
    client.timeout = 0.3
    with pytest.raises(Exception, match="timed out"):
        client.put("/api/documents/pump.md", json=FIRST)
    assert heard.wait(5)


def test_several_documents_are_read_until_the_client_hangs_up(serve: Serve, tmp_path: Path) -> None:
    served = serve()
    stop = threading.Event()
    stop.set()
    call = Call(served.athena, None, None, stop, print)  # type: ignore[arg-type]
    assert _multi_get(call, MultiGet(pattern="*.md")).documents == []
