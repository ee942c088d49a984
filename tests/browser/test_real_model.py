"""A journey with a small trained model on a real Ollama, where one is there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Opener, serving
from tests.real_model import MODEL, URL, require_model

pytestmark = pytest.mark.server
SLOW_MS = 300_000  # of a small model on two busy cores


def test_a_small_model_is_asked_and_its_answer_cited(indexed: Path, tmp_path: Path, open_app: Opener) -> None:
    require_model()
    data_dir = tmp_path / "data"
    shutil.copytree(indexed, data_dir)
    with serving(data_dir, ollama_url=URL, llm=f"ollama/{MODEL}", hyde="off") as address:
        app = open_app(address)
        app.ask("What does the oxygen regulator do?")
        expect(app.tools(1)).to_be_visible(timeout=SLOW_MS)
        answer = app.answered(1)
        expect(answer.locator(".chip").first).to_be_visible()
        answer.locator(".chip").first.click()
        assert app.cited()
        app.escape()
        app.ask("and at which pressure?")
        expect(app.tools(2)).to_be_visible(timeout=SLOW_MS)
        text = app.answered(2).locator(".answer").inner_text()
        assert text.strip() and "<source" not in text
