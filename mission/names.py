"""Parts by their plain names: `fan one` is ECS-FAN-1, the cabin fan 1."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mission.commands import Refused
from mission.ship import Ship

MOST_WORDS = 6  # of a name
SHOWN = 4  # of the parts that a name may mean
SAID = {"one": "1", "two": "2", "three": "3", "first": "1", "second": "2", "o2": "oxygen", "n2": "nitrogen"}
"""Other words for those of the names."""
ALSO = {"lox": {"oxygen"}, "ln2": {"nitrogen"}, "co2": {"carbon", "dioxide"}}
"""What else a word of a name says."""


def named(ship: Ship, words: Sequence[str], *, among: Sequence[str] | None = None) -> tuple[str, int] | None:
    """The id, `among` these, that the first words name, and how many they are; the most that name one part.

    None where they name nothing. Raises Refused with E-02 where they name several parts.
    """
    for count in range(min(len(words), MOST_WORDS), 0, -1):
        wanted = _tokens(" ".join(words[:count]))
        found = [ident for ident in among or ship.ids if wanted and wanted <= _meant(ship.name_of(ident))]
        exact = [ident for ident in found if wanted == _tokens(ship.name_of(ident))]
        if len(exact or found) == 1:
            return (exact or found)[0], count
        if found:
            which = ", ".join(found[:SHOWN]) + (" …" if len(found) > SHOWN else "")
            raise Refused("E-02", f"'{' '.join(words[:count])}' may be {which}. Say which")
    return None


def _meant(name: str) -> frozenset[str]:
    """The tokens of a name, with what else they say."""
    tokens = _tokens(name)
    return tokens.union(*(ALSO.get(token, ()) for token in tokens))


def _tokens(text: str) -> frozenset[str]:
    return frozenset(SAID.get(token, token) for token in re.findall(r"[a-z0-9]+", text.lower()))
