"""Journeys on the settings page: the theme of a browser, a model without a restart, two tabs, what if."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from athena.loading import FILE_NAME
from tests.browser.conftest import Opener, serving
from tests.browser.looks import looked_at
from tests.browser.pages import App
from tests.servers import OllamaServer, OpenAIServer, Reply

KEY = "sk-161803398"
PERSONA = 'name = "Ceres"\ngreeting = "Ask about the greenhouse."\n'
LN2 = "The LN2 tank shows OFFLINE, what can be the reason?"
LIGHT, DARK = "rgb(251, 250, 248)", "rgb(18, 22, 27)"


@pytest.fixture(scope="module")
def address(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data_dir = tmp_path_factory.mktemp("settings") / "data"
    shutil.copytree(indexed, data_dir)
    with serving(data_dir) as served:
        yield served


def background(app: App) -> str:
    app.ready()
    return str(app.page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor"))


def save(app: App) -> None:
    app.press("Save")
    expect(app.page.get_by_text("Saved. It holds from the next question on.")).to_be_visible()


def test_a_model_is_connected_tested_and_used_in_another_tab(address: str, open_app: Opener) -> None:
    with OllamaServer() as ollama:
        other = open_app(address)
        expect(other.page.get_by_text("No language model is connected")).to_be_visible()
        app = open_app(address, path="/settings")
        app.page.get_by_text("Servers and key").click()
        app.page.get_by_label("Ollama's address").fill("http://127.0.0.1:9")
        app.page.keyboard.press("Enter")
        expect(app.page.get_by_text("Not saved yet: Ollama's address")).to_be_visible()
        app.ready()
        app.page.wait_for_timeout(1_000)  # the sections below are drawn anew, and a click meanwhile is lost
        app.press("Test connection")
        expect(app.page.get_by_role("alert").first).to_contain_text("Ollama at http://127.0.0.1:9")
        app.page.get_by_label("Ollama's address").fill(ollama.url)
        app.page.keyboard.press("Enter")
        ollama.reply_with(Reply(("ready",)))
        expect(app.page.get_by_text(f"→ {ollama.url}")).to_be_visible()
        app.press("Test connection")
        expect(app.page.get_by_text("ollama/llama3.2:latest answers, by Ollama")).to_be_visible()
        save(app)
        ollama.answer = lambda _: Reply(("The switch is off [1].",))
        other.ask(LN2)
        expect(other.answered(1).locator(".meta")).to_contain_text("llama3.2")
        app.page.get_by_role("button", name="Reset to the default").first.click()
        app.ready()  # "Saved" may still be that of before
        expect(app.page.get_by_text("Saved. It holds from the next question on.")).to_be_visible()
        other.ask(LN2)
        expect(other.answered(2).locator(".meta")).to_contain_text("no model")


def test_every_setting_is_changed_used_and_taken_back(
    indexed: Path, open_app: Opener, tmp_path: Path
) -> None:
    """Without a restart: a key that is never shown again, HyDE, quotes, a persona."""
    shutil.copytree(indexed, tmp_path / "data")
    (tmp_path / "ceres.toml").write_text(PERSONA, encoding="utf-8")
    with OpenAIServer(key=KEY) as model, serving(tmp_path / "data") as address:
        app = open_app(address, path="/settings")
        _a_key_is_kept(app, model)
        _answers_are_changed(app, tmp_path / "ceres.toml")
        looked_at(app, "settings-changed")
        app.page.get_by_role("link", name="Chat").click()
        expect(app.page.get_by_text("Ask about the greenhouse.")).to_be_visible()
        model.answer = lambda _: Reply(("The switch is off [1].",))
        app.ask(LN2)
        expect(app.answered(1).locator(".meta")).to_contain_text("small-chat")
        assert {request.headers["Authorization"] for request in model.chats} == {f"Bearer {KEY}"}
        assert len(model.chats) == 2  # the connection was tested, one answer; HyDE is off
        app.open("/settings")
        app.press("Remove the key")
        expect(app.page.get_by_placeholder("No key is set")).to_be_visible()
        assert KEY not in (tmp_path / "data" / FILE_NAME).read_text()


def _a_key_is_kept(app: App, model: OpenAIServer) -> None:
    app.page.get_by_text("Servers and key").click()
    _typed(app, "Address of an OpenAI-compatible server", model.base_url)
    _typed(app, "Key", KEY)
    expect(app.page.get_by_text("Key (another)")).to_be_visible()
    model.reply_with(Reply(("ready",)))
    app.press("Test connection")
    expect(app.page.get_by_text("openai/small-chat answers")).to_be_visible()
    save(app)
    app.reload()
    key = app.page.get_by_role("textbox", name="Key", exact=True)
    expect(key).to_have_value("")
    expect(key).to_have_attribute("placeholder", "A key is set")
    assert KEY not in app.page.content()


def _answers_are_changed(app: App, persona: Path) -> None:
    app.page.get_by_role("radio", name="off", exact=True).click()
    _typed(app, "Persona", "nowhere.toml")
    app.press("Save")
    expect(app.page.get_by_role("alert").first).to_contain_text("cannot read 'nowhere.toml'")
    _typed(app, "Persona", str(persona))
    quotes = app.page.get_by_role("spinbutton", name="Quotes")
    quotes.fill("3")
    quotes.press("Enter")
    expect(app.page.get_by_text("Quotes (8 → 3)")).to_be_visible()
    save(app)
    expect(app.page.get_by_text("Chosen here.")).to_have_count(5)


def _typed(app: App, label: str, text: str) -> None:
    field = app.page.get_by_role("textbox", name=label, exact=True)
    field.fill(text)
    field.press("Enter")
    app.ready()
