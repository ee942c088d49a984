"""Asking over the API: who answers a question, and whether the answer is stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from athena.shapes import AnswerOut
from doors.access import RequestContext
from doors.errors import BadRequest
from pipeline.stores.conversations import Conversation
from pipeline.stores.turns import unknown

if TYPE_CHECKING:
    from athena.assistant import Asking
    from pipeline.answer import Answer

MODEL, QUOTES = MODELS = ("athena", "athena:quotes")


def own_conversation(context: RequestContext, conversation_id: str) -> Conversation:
    """Return a conversation of the caller; raises `UnknownConversation` for another user's, too."""
    found = context.athena.conversations.get(conversation_id)
    if found.info.user != context.caller.user:
        raise unknown("conversation", conversation_id)
    return found


def asking_of(
    context: RequestContext,
    model: str,
    *,
    paths: Iterable[str] = (),
    conversation_id: str = "",
    store: bool = False,
) -> Asking:
    """Check a request and return `Athena.ask`'s options; only `store` or `conversation_id` stores the turn.

    Raises `BadRequest` for an unknown model, `NotAllowed`, and `UnknownConversation`.
    """
    if model not in MODELS:
        problem = f"There is no model '{model:.100}'."
        raise BadRequest(problem, f"There are: {', '.join(MODELS)}.", param="model", status=404)
    stored = store or bool(conversation_id)
    if stored:
        context.caller.require("remember")
    if conversation_id:
        own_conversation(context, conversation_id)
    return {
        "conversation_id": conversation_id or None,
        "llm": "none" if model == QUOTES else None,
        "paths": paths,
        "user": context.caller.user,
        "unkept": not stored,
    }


def answer_out(context: RequestContext, asking: Asking, answer: Answer) -> AnswerOut:
    """Return an answer in its JSON shape; if it is not stored, its ids are ""."""
    shown, recalled = context.athena.with_memories(answer, user=context.caller.user)
    if asking["unkept"]:
        shown = replace(shown, conversation_id="", turn_id="")
    return AnswerOut.of(shown, recalled)
