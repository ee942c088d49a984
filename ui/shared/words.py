"""Words as widgets take them: most of Streamlit's texts are read as Markdown."""

from __future__ import annotations

FIRST_FILES = "The first files are being indexed."
SPECIAL = frozenset("\\`*_{}[]()#+-.!|<>~:$")


def plain(text: str) -> str:
    """Text for a widget that reads Markdown, escaped so that it is shown as it is."""
    return "".join(f"\\{character}" if character in SPECIAL else character for character in text)


def files(number: int) -> str:
    """A number of files in words."""
    return f"{number:,} {'file' if number == 1 else 'files'}"
