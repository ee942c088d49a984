"""What reads foreign text takes time in proportion to it: no pattern tries every place from every place."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from memory.reading.clauses import clauses_of
from memory.reading.commands import about_tools, asked_of_memory
from memory.reading.entities import entities_in
from memory.reading.guard import reads_as_instruction, secrets_in
from memory.reading.intervals import validity_of
from memory.reading.relations import relations_in
from memory.reading.rules import importance_of
from memory.reading.statements import statements_in
from pipeline.redaction import Redactor, without_password

SHORT, LONG = 2_000, 16_000
MOST = 32  # times as long for 8 times the text: in proportion it is 8, by the square 64
SECONDS_THAT_TELL = 0.3  # of what is quicker, the clock says nothing
WORDS = """
a+|a |a-|a@|a@b.c |](|][|![|<!-- |<!--system:|//|://a:|?key|&a=|password|password |password=|password=.
token=|my password is |key to |eyJ-|-----BEGIN |curl -u |mysql -p|login: a/|seed phrase for a |de89 |41
legal |my |I like |the pump of |remember |remember that |ignore all |you must |i g n o r e |since |Dr. |1. |``
"""
PIECES = (*".aA1 \n-_'\"`*/@:=,;!?()[]<>{&#|~$%\u200b", *re.split(r"[|\n]", WORDS.strip()), "\n- ", "\n|a|")
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "secrets": secrets_in,
    "entities": entities_in,
    "relations": relations_in,
    "clauses": lambda text: list(clauses_of(text)),
    "statements": lambda text: statements_in(text, said_at=1.7e9),
    "commands": asked_of_memory,
    "tools": about_tools,
    "instructions": reads_as_instruction,
    "dates": lambda text: validity_of(text, said_at=1.7e9),
    "importance": importance_of,
    "redacted": Redactor(["hunter2-boreal", "abc"]).heard,
    "password in an address": without_password,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_time_grows_with_the_text(name: str) -> None:
    grown = {piece: grows for piece in PIECES if (grows := _growth(FUNCTIONS[name], piece)) > MOST}
    assert grown == {}


def _growth(function: Callable[[str], object], piece: str) -> float:
    """How many times longer the long text takes; 0 where it takes hardly any."""
    for _ in range(2):
        if (long := _seconds(function, piece * (LONG // len(piece)) + "x")) < SECONDS_THAT_TELL:
            return 0
    return long / max(_seconds(function, piece * (SHORT // len(piece)) + "x"), 0.001)


def _seconds(function: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    function(text)
    return time.process_time() - started
