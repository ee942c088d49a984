"""What a message asks of the memory, or of the assistant's tools: told by rules.

A command begins its message ("forget that …"), a question is all of it ("what do you know about me?"):
"how do I forget a pairing?" is asked of the documents.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from memory.reading import as_typed, filled, rules_of
from memory.reading.clauses import Clause, asked_after, speech, without_leads
from memory.reading.guard import reads_as_instruction
from memory.reading.records import Command, MemoryCommand

LONGEST = 1_000  # characters: longer messages bring a text, and command nothing


def asked_of_memory(message: str) -> MemoryCommand | None:
    """The request to the memory that a message is; None for all others, questions to the documents too."""
    text = message.strip()
    command = _asked(text) if len(text) <= LONGEST else None
    if command is None or not command.query:
        return command
    offset = message.find(text)
    return replace(command, start=offset + command.start, end=offset + command.end)


def _asked(text: str) -> MemoryCommand | None:
    """The request that a text is, with its places there."""
    for row in rules_of("commands")["command"]:
        if match := _pattern(row["pattern"]).fullmatch(text):
            kind, about = Command(row["kind"]), match.lastgroup
            return MemoryCommand(kind, match[about], *match.span(about)) if about else MemoryCommand(kind)
    return _to_forget(text) or _to_remember(text)


def _to_forget(text: str) -> MemoryCommand | None:
    match = _of("forget").fullmatch(text)
    if not match or reads_as_instruction(text):
        return None
    said = match["query"].lower()
    asks = _of("asks").search(text) and not _of("begs").match(text)
    if asks or said.startswith("to ") or _of("no_memory").fullmatch(said):
        return None
    if _of("last").fullmatch(said):
        return MemoryCommand(Command.FORGET)
    lead = _of("only_for").match(said)
    start = match.start("query") + (lead.end() if lead else 0)
    query = text[start : match.end("query")].rstrip(" ?")
    return MemoryCommand(Command.FORGET, query, start, start + len(query))


def _to_remember(text: str) -> MemoryCommand | None:
    """What "remember that …" or "…, remember that" asks for, without what leads in to it."""
    end = asked_after(text)
    if _of("asks").search(text) and not speech()["requested"].match(text):
        return None
    lead = speech()["lead_in"].match(text)
    begin = lead.end() if lead else 0
    said = without_leads(Clause(text[begin:end], begin, len(text), asked_for=end is not None))
    query = speech()["please"].sub("", said.text).rstrip(" .!?")
    if not said.asked_for or not query:
        return None
    return MemoryCommand(Command.REMEMBER, query, said.start, said.start + len(query))


def _of(name: str) -> re.Pattern[str]:
    return _pattern(rules_of("commands")["asks"][name])


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """A pattern, compiled when the first message needs it."""
    return re.compile(as_typed(filled(text, rules_of("commands")["words"])), re.IGNORECASE)


def about_tools(message: str) -> bool:
    """True for a message about commands, tools or functions: no memories are slipped in before it."""
    return len(message) <= LONGEST and _of("about_tools").search(message) is not None
