"""Read the metadata block that may open a Markdown file: YAML between `---` or TOML between `+++`."""

from __future__ import annotations

import datetime
import logging
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field

import yaml

from readers.blocks import shortened

Scalar = str | int | float | bool

MAX_CHARACTERS = 16_384
"""Longer blocks are text: nothing that size is metadata, and YAML takes long to say so."""
LONGEST_VALUE = 300
"""Longer values are cut: they go with every section."""
MOST_VALUES = 4_000
"""Characters of all keys and values together; the rest is left out."""
MOST_ITEMS = 50
"""Items of a list, such as tags."""

_BLOCK = re.compile(
    rf"(---|\+\+\+)[ \t]*(?:\r\n?|\n)((?s:.{{0,{MAX_CHARACTERS}}}?))"
    r"(?<=[\r\n])(?:\1|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)"
)
_TITLE = re.compile(r"(?:\A|[\r\n])title[ \t]*[:=][ \t]*([^\r\n]+)")
_KEY = re.compile(r"\s*[\w-]+[ \t]*[:=](?:[ \t\r\n]|\Z)")
_FAULTS = (
    yaml.YAMLError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""PyYAML's constructors let Python's own errors through, such as for `2024-13-45` or `!!bool x`."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Front matter's scalar values, its lists of texts, and the offset of the text after it."""

    values: dict[str, Scalar] = field(default_factory=dict)
    end: int = 0
    lists: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def texts(self, *names: str) -> list[str]:
        """The texts of these keys, of lists and of single values."""
        single = {key: (str(value),) for key, value in self.values.items()}
        found = (text.strip() for name in names for text in self.lists.get(name, single.get(name, ())))
        return [text for text in found if text]


class _Loader(yaml.SafeLoader):
    """The safe loader without merge keys, by which 200 bytes can ask for gigabytes.

    The one in Python: libyaml's crashes the process on deep nesting.
    """

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Leave `<<` alone: it is then refused as a key."""


def read_front_matter(text: str, *, source: str, start: int = 0) -> FrontMatter:
    """The front matter at `start` of `text`; empty where there is none.

    A delimited block that is no mapping is text. A block that begins with a key and that YAML or TOML refuse
    is no text either: its `title:` line is kept, and a warning says so.
    """
    block = _BLOCK.match(text, start)
    if not block:
        return FrontMatter(end=start)
    try:
        loaded = _load(block[2], toml=block[1] == "+++")
    except _FAULTS as error:
        if not _KEY.match(block[2]):
            return FrontMatter(end=start)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        _logger.warning("front matter of %r cannot be read, only its title is used: %s", source, reason)
        title = _TITLE.search(block[2])
        loaded = {"title": title[1].strip().strip("\"'")} if title else {}
    if not isinstance(loaded, dict):
        return FrontMatter(end=start)
    lists = {_text(key): _texts(value) for key, value in loaded.items() if isinstance(value, list)}
    return FrontMatter(_scalars(loaded), block.end(), lists)


def _load(text: str, *, toml: bool) -> object:
    """The value of a block; raises one of `_FAULTS`."""
    if toml:
        return tomllib.loads(text.replace("\r\n", "\n").replace("\r", "\n"))
    loaded = yaml.load(text, Loader=_Loader)  # noqa: S506 (a subclass of the safe loader)
    return {} if loaded is None else loaded


def _scalars(values: Mapping[object, object]) -> dict[str, Scalar]:
    """The first values that every store can keep: no lists, mappings, NaN or giant numbers."""
    scalars: dict[str, Scalar] = {}
    left = MOST_VALUES
    for key, value in values.items():
        match value:
            case str() | datetime.date() | datetime.time():
                scalar: Scalar = _text(value)
            case int() | float() if abs(value) < 2**63 and math.isfinite(value):
                scalar = value
            case _:
                continue
        left -= len(str(key)) + len(str(scalar))
        if left < 0:
            break
        scalars[_text(key)] = scalar
    return scalars


def _texts(items: list[object]) -> tuple[str, ...]:
    """The texts and numbers among the first items of a list."""
    return tuple(_text(item) for item in items[:MOST_ITEMS] if isinstance(item, str | int))


def _text(value: object) -> str:
    """The text of `value`, not too long, without the lone surrogates that YAML's escapes can make."""
    text = value.isoformat() if isinstance(value, datetime.date | datetime.time) else str(value)
    return shortened(text.encode("utf-8", "replace").decode("utf-8"), LONGEST_VALUE)
