"""WCAG 2.2's contrast of two colours, as CSS writes them."""

from __future__ import annotations

import re

LEAST_CONTRAST = 4.5  # for text


def contrast(one: str, other: str) -> float:
    """The contrast ratio, 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def channels(colour: str) -> list[float]:
    """Red, green and blue of `#rrggbb` or `rgb(r, g, b)`, 0..1."""
    if colour.startswith("#"):
        return [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    return [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]


def _luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
