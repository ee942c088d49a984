"""From a text to what is worth remembering of it: pure functions, by rules that are data."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def rules_of(name: str) -> Mapping[str, Any]:
    """What a TOML file of this folder holds."""
    return tomllib.loads((files("memory.reading") / f"{name}.toml").read_text(encoding="utf-8"))


def filled(pattern: str, words: Mapping[str, str]) -> str:
    """A regular expression with the words that it names in braces; these may name others."""
    return re.sub(r"\{([a-z_]+)\}", lambda match: filled(words[match[1]], words), pattern)


def as_typed(pattern: str) -> str:
    """A regular expression that finds its words as they are typed in a hurry, too: "what" finds "wat"."""
    for right, wrongs in rules_of("statements")["hurried"].items():
        pattern = re.sub(rf"(?<![\w\\<]){right}(?![\w>'])", f"(?:{right}|{'|'.join(wrongs)})", pattern)
    return pattern
