"""Versions of a turn: its question asked again, or another one in its place.

Each turn of a conversation follows another, and several may follow the same one. One way through them is what
was said, which everybody reads; the turns beside it are *aside*, until one of them is chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable


class Tree:
    """Which turn of a conversation follows which, and which are aside."""

    def __init__(self, turns: Iterable[tuple[str, str | None, object]]) -> None:
        """Of id, which one it follows and whether it is aside, in the order in which they were begun.

        "" is followed by the first turn; None is a turn of older versions, which follows the one before.
        """
        self.after: dict[str, str] = {}
        self.aside: set[str] = set()
        self.last = ""  # that is not aside
        before = ""
        for id_, after, aside in turns:
            self.after[id_] = before if after is None else after
            before = id_
            if aside:
                self.aside.add(id_)
            else:
                self.last = id_

    def way_to(self, turn_id: str) -> list[str]:
        """A turn and all that it follows; none where it is not there."""
        way: list[str] = []
        while turn_id in self.after and turn_id not in way:
            way.append(turn_id)
            turn_id = self.after[turn_id]
        return way

    def way_through(self, turn_id: str) -> list[str]:
        """That, and what follows the turn: of several versions the latest."""
        way, end = self.way_to(turn_id), turn_id
        while following := [id_ for id_, after in self.after.items() if after == end and id_ not in way]:
            end = following[-1]
            way.append(end)
        return way

    def with_versions(self, turns: Collection[str]) -> set[str]:
        """The turns, their other versions, and what follows these aside."""
        places = {self.after[id_] for id_ in turns if id_ in self.after}
        others = {id_ for id_, after in self.after.items() if after in places} - {*turns}
        more = True
        while more:
            found = {id_ for id_ in self.aside if self.after[id_] in others} - others - {*turns}
            others |= found
            more = bool(found)
        return others | {id_ for id_ in turns if id_ in self.after}

    def without(self, gone: Collection[str]) -> dict[str, str]:
        """What the turns follow, by id, that would follow one that is gone."""
        moved = {}
        for id_, after in self.after.items():
            if id_ not in gone and after in gone:
                moved[id_] = next((known for known in self.way_to(after) if known not in gone), "")
        return moved
