"""Take the README's pictures from the running app: `python scripts/take_pictures.py`.

Serves the app with the manuals from a temporary folder, and asks the README's questions in headless Chromium.
With `--ollama URL`, a model of that server writes the answers in the pictures; without it, they are quotes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, expect, sync_playwright  # noqa: E402

from athena import open_athena  # noqa: E402
from athena.settings import Settings  # noqa: E402
from tests.browser.conftest import FLAGS, PATIENCE_MS, chromium, serving  # noqa: E402
from tests.browser.pages import App  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
DESKTOP, PHONE = (1280, 800), (390, 844)
VARIANTS: tuple[tuple[Literal["light", "dark"], str, tuple[int, int]], ...] = (
    ("light", "", DESKTOP),
    ("dark", "", DESKTOP),
    ("light", "-phone", PHONE),
)
ON_PHONE = frozenset({"first-visit", "answer-with-evidence", "not-in-the-manuals", "mission"})
QUESTION = "The LN2 tank shows OFFLINE. What can be the reason and what do I do?"
ABOARD = "The CO2 bed is saturated. How do I regenerate it?"
OUTSIDE = "Who won the football world cup in 1998?"
REMEMBERED = (
    "Remember that CB-4 is part of the LN2 rack.",
    "Remember that Ada Lovelace works at Siemens.",
    "Remember that CB-4 is powered by BUS-2.",
    "Remember that I prefer short answers, the command first.",
)


def main() -> None:
    """Take all pictures and write them as PNG files into the folder `--out`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ollama", default="", help="URL of an Ollama server that writes the answers")
    parser.add_argument("--out", type=Path, default=PICTURES, help="folder for the pictures")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder) / "data"
        athena = open_athena(Settings(data_dir=data_dir, llm="none"))
        athena.ingest([ROOT / "docs_corpus"])
        athena.close()
        model = {"ollama_url": given.ollama} if given.ollama else {"llm": "none"}
        model["cross_encoder"] = "auto"
        with serving(data_dir, **model) as address, sync_playwright() as playwright:
            expect.set_options(timeout=PATIENCE_MS)
            browser = playwright.chromium.launch(
                executable_path=chromium(playwright.chromium), args=list(FLAGS)
            )
            _take(browser, address, given.out)
            browser.close()


def _take(browser: Browser, address: str, out: Path) -> None:
    for theme, device, (width, height) in VARIANTS:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce"
        )
        context.set_default_timeout(PATIENCE_MS)
        app = App(context.new_page(), address)

        def shoot(what: str, ending: str = f"{device}-{theme}", app: App = app) -> None:
            if ending.startswith("-phone") and what not in ON_PHONE:
                return
            app.ready()
            app.page.evaluate("document.fonts.ready")
            app.page.screenshot(path=out / f"{what}{ending}.png")

        _journey(app, shoot)
        context.close()


def _journey(app: App, shoot: Callable[[str], None]) -> None:
    app.open("/")
    expect(app.page.locator(".st-key-suggestions button").first).to_be_visible()
    shoot("first-visit")
    app.ask(QUESTION)
    turn = app.answered(1)
    turn.locator(".chip").first.click()
    expect(app.mark.first).to_be_visible()
    shoot("answer-with-evidence")
    app.page.keyboard.press("Escape")
    expect(app.pane).to_have_count(0)
    app.page.get_by_text("How was this found?").first.click()
    expect(app.page.get_by_test_id("stVegaLiteChart").first).to_be_visible()
    shoot("inspector")
    app.open("/documents")
    expect(app.page.locator(".tree .row").first).to_be_visible()
    shoot("documents")
    app.open("/settings")
    expect(app.page.get_by_role("button", name="Test connection")).to_be_visible()
    shoot("settings")
    app.open("/")
    app.ask(OUTSIDE)
    expect(app.answered(1)).to_be_visible()
    shoot("not-in-the-manuals")
    _mission(app, shoot)
    _memory(app, shoot)


def _memory(app: App, shoot: Callable[[str], None]) -> None:
    app.open("/")
    for number, told in enumerate(REMEMBERED, start=1):
        app.ask(told)
        app.answered(number)
    app.open("/memory")
    expect(app.page.locator("[class*='st-key-memory-row-']")).to_have_count(len(REMEMBERED))
    shoot("memory")


def _mission(app: App, shoot: Callable[[str], None]) -> None:
    app.open("/mission")
    expect(app.page.locator(".st-key-levels")).to_be_visible()
    shoot("mission-levels")
    app.open("/mission?level=co2-race")
    line = app.page.get_by_role("textbox", name="Command")
    for number, command in enumerate(("list systems", "show AIR-CTRL"), start=1):
        line.fill(command)
        line.press("Enter")
        expect(app.page.locator(".console .command:not(.pending)")).to_have_count(number)
    line.fill(f"ask {ABOARD}")
    line.press("Enter")
    expect(app.tools(1)).to_be_attached()
    expect(app.question).to_be_enabled()
    shoot("mission")
    app.page.get_by_role("button", name="Abandon").click()
    app.page.get_by_role("dialog").get_by_role("button", name="Abandon", exact=True).click()
    expect(app.page.locator(".st-key-levels")).to_be_visible()


if __name__ == "__main__":
    main()
