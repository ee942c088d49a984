"""Front matter: the metadata at the start of a Markdown file, as YAML between `---` or TOML between `+++`."""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Mapping

import yaml

from readers.dialects import shortened

MAX_CHARACTERS = 16_384
"""A longer block is read as page text: metadata is never that long, and parsing YAML of that size is slow."""
LONGEST_VALUE, MOST_ITEMS = 300, 50
"""Characters of a value, and items of a list; the rest is cut off, since every section stores them."""

_BLOCK = re.compile(
    rf"(---|\+\+\+)[ \t]*(?:\r\n?|\n)((?s:.{{0,{MAX_CHARACTERS}}}?))"
    r"(?<=[\r\n])(?:\1|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)"
)
_TITLE = re.compile(r"(?:\A|[\r\n])title[ \t]*[:=][ \t]*([^\r\n]+)")
_KEY = re.compile(r"\s*[\w-]+[ \t]*[:=](?:[ \t\r\n]|\Z)")

_logger = logging.getLogger(__name__)

FrontMatter = Mapping[str, tuple[str, ...]]
"""The values of each key, as texts; empty for a key whose value is a mapping or null."""


def read_front_matter(text: str, *, source: str) -> tuple[FrontMatter, int]:
    """Return the front matter of `text`, and the offset of the text after it.

    Without front matter, return {} and 0; a delimited block that is not a mapping counts as text. If a
    block begins with a key but cannot be parsed, only its title is returned, and a warning is logged.
    """
    block = _BLOCK.match(text)
    if not block:
        return {}, 0
    try:
        loaded = _load(block[2], toml=block[1] == "+++")
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # TOML's errors are ValueErrors
        if not _KEY.match(block[2]):
            return {}, 0
        reason = str(error).splitlines()[0]
        _logger.warning("front matter of %r cannot be read, only its title is used: %s", source, reason)
        title = _TITLE.search(block[2])
        loaded = {"title": title[1].strip().strip("\"'")} if title else {}
    if not isinstance(loaded, dict):
        return {}, 0
    return {_text(key): _texts(value) for key, value in loaded.items()}, block.end()


def _load(text: str, *, toml: bool) -> object:
    """Parse a block, with every YAML scalar as text: `2.10` and `on` keep their spelling.

    The YAML parser is the one in Python, because libyaml crashes the process on deep nesting.
    """
    if toml:
        return tomllib.loads(text.replace("\r\n", "\n").replace("\r", "\n"))
    return yaml.load(text, Loader=yaml.BaseLoader) or {}  # noqa: S506 (it only makes texts, lists, mappings)


def _texts(value: object) -> tuple[str, ...]:
    """Return a value, or a list's first items, as texts; leave out mappings, nested lists and nulls."""
    items = value[:MOST_ITEMS] if isinstance(value, list) else [value]
    return tuple(
        _text(one) for one in items if not isinstance(one, list | dict) and one not in ("", "~", "null")
    )


def _text(value: object) -> str:
    """Return a value as text, cut to `LONGEST_VALUE`, without the lone surrogates of YAML's escapes."""
    return shortened(str(value).strip().encode("utf-8", "replace").decode("utf-8"), LONGEST_VALUE)
