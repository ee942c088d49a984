"""A process serves as many windows as it has files for, and lets go of those that were left."""

from __future__ import annotations

import gc
import logging
import sys
import weakref
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.runtime.memory_session_storage import MemorySessionStorage

from ui import sessions
from ui.sessions import (
    TRY_AGAIN_LATER,
    OnceAMinute,
    WindowLimit,
    drop_left_sessions,
    most_windows,
    raise_file_limit,
)


def client(*, most: int) -> TestClient:
    async def page(_: object) -> PlainTextResponse:
        return PlainTextResponse("page")

    async def stream(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.receive_text()

    routes = [Route("/", page), Route("/health", page), WebSocketRoute("/stream", stream)]
    limit = Middleware(WindowLimit, most=most, pages={"/"})
    return TestClient(Starlette(routes=routes, middleware=[limit]))


def test_a_window_too_many_is_told_so_and_the_others_go_on() -> None:
    with client(most=2) as app:
        with app.websocket_connect("/stream") as first, app.websocket_connect("/stream") as second:
            with pytest.raises(WebSocketDisconnect) as refused, app.websocket_connect("/stream"):
                pass
            assert refused.value.code == TRY_AGAIN_LATER
            assert (app.get("/").status_code, app.get("/health").status_code) == (503, 200)
            first.send_text("end")
            second.send_text("end")
        assert app.get("/").status_code == 200


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize(("soft", "most"), [(256, 16), (1_024, 64), (65_536, 2_000)])
def test_there_are_fewer_windows_than_the_files_allow(
    monkeypatch: pytest.MonkeyPatch, soft: int, most: int
) -> None:
    monkeypatch.setattr(sessions.resource, "getrlimit", lambda _: (soft, soft))
    assert most_windows() == most


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize(
    ("limits", "raised"), [((1_024, 524_288), 65_536), ((1_024, 4_096), 4_096), ((4_096, 4_096), None)]
)
def test_the_limit_is_raised_as_far_as_the_system_allows(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], raised: int | None
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(sessions.resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(sessions.resource, "setrlimit", lambda _, new: asked.append(new[0]))
    raise_file_limit()
    assert asked == ([raised] if raised else [])


@pytest.mark.slow
def test_a_session_that_nobody_came_back_to_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Left:
        id = "one"

    storage, session = MemorySessionStorage(ttl_seconds=0), Left()
    storage.save(SimpleNamespace(session=session))  # type: ignore[arg-type]
    gone = weakref.ref(session)
    del session
    manager = SimpleNamespace(_session_storage=storage)
    monkeypatch.setattr("streamlit.runtime.exists", lambda: True)
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: SimpleNamespace(_session_mgr=manager))
    drop_left_sessions()
    gc.collect()
    assert gone() is None


def test_an_error_that_repeats_is_logged_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("ui.sessions.time.monotonic", lambda: now[0])
    quiet = OnceAMinute()

    def passes(level: int, text: str) -> bool:
        return quiet.filter(logging.LogRecord("asyncio", level, "", 0, text, (), None))

    assert [passes(logging.ERROR, "no room") for _ in range(3)] == [True, False, False]
    assert passes(logging.ERROR, "another")
    assert [passes(logging.INFO, "hello") for _ in range(2)] == [True, True]
    now[0] += 61
    assert passes(logging.ERROR, "no room")
