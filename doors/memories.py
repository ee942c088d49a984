"""Routes for conversations and memories; a caller reaches only those of the key's user."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from athena.shapes import AnswerOut, Shape
from doors.access import Reads, Remembers
from doors.answering import own_conversation
from doors.documents import RequestBody, Text
from doors.errors import ERRORS
from memory import upkeep
from memory.shapes import MemoryOut
from pipeline.stores.conversations import ConversationInfo
from pipeline.stores.memories import Memory

Id = Annotated[str, Path(min_length=1, max_length=100)]
Limit = Annotated[int, Query(ge=1, le=1_000, description="the most items to return")]

router = APIRouter(prefix="/api", tags=["Conversations and memory"], responses=ERRORS)


class ConversationOut(Shape):
    """A conversation without its turns."""

    id: str
    title: str
    created_at: datetime
    updated_at: datetime
    scope: tuple[str, ...]


class TurnOut(Shape):
    """One question with its answer and the reader's rating (1, -1 or null)."""

    id: str
    question: str
    created_at: datetime
    feedback: int | None
    answer: AnswerOut


class WholeConversation(Shape):
    """A conversation with its turns, in order."""

    info: ConversationOut
    turns: list[TurnOut]


class Deleted(Shape):
    """The ids that were deleted."""

    deleted: list[str]


class MemoryText(RequestBody):
    """The text of a memory, or a text to rate."""

    text: Text = Field(examples=["I sleep in bunk B-2."])


class PlanRequest(RequestBody):
    """The request for a plan."""

    prompt: str = Field(upkeep.PLAN_TODAY, min_length=1, max_length=2_000, examples=[upkeep.PLAN_TODAY])


class RatingOut(Shape):
    """How important a text is about the user, from 1 (passing) to 10 (vital), and why."""

    rating: int
    explanation: str


@router.get("/conversations", response_model=list[ConversationOut])
def conversations(context: Reads, limit: Limit = 50) -> list[ConversationInfo]:
    """List the caller's conversations, the last used first."""
    return context.athena.conversations.list(user=context.caller.user, limit=limit)


@router.get("/conversations/{conversation_id}")
def conversation(conversation_id: Id, context: Reads) -> WholeConversation:
    """Return one conversation with its turns."""
    found, user = own_conversation(context, conversation_id), context.caller.user
    answers = [AnswerOut.of(*context.athena.with_memories(turn.answer, user=user)) for turn in found.turns]
    turns = [
        TurnOut.model_validate(turn).model_copy(update={"answer": answer})
        for turn, answer in zip(found.turns, answers, strict=True)
    ]
    return WholeConversation(info=ConversationOut.model_validate(found.info), turns=turns)


@router.delete("/conversations/{conversation_id}")
def delete_conversation(conversation_id: Id, context: Remembers) -> Deleted:
    """Delete a conversation with its turns; memories that were made of them stay."""
    own_conversation(context, conversation_id)
    context.athena.conversations.delete(conversation_id)
    return Deleted(deleted=[conversation_id])


@router.get("/memory")
def memories(
    context: Reads, query: Annotated[str, Query(max_length=5_000)] = "", limit: Limit = 100
) -> list[MemoryOut]:
    """List the caller's memories (pinned, then latest), or those that match `query`, best first."""
    if not query:
        return [*map(MemoryOut.model_validate, context.memory.list()[:limit])]
    return [*map(MemoryOut.found, context.memory.search(query, limit=limit))]


@router.post("/memory", status_code=201, response_model=list[MemoryOut])
def add(body: MemoryText, context: Remembers) -> list[Memory]:
    """Remember a text; return the memories that it added, or that were known before."""
    return [context.memory.get(known) for known in context.memory.add(body.text).ids]


@router.post("/memory/rate")
def rate(body: MemoryText, context: Reads) -> RatingOut:
    """Rate how important a text is; without a language model the rating is 5."""
    rating, explanation = upkeep.rate(body.text, complete=context.memory.find_model())
    return RatingOut(rating=rating, explanation=explanation)


@router.post("/memory/plan", response_model=list[MemoryOut])
def plan(body: PlanRequest, context: Remembers) -> Sequence[Memory]:
    """Make a plan from the memories, which replaces the last plan; needs a language model."""
    return upkeep.plan(context.memory, body.prompt)


@router.put("/memory/{memory_id}", response_model=MemoryOut)
def edit(memory_id: Id, body: MemoryText, context: Remembers) -> Memory:
    """Change a memory's text; its id stays, and the old text is erased."""
    return context.memory.edit(memory_id, body.text)


@router.delete("/memory/{memory_id}")
def forget(memory_id: Id, context: Remembers) -> Deleted:
    """Forget a memory, and delete the turns in which the user said it."""
    forgotten = context.memory.forgetting([memory_id])
    context.memory.forget(forgotten)
    return Deleted(deleted=[*forgotten.ids, *forgotten.turn_ids])
