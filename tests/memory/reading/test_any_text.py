"""Whatever a text holds, nothing fails, and every place is one of the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.reading.commands import asked_of_memory
from memory.reading.entities import entities_in
from memory.reading.guard import reads_as_instruction, secrets_in, without_secrets
from memory.reading.intervals import validity_of
from memory.reading.relations import relations_in
from memory.reading.statements import statements_in

SOME = """I my we name is am live in work at like hate not actually remember that forget what do you know
about me ? . , ; : and but yesterday last Tuesday next Friday until since 2019 999 years ago 31
February summer of to Oslo Anna zsh `zsh` *Halcyon* (CDRA) ``` > - " “ ” ’ part causes W-202
[x](y) <b> | İ ß 4111 1111 1111 1111 password x9 said he no longer any more my dog's tomorrow"""
WORDS = (*SOME.split(), "\n", "\u200b")
TEXTS = st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join))
TIMES = st.sampled_from((0.0, 1706659200.0, 1709164800.0, 1.7e9))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(TEXTS, TIMES)
def test_places_are_of_the_text(text: str, said_at: float) -> None:
    for statement in statements_in(text, said_at=said_at):
        assert text[statement.start : statement.end] == statement.text
        assert statement.object
    for found in (*entities_in(text), *relations_in(text), *secrets_in(text)):
        assert 0 <= found.start < found.end <= len(text)
    asked = asked_of_memory(text)
    assert asked is None or text[asked.start : asked.end] == asked.query
    validity = validity_of(text, said_at=said_at)
    assert validity.invalid_at is None or validity.valid_at <= validity.invalid_at
    assert len(without_secrets(text)) == len(text)
    reads_as_instruction(text)
