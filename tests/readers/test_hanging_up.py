"""Servers that are never silent and never done: each fetch ends at its deadline, or when it is stopped."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from readers.errors import FetchStopped, ReaderError
from readers.web import PageFetcher

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/markdown\r\n"
ENDLESS = {
    "headers byte by byte": (HEAD + b"X-Long: ", b"x"),
    "100 Continue for ever": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a body byte by byte": (HEAD + b"Content-Length: 900\r\n\r\n", b"x"),
    "a body without an announced end": (HEAD + b"Connection: close\r\n\r\n", b"x"),
    "silence": (b"", b""),
}


def drip(connection: socket.socket, begin: bytes, again: bytes) -> None:
    """Answer with a beginning, and then the same again and again until the other side has left."""
    with connection, contextlib.suppress(OSError):
        connection.recv(10_000)
        connection.sendall(begin)
        connection.settimeout(0.02)
        while True:
            connection.sendall(again)
            with contextlib.suppress(TimeoutError):
                if not connection.recv(10_000):
                    return


@contextmanager
def dripping(begin: bytes, again: bytes, *, connections: int = 1) -> Iterator[str]:
    """The address of a server that answers the first request of each connection."""

    def serve() -> None:
        for _ in range(connections):
            drip(listening.accept()[0], begin, again)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/page"
        thread.join(timeout=60)
    assert not thread.is_alive()


Making = Callable[[float, Callable[[], bool]], AbstractContextManager[PageFetcher]]


@pytest.fixture
def fetching(tmp_path: Path) -> Making:
    def made(seconds: float, should_stop: Callable[[], bool]) -> PageFetcher:
        return PageFetcher(
            tmp_path,
            max_bytes=10_000,
            max_characters=10_000,
            local=True,
            convert_seconds=1,
            seconds=seconds,
            should_stop=should_stop,
        )

    return made


@pytest.mark.parametrize("case", ENDLESS)
def test_a_page_that_never_ends_is_refused_at_the_deadline(
    fetching: Making, case: str, tmp_path: Path
) -> None:
    began = time.monotonic()
    with (
        dripping(*ENDLESS[case]) as address,
        fetching(0.3, lambda: False) as fetcher,
        pytest.raises(ReaderError, match=r"takes longer than 0\.3 seconds"),
    ):
        fetcher.fetch(address)
    assert time.monotonic() - began < 20
    assert not list(tmp_path.rglob("*.md"))


@pytest.mark.parametrize("case", ENDLESS)
def test_who_asks_to_stop_waits_for_no_page(fetching: Making, case: str, tmp_path: Path) -> None:
    asked = threading.Event()
    with (
        dripping(*ENDLESS[case]) as address,
        fetching(30, asked.is_set) as fetcher,
        pytest.raises(FetchStopped),
    ):
        began = time.monotonic()
        threading.Timer(0.3, asked.set).start()
        fetcher.fetch(address)
    assert time.monotonic() - began < 20
    assert not list(tmp_path.rglob("*.md"))


def test_no_thread_is_left_and_no_connection_used_twice(fetching: Making) -> None:
    page = HEAD + b"Content-Length: 5\r\n\r\n# Fan"
    with dripping(page, b"", connections=2) as address, fetching(5, lambda: False) as fetcher:
        for _ in range(2):
            assert fetcher.fetch(address).read_bytes() == b"# Fan"
            assert "athena-fetch" not in [thread.name for thread in threading.enumerate()]
