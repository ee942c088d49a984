"""Getting a model: Ollama's `/api/pull` as it streams, refuses, breaks off and is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from typer.testing import CliRunner

from athena.cli import app
from pipeline.errors import ModelError, ModelUnavailable
from pipeline.models.base import Pulling
from pipeline.models.llm import pull_model
from tests.loopback import LoopbackServer

MANIFEST = {"status": "pulling manifest"}
SUCCESS = {"status": "success"}


def part(digest: str, completed: int | None, total: int) -> dict[str, Any]:
    done = {} if completed is None else {"completed": completed}
    return {"status": f"pulling {digest}", "digest": digest, "total": total, **done}


PARTS = [
    part("a", None, 100),
    part("a", 50, 100),
    part("a", 100, 100),
    part("b", 60, 100),
    part("b", 100, 100),
]


@contextmanager
def ollama(lines: Sequence[dict[str, Any]], *, status: int = 200) -> Iterator[tuple[str, list[Any]]]:
    """The URL of a server that answers a pull with these lines, and the bodies of what it was asked."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.path, json.loads(body)))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    with LoopbackServer(Handler) as server:
        yield server.url, asked


def pulled(url: str) -> list[Pulling]:
    seen: list[Pulling] = []
    pull_model("tiny", url=url, connect_timeout_s=1, on_progress=seen.append)
    return seen


def test_progress_counts_the_bytes_of_all_parts() -> None:
    with ollama([MANIFEST, *PARTS, SUCCESS]) as (url, asked):
        seen = pulled(url)
    ((path, body),) = asked
    assert path == "/api/pull" and body["model"] == "tiny" and body["stream"] is True
    assert [(item.done, item.total) for item in seen] == [
        (0, 0), (0, 100), (50, 100), (100, 100), (160, 200), (200, 200), (200, 200),
    ]  # fmt: skip
    assert seen[0].status == "pulling manifest" and seen[-1].status == "success"


def test_a_model_that_there_is_not_is_named_with_the_reason() -> None:
    with (
        ollama([MANIFEST, {"error": "pull model manifest: file does not exist"}]) as (url, _),
        pytest.raises(
            ModelError, match="cannot get 'tiny': pull model manifest: file does not exist"
        ) as told,
    ):
        pulled(url)
    assert url in str(told.value) and "library" in told.value.fix


def test_a_download_that_breaks_off_is_no_success() -> None:
    with ollama([MANIFEST, *PARTS]) as (url, _), pytest.raises(ModelError, match="broke off") as told:
        pulled(url)
    assert "continues" in told.value.fix


@pytest.mark.parametrize(
    ("line", "says"),
    [({"unknown": 1}, "broke off"), ({"status": "x", "total": "many"}, "gave no usable answer")],
)
def test_what_is_not_ollamas_is_an_error(line: dict[str, Any], says: str) -> None:
    with ollama([line]) as (url, _), pytest.raises(ModelError, match=says):
        pulled(url)


def test_an_http_error_and_a_dead_server_are_named() -> None:
    with (
        ollama([{"error": "disk full"}], status=500) as (url, _),
        pytest.raises(ModelError, match="disk full"),
    ):
        pulled(url)
    with pytest.raises(ModelUnavailable, match=r"Cannot reach ollama/tiny at http://127\.0\.0\.1:9"):
        pulled("http://127.0.0.1:9")
    with pytest.raises(ModelUnavailable, match=r"Cannot reach ollama/tiny at http://\[::1"):
        pulled("http://[::1")


def test_a_log_gets_a_line_every_five_percent(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [MANIFEST, *(part("a", done, 1000) for done in range(0, 1001, 10)), SUCCESS]
    with ollama(lines) as (url, _):
        monkeypatch.setenv("ATHENA_OLLAMA_URL", url)
        result = CliRunner().invoke(app, ["pull", "ollama/tiny"])
    assert result.exit_code == 0, result.output
    percents = [line for line in result.stderr.splitlines() if "pulling a" in line]
    assert len(percents) == 21 and percents[3] == "pulling a: 15 % of 1.0 kB"
    assert result.stdout == "ollama/tiny is there.\n"


def test_the_command_fails_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATHENA_OLLAMA_URL", "http://127.0.0.1:9")
    result = CliRunner().invoke(app, ["pull", "tiny"])
    assert result.exit_code == 1 and "Cannot reach ollama/tiny" in result.stderr
