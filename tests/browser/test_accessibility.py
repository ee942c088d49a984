"""Each page as an accessibility checker sees it, in both themes and sizes; what opens stays in the window."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Opener
from tests.browser.looks import GROUNDS
from tests.browser.pages import box

AXE = files("axe_playwright_python").joinpath("axe.min.js")
LN2 = "The LN2 tank shows OFFLINE, what can be the reason?"
PAGES = ("/inspector", "/documents", "/memory", "/settings", "/mission", "/mission?level=mixture")
SIZES = ((1280, 800), (390, 844))
FINGER = 40  # px


def problems(page: Page) -> list[str]:
    """What axe finds on a page, at both sizes and in both themes."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = []
    for (width, height), scheme in ((size, scheme) for size in SIZES for scheme in ("light", "dark")):
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        expect(page.locator(".stApp[data-test-script-state='notRunning']")).to_be_attached()
        expect(page.locator(".stApp")).to_have_css("background-color", GROUNDS[scheme])
        checked = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        found += [f"{width} {scheme}: {line}" for rule in checked["violations"] for line in _told(rule)]
    return found


def _told(rule: dict[str, Any]) -> list[str]:
    about = f"{rule['id']} ({rule['impact']})"
    return [f"{about} at {_selector(node)}: {node['failureSummary']}" for node in rule["nodes"]]


def _selector(node: dict[str, Any]) -> str:
    return " >>> ".join(part if isinstance(part, str) else " > ".join(part) for part in node["target"])


def test_axe_finds_nothing_in_the_chat(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting)
    app.press("Only …")
    app.page.get_by_label("Choose procedures").check()
    assert not problems(app.page)
    app.escape()
    app.page.set_viewport_size({"width": 1280, "height": 800})
    app.ask(LN2)
    app.answered(1).locator(".chip").first.click()
    expect(app.pane).to_be_visible()
    assert not problems(app.page)


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_on_a_page(quoting: str, open_app: Opener, path: str) -> None:
    app = open_app(quoting, path=path)
    if "level" in path:
        expect(app.page.get_by_role("textbox", name="Command")).to_be_visible()
    assert not problems(app.page)


def test_under_a_finger_what_streamlit_draws_is_large_enough(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting, width=390, height=844)
    sidebar = app.page.get_by_test_id("stExpandSidebarButton")
    _can_be_touched(sidebar, app.page.get_by_test_id("stChatInputSubmitButton"))
    sidebar.click()
    _can_be_touched(app.page.get_by_role("link", name="Documents"))


def _can_be_touched(*parts: Locator) -> None:
    sizes = [box(part) for part in parts]
    assert [size for size in sizes if min(size["width"], size["height"]) < FINGER] == []
