"""How a page looks in both themes: nothing cut off, and pictures where somebody asks.

PICTURES=/tmp/pictures pytest tests/browser
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from playwright.sync_api import expect

from tests.browser.pages import LOOK_EVERY_MS, App

GROUNDS = {"light": "rgb(251, 250, 248)", "dark": "rgb(18, 22, 27)"}
THEMES: tuple[Literal["light", "dark"], ...] = ("dark", "light")
LOOKS = 40
CUT_OFF = """() => {
  // A table keeps its width until it is drawn anew, and a slider has a field of the old width behind it.
  const STREAMLITS = ".stDataFrame, input[type=range], .sr";
  const found = [], edge = window.innerWidth + 1;
  const told = (what, node) => found.push(
    `${what}: ${node.localName}.${node.getAttribute("class")} “${node.textContent.trim().slice(0, 40)}”`);
  const look = (node, scrolls) => {
    const style = getComputedStyle(node), box = node.getBoundingClientRect();
    const isShown = style.display !== "none" && style.visibility !== "hidden" && style.clipPath === "none";
    if (!isShown || node.matches(STREAMLITS)) return;
    const isClosed = box.right <= 0;  // the sidebar
    const drawn = box.width > 1 && box.height > 1 && style.clipPath === "none" && !isClosed;
    if (drawn && !scrolls && (box.left < -1 || box.right > edge)) {
      told(`outside, from ${Math.round(box.left)} to ${Math.round(box.right)}`, node);
      return;
    }
    const isWider = node.scrollWidth > node.clientWidth + 1;
    const text = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (drawn && text && isWider && style.overflowX === "hidden" && style.textOverflow !== "ellipsis")
      told("cut off", node);
    const plot = node.localName === "text" && style.opacity !== "0" && node.ownerSVGElement;
    if (plot && getComputedStyle(plot).overflow !== "visible") {
      const around = plot.getBoundingClientRect();
      if (box.left < around.left - 1 || box.right > around.right + 1) told("cut off", node);
    }
    const inside = scrolls || (isWider && ["auto", "scroll"].includes(style.overflowX) && box.right <= edge);
    for (const child of [...node.children, ...(node.shadowRoot?.children ?? [])]) look(child, inside);
  };
  look(document.body, false);
  return found;
}"""
"""What is drawn outside of the window, or cut at an edge, where nothing scrolls to it."""


def looked_at(app: App, name: str) -> None:
    """Look at the page in each theme: it fits, and nothing is cut off."""
    for theme in THEMES:
        app.page.emulate_media(color_scheme=theme)
        expect(app.page.locator(".stApp")).to_have_css("background-color", GROUNDS[theme])
        app.ready()
        app.fits()
        found = _cut_off(app)
        _picture(app, f"{name}-{app.width}-{theme}")
        assert not found, f"{name}, {app.width}, {theme}: {found}"


def _cut_off(app: App) -> list[str]:
    """What is cut off, once what follows a new width has followed it."""
    found: list[str] = []
    for _ in range(LOOKS):
        found = app.page.evaluate(CUT_OFF)
        if not found:
            break
        app.page.wait_for_timeout(LOOK_EVERY_MS)
    return found


def _picture(app: App, name: str) -> None:
    folder = os.environ.get("PICTURES")
    if folder:
        app.page.screenshot(path=Path(folder) / f"{name}.png")
