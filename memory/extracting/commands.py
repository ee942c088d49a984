"""What a message asks of the memory, or of the assistant's tools: told by rules."""

from __future__ import annotations

from memory.extracting.records import MemoryCommand


def asked_of_memory(message: str) -> MemoryCommand | None:
    """The request to the memory that a message is; None for all others, questions to the documents too."""
    del message
    return None


def about_tools(message: str) -> bool:
    """True for a message about commands, tools or functions: no memories are slipped in before it."""
    del message
    return False
