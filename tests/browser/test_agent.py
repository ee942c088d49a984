"""The agent on the page: a tool is added, its steps watched, a write refused, a memory forgotten."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FilePayload, expect

from athena import load_settings, open_athena
from tests.browser.conftest import Opener, serving
from tests.browser.looks import looked_at
from tests.servers import Messages, OllamaServer, Reply

QUESTION = "How fast does the LN2 tank lose pressure without its heater?"
SHOWN = "Is the heater of the LN2 tank on, by this display?"
HOME = "In which town is my home?"


def call(tool: str, **arguments: Any) -> str:
    return f"Thought: I look with {tool}.\nAction: {tool}\nAction Input: {json.dumps(arguments)}"


def replying(messages: Messages) -> Reply:
    """A model that reads, adds a tool's word, tries to write, and answers; or says what it sees."""
    if messages[0].get("images"):
        return Reply(("It shows 46 kPa.",))
    if messages[0]["role"] != "system":
        return Reply((str(messages[-1]["content"]).rsplit("Last message: ", 1)[-1].split("\n", 1)[0],))
    done = sum(str(message["content"]).startswith("Thought:") for message in messages)
    script = {
        1: call("search", query="heater of a tank"),
        2: call("basename", p="/ship/tank"),
        3: call("remember", text="I like the LN2 tank."),
    }
    if any(SHOWN in str(message["content"]) for message in messages):
        script = {1: call("look", question="Which pressure does it show?")}
    if any(HOME in str(message["content"]) for message in messages):
        script = {}
    text = "An LN2 tank without its heater loses 46 kPa per hour [1]."
    return Reply((script.get(done, f"Thought: I have read enough.\nAnswer: {text}"),))


@pytest.fixture
def served(indexed: Path, tmp_path: Path) -> Iterator[str]:
    data_dir = tmp_path / "data"
    shutil.copytree(indexed, data_dir)
    with open_athena(load_settings(data_dir=data_dir, llm="none")) as athena:
        athena.memory.add("I live in Turin.")
    with OllamaServer(capabilities=["completion", "vision"]) as ollama:
        ollama.answer = replying
        given = {"context_window": "16384", "agent_tokens": "8000", "tools": "posixpath:dirname=reads"}
        with serving(data_dir, ollama_url=ollama.url, hyde="off", **given) as address:
            yield address


def test_a_tool_is_added_watched_refused_and_a_memory_forgotten(served: str, open_app: Opener) -> None:
    app = open_app(served)
    page = app.page
    page.get_by_role("radio", name="Agent").click()
    page.get_by_role("button", name=re.compile(r"\d+ tools")).click()
    page.get_by_label("Add a function").fill("posixpath:basename=reads")
    page.get_by_label("Add a function").press("Enter")
    page.get_by_role("button", name="Add the tool").click()
    expect(page.get_by_text("basename · reads")).to_be_visible()
    expect(page.get_by_text("remember · changes the memory")).to_be_visible()
    page.keyboard.press("Escape")
    app.ask(QUESTION)
    expect(page.get_by_role("alertdialog")).to_contain_text("remember may change something")
    expect(page.locator(".calls .call")).to_have_count(3)
    looked_at(app, "agent-asks")
    page.get_by_role("button", name="Refuse").click()
    turn = app.answered(1)
    expect(turn.locator(".calls > .call")).to_have_count(4)
    expect(turn.locator(".calls")).to_contain_text("searched “heater of a tank”")
    expect(turn.locator(".calls")).to_contain_text("The user did not allow this call")
    basename = turn.locator(".calls > .call").nth(2)
    basename.locator("summary").click()
    expect(basename.locator("pre").nth(1)).to_have_text("tank")
    expect(turn.locator(".chip").first).to_be_visible()
    looked_at(app, "agent-answered")
    app.ask(HOME)
    turn = app.answered(2)
    expect(turn.locator(".calls")).to_contain_text("recalled")
    turn.get_by_role("button", name="Forget: I live in Turin.").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Forget", exact=True).click()
    expect(page.get_by_text("I live in Turin")).to_have_count(0)
    page.reload()
    expect(page.get_by_role("radio", name="Agent")).to_be_checked()


def test_an_image_goes_with_one_question(served: str, open_app: Opener) -> None:
    app = open_app(served, width=390, height=844)
    page = app.page
    page.get_by_role("radio", name="Agent").click()
    page.get_by_role("button", name="Image").click()
    file: FilePayload = {
        "name": "display.png",
        "mimeType": "image/png",
        "buffer": b"\x89PNG\r\n\x1a\n" + bytes(20),
    }
    page.locator("input[type=file]").set_input_files([file])
    expect(page.get_by_role("button", name="1 image")).to_be_visible()
    looked_at(app, "agent-image")
    page.keyboard.press("Escape")
    app.ask(SHOWN)
    turn = app.answered(1)
    turn.locator(".calls > summary").click()
    looked = turn.locator(".calls > .call").nth(1)
    looked.locator("summary").click()
    expect(looked.locator("pre").nth(1)).to_have_text("It shows 46 kPa.")
    expect(page.get_by_role("button", name="Image")).to_be_visible()
