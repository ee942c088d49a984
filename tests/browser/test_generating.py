"""Journeys with a language model: streaming, stopping, a server that goes away in mid-answer."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Opener, serving
from tests.browser.looks import looked_at
from tests.browser.pages import App
from tests.servers import Messages, OllamaServer, Reply

LN2 = "The LN2 tank shows OFFLINE, what can be the reason?"
ANSWER = (
    "An LN2 tank shows OFFLINE when its **power switch** was turned off [1]. ",
    "It needs 987 kW of power [1]. ",
    "<script>alert('from a model')</script> <img src=x onerror=alert(1)>",
)


def replying(reply: Reply) -> Callable[[Messages], Reply]:
    """A model that condenses a follow-up to the message itself, and answers with this reply."""

    def answer(messages: Messages) -> Reply:
        if messages[0]["role"] == "system":
            return reply
        return Reply((str(messages[-1]["content"]).rsplit("Last message: ", 1)[-1].split("\n", 1)[0],))

    return answer


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    with OllamaServer() as server:
        server.answer = replying(Reply(ANSWER))
        yield server


@pytest.fixture
def generating(indexed: Path, tmp_path: Path, ollama: OllamaServer) -> Iterator[str]:
    data_dir = tmp_path / "data"
    shutil.copytree(indexed, data_dir)
    with serving(data_dir, ollama_url=ollama.url, hyde="off") as address:
        yield address


def test_an_answer_is_streamed_cited_stopped_and_survives_its_server(
    generating: str, ollama: OllamaServer, open_app: Opener
) -> None:
    """One server for all: starting one takes longer than asking."""
    app = open_app(generating)
    expect(app.page.get_by_text("Language model: ollama/llama3.2")).to_be_visible()
    app.ask(LN2)
    first = app.answered(1)
    expect(first.locator(".meta")).to_contain_text("llama3.2")
    expect(first.locator("strong").first).to_have_text("power switch")
    expect(first.locator(".answer")).to_contain_text("<script>alert('from a model')</script>")
    expect(app.page.locator("img[src=x]")).to_have_count(0)
    first.locator(".unsupported").first.hover()
    expect(first.locator(".tip")).to_contain_text("987")
    first.locator(".chip").first.click()
    assert app.cited()
    app.escape()
    expect(app.pane).to_have_count(0)

    narrow = open_app(
        generating, path=app.page.url.removeprefix(generating), width=390, height=844, dark=True
    )
    _stopping(narrow, ollama)
    app.reload()
    _going_on_while_clicking(app, ollama)
    narrow.reload()
    _going_away(narrow, ollama)


def _stopping(app: App, ollama: OllamaServer) -> None:
    ollama.answer = replying(Reply(("The tank is shut [1]. ", "It "), stall_after=2))
    app.ask("What does the backup LN2 tank do?")
    turn = app.turn(2)
    expect(turn.locator(".answer")).to_contain_text("The tank is shut")
    expect(turn.get_by_role("status")).to_have_text("Writing the answer …")
    turn.get_by_role("button", name="Stop").click()
    expect(turn).to_contain_text("You stopped this answer.")
    expect(turn.locator(".answer")).to_contain_text("The tank is shut")
    expect(app.question).to_be_enabled()
    app.reload()
    turn = app.turn(2)
    expect(turn).to_contain_text("You stopped this answer.")
    looked_at(app, "answer-stopped")
    expect(app.page.locator(".turn")).to_have_count(2)


def _going_on_while_clicking(app: App, ollama: OllamaServer) -> None:
    """Clicks and other pages do not end an answer; Esc does."""
    ollama.answer = replying(Reply(("Close the valve [1]. ", "Then "), stall_after=2))
    app.ask("How is the LN2 valve closed?")
    expect(app.turn(3).locator(".answer")).to_contain_text("Close the valve")
    app.turn(1).locator(".chip").first.click()
    expect(app.pane).to_be_visible()
    app.pane.get_by_label("Close").click()
    app.page.get_by_role("link", name="Documents").click()
    expect(app.page.locator(".files")).to_be_visible()
    app.page.get_by_role("link", name="Chat").click()
    expect(app.turn(3).locator(".answer")).to_contain_text("Close the valve")
    expect(app.turn(3).get_by_role("status")).to_be_visible()
    app.escape()
    expect(app.turn(3)).to_contain_text("You stopped this answer.")
    expect(app.question).to_be_enabled()


def _going_away(app: App, ollama: OllamaServer) -> None:
    ollama.answer = replying(Reply(("Open the breaker [1]. ", "Then "), stall_after=2))
    app.ask("Which LN2 breaker is opened?")
    turn = app.turn(4)
    expect(turn.locator(".answer")).to_contain_text("Open the breaker")
    ollama.go_away()
    expect(turn.get_by_role("alert")).to_contain_text("broke off")
    expect(turn.get_by_role("alert").locator("p")).not_to_be_empty()
    looked_at(app, "answer-broken-off")
    expect(turn.locator(".answer")).to_contain_text("Open the breaker")
    expect(app.question).to_be_enabled()
    app.reload()
    expect(app.turn(4).locator(".answer")).to_contain_text("Open the breaker")
