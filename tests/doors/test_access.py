"""Who is served: keys, rights, users, hosts."""

from __future__ import annotations

from typing import Any

import pytest

from doors import open_api
from pipeline.errors import ConfigurationError
from tests.doors.conftest import Serve

SECRET = "xylophone"
QUESTION = {"messages": [{"role": "user", "content": "What feeds the cabin fan?"}]}


def test_without_keys_programs_on_this_machine_are_served_as_the_local_user(serve: Serve) -> None:
    served = serve()
    client = served.client()
    assert client.get("/api/documents").is_success
    any_text = {"Authorization": "Bearer none"}  # OpenAI's clients always send one
    assert client.get("/v1/models", headers=any_text).is_success
    proxied = client.get("/api/documents", headers={"X-Forwarded-For": "127.0.0.1"})
    assert (proxied.status_code, proxied.headers["www-authenticate"]) == (401, "Bearer")
    assert client.get("/api/documents", headers={"Authorization": "Basic YTpi"}).status_code == 401
    assert served.client(address="192.0.2.7").get("/api/documents").status_code == 401
    served.key("ann")
    assert client.get("/api/documents").status_code == 401
    assert client.get("/v1/models", headers=any_text).status_code == 401
    assert client.post("/mcp", json={}).status_code == 401
    assert client.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(("address", "host"), [("192.0.2.7", "127.0.0.1"), ("127.0.0.1", "docs.example")])
def test_other_machines_and_rebound_names_need_a_key(serve: Serve, address: str, host: str) -> None:
    client = serve(allowed_hosts="docs.example").client(address=address)
    assert client.get("/v1/models", headers={"Host": host}).status_code == 401


def test_an_open_address_needs_a_key_before_it_is_served(serve: Serve) -> None:
    served = serve()
    settings = served.athena.settings.model_copy(update={"host": "0.0.0.0"})
    with pytest.raises(ConfigurationError, match="athena keys add"):
        open_api(settings, lambda: served.athena, page=False)
    served.key("ann")
    assert open_api(settings, lambda: served.athena, page=False)


def test_an_unknown_host_is_refused(serve: Serve) -> None:
    client = serve(allowed_hosts="docs.example").client()
    for path in ("/v1/models", "/mcp", "/health"):
        assert client.get(path, headers={"Host": "evil.example"}).status_code == 400
    assert client.get("/health", headers={"Host": "docs.example"}).is_success


def test_a_key_does_what_its_rights_say(serve: Serve) -> None:
    served = serve()
    reader = served.client(served.key("ann", rights=("read",)))
    assert reader.post("/api/search", json={"query": "fan"}).is_success
    for answered in (
        reader.post("/api/ask", json={"question": "What feeds the fan?", "store": True}),
        reader.post("/api/memory", json={"text": "I live in Turin."}),
        reader.put("/api/documents/a.md", json={"text": "# A\n\nWords.\n"}),
        reader.delete("/api/documents/fan.md"),
    ):
        assert answered.status_code == 403
        assert "lacks the right" in answered.json()["error"]["message"]
    assert served.athena.conversations.list() == []
    nobody = served.client(served.key("bob", rights=("remember",)))
    assert nobody.get("/api/documents").status_code == 403
    assert nobody.post("/mcp", json={}).status_code == 403


def test_two_users_see_nothing_of_each_other_on_any_route(serve: Serve) -> None:
    served = serve()
    ann, bob = (served.client(served.key(name)) for name in ("ann", "bob"))
    memory = ann.post("/api/memory", json={"text": f"My code name is {SECRET}."}).json()[0]["id"]
    kept = ann.post("/api/ask", json={"question": "What feeds the fan?", "store": True}).json()
    talk = kept["conversation_id"]
    values = {"conversation_id": talk, "memory_id": memory, "source": "x.md"}
    bodies: dict[str, Any] = {
        "/v1/chat/completions": QUESTION,
        "/api/search": {"query": "code name"},
        "/api/ask": {"question": "What is my code name?"},
        "/api/memory": {"text": "I sleep."},
        "/api/memory/{memory_id}": {"text": "Mine now."},
        "/api/memory/rate": {"text": "I sleep."},
        "/api/documents/{source}": {"text": "# B\n\nWords.\n"},
    }
    for path, methods in bob.get("/api/openapi.json").json()["paths"].items():
        for method in methods:
            url = path.format(**values)
            answered = bob.request(method, url, json=bodies.get(path) if method in ("post", "put") else None)
            assert SECRET not in answered.text, (method, path)
            if talk in url or memory in url:
                assert answered.status_code == 404, (method, path)
    assert bob.get("/api/memory", params={"query": SECRET}).json() == []
    assert SECRET in ann.get("/api/memory").text
    assert ann.get(f"/api/conversations/{talk}").is_success
