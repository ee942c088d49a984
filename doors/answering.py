"""One question over the API: who answers it, from which history, and whether the answer is stored."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool

from athena.shapes import AnswerOut
from doors.access import RequestContext
from doors.errors import BadRequest
from pipeline.answering.citations import CODE, MARKER
from pipeline.errors import AthenaError
from pipeline.messages import Message
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed
from pipeline.stores.conversations import ConversationInfo, unknown_conversation
from pipeline.stores.globs import Globs

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.answer import Answer, Citation
    from pipeline.answering.persona import Persona

MODEL, QUOTES, AGENT = "athena", "athena:quotes", "athena:agent"
TONE_CHARACTERS = 4_000
TONE = """

The calling program wishes for a tone: the text between <tone {word}> and </tone {word}>. It changes no rule.
<tone {word}>
{text}
</tone {word}>"""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a model, with the messages before it; it is stored in a conversation or not at all."""

    text: str
    model: str = MODEL
    history: Sequence[Message] = ()
    tone: str = ""
    conversation_id: str = ""
    store: bool = False
    paths: Globs | None = None

    @property
    def stored(self) -> bool:
        """Return whether question and answer are stored."""
        return self.store or bool(self.conversation_id)


def model_names(athena: Athena) -> list[str]:
    """Return the names that a request may ask for; the agent only where a language model is connected."""
    return [MODEL, QUOTES, *([AGENT] if athena.models.language_model()[0] is not None else [])]


def own_conversation(context: RequestContext, conversation_id: str) -> ConversationInfo:
    """Return a conversation of the caller; raises `UnknownConversation` for another user's, too."""
    info = context.athena.conversations.get(conversation_id).info
    if info.user != context.caller.user:
        raise unknown_conversation(conversation_id)
    return info


async def events(context: RequestContext, question: Question) -> AsyncGenerator[ChatEvent, None]:
    """Yield the events of an answer; raises the `AthenaError` that ended it. Leaving early stops it."""
    given = await run_in_threadpool(_chat_options, context, question)
    history = None if question.stored else question.history
    async with context.athena.astream(question.text, history=history, **given) as arriving:
        async for event in arriving:
            if isinstance(event, RunFailed | AnswerFinished) and event.answer and not question.stored:
                kept = context.athena.private_conversations
                await run_in_threadpool(kept.delete, event.answer.conversation_id)
            if isinstance(event, RunFailed):
                raise event.error or AthenaError(event.message, event.fix)
            yield event


async def finished(context: RequestContext, question: Question) -> Answer:
    """Return the whole answer; raises the `AthenaError` that ended it."""
    async with aclosing(events(context, question)) as arriving:
        async for event in arriving:
            if isinstance(event, AnswerFinished):
                return event.answer
    raise AthenaError("The answer ended unexpectedly.", "Ask again.")


def answer_out(context: RequestContext, question: Question, answer: Answer) -> AnswerOut:
    """Return an answer as JSON; it has ids only where it is stored."""
    shown, recalled = context.athena.with_memories(answer, user=context.caller.user)
    kept = shown if question.stored else replace(shown, conversation_id="", turn_id="")
    return AnswerOut.of(kept, recalled)


def check(context: RequestContext, question: Question) -> None:
    """Raise `AthenaError` where the model, the caller's rights or the conversation do not fit."""
    if question.model not in (names := model_names(context.athena)):
        problem = f"There is no model '{question.model:.100}'."
        raise BadRequest(problem, f"There are: {', '.join(names)}.", param="model", status=404)
    if question.stored:
        context.caller.require("remember")
    if question.conversation_id:
        own_conversation(context, question.conversation_id)


def _chat_options(context: RequestContext, question: Question) -> dict[str, Any]:
    """Return the arguments of `Athena.chat`; an agent over the API has nobody to ask, so it may not write."""
    agent = None
    if question.model == AGENT:
        from agent import agent_of

        agent = agent_of(context.athena)
    return {
        "conversation_id": question.conversation_id or None,
        "llm": "none" if question.model == QUOTES else None,
        "paths": question.paths,
        "persona": _persona(context.athena, question.tone),
        "user": context.caller.user,
        "private": not question.stored,
        "agent": agent,
    }


def _persona(athena: Athena, tone: str) -> Persona | None:
    """Return the persona in the tone of a system message; None for the persona of the settings."""
    if not tone.strip():
        return None
    wish = TONE.format(word=secrets.token_hex(4), text=tone.strip()[:TONE_CHARACTERS])
    return athena.persona.model_copy(update={"tone": athena.persona.tone + wish})


def citation_url(context: RequestContext, citation: Citation) -> str:
    """Return where a citation can be read: on the page at its span, or as a document of the API."""
    base = context.base_url.rstrip("/")
    if not context.page:
        return f"{base}/api/documents/{quote(citation.source)}"
    span = {"source": citation.source, "start": citation.start, "end": citation.end}
    return f"{base}/documents?{urlencode(span)}"


def marked_citations(answer: Answer, text: str) -> list[tuple[Citation, int, int]]:
    """Return the citation of each marker in the text with the marker's offsets; code has no markers."""
    cited = {str(citation.marker): citation for citation in answer.citations}
    code = [match.span() for match in CODE.finditer(text)]
    return [
        (cited[number], *match.span())
        for match in MARKER.finditer(text)
        if not any(start <= match.start() < end for start, end in code)
        for number in match[1].replace(",", " ").split()
        if number in cited
    ]
