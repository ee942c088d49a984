"""The metadata block that may open a Markdown file: YAML between `---` or TOML between `+++`."""

from __future__ import annotations

import datetime
import logging
import math
import re
import tomllib
from dataclasses import dataclass, field

import yaml

from readers.blocks import shortened

Scalar = str | int | float | bool

MAX_CHARACTERS = 16_384
"""Longer blocks are text: nothing that size is metadata, and YAML takes long to say so."""

LONGEST_VALUE = 300
"""Longer values are cut: they go with every section."""
MOST_VALUES = 4_000
"""Characters of all keys and values together; what comes after them is left out."""

_OPENING = re.compile(r"(---|\+\+\+)[ \t]*(?:\r\n?|\n)")
_CLOSING = {
    "---": re.compile(r"(?<=[\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)"),
    "+++": re.compile(r"(?<=[\r\n])\+\+\+[ \t]*(?:\r\n?|\n|\Z)"),
}
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
    """Front matter's scalar values, and where the text after it starts."""

    values: dict[str, Scalar] = field(default_factory=dict)
    end: int = 0


class _Loader(yaml.SafeLoader):
    """The safe loader without merge keys, by which 200 bytes can ask for gigabytes.

    The one in Python: libyaml's crashes the process on deep nesting.
    """

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Leave `<<` alone: it is then refused as a key."""


def read_front_matter(text: str, *, source: str, start: int = 0) -> FrontMatter:
    """The front matter at `start` of `text`; empty where there is none.

    What is delimited like front matter but is no mapping stays text; a warning says so where
    YAML or TOML refuse it.
    """
    opening = _OPENING.match(text, start)
    if opening is None:
        return FrontMatter(end=start)
    closing = _CLOSING[opening[1]].search(text, opening.end() - 1)
    if closing is None or closing.start() - opening.end() > MAX_CHARACTERS:
        return FrontMatter(end=start)
    try:
        values = _load(text[opening.end() : closing.start()], toml=opening[1] == "+++")
    except _FAULTS as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        _logger.warning("front matter of %r is kept as text: %s", source, reason)
        return FrontMatter(end=start)
    if not isinstance(values, dict):
        return FrontMatter(end=start)
    return FrontMatter(values=_few(_scalars(values)), end=closing.end())


def _load(text: str, *, toml: bool) -> object:
    if toml:
        return tomllib.loads(text.replace("\r\n", "\n").replace("\r", "\n"))
    loaded = yaml.load(text, Loader=_Loader)  # noqa: S506 (a subclass of the safe loader)
    return {} if loaded is None else loaded


def _scalars(values: dict[object, object]) -> dict[str, Scalar]:
    """The values that every store can keep: no lists, no mappings, no NaN, no giant numbers."""
    scalars: dict[str, Scalar] = {}
    for key, value in values.items():
        match value:
            case bool():
                scalars[_clean(str(key))] = value
            case str():
                scalars[_clean(str(key))] = _clean(value)
            case int() if abs(value) < 2**63:
                scalars[_clean(str(key))] = value
            case float() if math.isfinite(value):
                scalars[_clean(str(key))] = value
            case datetime.date() | datetime.time():
                scalars[_clean(str(key))] = value.isoformat()
    return scalars


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


def _clean(text: str) -> str:
    """`text` without the lone surrogates that YAML's escapes can make."""
    return text.encode("utf-8", "replace").decode("utf-8")
