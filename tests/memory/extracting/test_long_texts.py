"""No text takes long: patterns that try every place from every place would."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from memory.extracting import (
    about_tools,
    asked_of_memory,
    entities_in,
    importance_of,
    reads_as_instruction,
    relations_in,
    secrets_in,
    statements_in,
    validity_of,
)

LENGTH = 20_000
SECONDS = 8  # of a fraction of one: trying every place from every place took 27 and more
PIECES = ("a-", "\n", "`", "a/", "my ", "I like ", "[", "1 ", "\n- ", "password ", "Ab ", "_", "the pump of ")
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "entities": entities_in,
    "relations": relations_in,
    "statements": lambda text: statements_in(text, said_at=1.7e9),
    "commands": asked_of_memory,
    "tools": about_tools,
    "secrets": secrets_in,
    "instructions": reads_as_instruction,
    "dates": lambda text: validity_of(text, said_at=1.7e9),
    "importance": importance_of,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_long_texts_take_no_time(name: str) -> None:
    for piece in PIECES:
        started = time.perf_counter()
        FUNCTIONS[name](piece * (LENGTH // len(piece)))
        assert time.perf_counter() - started < SECONDS, piece
