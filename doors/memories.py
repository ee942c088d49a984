"""Routes of conversations and memories: of the key's own user; those of others are not found."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BeforeValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt

from athena.shapes import AnswerOut
from doors.asking import own_conversation
from doors.given import ERRORS, Given, Here, here
from doors.refusals import Refusal
from memory import upkeep
from memory.shapes import found_shape, memory_shape, said_shape, turn_shape
from memory.times import iso
from pipeline.errors import UnknownConversation
from pipeline.stores.conversations import Conversation, ConversationInfo, Turn, unknown_turn

if TYPE_CHECKING:
    from memory.user_memory import UserMemory

Shape = dict[str, Any]
LONGEST_WORD = 200
PREVIEWS = secrets.token_bytes(32)
"""The key that signs previews of forgetting; a token of another process is not valid."""

talk = APIRouter(prefix="/api", tags=["Conversations"], responses=ERRORS)
router = APIRouter(prefix="/api", tags=["Memory"], responses=ERRORS)

Caller = Annotated[Here, Depends(here)]
Id = Annotated[str, Path(min_length=1, max_length=100)]
Limit = Annotated[int, Query(ge=1, le=1_000, description="most of them")]


# -- conversations ------------------------------------------------------------------------------------


class NewConversation(Given):
    """A new conversation; without a title, its first question becomes its title."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Cabin fan"}]})

    title: str = Field("", max_length=LONGEST_WORD)


class ConversationChange(Given):
    """The changes of a conversation; omitted fields stay."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Cabin fan", "pinned": True}]})

    title: Annotated[str, Field(min_length=1, max_length=LONGEST_WORD)] | None = None
    pinned: StrictBool | None = None


@talk.get("/conversations", summary="The user's conversations, latest first")
def conversations(
    asks: Caller, limit: Limit = 50, words: Annotated[str, Query(max_length=LONGEST_WORD)] = ""
) -> Shape:
    """Return the conversations that have all the words."""
    asks.caller.require("read")
    found = asks.athena.conversations.list(user=asks.caller.user, limit=limit, words=words)
    return {"conversations": [info_shape(info) for info in found]}


@talk.post("/conversations", summary="Begin a conversation", status_code=201)
def begin(given: NewConversation, asks: Caller) -> Shape:
    """Create a conversation; ask in it by `conversation_id`, in OpenAI's protocol in `metadata`."""
    asks.caller.require("remember")
    made = asks.athena.conversations.create(
        given.title, user=asks.caller.user, assistant=asks.athena.persona.name
    )
    return info_shape(made.info)


@talk.get("/conversations/{conversation_id}", summary="One with its turns")
def conversation(conversation_id: Id, asks: Caller) -> Shape:
    """Return all questions and answers, in order."""
    asks.caller.require("read")
    own_conversation(asks.athena, asks.caller, conversation_id)
    return conversation_shape(asks, asks.athena.conversations.get(conversation_id))


@talk.patch("/conversations/{conversation_id}", summary="Rename or pin one")
def change(conversation_id: Id, given: ConversationChange, asks: Caller) -> Shape:
    """Return the changed conversation."""
    asks.caller.require("remember")
    own_conversation(asks.athena, asks.caller, conversation_id)
    if given.title is not None:
        asks.athena.conversations.rename(conversation_id, given.title)
    if given.pinned is not None:
        asks.athena.conversations.pin(conversation_id, pinned=given.pinned)
    return info_shape(own_conversation(asks.athena, asks.caller, conversation_id))


@talk.delete("/conversations/{conversation_id}", summary="Delete one")
def delete(conversation_id: Id, asks: Caller) -> Shape:
    """Delete a conversation with its turns; memories made of them stay."""
    asks.caller.require("remember")
    own_conversation(asks.athena, asks.caller, conversation_id)
    asks.athena.conversations.delete(conversation_id)
    return {"deleted": conversation_id}


def _no_bool(value: object) -> object:
    """The value; raises `ValueError` for `true`, which is equal to 1 in Python."""
    if isinstance(value, bool):
        raise ValueError("Input should be 1, -1 or null")
    return value


class Feedback(Given):
    """A rating of an answer: 1, -1, or null to take it back."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"turn_id": "5f0c6f1e-5a53-4d3c-9d1c-0a1b2c3d4e5f", "value": 1, "text": "Right."}]
        }
    )

    turn_id: str = Field(min_length=1, max_length=100)
    value: Annotated[Literal[1, -1] | None, BeforeValidator(_no_bool)]
    text: str = Field("", max_length=10_000)


@talk.post("/feedback", summary="Say whether an answer was good")
def feedback(given: Feedback, asks: Caller) -> Shape:
    """Store the rating with the answer."""
    asks.caller.require("remember")
    try:
        own_conversation(asks.athena, asks.caller, asks.athena.conversations.conversation_of(given.turn_id))
    except UnknownConversation as error:
        raise unknown_turn(given.turn_id) from error
    asks.athena.rate(given.turn_id, given.value, given.text)
    return {"turn_id": given.turn_id, "value": given.value, "text": given.text}


# -- memories -----------------------------------------------------------------------------------------


class MemoryText(Given):
    """The text of a memory."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "I sleep in bunk B-2."}]})

    text: str = Field(min_length=1, max_length=100_000)


class Forget(Given):
    """What to forget: ids, a search, an age, or everything; with a token, it is done."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"search": "bunk"}]})

    ids: tuple[str, ...] = Field((), max_length=1_000)
    search: str = Field("", max_length=10_000)
    older_than_days: StrictFloat | StrictInt | None = Field(None, ge=0, le=100_000)
    everything: StrictBool = False
    token: str = Field("", max_length=100, description="what the preview gave; without it, nothing goes")


class Texts(Given):
    """The texts to embed."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": ["The cabin fan hums."]}]})

    texts: Annotated[list[Annotated[str, Field(max_length=100_000)]], Field(min_length=1, max_length=100)]


@router.get("/memories", summary="What is remembered of the user, or what a query finds of it")
def memories(
    asks: Caller,
    query: Annotated[str, Query(max_length=10_000)] = "",
    limit: Limit = 100,
    history: Annotated[bool, Query(description="also memories that have ended")] = False,
) -> Shape:
    """As `athena memory list --json` and `search --json` print them; a query also finds messages."""
    asks.caller.require("read")
    memory = memory_of(asks)
    if not query:
        kept = memory.list(history=history)
        return {"memories": [memory_shape(item) for item in kept[:limit]], "total": len(kept)}
    found = memory.search(query, limit=limit, history=history)
    said = memory.find_said(query, limit=limit)
    return {"memories": [found_shape(item) for item in found], "said": [turn_shape(item) for item in said]}


@router.post("/memories", summary="Remember something", status_code=201)
def add(given: MemoryText, asks: Caller) -> Shape:
    """The memories that were added or known, and the ids of those that replaced others."""
    asks.caller.require("remember")
    memory = memory_of(asks)
    step = memory.add(given.text)
    kept = [memory.get(item) for item in (*step.added, *step.known)]
    return {
        "memories": [memory_shape(item) for item in kept],
        "added": list(step.added),
        "known": list(step.known),
        "replaced": list(step.replaced),
    }


@router.get("/memories/{memory_id}", summary="One memory")
def one(memory_id: Id, asks: Caller) -> Shape:
    """Return one memory of the user by its id."""
    asks.caller.require("read")
    return memory_shape(memory_of(asks).get(memory_id))


@router.put("/memories/{memory_id}", summary="Let a memory say something else")
def edit(memory_id: Id, given: MemoryText, asks: Caller) -> Shape:
    """Change the text; the id stays, the old text is erased."""
    asks.caller.require("remember")
    return memory_shape(memory_of(asks).edit(memory_id, given.text))


@router.post("/memories/forget", summary="See what would be forgotten, or forget it")
def forget(given: Forget, asks: Caller) -> Shape:
    """Return what would go and a token; the same request with that token does it."""
    asks.caller.require("remember")
    asks.caller.require("read")  # it shows what would go
    if (
        sum(
            [bool(given.ids), bool(given.search.strip()), given.older_than_days is not None, given.everything]
        )
        != 1
    ):
        raise Refusal(
            400, "Say what is to be forgotten, in one way.", "Use ids, search, older_than_days or everything."
        )
    memory = memory_of(asks)
    forgotten = memory.forgetting(
        given.ids,
        search=given.search,
        older_than=given.older_than_days,
        everything=given.everything,
    )
    gone = [*forgotten.ids, *forgotten.turn_ids]
    token = _token(asks.caller.user, gone)
    if not given.token:
        shown = [*map(memory_shape, forgotten.memories), *map(said_shape, forgotten.turns)]
        return {"would_forget": shown, "token": token}
    if not hmac.compare_digest(token.encode(), given.token.encode()):
        raise Refusal(409, "That is not what was shown.", "Look again without a token.", param="token")
    memory.forget(forgotten)
    return {"forgotten": gone}


@router.post("/rate", summary="Rate how much a text matters; needs a language model")
def rate(given: MemoryText, asks: Caller) -> Shape:
    """A rating of 1 to 10 with its explanation."""
    asks.caller.require("read")
    rating, explanation = upkeep.rate(given.text, complete=memory_of(asks).find_model())
    return {"rating": rating, "explanation": explanation}


class Prompt(Given):
    """What to plan."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"prompt": "Plan the rest of today."}]})

    prompt: str = Field(upkeep.PLAN_TODAY, min_length=1, max_length=2_000)


@router.post("/plan", summary="Make a plan from the memories; needs a language model")
def plan(given: Prompt, asks: Caller) -> Shape:
    """The plan, which takes the place of the one before."""
    asks.caller.require("remember")
    return {"memories": [memory_shape(item) for item in upkeep.plan(memory_of(asks), given.prompt)]}


@router.post("/embed", summary="Embed texts with the model of the index")
def embed(given: Texts, asks: Caller) -> Shape:
    """Return one vector of unit length per text."""
    asks.caller.require("read")
    encoder = asks.athena.encoder
    vectors = encoder.encode_passages(given.texts, on_progress=asks.go_on)
    return {"model": encoder.name, "dimensions": encoder.dimensions, "embeddings": vectors.tolist()}


def memory_of(asks: Here) -> UserMemory:
    """Return the memory of the caller's user."""
    return asks.athena.memory_of(asks.caller.user)


def info_shape(info: ConversationInfo) -> Shape:
    """Return a conversation without its turns as JSON."""
    return {
        "id": info.id,
        "title": info.title,
        "created_at": iso(info.created_at),
        "updated_at": iso(info.updated_at),
        "turns": info.turns,
        "scope": list(info.scope),
        "pinned": info.pinned,
    }


def conversation_shape(asks: Here, whole: Conversation) -> Shape:
    """Return a conversation with its turns as JSON."""
    return {
        **info_shape(whole.info),
        "turns": [_turn_shape(asks, turn) for turn in whole.turns],
    }


def _turn_shape(asks: Here, turn: Turn) -> Shape:
    shown, recalled = asks.athena.with_memories(turn.answer, user=asks.caller.user)
    return {
        "id": turn.id,
        "question": turn.question,
        "created_at": iso(turn.created_at),
        "feedback": turn.feedback,
        "feedback_text": turn.feedback_text,
        "answer": AnswerOut.of(shown, recalled).model_dump(mode="json"),
    }


def _token(user: str, ids: list[str]) -> str:
    named = "\0".join([user, *sorted(ids)])
    return hmac.new(PREVIEWS, named.encode(), hashlib.sha256).hexdigest()[:32]
