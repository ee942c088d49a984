"""Requests to the memory, and the replies. Only a message of an exact form in one table is a request.

A reply names memories as `[memory ID]`, so that a forgotten one also disappears from stored replies.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from memory.guard import reads_as_instruction
from memory.keeping import Kept, Said, keep_asked
from pipeline.answering.recollection import named
from pipeline.words import counted

if TYPE_CHECKING:
    from memory.user_memory import UserMemory

Kind = Literal["remember", "recall", "forget", "known"]

LONGEST = 1_000  # characters: a longer message is a text, not a request

_POLITE = r"(?:(?:please|pls|plz|hey|ok|okay|athena)\b[, ]*)*(?:(?:can|could|would|will) you (?:please )?)?"
_END = r"(?:,? (?:please|athena))?"
_ALL = (
    r"(?:everything|all)(?: (?:that )?you (?:know|remember)| i(?:['’]ve)? (?:said|told you))?(?: about me)?"
)

FORMS: tuple[tuple[Kind, str], ...] = (
    ("known", r"what (?:do|can) you (?:know|remember)(?: about (?:me|us)| (?:of|from) me)?"),
    ("known", r"(?:show|list)(?: me)? (?:my|your|all)(?: my| your)? memories"),
    ("known", r"what have you (?:remembered|kept|noted)(?: about me)?"),
    ("recall", r"what do you remember about (?P<query>.+?)"),
    ("recall", r"what (?:did|have) i (?:say|said|tell you|told you) about (?P<query>.+?)"),
    ("forget", rf"forget (?:{_ALL}|me|(?:my|your) memor(?:y|ies))"),
    ("forget", r"forget (?:that|about|what i said about|everything about) (?P<query>.+?)"),
    ("forget", r"forget:? (?P<query>(?!to\b).+?)"),
    ("remember", r"(?:remember|note|keep in mind|don['’]?t forget)(?: that\b|:)(?P<query> .+?)"),
    ("remember", r"remember (?P<query>(?!(?:to|how|when|where|why|what|whether|if|me|my lines)\b).+?)"),
)
"""Kinds of requests, each with a pattern for a whole message; `query` is the topic or text in it."""

_FORMS = tuple(
    (kind, re.compile(f"{_POLITE}{form}{_END}", re.IGNORECASE | re.DOTALL)) for kind, form in FORMS
)
_NO_TEXT = re.compile(r"(?:that|this|it)?\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """One request; `query` is the text to remember, or the topic to find or forget, "" for everything."""

    kind: Kind
    query: str = ""


def request_in(message: str) -> MemoryRequest | None:
    """Return a message as a request; None if it is not one, or longer than `LONGEST`."""
    if len(message) > LONGEST:
        return None
    asked = message.strip().rstrip(" .!?\t\r\n")
    for kind, form in _FORMS:
        if match := form.fullmatch(asked):
            return _request(kind, match.groupdict().get("query"), message)
    return None


def _request(kind: Kind, query: str | None, message: str) -> MemoryRequest | None:
    if query is None:
        return MemoryRequest(kind)
    query = query.strip()
    query = "" if _NO_TEXT.fullmatch(query) else query
    if kind == "forget" and (not query or reads_as_instruction(message)):
        return None  # "forget it" means: never mind
    return None if kind != "recall" and message.rstrip().endswith("?") else MemoryRequest(kind, query)


def is_tool_request(message: str) -> bool:
    """Tell whether a message calls a tool directly ("/restart pump"): some presets then recall nothing."""
    return re.match(r"\s*/[a-z]\w*(?:\s|$)", message) is not None


# -- replies --------------------------------------------------------------------------------

MOST = 20  # memories or messages in a reply
NOTHING = "Nothing is remembered about you yet. To have something kept, say “remember that …”."
ALSO_SAID = "{turns} also found again when you ask about them."
SECRETS = "Secrets are never remembered. Your message still has it until you delete this conversation."
REMEMBER_WHAT = "Remember what? Say it in the same message: “remember that …”."
CONFIRM = (
    "Nothing is forgotten yet. To do it, choose *Forget* on the Memory page, or run "
    "`athena memory forget {how} --yes`."
)

Reply = tuple[str, tuple[str, ...], Kept]
"""A text, the ids of the memories and turns in it, and the outcome of the write."""


def reply_to(memory: UserMemory, request: MemoryRequest, said: Said) -> Reply:
    """Carry out a request, and return the reply; a request to forget only lists, and deletes nothing."""
    match request.kind:
        case "remember":
            return _remember(memory, request, said)
        case "known":
            text, ids = _all_known(memory, said.turn_id)
        case "recall":
            text, ids = _recall(memory, request.query, said)
        case "forget":
            text, ids = _would_forget(memory, request.query, said.turn_id)
    return text, ids, Kept(status="skipped", detail="a question to the memory: nothing new to keep")


def _remember(memory: UserMemory, request: MemoryRequest, said: Said) -> Reply:
    if not request.query:
        return REMEMBER_WHAT, (), Kept(status="skipped", detail="there is no text to remember")
    kept = keep_asked(memory, request.query, said)
    if kept.secrets:
        return f"{kept.detail} {SECRETS}", (), kept
    text = [f"Remembered:\n\n{_lines(kept.added)}"] if kept.added else []
    if instead := [old.id for new in kept.replaced for old in memory.replaced_by(new)]:
        text.append(f"Instead of:\n\n{_lines(dict.fromkeys(instead))}")
    if kept.known:
        text.append(f"I know this already:\n\n{_lines(kept.known)}")
    if reads_as_instruction(request.query):
        text.append("It reads like an instruction, so it is kept but never acted on.")
    return "\n\n".join(text), kept.ids, kept


def _all_known(memory: UserMemory, turn_id: str) -> tuple[str, tuple[str, ...]]:
    """Return a text with `MOST` memories and the number of the user's messages, and the memories' ids."""
    found = sorted(memory.list(), key=lambda item: item.kind == "qa")[:MOST]  # questions last
    turns = len(memory.turns.own(without=[turn_id]))
    if not (found or turns):
        return NOTHING, ()
    said = f"{counted(turns, 'message')} of yours {'is' if turns == 1 else 'are'}"
    parts = ["I remember:", _lines(item.id for item in found)] if found else ["No fact about you is kept."]
    parts += [ALSO_SAID.format(turns=said)] if turns else []
    return "\n\n".join(parts), tuple(item.id for item in found)


def _recall(memory: UserMemory, query: str, said: Said) -> tuple[str, tuple[str, ...]]:
    """Return the memory's answer, else the user's messages about the topic; each with the ids in it."""
    told = memory.told(said.message, without=[said.turn_id])
    if told.told:
        return told.told, told.told_ids
    if turns := tuple(turn.id for turn in memory.turns.own(query, without=[said.turn_id])[:MOST]):
        return f"You said about “{query}”:\n\n{_lines(turns)}", turns
    return f"Nothing is remembered about “{query}”.", ()


def _would_forget(memory: UserMemory, query: str, turn_id: str) -> tuple[str, tuple[str, ...]]:
    """Return a text with what would be forgotten and how to confirm it, and the ids in it."""
    found = memory.forgetting(search=query, everything=not query, without=[turn_id])
    if not found:
        return f"Nothing is remembered about “{query}”." if query else "There is nothing to forget.", ()
    told = memory.turns.of([turn.id for turn in found.turns if turn.role == "user"])
    ids = (*found.ids, *told)[:MOST]
    more = len(found.ids) + len(found.turn_ids) - len(ids)
    listing = _lines(ids) + (f"\n- and {counted(more, 'message')} more" if more else "")
    confirm = CONFIRM.format(how=f'--search "{query.replace(chr(34), chr(39))}"' if query else "--all")
    return f"This would be forgotten:\n\n{listing.strip()}\n\n{confirm}", ids


def _lines(ids: Iterable[str]) -> str:
    return "\n".join(f"- {named(known)}" for known in ids)
