"""Quotes as a reader meets them: unfolded, folded, marked, the closest only, corrected, and a reply."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from athena import open_athena
from athena.settings import Settings
from tests import made_answers as made
from tests.browser.conftest import Opener, serving
from tests.browser.looks import can_be_read
from tests.browser.pages import App

ANSWERS = {
    "answered": made.ANSWERED,
    "closest": made.CLOSEST,
    "corrected": made.CORRECTED,
    "reply": made.REPLY,
}


@dataclass(frozen=True)
class Stored:
    """An app with a conversation of each kind."""

    address: str
    conversations: Mapping[str, str]

    def open(self, open_app: Opener, name: str, **window: object) -> App:
        """The app on one of them."""
        app = open_app(self.address, path=f"/?c={self.conversations[name]}", **window)
        expect(app.turn(1).locator(".line")).to_be_visible()
        return app


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    folder = tmp_path_factory.mktemp("units")
    conversations = _conversations(folder)
    with serving(folder / "data", llm="none") as address:
        yield Stored(address, conversations)


def _conversations(folder: Path) -> dict[str, str]:
    """The conversations by the name of their answer, over an index of the manual that they cite."""
    manual = folder / "manuals" / made.SOURCE
    manual.parent.mkdir()
    manual.write_text(made.MANUAL, encoding="utf-8")
    athena = open_athena(Settings(data_dir=folder / "data", llm="none", cross_encoder="none"))
    athena.ingest([manual.parent])
    ids = {}
    for name, answer in ANSWERS.items():
        ids[name] = athena.conversations.create(name).info.id
        athena.conversations.save_turn(ids[name], answer)
    athena.close()
    return ids


def rows(turn: Locator) -> Locator:
    """The rows of the quoted table, without its header."""
    return turn.locator(".quote.table tbody tr")


def test_what_is_left_out_is_one_click_away_and_goes_again(stored: Stored, open_app: Opener) -> None:
    turn = stored.open(open_app, "answered").turn(1)
    expect(rows(turn)).to_have_text(["… 2 more rows", re.compile("C-103.*Restart the fan"), "… 5 more rows"])
    turn.get_by_role("button", name="… 5 more rows").click()
    expect(rows(turn)).to_have_count(8)
    expect(turn.locator("tr.answers")).to_contain_text("C-103")
    less = turn.get_by_role("button", name="Show less")
    expect(less).to_be_focused()
    less.press("Enter")
    expect(rows(turn)).to_have_count(3)
    expect(turn.get_by_role("button", name="… 2 more rows")).to_be_focused()


def test_folded_passages_stay_as_they_were_left(stored: Stored, open_app: Opener) -> None:
    app = stored.open(open_app, "answered")
    turn = app.turn(1)
    button = turn.get_by_role("button", name="2 more passages")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(turn.locator(".folded")).to_be_hidden()
    button.focus()
    app.page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(turn.locator(".folded pre")).to_contain_text("list alarms")
    turn.get_by_role("button", name="… 2 more rows").click()
    turn.locator(".chip").first.click()
    expect(app.pane).to_be_visible()
    expect(turn.locator(".folded pre")).to_be_visible()
    expect(rows(turn)).to_have_count(8)
    app.page.get_by_role("link", name="Documents").click()
    expect(app.page.locator(".files")).to_be_visible()
    app.page.get_by_role("link", name="Chat").click()
    expect(app.turn(1).locator(".folded pre")).to_be_visible()
    expect(rows(app.turn(1))).to_have_count(8)


def test_the_pane_marks_what_answers_stronger_and_walking_unfolds(stored: Stored, open_app: Opener) -> None:
    app = stored.open(open_app, "answered", width=390, height=844)
    turn = app.turn(1)
    turn.get_by_role("button", name="… 2 more rows").click()
    turn.get_by_label("Source 3").click()
    expect(app.pane.locator("mark.answer")).to_have_text("The cell then carries 2 kW.")
    assert app.cited() == " ".join(made.PARAGRAPH.quote.split())
    can_be_read(
        app,
        turn.locator(".quote mark").first,
        turn.locator("tr.answers td").first,
        app.pane.locator("mark.answer"),
        app.pane.locator("mark:not(.answer)").first,
    )
    app.page.keyboard.press("ArrowRight")
    app.page.keyboard.press("ArrowRight")
    expect(app.pane.locator(".of")).to_have_text("5 of 5")
    expect(turn.locator(".folded .chip.open")).to_be_visible()
    app.fits()


def test_what_is_no_plain_answer_says_so_and_asks_on_with_a_click(stored: Stored, open_app: Opener) -> None:
    """The closest passages; a question that was corrected; a reply in words."""
    app = stored.open(open_app, "closest")
    turn = app.turn(1)
    expect(turn.locator(".verdict")).to_contain_text("The documents may not answer this. Closest:")
    expect(turn.locator(".closest .quote")).to_have_count(2)
    expect(turn.locator("mark, [role=alert]")).to_have_count(0)

    app.open(f"/?c={stored.conversations['corrected']}")
    expect(turn.locator(".corrected")).to_have_text(
        "Showing results for fuel cell warm-up. Search for fule cell warmup instead."
    )
    turn.get_by_role("button", name="fule cell warmup").click()
    again = app.answered(2)
    expect(again.locator(".question")).to_contain_text("fule cell warmup")
    expect(again.locator(".corrected")).to_have_count(0)

    app.open(f"/?c={stored.conversations['reply']}")
    expect(turn.locator(".line")).to_be_visible()
    expect(turn.locator(".meta, .quote, .verdict, .note, .how")).to_have_count(0)
