"""Read the metadata block that may open a Markdown file: YAML between `---` or TOML between `+++`."""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from readers.blocks import shortened

MAX_CHARACTERS = 16_384
"""Longer blocks are text: nothing that size is metadata, and YAML takes long to parse it."""
LONGEST_VALUE = 300
"""Longer values are cut: they go with every section."""
MOST_ITEMS = 50
"""Items of a list, such as tags."""
NULLS = ("", "~", "null")
"""YAML's notations of no value."""

_BLOCK = re.compile(
    rf"(---|\+\+\+)[ \t]*(?:\r\n?|\n)((?s:.{{0,{MAX_CHARACTERS}}}?))"
    r"(?<=[\r\n])(?:\1|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)"
)
_TITLE = re.compile(r"(?:\A|[\r\n])title[ \t]*[:=][ \t]*([^\r\n]+)")
_KEY = re.compile(r"\s*[\w-]+[ \t]*[:=](?:[ \t\r\n]|\Z)")

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The texts of front matter by key, one or several each, and the offset of the text after it."""

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    end: int = 0

    def texts(self, *keys: str) -> list[str]:
        """Return the texts of these keys."""
        return [text for key in keys for text in self.values.get(key, ())]


def read_front_matter(text: str, *, source: str, start: int = 0) -> FrontMatter:
    """Return the front matter at `start` of `text`; an empty one if there is none.

    A delimited block that is no mapping is text. If a block begins with a key and cannot be parsed, its
    `title:` line is kept, a warning is logged, and the block is not text either.
    """
    block = _BLOCK.match(text, start)
    if not block:
        return FrontMatter(end=start)
    try:
        loaded = _load(block[2], toml=block[1] == "+++")
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # TOML's errors are ValueErrors
        if not _KEY.match(block[2]):
            return FrontMatter(end=start)
        reason = str(error).splitlines()[0]
        _logger.warning("front matter of %r cannot be read, only its title is used: %s", source, reason)
        title = _TITLE.search(block[2])
        loaded = {"title": title[1].strip().strip("\"'")} if title else {}
    if not isinstance(loaded, dict):
        return FrontMatter(end=start)
    return FrontMatter({_text(key): _texts(value) for key, value in loaded.items()}, block.end())


def _load(text: str, *, toml: bool) -> object:
    """Parse a block. YAML's scalars stay texts, so that `2.10` and `on` mean what they say.

    PyYAML's own parser reads it: libyaml's crashes the process on deep nesting.
    """
    if toml:
        return tomllib.loads(text.replace("\r\n", "\n").replace("\r", "\n"))
    loaded = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 (it makes texts, lists and mappings only)
    return loaded or {}


def _texts(value: object) -> tuple[str, ...]:
    """Return a value, or the first items of a list, as texts; mappings and nested lists have none."""
    items = value[:MOST_ITEMS] if isinstance(value, list) else [value]
    return tuple(_text(item) for item in items if not isinstance(item, list | dict) and item not in NULLS)


def _text(value: object) -> str:
    """Return a value as a short text without the lone surrogates that YAML's escapes can make."""
    return shortened(str(value).strip().encode("utf-8", "replace").decode("utf-8"), LONGEST_VALUE)
