"""Journeys in the inspector, in each window: dropped, what if, why not this page."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Opener
from tests.browser.looks import looked_at
from tests.browser.pages import box

MISSPELT = "nitrgoen tnak oflline"
ARROWS_END = """list => Math.max(...[...list.children].slice(0, -1).map((step) =>
  step.getBoundingClientRect().right - parseFloat(getComputedStyle(step, "::after").right)))"""


def test_what_would_refuse_says_so_and_what_is_missing_is_told(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting)
    app.ask(MISSPELT)
    app.answered(1).get_by_text("How was this found?").click()
    steps = app.page.locator(".steps").first
    for name in ("Spelling", "Search", "Fuse", "Merge", "Select"):
        expect(steps.get_by_text(name, exact=True)).to_be_visible()
    expect(app.page.locator(".bumps").get_by_text(re.compile(r"\b(dropped|merged)$")).first).to_be_visible()
    looked_at(app, "inspector-found")

    app.page.get_by_role("tab", name="What if").click()
    app.ready()
    app.page.get_by_text("correct the spelling").click()
    app.press("Search again")
    refused = app.page.get_by_role("alert").filter(has_text="Your settings would refuse this question")
    expect(refused).to_contain_text(re.compile(r"answer it by \d+% only, and \d+% are needed"))
    refused.scroll_into_view_if_needed()
    looked_at(app, "inspector-what-if")

    app.page.set_viewport_size({"width": 390, "height": 844})
    app.page.get_by_role("tab", name="How it was found").click()
    app.until(lambda: steps.evaluate(ARROWS_END) <= 390)
    app.page.get_by_role("tab", name="Why not this page?").click()
    app.ready()
    expected = app.page.get_by_role("combobox", name="The section that you expected")
    expected.fill("carbon dioxide")
    app.page.get_by_role("option").first.click()
    expect(app.page.get_by_text(re.compile("Dropped by|It was selected"))).to_be_visible()
    table = app.page.get_by_test_id("stDataFrame").filter(visible=True)
    expect(table).to_be_visible()
    stands = box(table)
    assert stands["x"] + stands["width"] <= 390
    looked_at(app, "inspector-why-not")
