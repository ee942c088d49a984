"""The tools of the caller's memory: remember, recall, list, update, forget."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cachetools import TTLCache
from pydantic import Field

from athena.tools.cutting import cut_lines, fitting
from athena.tools.document_tools import CONTENT, Limit, Paths, _left_out
from athena.tools.tool import Call, Parameters, Refused, Tool
from memory.times import iso
from pipeline.words import counted

if TYPE_CHECKING:
    from memory.forgetting import Forgetting
    from memory.user_memory import UserMemory
    from pipeline.stores.memories import Memory

TOKEN_SECONDS = 600
MOST_TOKENS = 1_000
TOKEN = 'Nothing is forgotten yet. To do it: forget({{"token": "{}"}}), within ten minutes.'  # noqa: S105

_shown: TTLCache[tuple[str, str, str], Forgetting] = TTLCache(MOST_TOKENS, TOKEN_SECONDS)
"""Previews of forgetting, by data folder, user and token."""

MemoryText = Annotated[str, Field(min_length=1, max_length=4_000, description="the fact, as one sentence")]
MemoryId = Annotated[str, Field(min_length=4, description="id of a memory, as recall gives it")]


@dataclass(frozen=True, slots=True)
class Fact:
    """One memory or message."""

    id: str
    text: str
    kind: str
    created_at: str = ""
    ended_at: str = ""
    tags: Sequence[str] = ()
    source: str = ""
    pinned: bool = False
    trusted: bool = True
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Facts:
    """Several of them; `more` says how to get the rest."""

    memories: Sequence[Fact]
    outcome: str = ""
    notice: str = ""
    more: str = ""


def fact_of(memory: Memory, *, score: float = 0.0) -> Fact:
    """Return a memory as clients see it."""
    return Fact(
        id=memory.id,
        text=cut_lines(memory.text, room=5_000).text,
        kind=memory.kind,
        created_at=iso(memory.created_at) or "",
        ended_at=iso(memory.ended_at) or "",
        tags=memory.tags,
        source=next((item.source for item in memory.sources if item.source), ""),
        pinned=memory.pinned,
        trusted=memory.trusted,
        score=round(score, 4),
    )


class Remember(Parameters):
    """The parameters of `remember`."""

    text: MemoryText


def _remember(call: Call, given: Remember) -> Facts:
    memory = call.memory
    kept = memory.add(given.text)
    done = (
        "replaced what it contradicts" if kept.replaced else "remembered" if kept.added else "known already"
    )
    return Facts([fact_of(memory.get(known)) for known in (*kept.added, *kept.known)], outcome=done)


REMEMBER = Tool(
    name="remember",
    title="Remember",
    says="Keep a fact about the user, word for word.",
    takes=Remember,
    gives=Facts,
    run=_remember,
    example={"text": "I live in Turin."},
    right="remember",
    effect="changes",
)


class Recall(Parameters):
    """The parameters of `recall`."""

    query: str = Field(min_length=1, max_length=10_000, description="what to remember: words or a question")
    limit: Limit = 10


def _recall(call: Call, given: Recall) -> Facts:
    if not any(map(str.isalnum, given.query)):
        raise Refused("The query has no word in it.", RECALL.right_call)
    memory = call.memory
    found = [fact_of(item.memory, score=item.score) for item in memory.search(given.query, limit=given.limit)]
    found += [
        Fact(item.turn.id, cut_lines(item.turn.text, room=5_000).text, "turn",
             created_at=iso(item.turn.at) or "", score=round(item.score, 4))
        for item in memory.find_said(given.query, limit=given.limit)
    ]  # fmt: skip
    kept = fitting(found)
    how = "Ask for fewer, or in other words."
    return Facts(kept, notice=CONTENT, more=_left_out(len(found) - len(kept), "memory", how))


RECALL = Tool(
    name="recall",
    title="Recall",
    says="Find what is remembered of the user, and what was said, about something.",
    takes=Recall,
    gives=Facts,
    run=_recall,
    example={"query": "where do I live?", "limit": 5},
)


class ListMemories(Parameters):
    """The parameters of `list_memories`."""

    limit: int = Field(50, ge=1, le=500, description="how many, 1 to 500")
    after: str = Field("", description="id of the last memory of the list before, to go on")


def _list_memories(call: Call, given: ListMemories) -> Facts:
    known = call.memory.list()
    ids = [item.id for item in known]
    if given.after and given.after not in ids:
        raise Refused(f"No memory has the id '{given.after[:80]}'.", "Begin again without 'after'.")
    rest = known[ids.index(given.after) + 1 :] if given.after else known
    kept = fitting(map(fact_of, rest[: given.limit]))
    left = len(rest) - len(kept)
    more = f'{counted(left, "memory")} more: list_memories({{"after": "{kept[-1].id}"}})' if left else ""
    return Facts(kept, notice=CONTENT, more=more)


LIST_MEMORIES = Tool(
    name="list_memories",
    title="List memories",
    says="List what is remembered of the user, pinned first, then the latest.",
    takes=ListMemories,
    gives=Facts,
    run=_list_memories,
    example={"limit": 20},
)


class Change(Parameters):
    """The parameters of `update_memory`."""

    id: MemoryId
    text: MemoryText


def _update(call: Call, given: Change) -> Facts:
    return Facts([fact_of(call.memory.edit(given.id, given.text))], outcome="changed")


UPDATE_MEMORY = Tool(
    name="update_memory",
    title="Correct a memory",
    says="Change the text of a memory; its old text is erased.",
    takes=Change,
    gives=Facts,
    run=_update,
    example={"id": "3f0c9a1e", "text": "I live in Turin."},
    right="remember",
    effect="destroys",
)


class Forget(Parameters):
    """The parameters of `forget`: what to show, or the token of a preview."""

    ids: Paths = Field((), description="ids of memories or messages, as recall gives them")
    search: str = Field("", max_length=10_000, description="or all that this search finds")
    token: str = Field("", description="or the token of a preview, to do it")


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A preview with the token that confirms it; or how much was forgotten."""

    would_forget: Sequence[Fact] = ()
    token: str = ""
    forgotten: int = 0
    outcome: str = ""
    more: str = ""


def _forget(call: Call, given: Forget) -> Forgotten:
    if sum(map(bool, (given.ids, given.search.strip(), given.token))) != 1:
        raise Refused("forget takes one of ids, search and token.", FORGET.right_call)
    call.caller.require("read")  # it shows what would go
    memory = call.memory
    if given.token:
        return _forgotten(call, memory, given.token)
    found = memory.forgetting(given.ids, search=given.search)
    if not found:
        return Forgotten(outcome="Nothing of it is remembered: there is nothing to forget.")
    token = secrets.token_urlsafe(12)
    _shown[_key(call, token)] = found
    facts = [*map(fact_of, found.memories), *(Fact(item.id, item.text, "turn") for item in found.turns)]
    kept = fitting(facts)
    left = len(facts) - len(kept)
    more = f"{counted(left, 'memory')} more would go, too." if left else ""
    return Forgotten(kept, token, outcome=TOKEN.format(token), more=more)


def _forgotten(call: Call, memory: UserMemory, token: str) -> Forgotten:
    found = _shown.pop(_key(call, token), None)
    if found is None:
        raise Refused("That token was used, is too old or was never given.", FORGET.right_call)
    memory.forget(found)
    number = len(found.ids) + len(found.turn_ids)
    return Forgotten(forgotten=number, outcome=f"{counted(number, 'memory')} forgotten.")


def _key(call: Call, token: str) -> tuple[str, str, str]:
    return str(call.athena.settings.data_dir), call.caller.user, token


FORGET = Tool(
    name="forget",
    title="Forget",
    says="Show what would be forgotten; called again with its token, forget it for good.",
    takes=Forget,
    gives=Forgotten,
    run=_forget,
    example={"search": "my old address"},
    right="remember",
    effect="destroys",
    repeatable=False,
)

TOOLS = (REMEMBER, RECALL, LIST_MEMORIES, UPDATE_MEMORY, FORGET)
