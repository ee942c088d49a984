from __future__ import annotations

from dataclasses import fields

import pytest

from evals.calibration.turn_weights import Asker, CachedEncoder, as_one, chosen, left_out, variants
from evals.conversations import Asked, Conversation
from memory.turn_index import Turn
from memory.turn_search import WEIGHTS, Weights
from tests.fakes import FakeEncoder


def conversation(name: str, *, speakers: tuple[str, str]) -> Conversation:
    turns = tuple(
        Turn(id=f"D1:{number}", session="1", speaker=speakers[number % 2], text=f"{name}{number} and more")
        for number in range(12)
    )
    asked = (Asked(f"What did {speakers[1]} say of {name}3?", ("D1:3",), "4"),)
    return Conversation(name, turns, asked, left_out=1)


@pytest.fixture
def both() -> list[Conversation]:
    return [conversation("tea", speakers=("Ana", "Ben")), conversation("fan", speakers=("Cleo", "Dan"))]


@pytest.fixture
def asker() -> Asker:
    return Asker(CachedEncoder(FakeEncoder(dimensions=256)))  # type: ignore[arg-type]


def test_each_weight_is_left_out_once() -> None:
    found = variants()
    assert found["as shipped"] == WEIGHTS
    for item in fields(Weights):
        if item.name != "dense":
            assert getattr(found[f"without {item.name}"], item.name) == 0
    assert found["single turns, half and half"].dense == 0.5


def test_all_as_one_users_between_the_same_two(both: list[Conversation], asker: Asker) -> None:
    (one,) = as_one(both)
    assert len({turn.id for turn in one.turns}) == 24
    assert {turn.speaker for turn in one.turns} == {"Nadia", "Oskar"}
    assert [item.question for item in one.asked] == [
        "What did Oskar say of tea3?",
        "What did Oskar say of fan3?",
    ]
    assert one.left_out == 2
    assert asker.report([one], WEIGHTS).metrics["R@5"] == 1


def test_weights_are_chosen_on_the_others(both: list[Conversation], asker: Asker) -> None:
    assert isinstance(chosen(both[:1], asker), Weights)
    assert left_out(both, asker) == {"R@5": 1.0, "hit@10": 1.0, "MRR": 1.0}


def test_every_text_is_embedded_once() -> None:
    encoder = FakeEncoder()
    remembering = CachedEncoder(encoder)  # type: ignore[arg-type]
    assert remembering.encode_passages(["a", "b", "a"]).shape == (3, encoder.dimensions)
    remembering.encode_passages(["b", "c"])
    assert encoder.texts == ["a", "b", "c"]
