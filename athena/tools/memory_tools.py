"""The tools of the caller's memory: remember, recall, change, forget."""

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
from memory.times import iso, read_date
from pipeline.steps.records import ids_of
from pipeline.words import counted

if TYPE_CHECKING:
    from memory.deciding.forgetting import Forgetting
    from memory.user_memory import UserMemory
    from pipeline.stores.memories import Memory

TOKEN_SECONDS = 600
MOST_TOKENS = 1_000
TOKEN = 'Nothing is forgotten yet. To do it: forget({{"token": "{}"}}), within ten minutes.'  # noqa: S105

_shown: TTLCache[tuple[str, str, str], Forgetting] = TTLCache(MOST_TOKENS, TOKEN_SECONDS)
"""What was shown before it is forgotten, by data folder, user and token."""

MemoryText = Annotated[str, Field(min_length=1, max_length=4_000, description="the fact, as one sentence")]
MemoryId = Annotated[str, Field(min_length=4, description="id of a memory, as recall gives it")]


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is remembered, or was said."""

    id: str
    text: str
    kind: str
    created_at: str = ""
    tags: Sequence[str] = ()
    source: str = ""
    since: str = ""
    until: str = ""
    pinned: bool = False
    disputed: bool = False
    stale: bool = False
    trusted: bool = True
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Facts:
    """Several of them; `more` says how to get what was left out."""

    memories: Sequence[Fact]
    outcome: str = ""
    notice: str = ""
    more: str = ""


def fact_of(memory: Memory, *, score: float = 0.0) -> Fact:
    """A memory as clients see it."""
    quoted = next((item.source for item in memory.sources if item.source), "")
    return Fact(
        id=memory.id,
        text=cut_lines(memory.text, room=5_000).text,
        kind=memory.kind,
        created_at=iso(memory.created_at) or "",
        tags=memory.tags,
        source=memory.told_by or quoted,
        since=iso(memory.valid_at) or "",
        until=iso(memory.invalid_at) or "",
        pinned=memory.pinned,
        disputed=bool(memory.disputed),
        stale=memory.stale,
        trusted=memory.trusted,
        score=round(score, 4),
    )


# -- remember ---------------------------------------------------------------------------------------


class Remember(Parameters):
    """What `remember` takes."""

    text: MemoryText
    tags: Paths = Field((), description="words to find it by")
    source: str = Field("", max_length=200, description="where you have it from")


def _remember(call: Call, given: Remember) -> Facts:
    from memory.deciding import edits

    memory = call.memory
    step = memory.add(given.text)
    ids = ids_of(step, "added", "known", "touched")
    is_new = bool(ids_of(step, "added"))
    if given.tags or given.source:
        for added in ids_of(step, "added"):
            edits.label(memory, added, tags=given.tags, told_by=given.source)
    done = (
        "replaced what it contradicts"
        if ids_of(step, "replaced")
        else "remembered"
        if is_new
        else "known already"
    )
    if ids_of(step, "disputed"):
        done = "remembered; it contradicts what was known, and both are kept"
    return Facts([fact_of(memory.get(known)) for known in ids], outcome=done)


REMEMBER = Tool(
    name="remember",
    title="Remember",
    says="Keep a fact about the user; it replaces what it corrects.",
    takes=Remember,
    gives=Facts,
    run=_remember,
    example={"text": "I live in Turin.", "tags": ["home"], "source": "our talk"},
    right="remember",
    effect="changes",
)


# -- recall and list --------------------------------------------------------------------------------


class Recall(Parameters):
    """What `recall` takes."""

    query: str = Field(min_length=1, max_length=10_000, description="what to remember: words or a question")
    limit: Limit = 10
    as_of: str = Field("", description="a day or time in ISO 8601: what was true then")


def _recall(call: Call, given: Recall) -> Facts:
    if not any(map(str.isalnum, given.query)):
        raise Refused("The query has no word in it.", RECALL.right_call)
    memory = call.memory
    moment = read_date(given.as_of, name="as_of") if given.as_of else None
    found = [
        fact_of(item.memory, score=item.score)
        for item in memory.search(given.query, limit=given.limit, as_of=moment)
    ]
    said = [] if moment is not None else memory.find_said(given.query, limit=given.limit)
    found += [
        Fact(item.turn.id, cut_lines(item.turn.text, room=5_000).text, "turn",
             created_at=iso(item.turn.at) or "", score=round(item.score, 4))
        for item in said
    ]  # fmt: skip
    return _facts(found, how="Ask for fewer, or in other words.")


def _facts(found: Sequence[Fact], *, how: str) -> Facts:
    kept = fitting(found)
    return Facts(kept, notice=CONTENT, more=_left_out(len(found) - len(kept), "memory", how))


RECALL = Tool(
    name="recall",
    title="Recall",
    says="Find what is remembered of the user, and what was said, about something.",
    takes=Recall,
    gives=Facts,
    run=_recall,
    example={"query": "where do I live?", "limit": 5, "as_of": "2026-03-14"},
)


class ListMemories(Parameters):
    """What `list_memories` takes."""

    limit: int = Field(50, ge=1, le=500, description="how many, 1 to 500")
    after: str = Field("", description="id of the last memory of the list before, to go on")
    as_of: str = Field("", description="a day or time in ISO 8601: what was true then")


def _list_memories(call: Call, given: ListMemories) -> Facts:
    moment = read_date(given.as_of, name="as_of") if given.as_of else None
    known = call.memory.list(as_of=moment)
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


# -- change -----------------------------------------------------------------------------------------


class Change(Parameters):
    """What `update_memory` and `supersede` take."""

    id: MemoryId
    text: MemoryText


def _update(call: Call, given: Change) -> Facts:
    from memory.deciding import edits

    return Facts([fact_of(edits.edit(call.memory, given.id, given.text))], outcome="changed")


def _supersede(call: Call, given: Change) -> Facts:
    from memory.deciding import edits

    new, old = edits.supersede(call.memory, given.id, given.text)
    return Facts([fact_of(new), fact_of(old)], outcome="the first holds now, the second is history")


UPDATE_MEMORY = Tool(
    name="update_memory",
    title="Correct a memory",
    says="Let a memory say something else; its old words are gone.",
    takes=Change,
    gives=Facts,
    run=_update,
    example={"id": "3f0c9a1e", "text": "I live in Turin."},
    right="remember",
    effect="destroys",
)
SUPERSEDE = Tool(
    name="supersede",
    title="Supersede a memory",
    says="Keep what is true from now on; the old memory becomes history.",
    takes=Change,
    gives=Facts,
    run=_supersede,
    example={"id": "3f0c9a1e", "text": "I live in Genoa."},
    right="remember",
    effect="changes",
    repeatable=False,
)


# -- forget -----------------------------------------------------------------------------------------


class Forget(Parameters):
    """What `forget` takes: what to show, or the token of what was shown."""

    ids: Paths = Field((), description="ids of memories or messages, as recall gives them")
    search: str = Field("", max_length=10_000, description="or all that this search finds")
    token: str = Field("", description="or the token of a preview, to do it")


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What would be forgotten, with the token that does it; or how much was."""

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
    said = memory.said(given.ids)
    found = memory.forgetting(
        [known for known in given.ids if known not in said], turns=said, search=given.search
    )
    if not found:
        return Forgotten(outcome="Nothing of it is remembered: there is nothing to forget.")
    token = secrets.token_urlsafe(12)
    _shown[_key(call, token)] = found
    facts = [*map(fact_of, found.memories), *(Fact(item.id, item.text, "turn") for item in found.turns)]
    kept = fitting(facts)
    left = len(facts) + len(found.damaged) - len(kept)
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

TOOLS = (REMEMBER, RECALL, LIST_MEMORIES, UPDATE_MEMORY, SUPERSEDE, FORGET)
