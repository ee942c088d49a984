"""Texts of others for terminals: what would move a cursor or change a title is shown, not obeyed."""

from __future__ import annotations

import re

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
_SHOWN = _PICTURES | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
_LEFT_IN_JSON = re.compile(r"[\x7f-\x9f]")
"""Control characters that JSON may have as they are."""


def harmless(text: str) -> str:
    """The text with pictures of its control characters in their places: ␛ for the one that begins orders."""
    return text.translate(_SHOWN)


def harmless_json(text: str) -> str:
    """The same JSON with all of its control characters escaped."""
    return _LEFT_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
