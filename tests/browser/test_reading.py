"""Where the view stands and where the keys go: while an answer is written, and while it is read."""

from __future__ import annotations

import itertools
from typing import Any

from playwright.sync_api import Locator, expect

from tests.browser.conftest import WINDOWS, Opener, Window
from tests.browser.pages import App, box

LN2 = "The LN2 tank shows OFFLINE, what can be the reason?"
OXYGEN = "How long does the oxygen last?"
WATCH = """() => {
  window.tops = [];
  const look = () => {
    const shown = [...document.querySelectorAll('[class*="st-key-turn-"]')].at(-1);
    if (shown) window.tops.push(Math.round(shown.getBoundingClientRect().top));
    window.watching = requestAnimationFrame(look);
  };
  look();
}"""
ROUNDING = 1  # px
HEADER_AND_MORE = 120  # px: the page's header, and the turn's own space above its question


@WINDOWS
def test_the_question_stands_at_the_top_and_its_first_quote_below_it(
    quoting: str, open_app: Opener, window: Window
) -> None:
    app = open_app(quoting, **window)
    app.ask(LN2)
    app.answered(1)
    for number, question in enumerate((OXYGEN, f"{LN2} {'It is cold here. ' * 80}"), start=2):
        app.ask(question)
        turn = app.answered(number)
        _stands_at_the_top(app, turn)
        assert _bottom(turn.locator(".quote").first) < _top(app.question)
    app.reload()
    expect(app.turn(3).locator(".quote").first).to_be_in_viewport()
    _stands_at_the_top(app, app.turn(3))


def _stands_at_the_top(app: App, turn: Locator) -> None:
    app.until(lambda: 0 <= _top(turn.locator(".question")) < HEADER_AND_MORE)


@WINDOWS
def test_nothing_moves_while_an_answer_is_written(quoting: str, open_app: Opener, window: Window) -> None:
    app = open_app(quoting, **window)
    app.ask(LN2)
    app.answered(1)
    app.ask(OXYGEN)
    expect(app.turn(2)).to_be_in_viewport()
    app.page.evaluate(WATCH)
    app.answered(2)
    tops = app.page.evaluate("window.tops")
    settled = itertools.dropwhile(lambda top: abs(top - tops[-1]) > ROUNDING, tops)
    assert all(abs(top - tops[-1]) <= ROUNDING for top in settled), [
        top for top, _ in itertools.groupby(tops)
    ]


def test_a_reader_who_scrolls_is_left_alone(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting)
    app.ask(LN2)
    app.answered(1)
    app.ask(OXYGEN)
    app.answered(2)
    app.page.mouse.move(700, 400)
    app.page.mouse.wheel(0, -4000)
    expect(app.turn(1).locator(".question")).to_be_in_viewport()
    app.turn(1).locator(".chip").first.click()
    expect(app.pane).to_be_visible()
    expect(app.turn(1).locator(".question")).to_be_in_viewport()


@WINDOWS
def test_the_next_question_is_typed_while_an_answer_is_written(
    quoting: str, open_app: Opener, window: Window
) -> None:
    app = open_app(quoting, **window)
    app.question.click()
    for question in (LN2, OXYGEN):  # the second one waits where the first is not answered yet
        app.page.keyboard.type(question)
        app.page.keyboard.press("Enter")
    expect(app.answered(2).locator(".question")).to_have_text(f"You asked: {OXYGEN}")
    expect(app.question).to_be_focused()
    expect(app.question).to_have_value("")


@WINDOWS
def test_a_chip_takes_the_focus_into_the_pane_and_esc_brings_it_back(
    quoting: str, open_app: Opener, window: Window
) -> None:
    app = open_app(quoting, **window)
    app.ask(LN2)
    chip = app.answered(1).locator(".chip").first
    chip.focus()
    app.page.keyboard.press("Enter")
    expect(app.pane).to_be_focused()
    app.page.keyboard.press("Tab")
    expect(app.pane.get_by_label("Previous source")).to_be_focused()
    app.page.keyboard.press("ArrowRight")
    expect(app.pane.locator(".of")).to_contain_text("2 of")
    expect(app.pane.get_by_label("Previous source")).to_be_focused()
    app.page.keyboard.press("ArrowLeft")
    expect(app.pane.locator(".of")).to_contain_text("1 of")
    app.page.keyboard.press("Escape")
    expect(app.pane).to_have_count(0)
    expect(chip).to_be_focused()
    app.page.keyboard.press("/")
    expect(app.question).to_be_focused()
    app.page.keyboard.type("And if that does not help?")
    app.page.keyboard.press("Enter")
    app.answered(2)


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
    keys.type(LN2)
    expect(app.question).to_have_value(LN2)
    keys.press("Enter")
    app.answered(1)
    expect(app.question).to_be_focused()
    _press_until(app, "Shift+Tab", ".chip")
    name = app.page.evaluate(f"({FOCUSED})().textContent")
    keys.press("Enter")
    expect(app.pane).to_be_focused()
    keys.press("Escape")
    expect(app.pane).to_have_count(0)
    chip = app.turn(1).locator(".chip").filter(has_text=name).first
    expect(chip).to_be_focused()
    stops = _press_until(app, "Tab", "textarea")
    assert [stop["name"] for stop in stops].count("Edit the question") == 1
    for before, after in itertools.pairwise(stops):
        same_line = after["top"] < before["bottom"] and after["bottom"] > before["top"]
        assert after["left"] > before["left"] if same_line else after["top"] > before["top"], (before, after)
    keys.type("And if that does not help?")
    keys.press("Enter")
    app.answered(2)


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


def test_the_first_visit_is_gone_with_the_first_question(quoting: str, open_app: Opener) -> None:
    app = open_app(quoting)
    app.page.evaluate(BOTH)
    app.ask(LN2)
    app.answered(1)
    assert app.page.evaluate("window.both") == 0


BOTH = """() => {
  window.both = 0;
  const look = () => {
    const first = document.querySelector(".st-key-welcome");
    if (document.querySelector('[class*="st-key-turn-"]') && first && first.offsetHeight) window.both += 1;
    requestAnimationFrame(look);
  };
  look();
}"""


def _top(part: Locator) -> float:
    return box(part)["y"]


def _bottom(part: Locator) -> float:
    stands = box(part)
    return stands["y"] + stands["height"]
