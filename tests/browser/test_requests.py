"""A served session reaches nothing but the loopback, whatever the process has running."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import SERVE, Opener, serving
from tests.lonely import HOOK, noted, noting

STRANGER = (
    b"GET /_stcore/stream HTTP/1.1\r\nHost: %s\r\nOrigin: http://evil.example\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def test_a_session_and_a_stranger_make_the_app_reach_nothing(
    indexed: Path, open_app: Opener, tmp_path: Path
) -> None:
    data_dir = tmp_path / "data"
    shutil.copytree(indexed, data_dir)
    watched = f"import os; os.environ.update({noting({}, tmp_path)!r})\n{HOOK}\n{SERVE}"
    with serving(data_dir, program=watched, ollama_url="http://127.0.0.1:9", cross_encoder="auto") as address:
        app = open_app(address)
        app.ask("The LN2 tank shows OFFLINE, what can be the reason?")
        expect(app.answered(1).locator(".quote").first).to_be_visible()
        for path in ("/documents", "/inspector", "/mission"):
            app.open(path)
        place = address.removeprefix("http://")
        host, _, port = place.partition(":")
        with socket.create_connection((host, int(port))) as stranger:
            stranger.sendall(STRANGER % place.encode())
            assert b"403" in stranger.recv(100)
    assert noted(tmp_path) == []
    assert "socket.connect" in (tmp_path / "connections").read_text(encoding="utf-8")  # the hook works
