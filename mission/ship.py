"""The ship as it is built: systems, controllers, parts, alarms and constants, read from `ship.toml`.

Nothing here changes during a game; what changes is in `state.py`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from mission.errors import ShipFileError
from mission.parts import Controller, Part, Quantity, Setting
from mission.schema import (
    AlarmRow,
    CodeRow,
    CommandRow,
    InterlockRow,
    MissionRow,
    PhysicsRow,
    RadioKeyRow,
    ShipRow,
    SystemRow,
)

SHIP_FILE = Path(__file__).parent / "ship.toml"


class ShipFile(BaseModel):
    """The whole file, with `like` resolved."""

    ship: ShipRow
    mission: MissionRow
    radio_keys: tuple[RadioKeyRow, ...]
    physics: tuple[PhysicsRow, ...]
    systems: tuple[SystemRow, ...]
    controllers: tuple[Controller, ...]
    parts: tuple[Part, ...]
    alarms: tuple[AlarmRow, ...]
    self_test_codes: tuple[CodeRow, ...]
    console_errors: tuple[CodeRow, ...]
    interlocks: tuple[InterlockRow, ...]
    commands: tuple[CommandRow, ...]


@dataclass(frozen=True, eq=False)
class Ship:
    """The whole ship; what is looked up at every step of time is worked out once (hence no slots)."""

    names: ShipRow
    flight_day: int
    aboard: int
    control: str
    station: str
    systems: Mapping[str, SystemRow]
    controllers: Mapping[str, Controller]
    parts: Mapping[str, Part]
    alarms: tuple[AlarmRow, ...]
    interlocks: tuple[InterlockRow, ...]
    commands: Mapping[str, CommandRow]
    titles: Mapping[str, str]
    physics: Mapping[str, float]
    radio_keys: Mapping[str, str]

    @property
    def ids(self) -> tuple[str, ...]:
        """All ids of parts and controllers, in the order of the file."""
        return (*self.controllers, *self.parts)

    def settings_of(self, ident: str) -> Mapping[str, Setting]:
        """The settings of a part or a controller."""
        return self.parts[ident].settings if ident in self.parts else self.controllers[ident].settings

    def telemetry_of(self, ident: str) -> Mapping[str, Quantity]:
        """The quantities of a part; a controller has none."""
        return self.parts[ident].telemetry if ident in self.parts else {}

    def name_of(self, ident: str) -> str:
        """The name of a part or a controller."""
        return self.parts[ident].name if ident in self.parts else self.controllers[ident].name

    def controller_of(self, ident: str) -> str:
        """The controller whose BUS feeds a part; a controller is its own."""
        return self._controller_of[ident]

    @cached_property
    def _controller_of(self) -> Mapping[str, str]:
        of_parts = {p.id: self.systems[p.system].controller for p in self.parts.values()}
        return {**of_parts, **{controller: controller for controller in self.controllers}}

    @cached_property
    def fed(self) -> Mapping[str, str]:
        """The parts whose power comes from a bus, in the order of the file, each with its controller."""
        return {part.id: self.controller_of(part.id) for part in self.parts.values() if part.fed}

    def slots_with(self, part: str) -> Sequence[tuple[str, str]]:
        """Controller and key of every slot that may hold a part."""
        return self._slots_with.get(part, ())

    @cached_property
    def _slots_with(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        found: dict[str, list[tuple[str, str]]] = {}
        for controller in self.controllers.values():
            for key in controller.slots:
                for part in controller.settings[key].values:
                    found.setdefault(part, []).append((controller.id, key))
        return found

    def beginning_with(self, *prefixes: str) -> Sequence[str]:
        """Ids of the parts that begin with one of the prefixes, in the order of the file."""
        if prefixes not in self._beginning_with:
            self._beginning_with[prefixes] = tuple(p for p in self.parts if p.startswith(prefixes))
        return self._beginning_with[prefixes]

    @cached_property
    def _beginning_with(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        return {}

    def backups_of(self, part: str) -> tuple[str, ...]:
        """The backups of a primary."""
        return tuple(p.id for p in self.parts.values() if p.backup_of == part)

    def depth(self, system: str) -> int:
        """0 for an outer system, 1 for one inside another."""
        parent = self.systems[system].parent
        return 1 + self.depth(parent) if parent else 0

    def inside(self, system: str) -> set[str]:
        """A system and the systems within it."""
        found = {system}
        for row in self.systems.values():
            if row.parent == system:
                found |= self.inside(row.id)
        return found


def load_ship(path: Path = SHIP_FILE) -> Ship:
    """The ship of a file. Raises ShipFileError with the first contradiction."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        raw["parts"] = _resolved(raw["parts"])
        rows = ShipFile.model_validate(raw)
    except (OSError, tomllib.TOMLDecodeError, ValidationError, KeyError) as error:
        raise ShipFileError(
            f"Cannot read the ship '{path.name}': {error}", "Restore or correct the file."
        ) from error
    ship = _built(rows)
    _check(ship, path.name)
    return ship


@cache
def the_ship() -> Ship:
    """The ship that comes with the package, read once."""
    return load_ship()


def _resolved(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parts with everything that `like` gives them."""
    raw = {row["id"]: row for row in rows}

    def whole(row: dict[str, Any]) -> dict[str, Any]:
        return {**whole(raw[row["like"]]), **row} if "like" in row else row

    return [whole(row) for row in rows]


def _built(rows: ShipFile) -> Ship:
    day = rows.mission.flight_day
    phase = next(p for p in rows.mission.phases if p.first_day <= day <= p.last_day)
    call_signs = {station.name: station.call_sign for station in rows.mission.stations}
    return Ship(
        names=rows.ship,
        flight_day=day,
        aboard=rows.mission.aboard,
        control=rows.mission.control,
        station=call_signs[phase.station],
        systems={row.id: row for row in rows.systems},
        controllers={row.id: row for row in rows.controllers},
        parts={row.id: row for row in rows.parts},
        alarms=rows.alarms,
        interlocks=rows.interlocks,
        commands={row.name: row for row in rows.commands},
        titles={row.code: row.title for row in (*rows.self_test_codes, *rows.console_errors)},
        physics={row.key: row.value for row in rows.physics},
        radio_keys={row.part: row.value for row in rows.radio_keys},
    )


def _check(ship: Ship, name: str) -> None:
    """Raise ShipFileError where a row names something that the ship does not have."""
    slots = {f"{c.id}.{key}" for c in ship.controllers.values() for key in c.slots}
    references = {r for p in ship.parts.values() for r in (*p.depends_on, p.backup_of) if r}
    references |= {r for alarm in ship.alarms for r in alarm.of if not r.startswith("*")}
    references |= {r for c in ship.controllers.values() for r in (*c.uses, *c.uses_controllers)}
    references |= {p for c in ship.controllers.values() for key in c.slots for p in c.settings[key].values}
    references |= {row.controller for row in ship.systems.values()}
    unknown = references - slots - set(ship.ids)
    unknown |= {p.system for p in ship.parts.values()} - ship.systems.keys()
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ShipFileError(f"'{name}' names what it does not define: {names}.", "Add a row or correct it.")
