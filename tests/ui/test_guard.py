"""Requests from other sites are refused on every route; browsers are told what to load."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from athena.settings import Settings
from ui.guard import AllowedHosts, Guard, security_headers
from ui.serving import INDEX

HERE = "127.0.0.1:8501"


def client(*, host: str = "127.0.0.1", allowed: str = "") -> TestClient:
    """An app behind the guard, as these settings have it."""

    async def page(_: object) -> PlainTextResponse:
        return PlainTextResponse("page")

    async def stream(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.send_text("here")
        await websocket.close()

    hosts = AllowedHosts.of(Settings(host=host, allowed_hosts=allowed))
    guard = Middleware(Guard, hosts=hosts, headers=security_headers(INDEX.read_text("utf-8")))
    routes = [Route("/", page, methods=["GET", "POST", "DELETE"]), WebSocketRoute("/stream", stream)]
    return TestClient(Starlette(routes=routes, middleware=[guard]))


@pytest.mark.parametrize(
    ("name", "listens_on", "allowed", "expected"),
    [
        ("127.0.0.1:8501", "127.0.0.1", "", 200),
        ("localhost:8501", "127.0.0.1", "", 200),
        ("LOCALHOST.:8501", "127.0.0.1", "", 200),
        ("[::1]:8501", "127.0.0.1", "", 200),
        ("127.9.9.9", "127.0.0.1", "", 200),
        ("evil.test:8501", "127.0.0.1", "", 403),
        ("localhost.evil.test", "127.0.0.1", "", 403),
        ("192.168.1.5:8501", "127.0.0.1", "", 403),
        ("192.168.1.5:8501", "192.168.1.5", "", 200),
        ("192.168.1.6:8501", "192.168.1.5", "", 403),
        ("192.168.1.5:8501", "0.0.0.0", "", 200),
        ("[fe80::1]:8501", "::", "", 200),
        ("evil.test", "0.0.0.0", "", 403),
        ("docs.example", "127.0.0.1", "Docs.Example., wiki.example", 200),
        ("wiki.example:443", "127.0.0.1", "docs.example, wiki.example", 200),
        ("", "127.0.0.1", "", 403),
        ("user@localhost", "127.0.0.1", "", 403),
        ("localhost/evil", "127.0.0.1", "", 403),
        ("[::1].evil.test", "127.0.0.1", "", 403),
        ("[::1]evil.test:8501", "127.0.0.1", "", 403),
        ("localhost:99999", "127.0.0.1", "", 403),
    ],
)
def test_names_that_it_answers_to(name: str, listens_on: str, allowed: str, expected: int) -> None:
    app = client(host=listens_on, allowed=allowed)
    answer = app.get("/", headers={"host": name})
    assert answer.status_code == expected
    if expected == 403:
        assert "ATHENA_ALLOWED_HOSTS" in answer.text


@pytest.mark.parametrize(
    ("origin", "accepted"),
    [
        (None, True),
        (f"http://{HERE}", True),
        ("http://127.0.0.1:9999", False),
        ("http://localhost:8501", False),
        ("https://evil.test", False),
        ("null", False),
        ("file://", False),
        (f"ws://{HERE}", False),
        (f"chrome-extension://{HERE}", False),
    ],
)
def test_pages_that_may_open_a_websocket_read_or_write(origin: str | None, accepted: bool) -> None:
    headers = {"host": HERE} | ({"origin": origin} if origin else {})
    app = client()
    assert app.delete("/", headers=headers).status_code == (200 if accepted else 403)
    assert app.get("/", headers=headers).status_code == (200 if accepted else 403)
    if accepted:
        with app.websocket_connect("/stream", headers=headers) as stream:
            assert stream.receive_text() == "here"
    else:
        with pytest.raises(WebSocketDisconnect), app.websocket_connect("/stream", headers=headers):
            pass


@pytest.mark.parametrize(
    ("origin", "expected"),
    [("http://localhost", 200), ("https://localhost", 200), ("http://localhost:3000", 403)],
)
def test_on_a_standard_port_other_local_ports_are_strangers_too(origin: str, expected: int) -> None:
    """Browsers leave that port out of the name."""
    assert client().delete("/", headers={"host": "localhost", "origin": origin}).status_code == expected


def test_a_proxy_that_ends_tls_may_pass_its_pages_requests_on() -> None:
    headers = {"host": "docs.example", "origin": "https://docs.example"}
    with client(allowed="docs.example").websocket_connect("/stream", headers=headers) as stream:
        assert stream.receive_text() == "here"


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "::1"])
def test_this_machines_other_ports_stay_strangers_whatever_is_listed(name: str) -> None:
    host = f"[{name}]" if ":" in name else name
    headers = {"host": f"{host}:8501", "origin": f"http://{host}:3000"}
    refusing = client(allowed="docs.example, localhost, 127.0.0.1, ::1")
    assert refusing.delete("/", headers=headers).status_code == 403


def test_every_response_says_what_may_be_loaded_and_that_nothing_frames_it() -> None:
    for headers in ({"host": HERE}, {"host": "evil.test"}):
        answer = client().get("/", headers=headers)
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "default-src 'self'" in policy
        assert "unsafe-eval" not in policy.replace("wasm-unsafe-eval", "")
        assert "script-src 'self' blob: 'wasm-unsafe-eval' 'sha256-" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
