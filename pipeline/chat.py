"""The third recipe: a message in, an answer with verified citations out, watched as it is made.

about the memory? small talk? → condense → recall → retrieve → answerable? → quote, or prompt and generate
→ cite → verify → remember
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pipeline.answer import Answer
from pipeline.answering import condensing, continuing
from pipeline.answering.arranged import Arranged, arranged
from pipeline.answering.checking import check
from pipeline.answering.context import Budget, Prompt, Source, assemble_prompt, count_tokens, fitting_history
from pipeline.answering.history import NO_HISTORY, History
from pipeline.answering.prompts import condense_prompt, memory_messages
from pipeline.answering.quotes import choose_quotes
from pipeline.answering.remembering import Recollection, nothing_left
from pipeline.answering.replies import (
    MAY_NOT_ANSWER,
    NO_MODEL,
    QUOTES_INSTEAD,
    nearest_sections,
    not_answered,
    quote_citations,
    quote_units,
    quotes_text,
)
from pipeline.answering.turn import Listener, RunningTurn
from pipeline.asking.language import other_language
from pipeline.asking.small_talk import SmallTalk, small_talk
from pipeline.errors import AthenaError, ModelError, ModelUnavailable, StoreError
from pipeline.finding.passages import passage_leaves
from pipeline.models.served import invocation_of
from pipeline.options import DEFAULT_USER, ChatOptions
from pipeline.redaction import redacted
from pipeline.retrieve import LONGEST
from pipeline.steps.events import (
    AnswerFinished,
    ChatEvent,
    Events,
    RunFailed,
    SourcesFound,
    TokenArrived,
)
from pipeline.steps.records import (
    STOPPED,
    CondenseStep,
    GenerateStep,
    HydeStep,
    PromptStep,
    Quoted,
    QuoteStep,
    RecalledId,
    RecallStep,
    RememberStep,
    SearchStep,
    Step,
    VerifyStep,
    step_of,
)
from pipeline.steps.trace import RunningStep
from pipeline.stores.conversations import not_of, scope_of, title_of, unknown_turn
from pipeline.stores.globs import as_globs, as_scope, matches, only_in
from pipeline.words import CLOSEST, well_formed

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from pipeline.answering.persona import Persona
    from pipeline.answering.remembering import ChatMemory
    from pipeline.messages import Message
    from pipeline.models.base import ModelChoice
    from pipeline.models.generation import Generation
    from pipeline.options import RetrievalOptions
    from pipeline.retrieve import HybridSearch
    from pipeline.stores.conversations import Conversation, Conversations

CONDENSE_TIMEOUT_S = 20.0
KEEP_EVERY_S = 1.0  # how much of an answer a kill can lose
UNEXPECTED = "The answer ended unexpectedly. Ask again."
BY_RULES = "The follow-up was completed by rules, not by the model: {why}."
NO_HYPOTHESIS = "The search went without a hypothetical answer: {why}."
OTHER_LANGUAGE = "Your question seems to be in {}; the documents are in {}."
NOT_KEPT = "This conversation is not stored: the data folder can only be read."
NOT_STORED = "This answer is not stored: {why}"
NOBODY_GOES_ON = "No language model is connected, which could go on with the answer."
COMPLETE_BY_NOW = "The answer is complete by now."
NOT_RECALLED = "Nothing was recalled: {why}."
NOTHING_IN_SCOPE = "You asked {}, and no document that is indexed is there."
SEARCHED_CUT = f"The message is long: only its first {LONGEST:,} characters were searched for."
MESSAGE_CUT = "The message is longer than the model can read: only its beginning was sent."


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatParts:
    """What a chat is made of; each of `listeners` hears of every turn when it is over, however it ended."""

    hybrid_search: HybridSearch
    options: RetrievalOptions
    llm: LLM | None
    choice: ModelChoice
    conversations: Conversations
    persona: Persona
    limits: ChatOptions
    listeners: Sequence[Listener] = ()
    kept: bool = True  # whether what is said outlives the process
    user: str = DEFAULT_USER
    memory: ChatMemory | None = None  # without one, nothing is recalled or remembered

    @property
    def model_name(self) -> str:
        """The language model's name; "" where none is connected."""
        return self.choice.name if self.llm is not None else ""

    @property
    def budget(self) -> Budget:
        """The tokens of a prompt."""
        prompt = max(512, self.limits.context_window - self.limits.max_answer_tokens)
        return Budget(prompt, self.options.context_tokens, self.limits.history_tokens)


class ChatRecipe:
    """A chat that is bound to one stored conversation.

    `run` yields typed events and keeps every turn, also one that was stopped or failed. Without a language
    model the answer is quotes. `pipeline/llamaindex/chat_engine.py` shows a chat as LlamaIndex's engine.
    """

    def __init__(self, parts: ChatParts, conversation_id: str | None = None) -> None:
        self.conversation_id = conversation_id or ""
        self.parts = parts
        begun = self._begun()
        if begun is not None and begun.info.scope and parts.options.paths is None:
            self.parts = replace(parts, options=parts.options.but(paths=as_globs(begun.info.scope)))
        self.history = History.of(begun)

    def _begun(self) -> Conversation | None:
        """The conversation that it goes on with; raises `UnknownConversation`, also where it is another's."""
        if not self.conversation_id:
            return None
        found = self.parts.conversations.get(self.conversation_id)
        if found.info.user != self.parts.user:
            raise not_of(self.parts.user, found.info)
        return found

    # -- the recipe ---------------------------------------------------------------------------------

    def _answer(self, turn: RunningTurn) -> Events[Answer]:
        memory = self.parts.memory
        if turn.begun is not None:
            return (yield from self._write_on(turn, turn.begun))
        if memory is not None and memory.concerns(turn.message, conversation_id=self.conversation_id):
            return self._ask_memory(turn, memory)
        if talk := small_talk(turn.message, name=self.parts.persona.name, follows=bool(turn.history)):
            return self._reply(turn, talk)
        yield from self._condense(turn)
        if memory is not None:
            yield from self._recall(turn, memory)
        yield from self._retrieve(turn)
        if self.parts.llm is None and (found := self._arranged(turn)):
            return (yield from self._arrange(turn, found))
        if turn.found.answerability.verdict == "not in the documents" or not turn.found.passages:
            return self._abstain(turn)
        if self.parts.llm is None:
            return (yield from self._quote(turn, notice=f"{NO_MODEL} {self.parts.choice.fix}".strip()))
        if turn.found.answerability.verdict == "closest":
            turn.notices += (MAY_NOT_ANSWER,)
        return (yield from self._generate(turn))

    def _write_on(self, turn: RunningTurn, begun: Answer) -> Events[Answer]:
        """The rest of an answer that broke off, from what its own search finds again."""
        turn.question = begun.condensed_question
        turn.beside = step_of(begun.steps, SearchStep).other_wording
        if self.parts.memory is not None:
            yield from self._recall(turn, self.parts.memory)
        yield from self._retrieve(turn)
        return (yield from self._generate(turn))

    def _condense(self, turn: RunningTurn) -> Events[None]:
        """The message and the history as one question that stands alone."""
        begun = CondenseStep(message=turn.message, messages=len(turn.history))
        turn.question = yield from turn.trace.take(begun, self._condensed, turn)

    def _recall(self, turn: RunningTurn, memory: ChatMemory) -> Events[None]:
        """What the message brings to mind; an answer does without where that fails."""
        try:
            turn.recollection = yield from turn.trace.take(RecallStep(), self._recalled, turn, memory)
        except AthenaError as error:
            turn.notices += (NOT_RECALLED.format(why=str(error).rstrip(".")),)

    def _retrieve(self, turn: RunningTurn) -> Events[None]:
        """Passages and the verdict."""
        turn.retrieval = yield from self.parts.hybrid_search.run(
            turn.question,
            trace=turn.trace,
            options=turn.options,
            stop=turn.stop,
            hypothesis=step_of(turn.begun.steps, HydeStep).hypothesis if turn.begun else None,
            beside=turn.beside,
        )
        hyde = step_of(turn.retrieval.steps, HydeStep)
        if hyde.status == "failed":
            turn.notices += (NO_HYPOTHESIS.format(why=hyde.detail.rstrip(".")),)
        found = (passage.section.text for passage in turn.retrieval.passages)
        if languages := other_language(turn.message, found):
            turn.notices += (OTHER_LANGUAGE.format(*languages),)
        yield SourcesFound(turn.retrieval)
        known = {info.source: info.hash for info in self.parts.hybrid_search.store.sections.documents()}
        scope = as_scope(turn.options.paths)
        if scope and not any(matches(source, scope) for source in known):
            turn.notices += (NOTHING_IN_SCOPE.format(only_in(scope)),)
        sources = {passage.section.metadata["source"] for passage in turn.retrieval.passages}
        turn.file_hashes = {source: known.get(source, "") for source in sources}

    def _abstain(self, turn: RunningTurn) -> Answer:
        """The documents do not answer: what was looked for, and the nearest sections."""
        nearest = nearest_sections(turn.found.passages, turn.file_hashes)
        asked = turn.message if turn.beside else turn.found.question
        verdict = "not in the documents"  # also where any probability is enough, and nothing was found
        text = not_answered(asked)
        return turn.answer(text=text, abstained=True, nearest=nearest, verdict=verdict)

    def _arrange(self, turn: RunningTurn, found: Arranged) -> Events[Answer]:
        """The outline or the comparison that was asked for."""
        begun = QuoteStep(limit=len(found.quotes))
        return (yield from turn.trace.take(begun, self._as_arranged, turn, found))

    def _quote(self, turn: RunningTurn, *, notice: str) -> Events[Answer]:
        """The best units as they stand."""
        begun = QuoteStep(limit=self.parts.limits.quotes)
        return (yield from turn.trace.take(begun, self._quoted, turn, notice))

    def _generate(self, turn: RunningTurn) -> Events[Answer]:
        """The model's answer; where it fails before the first word, quotes stand in for it."""
        prompt = yield from turn.trace.take(PromptStep(), self._assembled, turn)
        with suppress(StoreError):  # said at the end, where it still cannot be stored
            self._keep_so_far(turn)
        if turn.text:
            yield TokenArrived(turn.text)
        begun = GenerateStep(model=self.parts.choice.name)
        try:
            generation = yield from turn.trace.stream(begun, self._written, turn, prompt.messages)
        except ModelError as error:
            if turn.text.strip():
                with suppress(ModelError):  # the embedding model is gone, too: the text alone is kept
                    turn.partial = yield from self._cite(turn, prompt.sources)
                raise
            return (yield from self._quote(turn, notice=f"{error} {QUOTES_INSTEAD}"))
        if not turn.text.strip() and not turn.stop.is_set():
            nothing = f"{self.parts.choice.name} answered nothing. {QUOTES_INSTEAD}"
            return (yield from self._quote(turn, notice=nothing))
        if generation and generation.notice:
            turn.notices += (generation.notice,)
        return (yield from self._cite(turn, prompt.sources))

    def _cite(self, turn: RunningTurn, sources: Sequence[Source]) -> Events[Answer]:
        """The generated text with markers resolved and every sentence checked."""
        return (yield from turn.trace.take(VerifyStep(), self._verified, turn, sources))

    def _reply(self, turn: RunningTurn, talk: SmallTalk) -> Answer:
        """What the persona says to a message that asks nothing of the documents."""
        from pipeline.asking.introducing import reply_to

        store = self.parts.hybrid_search.store
        text = reply_to(talk, persona=self.parts.persona, store=store)
        return turn.answer(text=text, mode="reply", verdict="answered")

    def _ask_memory(self, turn: RunningTurn, memory: ChatMemory) -> Answer:
        """What the memory itself answers; the turn is stored first, as what is kept names it."""
        self._keep_so_far(turn)
        reply = memory.reply(turn.message, conversation_id=self.conversation_id, turn_id=turn.turn_id)
        turn.trace.steps.append(reply.step)
        return turn.answer(text=reply.text, mode="memory", verdict="answered", recalled=reply.recalled)

    # -- the steps ----------------------------------------------------------------------------------

    def _recalled(self, step: RunningStep[RecallStep], turn: RunningTurn, memory: ChatMemory) -> Recollection:
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

    def _condensed(self, step: RunningStep[CondenseStep], turn: RunningTurn) -> str:
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

    def _arranged(self, turn: RunningTurn) -> Arranged | None:
        search = self.parts.hybrid_search
        options = self.parts.options.but(hyde=False)
        return arranged(
            turn.found,
            search=partial(search.search, options=options),
            store=search.store,
            encoder=search.encoder,
        )

    def _as_arranged(self, step: RunningStep[QuoteStep], turn: RunningTurn, found: Arranged) -> Answer:
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

    def _quoted(self, step: RunningStep[QuoteStep], turn: RunningTurn, notice: str) -> Answer:
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

    def _assembled(self, step: RunningStep[PromptStep], turn: RunningTurn) -> Prompt:
        """System header, sources, history and message, within the model's context."""
        passages = turn.found.passages
        store, partial = self.parts.hybrid_search.store, [found for found in passages if not found.whole]
        memory, named = memory_messages(turn.recollection), memory_messages(turn.recollection, by_id=True)
        budget = self.parts.budget
        if turn.begun:
            spent = sum(count_tokens(said.text) for said in continuing.messages(turn.begun.text))
            budget = replace(budget, prompt=budget.prompt - spent)
        prompt = assemble_prompt(
            self.parts.persona,
            passages,
            turn.history,
            turn.message,
            budget=budget,
            leaves=passage_leaves(partial, store=store),
            memory=memory,
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

    def _written(
        self, step: RunningStep[GenerateStep], turn: RunningTurn, messages: Sequence[Message]
    ) -> Events[Generation | None]:
        """The model's words as they arrive, kept each second."""
        from pipeline.models.generation import ChatStream

        assert self.parts.llm is not None  # noqa: S101  (only called with one)
        limit = self.parts.limits.answer_timeout_s
        with closing(ChatStream(self.parts.llm, messages, stop=turn.stop, deadline_s=limit)) as stream:
            kept = time.monotonic()
            for piece in continuing.joined(turn.text, stream):
                turn.text += piece
                yield TokenArrived(piece)
                if time.monotonic() - kept >= KEEP_EVERY_S:
                    with suppress(StoreError):  # busy: the next time, or at the end
                        self._keep_so_far(turn)
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

    def _verified(
        self, step: RunningStep[VerifyStep], turn: RunningTurn, sources: Sequence[Source]
    ) -> Answer:
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

    # -- running it ---------------------------------------------------------------------------------

    def run(
        self,
        message: str,
        *,
        stop: threading.Event | None = None,
        history: Sequence[Message] | None = None,
    ) -> Iterator[ChatEvent]:
        """Answer a message and yield what happens; the last event is `AnswerFinished` or `RunFailed`.

        `history` takes the place of what was said before. The work is done in the caller's thread, between
        one event and the next. Leaving the iterator early stops the run and keeps what there was.
        """
        if history is not None:
            self.history.replace(history)
        turn = self._begin(message, stop)
        if not (self.parts.kept or turn.history):
            turn.notices += (NOT_KEPT,)
        if len(message) > LONGEST:
            turn.notices += (SEARCHED_CUT,)
        return self._watched(turn)

    def go_on(self, turn_id: str, *, stop: threading.Event | None = None) -> Iterator[ChatEvent]:
        """Write on an answer that broke off, in its place; the events are those of `run`.

        Raises `ModelUnavailable` where no model is connected, `UnknownConversation` where it is not stored,
        `AthenaError` where nothing is missing of it.
        """
        if self.parts.llm is None:
            raise ModelUnavailable(NOBODY_GOES_ON, self.parts.choice.fix)
        conversation = self._begun()
        known = conversation.turns if conversation else ()
        place = next((place for place, turn in enumerate(known) if turn.id == turn_id), None)
        if conversation is None or place is None:
            raise unknown_turn(turn_id)
        if not continuing.can_go_on(known[place].answer):
            raise AthenaError(COMPLETE_BY_NOW, "Reload the page.")
        self.history = History.of(replace(conversation, turns=known[:place]))
        turn = self._begin(known[place].question, stop)
        turn.turn_id = turn_id
        turn.begun = turn.partial = known[place].answer
        turn.options = turn.options.but(paths=as_globs(scope_of(turn.begun)))
        return self._watched(turn)

    def _begin(self, message: str, stop: threading.Event | None) -> RunningTurn:
        alone = self.parts.memory is not None and not self.parts.memory.uses_history
        return RunningTurn(
            message=redacted(well_formed(message)),  # a key that was pasted should not be stored
            history=[] if alone else self.history.said(),
            stop=stop or threading.Event(),
            model=self.parts.model_name,
            options=self.parts.options,
            invocation=invocation_of(self.parts.llm) if self.parts.llm else {},
        )

    def _watched(self, turn: RunningTurn) -> Iterator[ChatEvent]:
        events = self._work(turn)
        try:
            for event in events:  # noqa: UP028  (`yield from` would end the work where the caller leaves)
                yield event
        except GeneratorExit:
            turn.stop.set()
            for _ in events:
                pass
            raise

    def _work(self, turn: RunningTurn) -> Iterator[ChatEvent]:
        """The events of a turn; the last comes when all else is done, as some callers stop there."""
        last: ChatEvent
        try:
            found = yield from self._answer(turn)
            if self.parts.memory is not None and found.mode != "memory" and turn.begun is None:
                turn.trace.steps.append(self.parts.memory.planned(turn.message))
            answer = self._kept_if_possible(turn, found)
            if answer.mode not in NO_HISTORY:
                self.history.remember(turn.message, answer.text)
            last = AnswerFinished(answer)
        except AthenaError as error:
            self._keep_failed(turn, str(error))
            last = RunFailed(error.problem, error.fix, turn.text, error, turn.finished.answer)
        except KeyboardInterrupt:
            turn.stop.set()
            with suppress(StoreError):  # whoever stops it hears of nothing else
                self._keep_so_far(turn)
            self._tell(turn)
            raise
        except BaseException:
            self._keep_failed(turn, UNEXPECTED)
            self._tell(turn)
            raise
        try:
            self._tell(turn)
        finally:  # a listener that fails costs nobody the answer
            yield last

    def _tell(self, turn: RunningTurn) -> None:
        if self.parts.memory is not None and turn.outcome is not None and turn.begun is None:
            self.parts.memory.remember(turn.finished)
        for listen in self.parts.listeners:
            listen(turn.finished)

    def _keep(self, turn: RunningTurn, answer: Answer) -> Answer:
        """Store a turn with all its steps, replacing what was stored of it before."""
        turn.outcome = replace(
            answer, steps=self._steps(turn), seconds=turn.trace.seconds, turn_id=turn.turn_id
        )
        if not self.conversation_id:
            begun = self.parts.conversations.create(
                title_of(turn.message), user=self.parts.user, assistant=self.parts.persona.name
            )
            self.conversation_id = begun.info.id
            if scope := as_scope(self.parts.options.paths):
                self.parts.conversations.set_scope(self.conversation_id, scope)
        if not turn.turn_id:
            self._keep_first(turn, turn.outcome)
        else:
            self.parts.conversations.save_turn(
                self.conversation_id, turn.outcome, remembered=nothing_left(turn.outcome)
            )
        turn.outcome = replace(turn.outcome, turn_id=turn.turn_id, conversation_id=self.conversation_id)
        return turn.outcome

    def _steps(self, turn: RunningTurn) -> tuple[Step, ...]:
        """What was done; with what is not done again for an answer that is written on.

        That is how its question came about, and what was remembered of it by now.
        """
        if turn.begun is None:
            return tuple(turn.trace.steps)
        before = turn.begun
        with suppress(AthenaError):  # what is wrong with the store is said where the turn is stored
            before = self.parts.conversations.turn(turn.turn_id).answer
        condensed = (step for step in before.steps if isinstance(step, CondenseStep))
        remembered = (step for step in before.steps if isinstance(step, RememberStep))
        return (*condensed, *turn.trace.steps, *remembered)

    def _kept_if_possible(self, turn: RunningTurn, answer: Answer) -> Answer:
        """The answer, stored; where the store cannot be written, it is shown all the same, and says so."""
        try:
            return self._keep(turn, answer)
        except StoreError as error:
            if self.parts.memory is not None and turn.turn_id:
                self.parts.memory.give_up(turn.turn_id)
            notices = (*answer.notices, NOT_STORED.format(why=error))
            turn.outcome = replace(turn.finished.answer, notices=notices, turn_id="")
            return turn.outcome

    def _keep_first(self, turn: RunningTurn, answer: Answer) -> None:
        """Store a turn for the first time; from before that on the memory knows that it is in hand."""
        turn_id, memory = str(uuid.uuid4()), self.parts.memory
        if memory is not None:
            memory.begin(turn_id)
        try:
            turn.turn_id = self.parts.conversations.save_turn(
                self.conversation_id, replace(answer, turn_id=turn_id), remembered=nothing_left(answer)
            )
        except BaseException:
            if memory is not None:
                memory.give_up(turn_id)
            raise

    def _keep_so_far(self, turn: RunningTurn) -> None:
        """Store a turn that is being answered: as stopped, so that what a kill leaves behind says so."""
        before = turn.begun if not turn.text else None
        self._keep(turn, before or turn.answer(text=turn.text, status="stopped"))

    def _keep_failed(self, turn: RunningTurn, why: str) -> None:
        """Keep what there was of a failed turn, with why it ended as its last notice."""
        kept = turn.partial or turn.answer(text=turn.text)
        with suppress(AthenaError):  # the conversation is gone, or the store is what failed: said elsewhere
            self._keep(turn, replace(kept, status="failed", notices=(*turn.notices, why)))
            self.history.remember(turn.message, kept.text)
