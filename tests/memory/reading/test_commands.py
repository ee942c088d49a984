"""What is asked of the memory is told from questions to the documents."""

from __future__ import annotations

import pytest

from memory.reading.commands import about_tools, asked_of_memory
from memory.reading.records import Command
from tests.memory.tables import rows


def test_requests_to_the_memory_are_told_from_questions_to_the_documents() -> None:
    """Each row: the kind of request, or "-"; what it is about; the message."""
    wrong = []
    for kind, query, message in [*rows("reading/commands.tsv"), ["-", "", ""]]:
        for said in (message, f"  {message}\n"):
            asked = asked_of_memory(said)
            found = (asked.kind, asked.query, said[asked.start : asked.end]) if asked else ("-", "", "")
            wrong += [(said, found)] if found != (kind, query, query) else []
    assert wrong == []


def test_messages_about_tools() -> None:
    for message in ("What commands are there?", "list your tools", "which functions can you call?", "help"):
        assert about_tools(message), message
    for message in ("I like tea", "the fan stopped", "what is my name", ""):
        assert not about_tools(message), message


@pytest.mark.parametrize(
    "message",
    [
        "wich bunk is mine",
        "what is my bunk",
        "whats my bunk nr again?",
        "which bunk do i have",
        "do u know my bunk",
    ],
)
def test_a_question_about_a_thing_of_the_users_is_one_to_the_memory_that_knows_of_it(message: str) -> None:
    command = asked_of_memory(message, is_known=lambda thing: thing == "bunk")
    assert command is not None
    assert command.kind is Command.KNOWN
    assert "bunk" in command.query
    assert asked_of_memory(message) is None


@pytest.mark.parametrize(
    "message", ["which bunk is nearest the hatch", "how loud is my fan", "why is my fan loud"]
)
def test_other_questions_about_it_are_asked_of_the_documents(message: str) -> None:
    assert asked_of_memory(message, is_known=lambda _: True) is None
