"""Journeys on the evaluation page: from a thumb to a verdict, a run that is reloaded and cancelled."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Opener, serving
from tests.browser.looks import looked_at
from tests.browser.pages import App

LN2 = "The LN2 tank shows OFFLINE, what can be the reason?"
VIEWS = ("Runs", "Compare", "Cases", "Usage", "Benchmarks", "Judges")

SIDES = """nodes => nodes.flatMap((node) => {
  const style = getComputedStyle(node);
  return [style.borderLeftColor, style.borderRightColor];
})"""
UNSEEN = "rgba(0, 0, 0, 0)"


@pytest.fixture(scope="module")
def address(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data_dir = tmp_path_factory.mktemp("evaluation") / "data"
    shutil.copytree(indexed, data_dir)
    with serving(data_dir, llm="none") as served:
        yield served


def picked(app: App, label: str, option: str) -> None:
    """Choose of a list, by typing; where the list closed again, as the page moved, it is opened by a key."""
    app.ready()
    field, listed = app.page.get_by_role("combobox", name=label), app.page.get_by_role("option", name=option)
    field.click()
    field.fill(option)

    def opened() -> bool:
        if listed.first.is_visible():
            return True
        field.press("ArrowDown")
        return False

    app.until(opened)
    listed.first.click()
    app.ready()


def case_of(app: App) -> Locator:
    """The one case that is listed."""
    return app.page.locator("[class*='st-key-case-']")


def test_a_thumb_down_becomes_a_case_that_fails_and_passes_with_another_setting(
    address: str, open_app: Opener
) -> None:
    app = open_app(address)
    app.ask(LN2)
    app.answered(1).get_by_label("Bad answer").click()
    app.ready()
    app.page.get_by_role("link", name="Evaluation").click()
    app.page.get_by_role("radio", name="Cases").click()
    expect(app.page.get_by_text("1 rated answer could become a case")).to_be_visible()
    looked_at(app, "evaluation-rated")
    app.press("Make it a case")
    picked(app, "A section, a quote of the answer, or nothing", "Nothing: it should have abstained")
    app.page.get_by_role("dialog").get_by_role("button", name="Make it a case").click()
    expect(case_of(app)).to_contain_text("New")
    app.press("Ask all again")
    expect(app.page.get_by_text("1 case: 1 failing.")).to_be_visible()
    expect(case_of(app)).to_contain_text("Failing")
    app.page.get_by_text("Would other settings do better?").click()
    picked(app, "Settings to try", "answerable_threshold")
    app.escape()  # its list stays open for more
    value = app.page.get_by_role("textbox", name="answerable_threshold")
    value.fill("1")
    value.press("Enter")
    app.press("Ask the cases with these")
    trial = app.page.locator(".st-key-trial")
    expect(trial).to_contain_text("Too few cases to tell. 1 of 1 case pass, 0 before.")
    expect(trial).to_contain_text("ATHENA_ANSWERABLE_THRESHOLD=1")
    looked_at(app, "evaluation-trial")
    app.reload()
    expect(app.page.get_by_role("radio", name="Cases")).to_be_checked()
    expect(case_of(app)).to_contain_text("Failing")  # nothing was changed by trying
    case_of(app).get_by_role("button", name="Inspect").click()
    expect(app.page.locator(".flow")).to_be_visible()


def test_a_run_goes_on_through_a_reload_and_is_cancelled(address: str, open_app: Opener) -> None:
    app = open_app(address, path="/evaluation?view=Runs")
    app.press("Run it")
    bar = app.page.get_by_role("progressbar")
    expect(bar.first).to_be_visible()
    expect(app.page.get_by_role("button", name="Run it")).to_be_disabled()
    app.reload()
    expect(bar.first).to_be_visible()
    app.page.get_by_role("radio", name="Usage").click()
    expect(bar.first).to_be_visible()  # whatever is looked at
    app.page.get_by_role("button", name="Cancel").click()
    kept = app.page.get_by_text("What was finished is kept; run it again to go on.")
    expect(kept).to_be_visible(timeout=180_000)  # an index that is being made is left between two batches
    app.press("Close")
    app.page.get_by_role("radio", name="Runs").click()
    expect(app.page.get_by_role("button", name="Run it")).to_be_enabled()


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_fits_at_both_sizes_in_both_themes_and_is_reached_by_keys(
    address: str, open_app: Opener, view: str
) -> None:
    if view == "Usage":  # else nothing is drawn where no other test asked before
        open_app(address).ask(LN2)
    app = open_app(address, path="/evaluation")
    radio = app.page.get_by_role("radio", name=view)
    radio.focus()
    app.page.keyboard.press("Space")
    expect(radio).to_be_checked()
    app.ready()
    looked_at(app, f"evaluation-{view.lower()}")
    sides = app.page.get_by_role("radio").evaluate_all(SIDES)  # a narrow window has them in two rows
    assert len(sides) == 2 * len(VIEWS) and UNSEEN not in sides
