"""The labelled sentences of entities and relations, and what the rules find of them."""

from __future__ import annotations

import json
from functools import reduce
from operator import add
from pathlib import Path

import pytest

from evals.calibration.extraction import (
    RELATIONS,
    Counts,
    LabelledSentence,
    agree,
    entity_counts,
    load_labelled,
    load_statements,
    relation_counts,
    stated,
)
from evals.datasets import held_out
from pipeline.errors import DatasetError

MESSAGES = load_statements("dev")


def rows(half: str) -> list[dict[str, object]]:
    return [
        json.loads(line) for line in (RELATIONS / f"{half}.jsonl").read_text(encoding="utf-8").splitlines()
    ]


@pytest.fixture
def own(tmp_path: Path) -> list[LabelledSentence]:
    """The sentences of both halves that need no test data."""
    path = tmp_path / "own.jsonl"
    kept = [json.dumps(row) for half in ("dev", "test") for row in rows(half) if "text" in row]
    path.write_text("\n".join(kept), encoding="utf-8")
    return load_labelled(path)


def test_the_halves_are_by_hash_and_hold_no_foreign_text() -> None:
    every = rows("dev") + rows("test")
    assert len(every) == 260
    assert all(not held_out(str(row["_id"])) for row in rows("dev"))
    assert all(held_out(str(row["_id"])) for row in rows("test"))
    assert all("text" not in row for row in every if row["corpus"] == "rust-book")


def test_the_rules_are_precise_and_find_half(own: list[LabelledSentence]) -> None:
    for count in (entity_counts, relation_counts):
        total = reduce(add, map(count, own), Counts())
        assert total.precision >= 0.8
        assert total.recall >= 0.5


def test_relations_agree_by_label_and_words() -> None:
    labelled = ("the heater of tank 2", "controls", "TH-4")
    assert agree(("heater", "controls", "TH-4"), labelled)
    assert not agree(("heater", "causes", "TH-4"), labelled)
    assert not agree(("cooler", "controls", "TH-4"), labelled)


def test_a_label_is_found_once() -> None:
    sentence = LabelledSentence(
        "x", "written", "The pump is part of the loop.", frozenset(), (("pump", "part of", "loop"),) * 2
    )
    assert relation_counts(sentence) == Counts(1, 1, 2)
    assert Counts(1, 2, 4).precision == 0.5
    assert Counts(1, 2, 4).recall == 0.25


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"_id": "x"}\n', encoding="utf-8")
    with pytest.raises(DatasetError, match="line 1"):
        load_labelled(path)


def test_messages_are_read_as_labelled_or_not_at_all() -> None:
    read = [(stated(message), expected) for message, expected in MESSAGES]
    assert all(item in expected for found, expected in read for item in found)
    assert sum(found == expected for found, expected in read) >= 0.9 * len(read)


def test_the_halves_have_no_message_in_common() -> None:
    assert not {text for text, _ in MESSAGES}.intersection(text for text, _ in load_statements("test"))
