"""A journey through the inspector: the steps, what if, why not; also on a phone."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Opener
from tests.browser.looks import looked_at
from tests.browser.pages import box

ARROWS_END = """list => Math.max(...[...list.children].slice(0, -1).map((step) =>
  step.getBoundingClientRect().right - parseFloat(getComputedStyle(step, "::after").right)))"""


def test_an_answer_leads_to_its_steps_what_if_and_why_not(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting)
    app.ask("nitrogen tank offline")
    app.answered(1).get_by_text("How was this found?").click()
    steps = app.page.locator(".steps").first
    for name in ("Search", "Fuse", "Merge", "Select"):
        expect(steps.get_by_text(name, exact=True)).to_be_visible()
    charts = app.page.get_by_test_id("stVegaLiteChart").filter(visible=True)
    expect(charts).to_be_visible()
    looked_at(app, "inspector-found")

    app.page.get_by_role("tab", name="What if").click()
    app.ready()
    app.page.get_by_text("Rerank with the cross-encoder").click()
    app.press("Search again")
    expect(charts).to_be_visible()
    looked_at(app, "inspector-what-if")

    app.page.set_viewport_size({"width": 390, "height": 844})
    app.page.get_by_role("tab", name="Steps and ranks").click()
    app.until(lambda: steps.evaluate(ARROWS_END) <= 390)
    stands = box(charts)
    assert stands["x"] + stands["width"] <= 390
    app.page.get_by_role("tab", name="Why not").click()
    app.ready()
    app.page.get_by_role("combobox", name="The document that you expected").fill("atmosphere")
    app.page.get_by_role("option").first.click()
    expect(app.page.get_by_text(re.compile("Left out by|The answer shows it"))).to_be_visible()
    looked_at(app, "inspector-why-not")
