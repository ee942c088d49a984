"""What is said to a message about the memory; memories stand in it as `[memory ID]`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory.turns.index import date_words
from pipeline.answering.recollection import named
from pipeline.steps.records import RememberStep
from pipeline.words import counted

if TYPE_CHECKING:
    from memory.turns.index import Turn
    from memory.user_memory import UserMemory
    from pipeline.stores.memories import Memory

_AGREED = r"y|yes|yep|yeah|yup|ya|sure|ok|okay|do it|go ahead"
_WHAT = r"(?:it|that|them|all|everything)"
YES = re.compile(
    rf"(?:(?:{_AGREED})(?:,? (?:please|pls|plz)(?: do(?: it)?)?)?|yes,? (?:forget|do) {_WHAT}"
    r"|(?:forget|do) (?:it|them)"
    r"|yes,? but (?:keep|leave) the words)[.!]*",
    re.IGNORECASE,
)
_KEEP = r"(?:don['’]?t|keep (?:it|them))"
NO = re.compile(rf"(?:n|no|nope|nah|no,? (?:thanks|{_KEEP})|cancel|{_KEEP})[.!]*", re.IGNORECASE)
NOT_FORGOTTEN = "Nothing was forgotten."
MOST = 20  # memories in a reply
MOST_SAID = 5  # messages in a reply
LONGEST = 200  # characters of each
OFF = "Nothing is remembered: the memory is switched off (ATHENA_MEMORY)."
ONLY_THIS = (
    "Only this conversation is remembered, and nothing after it (ATHENA_MEMORY is short_term). To have "
    "things kept, choose another preset, such as inject."
)
ONLY_NAMES = "Only names of what you spoke of are kept. To forget these: athena memory forget --all --yes"
NOTHING = "Nothing is remembered about you yet. To have something kept, say “remember that …”."
SECRETS = (
    "Secrets are never remembered. Your message still has it: it stands in this conversation until you "
    "delete that."
)
REMEMBER_WHAT = "Remember what? Say it in the same message: “remember that …”."
_ASKED = re.compile(
    r"(?:[\w-]+ ){0,2}?(?:do|did|am|was|have) i\b", re.IGNORECASE
)  # a question, no name of anything
UNTRUSTED = "It reads like an instruction, so it is kept but never acted on."


def kept(step: RememberStep, memory: UserMemory) -> str:
    """The confirmation of what was asked to be remembered."""
    if step.secrets:
        return f"{step.detail} {SECRETS}"
    lines = [f"- {named(known)}" for known in step.added]
    said = [f"Remembered:\n\n{chr(10).join(lines)}"] if lines else []
    if step.replaced:
        said.append("What this contradicts is history now: “athena memory history” lists it.")
    if again := (*step.known, *step.touched):
        said.append("Known already:\n\n" + "\n".join(f"- {named(known)}" for known in again))
    if step.untrusted:
        said.append(UNTRUSTED)
    for known in step.disputed:
        sides = [side.id for side in memory.sides(memory.get(known)) if side.id != known]
        others = "\n".join(f"- {named(side)}" for side in sides)
        said.append(f"This contradicts what I knew; both are kept until you say which is right:\n\n{others}")
    return "\n\n".join(said)


def known(found: Sequence[Memory], *, topic: str) -> str:
    """What is known of the user, or of a topic."""
    if not found and _ASKED.match(topic):
        return "Nothing is remembered about that."
    if not found:
        return f"Nothing is remembered about “{topic}”." if topic else NOTHING
    return "I remember:\n\n" + "\n".join(_line(memory) for memory in found[:MOST])


def said(messages: Sequence[Turn], *, topic: str) -> str:
    """What the user wrote about a topic, with the days."""
    return f"You said about “{topic}”:\n\n" + "\n".join(map(_written, messages))


def _written(message: Turn) -> str:
    words = " ".join(message.text.split())
    words = words if len(words) <= LONGEST else words[:LONGEST].rsplit(" ", 1)[0] + " …"
    return f"- {date_words(message.at)}: “{words}”"


def would_forget(found: Sequence[Memory], *, query: str, by_id: bool) -> str:
    """What a request to forget would take, and how to go on."""
    if not found:
        return f"Nothing is remembered about “{query}”." if query else "There is nothing to forget."
    listed = "\n".join(_line(memory) for memory in found[:MOST])
    more = f"\n- and {counted(len(found) - MOST, 'more memory')}"
    what = f"--search {shlex.quote(query)}" if query else "--all"
    if by_id:
        what = " ".join(memory.id for memory in found)
    return (
        f"This would be forgotten:\n\n{listed}{more if len(found) > MOST else ''}\n\n"
        "Nothing is forgotten yet. Answer “yes”, and the words in the conversations go, too; "
        f"“yes, but keep the words” leaves them. On a command line it is:\n\n"
        f"    athena memory forget {what} --yes"
    )


def forgotten(number: int, *, words: bool) -> str:
    """What was done after a yes."""
    gone = counted(number, "memory")
    where = "its words in the conversations, too" if words else "the words in the conversations stay"
    return f"Forgotten: {gone}; {where}." if number else "There was nothing left to forget."


def _line(memory: Memory) -> str:
    notes = [
        name
        for name, holds in (
            ("disputed", bool(memory.disputed)),
            ("no longer in the document", memory.stale),
            ("reads like an instruction: never acted on", not memory.trusted),
        )
        if holds
    ]
    return f"- {named(memory.id)}" + (f" ({', '.join(notes)})" if notes else "")
