"""What a language model wrote, read as JSON however it wrapped it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_DECODER = json.JSONDecoder()


def first_object(text: str) -> Mapping[str, Any]:
    """The first JSON object in a text; an empty one where there is none that can be read."""
    start = text.find("{")
    while start >= 0:
        try:
            found, _ = _DECODER.raw_decode(text, start)
        except ValueError:
            start = text.find("{", start + 1)
            continue
        return found if isinstance(found, dict) else {}
    return {}
