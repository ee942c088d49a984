"""Answers as they are stored: whole, read also by another version, and titled."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pipeline.answer import Answer
from pipeline.steps.records import Step
from pipeline.stores.rows import Row
from pipeline.stores.turns import Turn, title_of, turn_of, turn_row
from tests.answers import answer, citing


def any_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type that answers have; records come with every field given."""
    given = typing.get_args(hint)
    match typing.get_origin(hint):
        case types.UnionType:
            return st.one_of(*map(any_of, given))
        case kind if kind is tuple and given[-1] is ...:
            return st.lists(any_of(given[0]), max_size=2).map(tuple)
        case kind if kind in (Mapping, dict):
            return st.dictionaries(any_of(given[0]), any_of(given[1]), max_size=2)
    if dataclasses.is_dataclass(hint) or hasattr(hint, "_fields"):
        fields = [name for name in typing.get_type_hints(hint) if not name.isupper()]
        return st.builds(hint, **{name: any_of(typing.get_type_hints(hint)[name]) for name in fields})
    text = st.text(max_size=20)
    simple = {str: text, object: text, Any: text, float: st.floats(0, 9)}
    return simple[hint] if hint in simple else st.from_type(hint)


@given(any_of(Answer))
def test_an_answer_survives_its_json(given_answer: Answer) -> None:
    turn = Turn("id", given_answer, 1.0, versions=(given_answer,))
    assert turn_of(turn_row(turn, Row(id="id"))) == turn


def test_keys_of_a_later_version_are_ignored() -> None:
    turn = Turn("id", answer(citations=(citing("The fan hums."),), steps=(Step("quote"),)), 1.0)
    row = turn_row(turn, Row(id="id"))
    whole = json.loads(row.body)
    stored = whole["answer"]
    whole["mood"] = stored["mood"] = stored["citations"][0]["mood"] = stored["steps"][0]["mood"] = "good"
    stored["steps"].append({"name": "ponder", "ms": 1.0})
    assert turn_of(replace(row, body=json.dumps(whole))).answer == answer(
        citations=(citing("The fan hums."),), steps=(Step("quote"), Step("ponder", ms=1.0))
    )


def test_titles_are_first_words() -> None:
    assert title_of(" Why\n so? ") == "Why so?"
    assert title_of("word " * 40) == " ".join(["word"] * 11) + " …" or len(title_of("word " * 40)) <= 63
