"""Journeys over MongoDB and Weaviate: two app processes, one index, the same conversations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Opener, serving
from tests.server_stores import server_addresses

pytestmark = pytest.mark.server

NOTE = """# Greenhouse

## Watering the beans

The beans on rack 7 get 250 ml of water at 06:30 ship's time.
"""
QUESTION = "How much water do the beans on rack 7 get?"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The addresses of two app processes, each with a data folder of its own, over the same empty servers."""
    with server_addresses() as servers, ExitStack() as stack:
        settings = {
            "store": "server",
            "mongodb_url": servers.mongodb_url,
            "mongodb_database": servers.mongodb_database,
            "weaviate_url": servers.weaviate_url,
            "weaviate_grpc_port": str(servers.weaviate_grpc_port),
            "llm": "none",
        }
        yield tuple(stack.enter_context(_process(tmp_path / name, settings)) for name in ("one", "two"))  # type: ignore[misc]


def _process(data_dir: Path, settings: dict[str, str]):  # type: ignore[no-untyped-def]
    data_dir.mkdir()
    return serving(data_dir, **settings)


def test_upload_ask_cite_and_delete(processes: tuple[str, str], open_app: Opener, tmp_path: Path) -> None:
    note = tmp_path / "greenhouse.md"
    note.write_text(NOTE, encoding="utf-8")
    one = open_app(processes[0], path="/documents")
    one.upload(note)
    expect(one.page.get_by_text("1 document added")).to_be_visible()
    expect(one.document_row("greenhouse.md")).to_be_visible()

    two = open_app(processes[1])  # it was started before anything was indexed
    two.ask(QUESTION)
    turn = two.answered(1)
    expect(turn.locator(".quote").first).to_contain_text("250 ml")
    turn.locator(".chip").first.click()
    assert "rack 7 get 250 ml of water" in two.cited()
    conversation = two.page.url.removeprefix(processes[1])

    one.open(conversation)  # what was asked of the one is kept for the other
    expect(one.turn(1).locator(".quote").first).to_contain_text("250 ml")

    one.open("/documents")
    one.page.get_by_label("Choose Greenhouse").check()
    one.press("Delete …")
    one.page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(one.document_row("greenhouse.md")).to_have_count(0)

    two.open(conversation)
    two.turn(1).locator(".chip").first.click()
    expect(two.pane.locator(".status")).to_contain_text("no longer indexed")
    two.open("/documents")
    expect(two.document_row("greenhouse.md")).to_have_count(0)


def test_a_server_that_is_down_is_named_on_every_page(open_app: Opener, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    settings = {
        "store": "server",
        "mongodb_url": "mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=500",
        "weaviate_url": "http://127.0.0.1:9",
        "llm": "none",
    }
    with serving(tmp_path / "data", **settings) as address:
        for path in ("/", "/documents"):
            app = open_app(address, path=path)
            expect(app.page.get_by_text("127.0.0.1:9").first).to_be_visible()
            expect(app.page.get_by_text("ATHENA_MONGODB_URL").first).to_be_visible()
            expect(app.page.get_by_text("Traceback")).to_have_count(0)
