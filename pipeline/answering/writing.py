"""Writing: the prompt of a turn, the model's text as it arrives, and its citations."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from pipeline.answer import Answer, Message
from pipeline.answering.prompts import CLOSEST_PARTS, Budget, Prompt, Source, build_prompt
from pipeline.answering.quotes import choose_quotes
from pipeline.asking.translation import Translator
from pipeline.models.tokens import count_tokens
from pipeline.steps.events import Emit, SentencesCited, ThoughtArrived, TokenArrived
from readers.dialects import display

if TYPE_CHECKING:
    from pipeline.answering.turns import ChatParts, RunningTurn
    from pipeline.answering.verification import CitedAnswer
    from pipeline.models.clients import LanguageModel

MESSAGE_CUT = "The message is longer than the model can read: only its beginning was sent."
NOT_TRANSLATED = "Sentences in another language than the documents' were not checked: {why}"
REPEATS = "The model began to repeat itself: its answer ends here."
REPEATED, MOST_TIMES = 120, 2  # characters that a small model has written so often before it is stopped
KEEP_EVERY_S = 1.0  # a kill loses so much of an answer
LEAST_PROMPT_TOKENS = 512


def prompt_for(turn: RunningTurn, parts: ChatParts) -> Prompt:
    """Build the prompt of a turn within the model's context."""
    limits, store, reader = parts.limits, parts.hybrid_search.store, parts.hybrid_search.cross_encoder
    longest = max(LEAST_PROMPT_TOKENS, limits.context_window - limits.max_answer_tokens)
    budget = Budget(longest, turn.options.context_tokens, limits.history_tokens)
    with turn.trace.step("prompt") as step:
        quotes = choose_quotes(turn.found, store=store, limit=CLOSEST_PARTS, cross_encoder=reader)
        closest = [display(quote.citation.quote).strip() for quote in quotes]
        prompt = build_prompt(
            parts.persona, turn.found.passages, turn.history, turn.message,
            budget=budget, memory=turn.recollection, closest=closest, language=turn.language,
            far=turn.found.answerability.verdict == "not in the documents",
        )  # fmt: skip
        step.data |= {
            "tokens": sum(count_tokens(message.text) for message in prompt.messages),
            "sources": len(prompt.sources),
        }
    turn.notices += (MESSAGE_CUT,) if prompt.message_cut else ()
    return prompt


def cited_answer(turn: RunningTurn, parts: ChatParts, sources: Sequence[Source]) -> CitedAnswer:
    """Return an empty answer that may cite these sources; sentences with the user's own words need none."""
    from pipeline.answering.verification import CitedAnswer, Sources  # takes a while: quotes do without

    search, recalled = parts.hybrid_search, turn.recollection.all
    said = parts.memory.said_by_user([item.id for item in recalled]) if parts.memory else ()
    passages = {source.number: source.passage for source in sources}
    return CitedAnswer(
        Sources.of(passages, store=search.store, encoder=search.encoder),
        file_hashes=turn.file_hashes,
        remembered=[item.text for item in recalled if item.id in said],
        translator=Translator(parts.llm, search.store, turn.stop) if parts.llm and turn.language else None,
    )


def write(
    turn: RunningTurn,
    parts: ChatParts,
    llm: LanguageModel,
    messages: Sequence[Message],
    cited: CitedAnswer,
    *,
    emit: Emit,
    keep: Callable[[RunningTurn], None],
) -> None:
    """Write the answer, and cite each sentence as soon as it is complete; `keep` stores it once a second.

    Raises `ModelError`; the text that had arrived stays in `turn.text`.
    """
    from pipeline.models.generation import ChatStream

    deadline = parts.limits.answer_timeout_s
    with (
        turn.trace.step("generate", model=parts.choice.name) as step,
        closing(ChatStream(llm, messages, stop=turn.stop, deadline_s=deadline)) as stream,
    ):
        kept = time.monotonic()
        for delta in stream:
            if delta.thinking:
                emit(ThoughtArrived(delta.thinking))
            if not delta.text:
                continue
            turn.text += delta.text
            emit(TokenArrived(delta.text))
            if cited.add(delta.text):
                emit(SentencesCited(cited.text, cited.pending, cited.citations, cited.support))
            if turn.text.count(turn.text[-REPEATED:]) > MOST_TIMES and len(turn.text) > REPEATED:
                turn.notices += (REPEATS,)
                stream.end = replace(stream.end, finish_reason="stopped")
                break
            if time.monotonic() - kept >= KEEP_EVERY_S:
                keep(turn)
                kept = time.monotonic()
        step.data |= asdict(stream.end) | {"characters": len(turn.text), "thinking": stream.thinking}
        turn.notices += (stream.notice,) if stream.notice else ()


def finish(turn: RunningTurn, cited: CitedAnswer) -> Answer:
    """Verify the last sentence and return the answer."""
    with turn.trace.step("verify") as step:
        cited.finish(cut_off=turn.cut_off)
        step.data["sentences"] = len(cited.support)
        step.data["supported"] = sum(item.supported for item in cited.support)
        if cited.translator and (why := cited.translator.problem):
            turn.notices += (NOT_TRANSLATED.format(why=why),)
    return turn.answer(text=cited.text, mode="generate", citations=cited.citations, support=cited.support)
