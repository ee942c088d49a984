"""Where the view stands and where the keys go: while an answer is written, and while it is read."""

from __future__ import annotations

import itertools
from typing import Any
from uuid import uuid4

from playwright.sync_api import Locator, expect

from tests.browser.conftest import WINDOWS, Opener, Window
from tests.browser.pages import App, box

LN2 = "The LN2 tank shows OFFLINE, what can be the reason?"
OXYGEN = "How long does the oxygen last?"
BOTH = """() => {
  window.both = 0;
  const look = () => {
    const first = document.querySelector(".st-key-welcome");
    if (document.querySelector('[class*="st-key-turn-"]') && first && first.offsetHeight) window.both += 1;
    requestAnimationFrame(look);
  };
  look();
}"""
WATCH = """() => {
  window.tops = [];
  const look = () => {
    const shown = [...document.querySelectorAll('[class*="st-key-turn-"]')].at(-1);
    if (shown) window.tops.push(Math.round(shown.getBoundingClientRect().top));
    requestAnimationFrame(() => setTimeout(look)); // when it is painted: nobody sees what was before
  };
  look();
}"""
ROUNDING = 1  # px
HEADER_AND_MORE = 120  # px: the page's header, and the turn's own space above its question


@WINDOWS
def test_the_view_follows_each_question_once_and_then_the_reader(
    quoting: str, open_app: Opener, window: Window
) -> None:
    """The question stands at the top, its first quote below it, and nothing moves while it is answered."""
    app = open_app(quoting, path=f"/?u={uuid4().hex}", **window)  # of whom nothing is remembered
    app.page.evaluate(BOTH)
    app.ask(LN2)
    app.answered(1)
    assert app.page.evaluate("window.both") == 0, "the first visit is gone with the first question"
    app.ask(OXYGEN)
    expect(app.turn(2)).to_be_in_viewport()
    app.page.evaluate(WATCH)
    _stands_at_the_top(app, app.answered(2))
    _moved_no_more(app.page.evaluate("window.tops"))
    app.ask(f"{LN2} {'It is cold here. ' * 80}")
    _stands_at_the_top(app, app.answered(3))
    app.reload()
    expect(app.turn(3).locator(".quote").first).to_be_in_viewport()
    _stands_at_the_top(app, app.turn(3))

    app.page.mouse.move(window["width"] / 2, 400)
    app.page.mouse.wheel(0, -4000)
    expect(app.turn(1).locator(".question")).to_be_in_viewport()
    app.turn(1).locator(".chip").first.click()
    expect(app.pane).to_be_visible()
    expect(app.turn(1).locator(".question")).to_be_in_viewport()


def _stands_at_the_top(app: App, turn: Locator) -> None:
    app.until(lambda: 0 <= _top(turn.locator(".question")) < HEADER_AND_MORE)
    app.until(lambda: _top(turn.locator(".quote").first) < _top(app.question))


def _moved_no_more(tops: list[int]) -> None:
    settled = itertools.dropwhile(lambda top: abs(top - tops[-1]) > ROUNDING, tops)
    assert all(abs(top - tops[-1]) <= ROUNDING for top in settled), [
        top for top, _ in itertools.groupby(tops)
    ]


@WINDOWS
def test_the_keyboard_alone_asks_checks_and_follows_up(
    quoting: str, open_app: Opener, window: Window
) -> None:
    app = open_app(quoting, **window)
    expect(app.page.locator("html[data-keys=on]")).to_be_attached()
    keys = app.page.keyboard
    expect(app.question).to_be_enabled()
    keys.press("/")
    expect(app.question).to_be_focused()
    keys.type(f"{LN2} 1/2")
    expect(app.question).to_have_value(f"{LN2} 1/2")
    keys.press("Enter")
    app.answered(1)
    expect(app.question).to_be_focused()

    _press_until(app, "Shift+Tab", ".chip")
    expect(app.turn(1).locator(".tip")).to_be_visible()
    name = app.page.evaluate(f"({FOCUSED})().textContent")
    keys.press("Enter")
    expect(app.pane).to_be_focused()
    app.escape()
    expect(app.pane).to_have_count(0)
    expect(app.turn(1).locator(".chip").filter(has_text=name).first).to_be_focused()
    stops = _press_until(app, "Tab", "textarea")
    assert [stop["name"] for stop in stops].count("Edit the question") == 1
    for before, after in itertools.pairwise(stops):
        if after["name"].endswith("Only …"):
            continue  # it stands above the question's bar; what is not scrolled to yet comes before it
        same_line = after["top"] < before["bottom"] and after["bottom"] > before["top"]
        assert after["left"] > before["left"] if same_line else after["top"] > before["top"], (before, after)
    _press_until(app, "Shift+Tab", ".chip")
    keys.press("Enter")
    _sources_are_walked(app)
    app.escape()
    expect(app.pane).to_have_count(0)
    keys.press("/")
    expect(app.question).to_be_focused()
    keys.type("And if that does not help?")
    keys.press("Enter")
    expect(app.turn(2).locator(".question")).to_contain_text("And if that does not help?")
    keys.type(OXYGEN)  # as soon as the one before is seen to be asked: it waits for its answer
    keys.press("Enter")
    expect(app.answered(3).locator(".question")).to_have_text(f"You asked: {OXYGEN}")
    expect(app.question).to_be_focused()
    expect(app.question).to_have_value("")


def _sources_are_walked(app: App) -> None:
    """To the source before and back, by keys alone; the focus stays on the button."""
    position, keys = app.pane.locator(".of"), app.page.keyboard
    expect(app.pane).to_be_focused()
    stood = position.inner_text()
    keys.press("Tab")
    expect(app.pane.get_by_label("Previous source")).to_be_focused()
    keys.press("ArrowLeft")
    expect(position).not_to_have_text(stood)
    expect(app.pane.get_by_label("Previous source")).to_be_focused()
    keys.press("ArrowRight")
    expect(position).to_have_text(stood)


FOCUSED = """() => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return node;
}"""
STOP = f"""wanted => {{
  const node = ({FOCUSED})(), box = node.getBoundingClientRect();
  const scrolled = document.querySelector('[data-testid="stMain"]').scrollTop;
  return {{ name: node.getAttribute("aria-label") || node.textContent.trim().slice(0, 40),
    found: node.matches(wanted), top: box.top + scrolled, bottom: box.bottom + scrolled, left: box.left }};
}}"""
MOST_STOPS = 60


def _press_until(app: App, key: str, wanted: str) -> list[dict[str, Any]]:
    """Press a key until what has the focus matches; where the focus was on the way."""
    stops: list[dict[str, Any]] = []
    while not (stops and stops[-1]["found"]):
        assert len(stops) < MOST_STOPS, stops
        app.page.keyboard.press(key)
        stops.append(app.page.evaluate(STOP, wanted))
    return stops


def _top(part: Locator) -> float:
    return box(part)["y"]
