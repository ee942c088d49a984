"""What each step of a chat does and records; `pipeline/chat.py` says in which order they are taken."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pipeline.answer import Answer
from pipeline.answering import condensing, continuing
from pipeline.answering.arranged import Arranged
from pipeline.answering.chat_parts import ChatParts
from pipeline.answering.checking import check
from pipeline.answering.context import Prompt, Source, assemble_prompt, count_tokens, fitting_history
from pipeline.answering.prompts import condense_prompt, memory_messages
from pipeline.answering.quotes import choose_quotes
from pipeline.answering.remembering import ChatMemory, Recollection
from pipeline.answering.replies import NO_MODEL, quote_citations, quote_units, quotes_text
from pipeline.answering.turn import RunningTurn
from pipeline.finding.passages import passage_leaves
from pipeline.messages import Message
from pipeline.retrieve import LONGEST
from pipeline.steps.events import Events, TokenArrived
from pipeline.steps.records import (
    STOPPED,
    CondenseStep,
    GenerateStep,
    PromptStep,
    Quoted,
    QuoteStep,
    RecalledId,
    RecallStep,
    VerifyStep,
)
from pipeline.steps.trace import RunningStep
from pipeline.words import CLOSEST

if TYPE_CHECKING:
    from pipeline.models.generation import Generation

CONDENSE_TIMEOUT_S = 20.0
KEEP_EVERY_S = 1.0  # how much of an answer a kill can lose
BY_RULES = "The follow-up was completed by rules, not by the model: {why}."
MESSAGE_CUT = "The message is longer than the model can read: only its beginning was sent."


@dataclass(frozen=True, slots=True)
class ChatSteps:
    """The work of one chat's steps, each method as `Trace.take` or `Trace.stream` calls it."""

    parts: ChatParts

    # -- the question -------------------------------------------------------------------------------

    def condensed(self, step: RunningStep[CondenseStep], turn: RunningTurn) -> str:
        """The message and the history as one question."""
        rewrite = partial(self._rewrite, stop=turn.stop) if self.parts.llm else None
        said = [replace(message, text=message.text[:LONGEST]) for message in turn.history]
        found = condensing.condense(said, turn.message[:LONGEST], rewrite=rewrite)
        step.record = replace(step.record, question=found.question, carried=found.carried, by=found.by)
        if found.problem and turn.stop.is_set():
            step.skip(STOPPED)
        elif found.problem:
            step.fail(found.problem)
            turn.notices += (BY_RULES.format(why=found.problem.rstrip(".")),)
        turn.beside = found.beside
        return found.question

    def _rewrite(self, history: Sequence[Message], message: str, *, stop: threading.Event) -> str:
        from pipeline.models.generation import complete

        assert self.parts.llm is not None  # noqa: S101  (only called with one)
        prompt = condense_prompt(fitting_history(history, budget=self.parts.limits.history_tokens), message)
        text = complete(self.parts.llm, prompt, timeout_s=CONDENSE_TIMEOUT_S, stop=stop)
        return "" if stop.is_set() else text  # half a question finds something else

    def recalled(self, step: RunningStep[RecallStep], turn: RunningTurn, memory: ChatMemory) -> Recollection:
        """What the message brings to mind."""
        found = memory.recall(turn.question, history=turn.history)
        scored = (
            RecalledId(item.id, item.score, item.recency, item.importance, item.relevance)
            for item in found.memories
        )
        step.record = replace(
            step.record,
            preset=found.preset,
            threshold=found.threshold,
            considered=found.considered,
            static=tuple(item.id for item in found.static),
            recalled=tuple(scored),
            graph=tuple(item.id for item in found.graph),
            tokens=sum(count_tokens(item.text) for item in found.all) if self.parts.llm else 0,
        )
        if found.detail:
            step.skip(found.detail)
        return found

    # -- an answer of quotes ------------------------------------------------------------------------

    def arranged(self, step: RunningStep[QuoteStep], turn: RunningTurn, found: Arranged) -> Answer:
        """The outline or the comparison."""
        quoted = tuple(Quoted(quote.leaves[0].node_id, quote.score) for quote in found.quotes)
        step.record = replace(step.record, quotes=quoted)
        turn.notices += (f"{NO_MODEL} {self.parts.choice.fix}".strip(),)
        return turn.answer(
            text=found.text,
            mode="quote",
            citations=found.citations,
            units=found.units,
            verdict=found.verdict,
            arranged=True,
        )

    def quoted(self, step: RunningStep[QuoteStep], turn: RunningTurn, notice: str) -> Answer:
        """The best units as they stand, with a notice why no model answers."""
        search = self.parts.hybrid_search
        quotes = choose_quotes(
            turn.found, store=search.store, encoder=search.encoder, limit=self.parts.limits.quotes
        )
        step.record = replace(
            step.record, quotes=tuple(Quoted(quote.best.node_id, quote.score) for quote in quotes)
        )
        citations, units = quote_citations(quotes, turn.file_hashes), quote_units(quotes)
        turn.notices += (notice,)
        opening = CLOSEST if turn.found.answerability.verdict == "closest" else ""
        text = quotes_text(citations, units, opening=opening)
        return turn.answer(text=text, mode="quote", citations=citations, units=units)

    # -- a model's answer ---------------------------------------------------------------------------

    def assembled(self, step: RunningStep[PromptStep], turn: RunningTurn) -> Prompt:
        """System header, sources, history and message, within the model's context."""
        passages = turn.found.passages
        store, partial = self.parts.hybrid_search.store, [found for found in passages if not found.whole]
        memory, named = memory_messages(turn.recollection), memory_messages(turn.recollection, by_id=True)
        budget = self.parts.budget(turn.options)
        if turn.begun:
            budget = replace(budget, prompt=budget.prompt - continuing.tokens_of(turn.begun))
        prompt = assemble_prompt(
            self.parts.persona,
            passages,
            turn.history,
            turn.message,
            budget=budget,
            leaves=passage_leaves(partial, store=store),
            memory=memory,
            header=continuing.header_of(turn.begun) if turn.begun else "",
        )
        kept = len(prompt.messages) - len(memory) - 1
        turn.text = continuing.begun(turn.begun, prompt.sources) if turn.begun else ""
        so_far = continuing.messages(turn.text)
        step.record = replace(
            step.record,
            messages=(*prompt.messages[:kept], *named, prompt.messages[-1], *so_far),
            tokens=sum(count_tokens(message.text) for message in prompt.messages),
            history_left_out=prompt.history_left_out,
        )
        turn.notices += (MESSAGE_CUT,) if prompt.message_cut else ()
        return replace(prompt, messages=(*prompt.messages, *so_far))

    def written(
        self,
        step: RunningStep[GenerateStep],
        turn: RunningTurn,
        messages: Sequence[Message],
        *,
        keep: Callable[[RunningTurn], None],
    ) -> Events[Generation | None]:
        """The model's words as they arrive; `keep` is called each second with what there is."""
        from pipeline.models.generation import ChatStream

        assert self.parts.llm is not None  # noqa: S101  (only called with one)
        limit = self.parts.limits.answer_timeout_s
        with closing(ChatStream(self.parts.llm, messages, stop=turn.stop, deadline_s=limit)) as stream:
            kept = time.monotonic()
            for piece in continuing.joined(turn.text, stream):
                turn.text += piece
                yield TokenArrived(piece)
                if time.monotonic() - kept >= KEEP_EVERY_S:
                    keep(turn)
                    kept = time.monotonic()
        if generation := stream.generation:
            step.record = replace(
                step.record,
                characters=len(turn.text),
                finish_reason=generation.finish_reason,
                prompt_tokens=generation.prompt_tokens,
                answer_tokens=generation.answer_tokens,
                prompt_truncated=generation.prompt_truncated,
                seconds=generation.seconds,
            )
        return stream.generation

    def verified(self, step: RunningStep[VerifyStep], turn: RunningTurn, sources: Sequence[Source]) -> Answer:
        """The text with its citations, each sentence checked."""
        search = self.parts.hybrid_search
        found = check(
            turn.text.strip(),
            sources,
            store=search.store,
            encoder=search.encoder,
            file_hashes=turn.file_hashes,
            cut_off=turn.cut_off,
        )
        supported = sum(item.supported for item in found.support)
        step.record = replace(step.record, sentences=len(found.support), supported=supported)
        return turn.answer(text=found.text, mode="generate", citations=found.citations, support=found.support)
