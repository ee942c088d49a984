"""A model's answer: its prompt, its words as they arrive, its citations."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.answer import Answer
from pipeline.answering.prompts import Budget, Prompt, Source, assemble_prompt, memory_messages
from pipeline.finding.passages import passage_leaves
from pipeline.messages import Message
from pipeline.models.tokens import count_tokens
from pipeline.steps.events import Events, TokenArrived
from pipeline.stores.conversations import Conversation, Turn, unknown_turn

if TYPE_CHECKING:
    from pipeline.answering.turns import ChatMemory, ChatParts, RunningTurn
    from pipeline.models.generation import Generation
    from pipeline.retrieve import HybridSearch
    from pipeline.steps.trace import RunningStep

MESSAGE_CUT = "The message is longer than the model can read: only its beginning was sent."
KEEP_EVERY_S = 1.0  # how much of an answer a kill can lose
LEAST_PROMPT_TOKENS = 512


def called_tools(answer: Answer) -> bool:
    """Whether an agent made it."""
    return any(step.name == "tool" for step in answer.steps)


def before_turn(conversation: Conversation | None, turn_id: str) -> tuple[Conversation, Turn]:
    """The conversation as it was before a turn, and that turn; raises `UnknownConversation` without one."""
    turns = conversation.turns if conversation else ()
    place = next((place for place, turn in enumerate(turns) if turn.id == turn_id), None)
    if conversation is None or place is None:
        raise unknown_turn(turn_id)
    return replace(conversation, turns=turns[:place]), turns[place]


def assembled(step: RunningStep, turn: RunningTurn, parts: ChatParts) -> Prompt:
    """System header, sources, history and message, within the model's context."""
    passages = turn.found.passages
    store, partial = parts.hybrid_search.store, [found for found in passages if not found.whole]
    memory, named = memory_messages(turn.recollection), memory_messages(turn.recollection, by_id=True)
    most = max(LEAST_PROMPT_TOKENS, parts.limits.context_window - parts.limits.max_answer_tokens)
    prompt = assemble_prompt(
        parts.persona,
        passages,
        turn.history,
        turn.message,
        budget=Budget(most, turn.options.context_tokens, parts.limits.history_tokens),
        leaves=passage_leaves(partial, store=store),
        memory=memory,
        count=parts.count_tokens,
    )
    kept = len(prompt.messages) - len(memory) - 1
    step.data |= {
        "messages": [*prompt.messages[:kept], *named, prompt.messages[-1]],
        "tokens": sum(count_tokens(message.text) for message in prompt.messages),
        "history_left_out": prompt.history_left_out,
    }
    turn.notices += (MESSAGE_CUT,) if prompt.message_cut else ()
    return prompt


def written(
    step: RunningStep,
    turn: RunningTurn,
    parts: ChatParts,
    messages: Sequence[Message],
    *,
    keep: Callable[[RunningTurn], None],
) -> Events[Generation | None]:
    """The model's words as they arrive; `keep` is called each second with what there is."""
    from pipeline.models.generation import ChatStream

    assert parts.llm is not None  # noqa: S101  (only called with one)
    stream = ChatStream(
        parts.llm,
        messages,
        stop=turn.stop,
        deadline_s=parts.limits.answer_timeout_s,
    )
    with closing(stream):
        kept = time.monotonic()
        for piece in stream:
            if not piece.text:
                continue
            turn.text += piece.text
            yield TokenArrived(piece.text)
            if time.monotonic() - kept >= KEEP_EVERY_S:
                keep(turn)
                kept = time.monotonic()
    if generation := stream.generation:
        step.data |= {
            "characters": len(turn.text),
            "finish_reason": generation.finish_reason,
            "prompt_tokens": generation.prompt_tokens,
            "answer_tokens": generation.answer_tokens,
            "prompt_truncated": generation.prompt_truncated,
            "seconds": generation.seconds,
        }
    return stream.generation


def verified(
    step: RunningStep,
    turn: RunningTurn,
    search: HybridSearch,
    sources: Sequence[Source],
    memory: ChatMemory | None,
) -> Answer:
    """The text with its citations, each sentence checked; what the user said needs no source."""
    from pipeline.answering.verification import check  # its patterns take a while: quotes do without

    recalled = turn.recollection.all
    said = memory.said_by_user([item.id for item in recalled]) if memory else ()
    found = check(
        turn.text.strip(),
        sources,
        store=search.store,
        encoder=search.encoder,
        file_hashes=turn.file_hashes,
        remembered=[item.text for item in recalled if item.id in said],
        cut_off=turn.cut_off,
    )
    supported = sum(item.supported for item in found.support)
    step.data |= {"sentences": len(found.support), "supported": supported}
    return turn.answer(text=found.text, mode="generate", citations=found.citations, support=found.support)
