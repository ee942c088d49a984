"""What is asked of the memory is told from questions to the documents."""

from __future__ import annotations

from memory.reading.commands import about_tools, asked_of_memory
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
