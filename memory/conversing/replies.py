"""What is said to a message about the memory; memories stand in it as `[memory ID]`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.answering.recollection import named
from pipeline.steps.records import RememberStep
from pipeline.words import counted

if TYPE_CHECKING:
    from memory.deciding.forgetting import Forgetting
    from memory.recalling.turn_index import Turn
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
MOST_SAID = 6  # messages in a reply
OFF = "Nothing is remembered: the memory is switched off in its settings."
ONLY_THIS = (
    "Only this conversation is remembered, and nothing after it. To have things kept, choose another way to "
    "remember in the memory's settings."
)
NAMES = "names of whom and what you spoke of"
NOTHING = "Nothing is remembered about you yet. To have something kept, say “remember that …”."
NO_FACT = "No fact about you is kept. {turns} found again when you ask about it."
ALSO_SAID = "{turns} found again as well, when you ask about it."
NO_QUESTIONS = "You have not asked me anything before."
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
    instead = [old.id for new in step.replaced for old in memory.replaced_by(new)]
    if instead:
        said.append("Instead of:\n\n" + "\n".join(f"- {named(old)}" for old in dict.fromkeys(instead)))
    if again := (*step.known, *step.touched):
        said.append("Known already:\n\n" + "\n".join(f"- {named(known)}" for known in again))
    if step.untrusted:
        said.append(UNTRUSTED)
    for known in step.disputed:
        sides = [side.id for side in memory.sides(memory.get(known)) if side.id != known]
        others = "\n".join(f"- {named(side)}" for side in sides)
        said.append(f"This contradicts what I knew; both are kept until you say which is right:\n\n{others}")
    return "\n\n".join(said)


def known(found: Sequence[Memory], *, turns: int) -> str:
    """All that is known of the user, and how much was said beside it."""
    said = f"{counted(turns, 'message')} of yours {'is' if turns == 1 else 'are'}"
    if not found:
        return NO_FACT.format(turns=said) if turns else NOTHING
    lines = "\n".join(_line(memory) for memory in found[:MOST])
    return "\n\n".join(["I remember:", lines, *([ALSO_SAID.format(turns=said)] if turns else [])])


def not_known(topic: str) -> str:
    """That nothing of it was said."""
    if not topic or _ASKED.match(topic):
        return "Nothing is remembered about that."
    return f"Nothing is remembered about “{topic}”."


def quoted(opening: str, messages: Sequence[Turn]) -> str:
    """What the user wrote, line by line."""
    return f"{opening}\n\n" + "\n".join(map(_written, messages))


def _written(turn: Turn) -> str:
    return f"- {named(turn.id)}"


def would_forget(found: Forgetting, *, query: str, names: bool = False) -> str:
    """What a request to forget would take, and how to go on; `names` that nothing else remembers."""
    if not (found or names):
        return f"Nothing is remembered about “{query}”." if query else "There is nothing to forget."
    lines = [_line(memory) for memory in found.memories[:MOST]]
    more = len(found.memories) - MOST
    lines += [f"- and {counted(more, 'more memory')}"] if more > 0 else []
    said = [turn for turn in found.turns if turn.role == "user"]
    lines += [_written(turn) for turn in said[:MOST]]
    lines += [f"- and {counted(len(said) - MOST, 'more message')}"] if len(said) > MOST else []
    lines += [f"- {NAMES}"] if names and not found.memories else []
    listed = "\n".join(lines)
    turns = " Messages are deleted with their answers." if found.turns else ""
    return (
        f"This would be forgotten:\n\n{listed}\n\n"
        f"Nothing is forgotten yet. Answer “yes”, and the words in the conversations go, too.{turns} "
        "“Yes, but keep the words” leaves them to read, and they are not found again."
    )


def forgotten(memories: int, turns: int, *, words: bool) -> str:
    """What was done after a yes."""
    counts = [(memories, "memory"), (turns, "message")]
    gone = " and ".join(counted(number, name) for number, name in counts if number)
    where = "the words in the conversations, too" if words else "the words in the conversations stay"
    return f"Forgotten: {gone}; {where}." if gone else "There was nothing left to forget."


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
