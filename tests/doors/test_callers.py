"""Who may come in, what of whom they see, and how much they may ask."""

from __future__ import annotations

import itertools
import json
import socket
import time
from contextlib import ExitStack, closing
from types import SimpleNamespace
from typing import Any

import pytest

from athena.settings import Settings
from doors.app import open_doors
from doors.keys import caller_of
from doors.refusals import LONGEST, without_paths
from pipeline.errors import ConfigurationError, NotAllowed
from pipeline.stores.keys import DAY_S, new_key
from tests.doors.conftest import ASKED, Serve, message
from tests.fake_llm import FakeLLM

SECRET = "Wintermute"


def test_what_an_error_repeats_is_cut_before_it_is_looked_through() -> None:
    assert len(without_paths("'/" + "a" * 1_000_000 + "//' ")) <= LONGEST
    assert without_paths("\ud800 '/home/me/manual.md'") == "? 'manual.md'"
    assert without_paths("POST /api/search, not /home/me/manual.md") == "POST /api/search, not 'manual.md'"
    assert without_paths(f"'{'a' * 9_000}' is long. Shorten it.") == f"'{'a' * 200}…' is long. Shorten it."
    between = f"'a' and {'b ' * 200}and 'c'"
    assert without_paths(between) == between
    assert without_paths(f"{'a' * 9_000} is long.") == f"{'a' * 200}… is long."


def test_what_would_be_forgotten_is_shown_to_readers_alone(serve: Serve) -> None:
    served = serve()
    client = served.client(served.key("ann", rights=("remember",)))
    assert client.post("/api/memories/forget", json={"everything": True}).status_code == 403


def test_without_a_key_only_this_machine_is_served_as_the_settings_user(serve: Serve) -> None:
    served = serve()
    client = served.client()
    assert client.get("/api/status").json()["user"] == "local"
    for header in (
        {"X-Forwarded-For": "127.0.0.1"}, {"X-Forwarded-User": "ann"}, {"Authorization": "Bearer athena_x_y"},
    ):  # fmt: skip
        refused = client.get("/api/status", headers=header)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "athena keys add" in message(refused)
    made_up = {"Authorization": "Bearer no-key"}  # clients of OpenAI's protocol send one in any case
    assert client.get("/api/status", headers=made_up).json()["user"] == "local"
    served.key("ann")
    assert client.get("/api/status").status_code == 401  # there is a key now
    assert client.get("/api/status", headers=made_up).status_code == 401
    assert client.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("client", "host"), [("192.0.2.7", "127.0.0.1"), ("127.0.0.1", "docs.example"), (None, "127.0.0.1")]
)
def test_nobody_else_comes_in_without_a_key(serve: Serve, client: str | None, host: str) -> None:
    athena = serve().athena
    with pytest.raises(NotAllowed):
        caller_of(athena.keys, athena.settings, headers={"host": host}, client=client)


def test_doors_do_not_open_to_others_without_a_key(serve: Serve) -> None:
    served = serve()
    open_to_all = served.athena.settings.model_copy(update={"host": "0.0.0.0"})
    with pytest.raises(ConfigurationError, match="athena keys add NAME"):
        open_doors(open_to_all, lambda: served.athena)
    served.key("ann")
    assert open_doors(open_to_all, lambda: served.athena).routes
    assert open_doors(Settings(host="0.0.0.0"), lambda: served.athena).routes == ()


def test_other_sites_are_kept_out_in_the_shape_of_each_protocol(serve: Serve) -> None:
    client = serve().client()
    for method, at in itertools.product(("GET", "POST", "OPTIONS"), ("/v1/models", "/api/status", "/mcp")):
        for headers, what_to_do in (
            ({"Host": "evil.example"}, "add it to ATHENA_ALLOWED_HOSTS"),
            ({"Origin": "http://evil.example"}, "sends no header `Origin`"),
            ({"Origin": "http://127.0.0.1:9"}, "sends no header `Origin`"),
        ):
            answered = client.request(method, at, headers=headers)
            assert answered.status_code == 403
            assert what_to_do in message(answered)
            shape = answered.json()
            assert shape.get("jsonrpc") == ("2.0" if at == "/mcp" else None)
            assert shape["error"]["code"] == (-32600 if at == "/mcp" else "403")
            assert not [name for name in answered.headers if name.startswith("access-control")]


def test_a_name_of_this_machine_may_end_in_a_dot(serve: Serve) -> None:
    client = serve().client(headers={"Host": "localhost."})
    assert client.get("/api/status").json()["user"] == "local"


def test_at_mcp_what_does_not_come_in_has_json_rpcs_shape(serve: Serve) -> None:
    served = serve(doors_a_minute=2, doors_max_mb=0.001)
    client = served.client(served.key("ann"))
    answers = [
        client.post("/mcp", headers={"Authorization": "Bearer x"}),
        client.post("/mcp", content=b"x" * 2000),
        client.delete("/mcp"),
        client.post("/mcp"),
    ]
    assert [answer.status_code for answer in answers] == [401, 413, 405, 429]
    assert answers[2].headers["allow"] == "POST"
    for answer, what_to_do in zip(
        answers, ("athena keys add", "Send less", "one request", "Wait"), strict=True
    ):
        assert (answer.json()["jsonrpc"], answer.json()["error"]["code"]) == ("2.0", -32600)
        assert what_to_do in message(answer)


def test_a_key_does_what_its_rights_say(serve: Serve) -> None:
    served = serve()
    reader = served.client(served.key("ann", rights=("read",)))
    assert reader.post("/api/search", json={"query": "fan"}).is_success
    for answered in (
        reader.post("/v1/chat/completions", json=ASKED | {"store": True}),
        reader.post("/api/memories", json={"text": "I live in Turin."}),
        reader.put("/api/documents/a.md", json={"text": "# A\n\nWords.\n"}),
        reader.delete("/api/documents/fan.md"),
        reader.post("/api/conversations", json={}),
    ):
        assert answered.status_code == 403
        assert "This key may not" in message(answered)
    assert served.athena.conversations.list() == []


@pytest.mark.parametrize("meant", [1, 0, "yes", "true"])
def test_everything_is_forgotten_only_where_true_is_said(serve: Serve, meant: object) -> None:
    client = serve().client()
    refused = client.post("/api/memories/forget", json={"everything": meant, "search": "bunk"})
    assert refused.status_code == 400
    assert "everything" in message(refused)


@pytest.mark.parametrize("days", [True, "5"])
def test_an_age_to_forget_by_is_a_number(serve: Serve, days: object) -> None:
    client = serve().client()
    refused = client.post("/api/memories/forget", json={"older_than_days": days})
    assert refused.status_code == 400
    assert "older_than_days" in message(refused)
    assert client.post("/api/memories/forget", json={"older_than_days": 0.5}).is_success


def test_two_keys_see_nothing_of_each_other_on_any_route(serve: Serve) -> None:
    served = serve()
    ann, bob = (served.client(served.key(name)) for name in ("ann", "bob"))
    made = ann.post("/api/memories", json={"text": f"My code name is xylophone, from {SECRET}."}).json()
    memory = made["memories"][0]["id"]
    told = {"question": f"{SECRET} calls me xylophone: what feeds the cabin fan?", "store": True}
    kept = ann.post("/api/ask", json=told).json()
    served.athena.finish()
    talk, turn = kept["conversation_id"], kept["turn_id"]
    whole = [ann.get("/api/memories").text, ann.get(f"/api/conversations/{talk}").text]
    assert all(SECRET in text for text in whole)

    values = {
        "conversation_id": talk,
        "memory_id": memory,
        "source": "x.md",
        "section_id": "x",
        "name": "athena",
    }
    asked = "What do you know about xylophone?"
    bodies: dict[str, list[Any]] = {
        "/v1/chat/completions": [
            {"messages": [{"role": "user", "content": asked}]},
            ASKED | {"metadata": {"conversation_id": talk}},
        ],
        "/api/search": [{"query": "xylophone"}],
        "/api/ask": [{"question": "What is my code name?"}, {"question": asked, "conversation_id": talk}],
        "/api/feedback": [{"turn_id": turn, "value": 1}],
        "/api/memories": [{"text": "My code name is xylophone."}],
        "/api/memories/{memory_id}": [{"text": "Mine now."}],
        "/api/memories/forget": [{"ids": [memory]}, {"search": "xylophone"}, {"ids": [turn]}],
        "/api/rate": [{"text": "xylophone"}],
        "/api/embed": [{"texts": ["a"]}],
        "/api/conversations/{conversation_id}": [{"title": "Mine"}],
        "/api/documents/{source}": [{"text": "# B\n\nWords.\n"}],
    }
    paths = bob.get("/api/openapi.json").json()["paths"]
    assert len(paths) >= len(bodies) + 9
    for path, methods in paths.items():
        for method in methods:
            for body in bodies.get(path, [{}]) if method in ("post", "put", "patch") else [None]:
                given = {"query": "xylophone", "words": "xylophone"} if method == "get" else None
                answered = bob.request(method, path.format(**values), json=body, params=given)
                assert SECRET not in answered.text, (method, path, body)
                if any(known in f"{path.format(**values)} {body}" for known in (talk, memory, turn)):
                    assert answered.status_code == 404, (method, path, body, answered.text)
    assert whole == [ann.get("/api/memories").text, ann.get(f"/api/conversations/{talk}").text]


def test_more_than_its_share_is_refused_with_when_to_come_back(serve: Serve) -> None:
    served = serve(doors_a_minute=3)
    ann, bob = (served.client(served.key(name)) for name in ("ann", "bob"))
    assert [ann.get("/api/status").status_code for _ in range(4)] == [200, 200, 200, 429]
    refused = ann.get("/api/status")
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert refused.json()["error"]["type"] == "rate_limit_error"
    assert bob.get("/api/status").is_success


def test_so_many_are_answered_at_once(serve: Serve) -> None:
    served = serve(
        llm=FakeLLM(["One more word comes here. " * 100], pause_s=0.01, repeat=True), doors_at_once=1
    )
    ann = served.client(served.key("ann"))
    with ann.stream("POST", "/v1/chat/completions", json=ASKED | {"stream": True}) as response:
        for line in response.iter_lines():
            if "word" in line:
                assert ann.get("/api/status").status_code == 429
                break
    deadline = time.monotonic() + 20
    while not (answered := ann.get("/api/status")).is_success:
        assert time.monotonic() < deadline, answered.text


@pytest.mark.parametrize("ending", ["revoked", "expired"])
def test_a_key_that_ends_in_mid_answer_ends_it(
    serve: Serve, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = serve(llm=FakeLLM(["One more word comes here. " * 600], pause_s=0.01))
    key, secret = new_key("ann", user="ann", days=1)
    served.athena.keys.add(key)
    ann = served.client(secret)
    tomorrow = SimpleNamespace(time=lambda: key.created_at + DAY_S)
    lines: list[str] = []
    body = ASKED | {"stream": True, "store": True}
    with ann.stream("POST", "/v1/chat/completions", json=body) as response:
        for line in response.iter_lines():
            if "word" in line and not lines:
                if ending == "revoked":
                    served.athena.keys.revoke("ann")
                else:
                    monkeypatch.setattr("pipeline.stores.keys.time", tomorrow)
            lines += [line] if "word" in line or "error" in line else []
    assert "This key was revoked, or expired" in lines[-1] and "athena keys add" in lines[-1]
    assert json.loads(lines[-1].removeprefix("data: "))["error"]["code"] == "401"
    [info] = served.athena.conversations.list()
    deadline = time.monotonic() + 20
    while served.athena.conversations.get(info.id).turns[0].answer.status != "stopped":
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{bad", "not JSON"),
        (b'{"query": "\xff"}', "JSON in UTF-8"),
        (b'{"query": 5}', "`query`"),
        (b'{"query": "fan", "limt": 3}', "`limt`"),
        (b'{"query": "???"}', "no word"),
        (b"[" * 100_000, ""),
        (b'["fan"]', "JSON object"),
        (b'{"query": "\\ud800 fan"}', ""),
        (b"", ""),
    ],
)
def test_what_is_no_request_is_refused_in_words(serve: Serve, body: bytes, said: str) -> None:
    headers = {"Content-Type": "application/json"}
    answered = serve().client().post("/api/search", content=body, headers=headers)
    assert answered.status_code in (200, 400)
    if answered.status_code == 400:
        assert said in message(answered)
        assert "Traceback" not in answered.text and "pydantic" not in answered.text


def test_json_that_is_not_called_so_is_refused_with_the_header_to_send(serve: Serve) -> None:
    answered = serve().client().post("/api/search", content=b'{"query": "fan"}')
    assert answered.status_code == 400 and "Content-Type: application/json" in message(answered)


def test_a_body_that_is_too_large_or_does_not_come_is_refused(serve: Serve) -> None:
    served = serve(doors_max_mb=0.001, doors_patience_s=0.5)
    client = served.client()
    assert client.post("/api/search", json={"query": "fan " * 1000}).status_code == 413
    assert client.post("/api/search", content=iter([b"x" * 800, b"y" * 800])).status_code == 413
    host, port = served.address.removeprefix("http://").split(":")
    head = f"POST /api/search HTTP/1.1\r\nHost: {host}\r\nContent-Length: 20\r\n\r\n{{".encode()
    with closing(socket.create_connection((host, int(port)))) as stalled:
        stalled.settimeout(20)
        stalled.sendall(head)
        assert stalled.recv(1000).startswith(b"HTTP/1.1 408")


def test_two_hundred_connections_that_say_nothing_keep_nobody_out(serve: Serve) -> None:
    served = serve()
    host, port = served.address.removeprefix("http://").split(":")
    with ExitStack() as silent:
        for _ in range(200):
            silent.enter_context(closing(socket.create_connection((host, int(port)))))
        assert served.client().post("/api/search", json={"query": "fan"}).is_success


@pytest.mark.parametrize("head", [b"", b"GET /hea", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_a_connection_on_which_no_request_comes_is_closed(serve: Serve, head: bytes) -> None:
    served = serve(doors_patience_s=0.5)
    host, port = served.address.removeprefix("http://").split(":")
    with closing(socket.create_connection((host, int(port)))) as silent:
        silent.settimeout(20)
        silent.sendall(head)
        assert silent.recv(1000) == b""


def test_one_that_a_request_comes_on_late_is_answered(serve: Serve) -> None:
    served = serve(doors_patience_s=1)
    host, port = served.address.removeprefix("http://").split(":")
    request = f"GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    with closing(socket.create_connection((host, int(port)))) as late:
        late.settimeout(20)
        for _ in range(3):  # a head that comes in two parts, on one connection for longer than the patience
            late.sendall(request[:9])
            time.sleep(0.5)
            late.sendall(request[9:])
            answered = b""
            while b"ok" not in answered:
                answered += late.recv(1000) or pytest.fail("it was closed")


def test_messages_name_no_path_of_the_machine(serve: Serve) -> None:
    served = serve()
    served.athena.close()
    answered = served.client().post("/api/search", json={"query": "fan"})
    assert answered.status_code in (401, 503)
    assert str(served.athena.settings.data_dir) not in answered.text
    assert message(answered)
