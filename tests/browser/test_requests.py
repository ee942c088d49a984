"""A served session reaches nothing but the loopback, whatever the process has running."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import ROOT, SERVE, Opener, _free_port, _wait_for
from tests.lonely import noting, reached, serve_forward, wrapped

STRANGER = (
    b"GET /_stcore/stream HTTP/1.1\r\nHost: %s\r\nOrigin: http://evil.example\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


@contextlib.contextmanager
def watched(data_dir: Path, folder: Path) -> Iterator[str]:
    """The app, with its defaults, in a network of its own; yields the address of a way in."""
    inside, port = _free_port(), _free_port()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ATHENA_")}
    environment |= {
        "ATHENA_DATA_DIR": str(data_dir),
        "ATHENA_PORT": str(inside),
        "ATHENA_OLLAMA_URL": "http://127.0.0.1:9",
        "HF_HOME": str(folder / "hub"),
    }
    way_in = folder / "way-in"
    log = (folder / "server.log").open("wb")
    process = subprocess.Popen(
        wrapped([sys.executable, "-c", SERVE], folder / "report", forward=(way_in, inside)),
        cwd=ROOT, env=noting(environment, folder), stdout=log, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        with socket.create_server(("127.0.0.1", port)) as listener:
            threading.Thread(
                target=serve_forward, args=(listener, lambda: _unix(way_in)), daemon=True
            ).start()
            _wait_for(f"http://127.0.0.1:{port}/_stcore/health", process, folder / "server.log")
            yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)
        log.close()


def _unix(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        raise
    return connection


def test_a_session_and_a_stranger_make_the_app_reach_nothing(
    indexed: Path, open_app: Opener, tmp_path: Path
) -> None:
    data_dir = tmp_path / "data"
    shutil.copytree(indexed, data_dir)
    with watched(data_dir, tmp_path) as address:
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
    assert reached(tmp_path, tmp_path / "report") == []
