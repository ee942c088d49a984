"""The repository's configuration and the installed package's are one; colours have contrast."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from athena.settings import Settings
from ui.launch import OPTIONS_FILE, streamlit_options

ROOT = Path(__file__).parents[2]
LEAST_CONTRAST = 4.5


def test_config_of_the_repository_is_the_packages() -> None:
    assert (ROOT / ".streamlit/config.toml").read_bytes() == OPTIONS_FILE.read_bytes()


def test_options_follow_the_settings() -> None:
    options = streamlit_options(Settings(host="127.0.0.2", port=9000, max_upload_mb=7))
    assert options["server.address"] == "127.0.0.2"
    assert options["server.port"] == 9000
    assert options["server.maxUploadSize"] == 7


def test_loopback_and_no_statistics_by_default() -> None:
    options = streamlit_options(Settings())
    assert options["server.address"] == "127.0.0.1"
    assert options["browser.gatherUsageStats"] is False


def test_options_are_known_to_streamlit() -> None:
    from streamlit import config

    known = config.get_config_options()
    assert not [name for name in streamlit_options(Settings()) if name not in known]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    "colour", ["textColor", "primaryColor", "linkColor", "redTextColor", "greenTextColor", "yellowTextColor"]
)
@pytest.mark.parametrize("ground", ["backgroundColor", "secondaryBackgroundColor"])
def test_text_has_contrast(theme: str, colour: str, ground: str) -> None:
    colours = tomllib.loads(OPTIONS_FILE.read_text(encoding="utf-8"))["theme"][theme]
    assert contrast(colours[colour], colours[ground]) >= LEAST_CONTRAST


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_muted_text_has_contrast(theme: str) -> None:
    """`--muted` of the components: 72 % text on the ground, also on the pane's."""
    colours = tomllib.loads(OPTIONS_FILE.read_text(encoding="utf-8"))["theme"][theme]
    muted = mix(colours["textColor"], colours["backgroundColor"], 0.72)
    assert contrast(muted, colours["backgroundColor"]) >= LEAST_CONTRAST
    assert contrast(muted, colours["secondaryBackgroundColor"]) >= LEAST_CONTRAST


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's contrast ratio, 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def channels(colour: str) -> list[float]:
    return [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]


def mix(one: str, other: str, share: float) -> str:
    mixed = [
        round(255 * (share * a + (1 - share) * b))
        for a, b in zip(channels(one), channels(other), strict=True)
    ]
    return "#" + "".join(f"{value:02x}" for value in mixed)
