"""Journeys with a language model: set it up, watch an answer come, stop it, lose its server."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, WINDOWS, Opener, Window, serving
from tests.browser.looks import looked_at
from tests.browser.pages import App, box
from tests.servers import Messages, OllamaServer, Reply

LN2 = "The LN2 tank shows OFFLINE, what can be the reason?"
ANSWER = (
    "An LN2 tank shows OFFLINE when its **power switch** was turned off. ",
    "It needs 987 kW of power. ",
    "<script>alert('from a model')</script> <img src=x onerror=alert(1)>",
)


def replying(reply: Reply) -> Callable[[Messages], Reply]:
    """A model that answers from passages with this reply, and anything else with three words."""

    def answer(messages: Messages) -> Reply:
        return reply if messages[0]["role"] == "system" else Reply(("A switched tank",))

    return answer


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    with OllamaServer() as server:
        server.answer = replying(Reply(ANSWER))
        yield server


def served(indexed: Path, tmp_path: Path, **settings: str):  # type: ignore[no-untyped-def]
    data_dir = tmp_path / "data"
    shutil.copytree(indexed, data_dir)
    return serving(data_dir, **settings)


@WINDOWS
def test_an_answer_comes_with_its_passages_first_is_stopped_and_survives_its_server(
    indexed: Path, tmp_path: Path, ollama: OllamaServer, open_app: Opener, window: Window
) -> None:
    with served(indexed, tmp_path, ollama_url=ollama.url, hyde="off") as address:
        app = open_app(address, **window)
        expect(app.page.get_by_text("writes the answers")).to_be_visible()
        app.ask(LN2)
        first = app.answered(1)
        expect(first.locator("strong").first).to_have_text("power switch")
        expect(first.locator(".answer")).to_contain_text("<script>alert('from a model')</script>")
        expect(app.page.locator("img[src=x]")).to_have_count(0)
        first.locator(".unsupported").first.focus()
        expect(first.locator(".tip")).to_contain_text("987")
        first.locator(".chip").first.click()
        assert app.cited()
        app.escape()
        expect(app.pane).to_have_count(0)
        _another_version(app, ollama)
        _stopping(app, ollama)
        _going_away(app, ollama)


def _another_version(app: App, ollama: OllamaServer) -> None:
    ollama.reply_with(Reply(("A breaker is open.",)))
    app.choose_in(app.page.locator("[class*='st-key-more-']").first, "Answer again")
    expect(app.answered(1).locator(".answer")).to_contain_text("A breaker is open")
    place = box(app.turn(1))
    app.choose_in(app.page.locator("[class*='st-key-more-']").first, "Show another answer")
    expect(app.answered(1).locator(".answer")).to_contain_text("power switch")
    assert box(app.turn(1))["y"] == place["y"]


def _stopping(app: App, ollama: OllamaServer) -> None:
    ollama.answer = replying(Reply(("The tank is shut. ", "It "), stall_after=2))
    app.ask("What does the backup LN2 tank do?")
    turn = app.turn(2)
    expect(turn.locator(".found .card").first).to_be_visible()
    expect(turn.locator(".answer")).to_contain_text("The tank is shut")
    app.ask("And the next question?")
    expect(app.page.get_by_test_id("stToast")).to_contain_text("being written")
    expect(app.question).to_have_value("And the next question?")
    app.go("Documents")  # the message does not lie over the sidebar; other pages do not end an answer
    expect(app.page.locator(".tree")).to_be_visible()
    app.page.get_by_test_id("stToast").get_by_role("button").last.click()
    app.go("Chat")
    expect(app.turn(2).get_by_role("status")).to_be_visible()
    if app.width < PHONE:
        app.turn(2).get_by_role("button", name="Stop").click()
    else:
        app.page.keyboard.press("Escape")
    expect(app.turn(2)).to_contain_text("You stopped")
    app.reload()
    expect(app.turn(2)).to_contain_text("You stopped")
    looked_at(app, "answer-stopped")


def _going_away(app: App, ollama: OllamaServer) -> None:
    ollama.answer = replying(Reply(("Open the breaker. ", "Then "), stall_after=2))
    app.ask("Which LN2 breaker is opened?")
    expect(app.turn(3).locator(".answer")).to_contain_text("Open the breaker")
    ollama.go_away()
    expect(app.turn(3).get_by_role("alert")).to_contain_text("broke off")
    app.reload()
    expect(app.turn(3).locator(".answer")).to_contain_text("Open the breaker")


class Registry(BaseHTTPRequestHandler):
    """An Ollama that has one model, and pulls another in two steps."""

    models: tuple[str, ...] = ()
    go_on = threading.Event()

    def do_GET(self) -> None:
        self._send({"models": [{"name": name, "model": name, "size": 800_000_000} for name in self.models]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/api/pull":
            self._send({"model_info": {"fake.context_length": 2048}, "capabilities": ["completion"]})
            return
        self.send_response(200)
        self.end_headers()
        self._line(
            {"status": "pulling", "digest": "sha256:a", "total": 2_000_000_000, "completed": 1_000_000_000}
        )
        self.go_on.wait(60)
        type(self).models = ("tiny:1b", "llama3.2:latest")
        self._line({"status": "success"})

    def _send(self, answer: object) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self._line(answer)

    def _line(self, line: object) -> None:
        self.wfile.write(json.dumps(line).encode() + b"\n")
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@WINDOWS
def test_a_model_is_pulled_with_progress_and_used(
    indexed: Path, tmp_path: Path, open_app: Opener, window: Window
) -> None:
    Registry.models = ("tiny:1b",)
    Registry.go_on.clear()
    registry = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=registry.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{registry.server_port}"
    with served(indexed, tmp_path, ollama_url=url) as address:
        app = open_app(address, path="/settings", **window)
        expect(app.page.get_by_text("0.8 GB")).to_be_visible()
        looked_at(app, "settings")
        app.page.get_by_label("Pull another model").fill("llama3.2")
        app.press("Pull")
        expect(app.page.get_by_text("1.00 of 2.00 GB")).to_be_visible()
        Registry.go_on.set()
        expect(app.page.get_by_text("llama3.2 is ready.")).to_be_visible()
        app.ready()
        app.page.get_by_role("combobox", name="Language model").click()
        app.page.get_by_role("option", name="ollama/llama3.2:latest", exact=True).click()
        app.press("Save")
        expect(app.page.get_by_text("in use")).to_be_visible()
        app.go("Chat")
        expect(app.page.get_by_text("ollama/llama3.2:latest writes the answers")).to_be_visible()
    registry.shutdown()
    registry.server_close()
