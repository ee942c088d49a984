"""The metadata block that may open a Markdown file: YAML between `---` or TOML between `+++`."""

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

_OPENING = re.compile(r"(---|\+\+\+)[ \t]*(?:\r\n?|\n)")
_CLOSING = {
    "---": re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)"),
    "+++": re.compile(r"(?<=[\r\n])\+\+\+[ \t]*(?:\r\n?|\n|\Z)"),
}
_TITLE = re.compile(r"(?:\A|[\r\n])title[ \t]*[:=][ \t]*([^\r\n]+)")
_KEY = re.compile(r"\s*[\w-]+[ \t]*[:=](?:[ \t\r\n]|\Z)")
# PyYAML's constructors let Python's own errors through, such as for `2024-13-45` or `!!bool x`.
_FAULTS = (
    yaml.YAMLError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Front matter's scalar values, its lists of texts, and where the text after it starts."""

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
    opening = _OPENING.match(text, start)
    closing = _CLOSING[opening[1]].search(text, opening.end() - 1) if opening else None
    if opening is None or closing is None or closing.start() - opening.end() > MAX_CHARACTERS:
        return FrontMatter(end=start)
    inside = text[opening.end() : closing.start()]
    try:
        values = _load(inside, toml=opening[1] == "+++")
    except _FAULTS as error:
        if not _KEY.match(inside):
            return FrontMatter(end=start)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        _logger.warning("front matter of %r cannot be read, only its title is used: %s", source, reason)
        title = _TITLE.search(inside)
        values = {"title": title[1].strip().strip("\"'")} if title else {}
    if not isinstance(values, dict):
        return FrontMatter(end=start)
    return FrontMatter(_few(_scalars(values)), closing.end(), _lists(values))


def _load(text: str, *, toml: bool) -> object:
    if toml:
        return tomllib.loads(text.replace("\r\n", "\n").replace("\r", "\n"))
    loaded = yaml.load(text, Loader=_Loader)  # noqa: S506 (a subclass of the safe loader)
    return {} if loaded is None else loaded


def _scalars(values: Mapping[object, object]) -> dict[str, Scalar]:
    """The values that every store can keep: no lists, no mappings, no NaN, no giant numbers."""
    scalars: dict[str, Scalar] = {}
    for key, value in values.items():
        match value:
            case str():
                scalars[_clean(key)] = _clean(value)
            case int() if abs(value) < 2**63:
                scalars[_clean(key)] = value
            case float() if math.isfinite(value):
                scalars[_clean(key)] = value
            case datetime.date() | datetime.time():
                scalars[_clean(key)] = value.isoformat()
    return scalars


def _lists(values: Mapping[object, object]) -> dict[str, tuple[str, ...]]:
    """The lists of texts and numbers, each cut to `MOST_ITEMS`."""
    return {
        _clean(key): tuple(
            shortened(_clean(item), LONGEST_VALUE)
            for item in value[:MOST_ITEMS]
            if isinstance(item, str | int)
        )
        for key, value in values.items()
        if isinstance(value, list)
    }


def _few(values: dict[str, Scalar]) -> dict[str, Scalar]:
    """The first values, as many as may go with a section; long ones cut."""
    kept: dict[str, Scalar] = {}
    left = MOST_VALUES
    for key, value in values.items():
        if isinstance(value, str):
            value = shortened(value, LONGEST_VALUE)
        left -= len(key) + len(str(value))
        if left < 0:
            break
        kept[key] = value
    return kept


def _clean(value: object) -> str:
    """The text of `value` without the lone surrogates that YAML's escapes can make."""
    return str(value).encode("utf-8", "replace").decode("utf-8")
