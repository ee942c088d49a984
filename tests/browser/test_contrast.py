"""Text on the accent colour can be read in both themes, also in a dialog."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Opener

LEAST_CONTRAST = 4.5


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_primary_button_can_be_read(quoting: str, open_app: Opener, dark: bool) -> None:
    app = open_app(quoting, path="/documents", dark=dark)
    app.file_row("alarms").get_by_role("button", name="Delete").click()
    button = app.page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True)
    expect(button).to_be_visible()
    assert contrast(button) >= LEAST_CONTRAST
    app.page.get_by_role("button", name="Keep it").click()
    expect(app.page.get_by_role("dialog")).to_have_count(0)


def contrast(node: Locator) -> float:
    """WCAG's contrast of a node's colour on its own background."""
    colours = node.evaluate("n => [getComputedStyle(n).color, getComputedStyle(n).backgroundColor]")
    light, dark = sorted((_luminance(colour) for colour in colours), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    channels = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
