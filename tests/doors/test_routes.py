"""Documents, conversations and memory over HTTP; the OpenAPI is what the routes do."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from athena.reading import UPLOADS
from pipeline.errors import DiskFull, StoreUnavailable
from tests.doors.conftest import Serve, Served
from tests.fake_llm import FakeLLM

FIRST = {"text": "# Pump\n\nThe pump is fed by battery two.\n"}
OTHER = {"text": "# Pump\n\nThe pump is fed by a quokka.\n"}
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
    "response_headers_conformance,allow_header_conformance"
)


def files(served: Served) -> dict[str, str]:
    """The texts in the folder of uploads, by name."""
    folder = served.athena.settings.data_dir / UPLOADS
    return {path.name: path.read_text() for path in folder.rglob("*.md")}


def message(response: Any) -> str:
    return str(response.json()["error"]["message"])


def test_search_and_ask_return_the_shapes_of_json(serve: Serve) -> None:
    client = serve().client()
    found = client.post("/api/search", json={"query": "What feeds the cabin fan?", "limit": 1}).json()
    assert len(found["results"]) == 1
    assert found["results"][0]["heading_path"] == ["Cabin fan"]
    asked = client.post("/api/ask", json={"question": "What feeds the cabin fan?"}).json()
    assert "inverter of bus A" in asked["answer"] and asked["citations"][0]["source"] == "fan.md"
    nowhere = client.post("/api/ask", json={"question": "What feeds the fan?", "paths": ["absent/"]}).json()
    assert nowhere["citations"] == []


def test_a_document_is_put_replaced_and_deleted(serve: Serve) -> None:
    served = serve()
    client = served.client()
    assert client.put("/api/documents/notes/./pump.md", json=FIRST).json()["source"] == "notes/pump.md"
    assert client.put("/api/documents/notes/pump.md", json=OTHER).is_success
    assert "quokka" in client.get("/api/documents/notes/pump.md").json()["text"]
    assert [one["source"] for one in client.get("/api/documents").json()] == ["fan.md", "notes/pump.md"]
    assert client.put("/api/documents/notes/Pump.md", json=FIRST).status_code == 409
    assert "quokka" in files(served)["pump.md"]
    assert client.delete("/api/documents/notes/pump.md").json()["file_deleted"]
    assert files(served) == {}


def test_a_file_of_a_folder_is_not_replaced_by_an_upload(serve: Serve) -> None:
    served = serve()
    assert served.client().put("/api/documents/fan.md", json=FIRST).status_code == 409
    assert files(served) == {}
    assert "inverter" in served.client().get("/api/documents/fan.md").json()["text"]


@pytest.mark.parametrize(
    ("failing", "status"),
    [
        (DiskFull("Cannot write 'athena.sqlite': the disk is full.", "Free some space."), 507),
        (StoreUnavailable("Weaviate does not answer.", "Start it."), 503),
    ],
)
def test_what_cannot_be_indexed_leaves_the_former_document(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, failing: Exception, status: int
) -> None:
    served = serve()
    client = served.client()
    client.put("/api/documents/pump.md", json=FIRST)

    def fails(*_: Any, **__: Any) -> None:
        raise failing

    with monkeypatch.context() as broken:
        broken.setattr(served.athena, "ingest", fails)
        for name in ("pump.md", "new.md"):
            assert client.put(f"/api/documents/{name}", json=OTHER).status_code == status
    assert client.put("/api/documents/pump.md", json={"text": "\0" * 100}).status_code == 422
    assert files(served) == {"pump.md": FIRST["text"]}


@pytest.mark.parametrize("odd", ["%00", "%2e%2e%2fx.md", "a%5c..%5cb", "x" * 300 + ".md"])
def test_odd_names_are_refused_and_write_nothing(serve: Serve, odd: str) -> None:
    served = serve()
    assert served.client().put(f"/api/documents/{odd}", json=FIRST).status_code in (400, 404, 422)
    assert files(served) == {}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"query": "fan", "limit": True}, "limit"),
        ({"query": "fan", "limit": "5"}, "limit"),
        ({"query": "fan", "top_k": 5}, "top_k"),
        ({}, "query"),
    ],
)
def test_a_wrong_field_is_named(serve: Serve, body: dict[str, Any], param: str) -> None:
    answered = serve().client().post("/api/search", json=body)
    assert (answered.status_code, answered.json()["error"]["param"]) == (400, param)


def test_a_body_that_is_no_json_is_refused(serve: Serve) -> None:
    client = serve().client()
    typed = {"Content-Type": "application/json"}
    assert client.post("/api/search", content=b"{bad", headers=typed).status_code == 400
    as_text = {"Content-Type": "text/plain"}  # as a page of another site may send it unasked
    assert client.post("/api/search", content=b'{"query": "fan"}', headers=as_text).status_code == 400


def test_a_wrong_method_is_told_the_right_ones(serve: Serve) -> None:
    refused = serve().client().patch("/api/documents/fan.md")
    assert (refused.status_code, refused.headers["allow"]) == (405, "DELETE, GET, PUT")


def test_a_store_that_is_down_is_503_on_every_protocol(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve()

    def fails(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("Weaviate does not answer.", "Start it.")

    client = served.client()
    body = {"messages": [{"role": "user", "content": "fan?"}]}
    monkeypatch.setattr(served.athena.store, "search", fails)
    assert client.post("/v1/chat/completions", json=body).status_code == 503
    streamed = client.post("/v1/chat/completions", json=body | {"stream": True}).text
    assert '"code":"503"' in streamed and streamed.endswith("data: [DONE]\n\n")
    monkeypatch.setattr("pipeline.stores.keys.Keys.list", fails)
    assert "Start it." in message(client.get("/v1/models"))
    assert client.post("/mcp", json={}).status_code == 503
    assert client.get("/health").is_success


def test_an_emptied_index_asks_for_an_ingest(serve: Serve) -> None:
    client = serve().client()
    assert client.delete("/api/documents/fan.md").is_success
    question = {"messages": [{"role": "user", "content": "fan?"}]}
    for path, body in (("/api/search", {"query": "fan"}), ("/v1/chat/completions", question)):
        answered = client.post(path, json=body)
        assert answered.status_code == 409
        assert "athena ingest" in message(answered)


def test_conversations_are_listed_read_and_deleted(serve: Serve) -> None:
    client = serve().client()
    kept = client.post("/api/ask", json={"question": "What feeds the cabin fan?", "store": True}).json()
    [info] = client.get("/api/conversations").json()
    assert info["id"] == kept["conversation_id"]
    whole = client.get(f"/api/conversations/{info['id']}").json()
    assert whole["turns"][0]["answer"]["citations"][0]["source"] == "fan.md"
    assert client.delete(f"/api/conversations/{info['id']}").json() == {"deleted": [info["id"]]}
    assert client.get(f"/api/conversations/{info['id']}").status_code == 404


def test_memories_are_added_found_edited_and_forgotten(serve: Serve) -> None:
    client = serve().client()
    [added] = client.post("/api/memory", json={"text": "I sleep in bunk B-2."}).json()
    [found] = client.get("/api/memory", params={"query": "bunk"}).json()
    assert found["id"] == added["id"]
    edited = client.put(f"/api/memory/{added['id']}", json={"text": "I sleep in bunk B-3."}).json()
    assert [one["text"] for one in client.get("/api/memory").json()] == [edited["text"]]
    assert client.delete(f"/api/memory/{edited['id']}").json()["deleted"] == [edited["id"]]
    assert client.get("/api/memory").json() == []
    assert client.delete("/api/memory/nowhere").status_code == 404


def test_a_text_is_rated_and_a_plan_is_made_by_the_model(serve: Serve) -> None:
    goals = "22:00 Sleep: lie down (bunk)"
    rating = '{"rating": 9, "explanation": "It is about safety."}'
    client = serve(llm=FakeLLM([rating, goals])).client()
    rated = client.post("/api/memory/rate", json={"text": "I am allergic to nuts."}).json()
    assert rated == {"rating": 9, "explanation": "It is about safety."}
    [planned] = client.post("/api/memory/plan", json={"prompt": "Plan the evening."}).json()
    assert planned["kind"] == "plan" and "Sleep" in planned["text"]


def test_a_plan_without_a_model_is_503(serve: Serve) -> None:
    assert serve().client().post("/api/memory/plan", json={}).status_code == 503


def test_every_route_declares_the_shape_of_its_response(serve: Serve) -> None:
    paths = serve().client().get("/api/openapi.json").json()["paths"]
    assert len(paths) >= 11
    for path, methods in paths.items():
        for method, operation in methods.items():
            [ok] = [one for status, one in operation["responses"].items() if status.startswith("20")]
            assert ok["content"]["application/json"]["schema"] != {}, (method, path)
            assert {"4XX", "5XX"} <= operation["responses"].keys()


@pytest.mark.slow
def test_made_up_requests_get_what_the_openapi_says(serve: Serve, tmp_path: Path) -> None:
    served = serve(doors="api")
    server = uvicorn.Server(uvicorn.Config(served.app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        thread.join(0.02)
    address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    program = Path(sys.executable).with_name("schemathesis")
    words = [program, "run", f"{address}/api/openapi.json", "--checks", CHECKS, "--max-examples", "5"]
    words += ["--seed", "1", "--phases", "examples,coverage,fuzzing"]
    words += ["--exclude-path", "/api/memory/plan"]  # 503, as there is no language model
    try:
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=250)
    finally:
        server.should_exit = True
        thread.join()
    assert done.returncode == 0, done.stdout[-9000:]
