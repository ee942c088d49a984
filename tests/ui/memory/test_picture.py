"""The graph, the ranking, the changes and the stream as data."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from memory.index import UserIndex
from pipeline.stores.memories import Entity, Memory, Mention, Relation, UserMemories
from ui.memory import picture

NOW = 100 * 7 * 86_400.0
NAMES = ("Ada", "Siemens", "Vienna", "Austria", "Fan", "Bus")
RELATIONS = (("Ada", "works at", "Siemens"), ("Ada", "knows", "Siemens"), ("Siemens", "located in", "Vienna"),
             ("Vienna", "located in", "Austria"), ("Fan", "powered by", "Bus"))  # fmt: skip


@dataclass
class Spoken:
    """Mentions to be made, with their times."""

    of: list[tuple[str, float]] = field(default_factory=list)

    def index(self, *memories: Memory) -> UserIndex:
        """All of it, as a user's index."""
        known = UserMemories(
            user="ann",
            version=1,
            memories=memories,
            entities=tuple(Entity(id=name, user="ann", name=name, type="thing") for name in NAMES),
            mentions=tuple(
                Mention(id=f"m{number}", user="ann", entity_id=name, at=at, memory_id="said")
                for number, (name, at) in enumerate(self.of)
            ),
            relations=tuple(
                Relation(id=f"r{n}", user="ann", subject_id=a, label=label, object_id=b, at=float(n))
                for n, (a, label, b) in enumerate(RELATIONS)
            ),
        )
        return UserIndex(known)


def test_all_of_it_and_what_relates_it() -> None:
    view = picture.graph_view(Spoken().index(), "")
    assert {node["id"] for node in view["nodes"]} == set(NAMES)
    assert {(edge["from"], edge["to"], edge["label"]) for edge in view["edges"]} == {
        ("Ada", "Siemens", "works at, knows"), ("Siemens", "Vienna", "located in"),
        ("Vienna", "Austria", "located in"), ("Fan", "Bus", "powered by"),
    }  # fmt: skip


def test_around_one_to_two_steps() -> None:
    view = picture.graph_view(Spoken().index(), "Ada")
    assert {node["id"]: node["distance"] for node in view["nodes"]} == {"Ada": 0, "Siemens": 1, "Vienna": 2}
    assert view["chosen"] == "Ada"
    assert picture.graph_view(Spoken().index(), "gone")["chosen"] == ""


def test_no_more_are_drawn_than_can_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "DRAWN", 2)
    view = picture.graph_view(Spoken([("Fan", 1.0), ("Bus", 2.0), ("Bus", 3.0)]).index(), "")
    assert [node["id"] for node in view["nodes"]] == ["Bus", "Fan"]
    assert "4 more are not drawn" in view["label"]


def test_what_is_said_of_one_is_said_once_the_latest_first() -> None:
    assert picture.sentences(Spoken().index(), "Siemens") == [
        "Siemens located in Vienna", "Ada knows Siemens", "Ada works at Siemens",
    ]  # fmt: skip
