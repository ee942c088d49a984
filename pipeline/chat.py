"""The third recipe: a message in, an answer with verified citations out, watched as it is made.

about the memory? small talk? → condense → recall → retrieve → answerable? → quote, or prompt and generate
→ cite → verify → remember
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from pipeline.answer import Answer, Verdict
from pipeline.answering.kept_conversation import History, KeptConversation, conversation_of
from pipeline.answering.prompts import condense_prompt, fitting_history
from pipeline.answering.recollection import recalled_data
from pipeline.answering.replies import (
    MAY_NOT_ANSWER,
    NO_MODEL,
    QUOTES_INSTEAD,
    nearest_sections,
    not_answered,
    quoted,
)
from pipeline.answering.turns import ChatMemory, ChatParts, RunningTurn
from pipeline.answering.written_answers import (
    assembled,
    before_turn,
    verified,
    written,
)
from pipeline.asking.follow_ups import condense, for_memory, topic_leads
from pipeline.asking.questions import asked_in, check_length, is_pasted
from pipeline.asking.small_talk import small_talk
from pipeline.errors import AthenaError, ModelError
from pipeline.messages import Message
from pipeline.models.tokens import count_tokens
from pipeline.redaction import redacted
from pipeline.retrieve import LONGEST
from pipeline.steps.events import (
    AnswerFinished,
    ChatEvent,
    Emit,
    Events,
    RunFailed,
    SourcesFound,
    StepFinished,
    streamed,
)
from pipeline.steps.records import (
    STOPPED,
    Step,
    last_step,
)
from pipeline.steps.spending import noted_in
from pipeline.stores.globs import as_globs, as_scope, matches, only_in
from pipeline.words import well_formed

if TYPE_CHECKING:
    from pipeline.answer import Retrieval
    from pipeline.answering.prompts import Source
    from pipeline.answering.recollection import Recollection
    from pipeline.finding.fusion import AlternativeQuery
    from pipeline.steps.trace import RunningStep

UNEXPECTED = "The answer ended unexpectedly. Ask again."
NO_HYPOTHESIS = "The search went without a hypothetical answer: {why}."
NOT_KEPT = "This conversation is not stored: the data folder can only be read."
NOTED = "Noted: I find it again when you ask about it."
NOT_IN_DOCUMENTS = " The documents do not seem to say anything about it."
NOT_RECALLED = "Nothing was recalled: {why}."
NOTHING_IN_SCOPE = "You asked {}, and no document that is indexed is there."
BY_RULES = "The follow-up was completed by rules, not by the model: {why}."
CONDENSE_TIMEOUT_S = 20.0
PASTED = "The message is long: searched for its questions and its last sentences."


class ChatRecipe:
    """A chat that is bound to one stored conversation.

    `run` yields typed events and keeps every turn, also one that was stopped or failed. Without a language
    model the answer is quotes. `pipeline/llamaindex/chat_engine.py` shows a chat as LlamaIndex's engine.
    """

    def __init__(self, parts: ChatParts, conversation_id: str | None = None) -> None:
        begun = conversation_of(parts, conversation_id or "")
        if begun is not None and begun.info.scope and parts.options.paths is None:
            parts = replace(parts, options=parts.options.but(paths=as_globs(begun.info.scope)))
        self.parts = parts
        self.history = History.of(begun)
        self.conversation = KeptConversation(parts, conversation_id or "")

    @property
    def conversation_id(self) -> str:
        """The stored conversation; "" before its first turn."""
        return self.conversation.id

    @property
    def _no_model(self) -> str:
        choice = self.parts.choice
        why = f"{choice.detail} " if choice.wrong else ""
        return f"{NO_MODEL} {why}{choice.fix}".strip()

    # -- the recipe ---------------------------------------------------------------------------------

    def _answer(self, turn: RunningTurn) -> Events[Answer]:
        memory, kept_in = self.parts.memory, self.conversation_id
        if turn.instead_of:  # from now on the version before is aside
            self.conversation.keep_so_far(turn)
        if memory and memory.concerns(turn.message, conversation_id=kept_in, turn_id=turn.turn_id):
            return self._ask_memory(turn, memory)
        if reply := small_talk(turn.message, greeting=self.parts.persona.greeting):
            return turn.answer(text=reply, mode="reply", verdict="answered")
        return (yield from self._answer_question(turn))

    def _answer_question(self, turn: RunningTurn) -> Events[Answer]:
        """The answer to a message that asks something of the documents."""
        memory = self.parts.memory
        yield from self._condense(turn)
        if memory is not None:
            yield from self._recall(turn, memory)
        if (sources := (yield from self._with_agent(turn))) is not None:
            return (yield from self._cite(turn, sources))
        yield from self._retrieve(turn)
        leads = turn.recollection.leads(turn.found.answerability)
        if leads and self.parts.llm is None:
            return self._told(turn)
        nothing = turn.found.answerability.verdict == "not in the documents" or not turn.found.passages
        stated = self.parts.llm is None and turn.recollection.stated
        if turn.recollection.noted and (nothing or stated):
            text = NOTED + NOT_IN_DOCUMENTS * nothing
            return turn.answer(text=text, mode="reply", verdict="answered", related=())
        if nothing and not (leads or (self.parts.llm is not None and turn.recollection.fits)):
            return self._abstain(turn)
        if self.parts.llm is None:
            return (yield from self._quote(turn, notice=self._no_model))
        if turn.found.answerability.verdict == "closest" and not leads:
            turn.notices += (MAY_NOT_ANSWER,)
        return (yield from self._generate(turn))

    def _with_agent(self, turn: RunningTurn) -> Events[Sequence[Source] | None]:
        """What an agent read for the answer that it wrote; None where there is none, or it gave up."""
        if self.parts.agent is None or self.parts.llm is None:
            return None
        keep = self.conversation.keep_so_far_if_possible
        sources = yield from self.parts.agent.work(turn, self.parts, keep=keep)
        if sources is not None and turn.retrieval is not None:
            yield SourcesFound(turn.retrieval)
        turn.file_hashes = self._file_hashes()
        return sources

    def _file_hashes(self) -> Mapping[str, str]:
        documents = self.parts.hybrid_search.store.sections.documents()
        return {info.source: info.hash for info in documents}

    def _condense(self, turn: RunningTurn) -> Events[None]:
        """The message and the history as one question that stands alone."""
        work = partial(self._condensed, turn=turn)
        told = {"message": turn.message, "messages": len(turn.history)}
        turn.question = yield from turn.trace.take("condense", work, **told)

    def _recall(self, turn: RunningTurn, memory: ChatMemory) -> Events[None]:
        """What the message brings to mind; an answer does without where that fails."""
        try:
            turn.recollection = yield from turn.trace.take(
                "recall", partial(self._recalled, turn=turn, memory=memory)
            )
        except AthenaError as error:
            turn.notices += (NOT_RECALLED.format(why=str(error).rstrip(".")),)

    def _retrieve(self, turn: RunningTurn) -> Events[None]:
        """Passages and the verdict, of the message with its topic where that answers better."""
        first = len(turn.trace.steps)
        steps = turn.trace.steps
        turn.retrieval = yield from self._searched(turn, turn.question, turn.alternative, steps)
        if turn.other is not None and not turn.stop.is_set():
            others: list[Step] = []
            other = yield from self._searched(turn, turn.other.question, turn.other.alternative, others)
            if topic_leads(turn.retrieval, other):
                turn.retrieval, steps[first:] = other, others
                turn.read_as(turn.other)
        hyde = last_step(turn.retrieval.steps, "hyde")
        if hyde is not None and hyde.status == "failed":
            turn.notices += (NO_HYPOTHESIS.format(why=hyde.detail.rstrip(".")),)
        yield SourcesFound(turn.retrieval)
        turn.file_hashes = self._file_hashes()
        scope = as_scope(turn.options.paths)
        if scope and not any(matches(source, scope) for source in turn.file_hashes):
            turn.notices += (NOTHING_IN_SCOPE.format(only_in(scope)),)

    def _searched(
        self, turn: RunningTurn, question: str, alternative: AlternativeQuery | None, steps: list[Step]
    ) -> Events[Retrieval]:
        """The search for one question; its steps are added to `steps`, also where it fails."""

        def work(emit: Emit) -> Retrieval:
            def noted(event: ChatEvent) -> None:
                if isinstance(event, StepFinished):
                    steps.append(event.step)
                emit(event)

            return self.parts.hybrid_search.search(
                question,
                options=turn.options,
                stop=turn.stop,
                alternative=alternative,
                emit=noted,
            )

        return streamed(work)

    def _abstain(self, turn: RunningTurn) -> Answer:
        """The documents do not answer: what was looked for, and the nearest sections."""
        nearest = nearest_sections(turn.found.passages, turn.file_hashes)
        asked = turn.message if turn.carried else turn.found.question
        verdict = "not in the documents"  # also where any probability is enough, and nothing was found
        known = turn.recollection
        personal = known.verdict is not None and known.personal and known.asks
        text = not_answered(asked, personal=personal)
        nearest = () if personal else nearest
        return turn.answer(text=text, abstained=True, nearest=nearest, verdict=verdict)

    def _told(self, turn: RunningTurn) -> Answer:
        """What is remembered, where that answers better than the documents."""
        found = turn.recollection
        verdict: Verdict = "answered" if found.verdict == "remembered" else "closest"
        return turn.answer(
            text=found.told, mode="memory", verdict=verdict, recalled=found.told_ids, related=()
        )

    def _quote(self, turn: RunningTurn, *, notice: str) -> Events[Answer]:
        """The best units as they stand."""
        work = partial(quoted, turn=turn, search=self.parts.hybrid_search, notice=notice)
        return (yield from turn.trace.take("quote", work, limit=self.parts.limits.quotes))

    def _generate(self, turn: RunningTurn) -> Events[Answer]:
        """The model's answer; where it fails before the first word, quotes stand in for it."""
        prompt = yield from turn.trace.take("prompt", partial(assembled, turn=turn, parts=self.parts))
        keep = self.conversation.keep_so_far_if_possible
        keep(turn)
        writing = partial(written, turn=turn, parts=self.parts, messages=prompt.messages, keep=keep)
        try:
            generation = yield from turn.trace.stream("generate", writing, model=self.parts.choice.name)
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
        search, memory = self.parts.hybrid_search, self.parts.memory
        work = partial(verified, turn=turn, search=search, sources=sources, memory=memory)
        return (yield from turn.trace.take("verify", work))

    def _ask_memory(self, turn: RunningTurn, memory: ChatMemory) -> Answer:
        """What the memory itself answers; the turn is stored first, as what is kept names it."""
        self.conversation.keep_so_far(turn)
        reply = memory.reply(turn.message, conversation_id=self.conversation_id, turn_id=turn.turn_id)
        turn.trace.steps.append(reply.step)
        return turn.answer(text=reply.text, mode="memory", verdict="answered", recalled=reply.recalled)

    # -- the steps ----------------------------------------------------------------------------------

    def _condensed(self, step: RunningStep, turn: RunningTurn) -> str:
        rewrite = partial(self._rewrite, stop=turn.stop) if self.parts.llm else None
        said = [replace(message, text=message.text[:LONGEST]) for message in turn.history]
        found = condense(said, asked_in(turn.message), rewrite=rewrite)
        step.data |= {"question": found.question, "carried": found.carried, "by": found.by}
        turn.alternative, turn.carried, turn.other = found.alternative, found.carried, found.other
        if found.problem and turn.stop.is_set():
            step.skip(STOPPED)
        elif found.problem:
            step.fail(found.problem)
            turn.notices += (BY_RULES.format(why=found.problem.rstrip(".")),)
        return found.question

    def _left(self, history: Sequence[Message]) -> Sequence[Message]:
        """The messages that a prompt has no room for, as far as that is known before its sources are."""
        limits = self.parts.limits
        room = max(limits.history_tokens, limits.context_window // 2)
        kept = fitting_history(
            history, budget=limits.history_tokens, room=room, count=self.parts.count_tokens
        )
        return history[: len(history) - len(kept)]

    def _rewrite(self, history: Sequence[Message], message: str, *, stop: threading.Event) -> str:
        from pipeline.models.generation import complete

        assert self.parts.llm is not None  # noqa: S101  (only called with one)
        prompt = condense_prompt(fitting_history(history, budget=self.parts.limits.history_tokens), message)
        text = complete(self.parts.llm, prompt, timeout_s=CONDENSE_TIMEOUT_S, stop=stop)
        return "" if stop.is_set() else text  # half a question finds something else

    def _recalled(self, step: RunningStep, turn: RunningTurn, memory: ChatMemory) -> Recollection:
        question = for_memory(turn.history, turn.message) or turn.question
        found = memory.recall(
            turn.message, question=question, left=self._left(turn.history), turn_id=turn.turn_id
        )
        step.data |= recalled_data(found)
        step.data["tokens"] = sum(count_tokens(item.text) for item in found.all) if self.parts.llm else 0
        if found.detail:
            step.skip(found.detail)
        return found

    # -- running it ---------------------------------------------------------------------------------

    def run(
        self,
        message: str,
        *,
        stop: threading.Event | None = None,
        history: Sequence[Message] | None = None,
        instead_of: str = "",
    ) -> Iterator[ChatEvent]:
        """Answer a message and yield what happens; the last event is `AnswerFinished` or `RunFailed`.

        `history` takes the place of what was said before. A message `instead_of` a turn of the conversation
        becomes another version of that: it is the same question again, or another one. Raises `AthenaError`
        for a message of more than 20,000 characters. The work is done in the caller's thread,
        between one event and the next. Leaving the iterator early stops the run and keeps what there was.
        """
        check_length(message)
        if history is not None:
            self.history.replace(history)
        if instead_of:
            begun = conversation_of(self.parts, self.conversation_id)
            self.history = History.of(before_turn(begun, instead_of)[0])
        turn = self._begin(message, stop)
        turn.instead_of = instead_of
        if not (self.parts.kept or turn.history):
            turn.notices += (NOT_KEPT,)
        if is_pasted(message):
            turn.notices += (PASTED,)
        return self._watched(turn)

    def _begin(self, message: str, stop: threading.Event | None) -> RunningTurn:
        alone = self.parts.memory is not None and not self.parts.memory.uses_history
        return RunningTurn(
            message=redacted(well_formed(message)),  # a key that was pasted should not be stored
            history=[] if alone else self.history.said(),
            stop=stop or threading.Event(),
            model=self.parts.model_name,
            options=self.parts.options,
            invocation=self.parts.invocation,
        )

    def _watched(self, turn: RunningTurn) -> Iterator[ChatEvent]:
        events = noted_in(turn.spent, self._work(turn))
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
            if self.parts.memory is not None and last_step(turn.trace.steps, "remember") is None:
                turn.trace.steps.append(self.parts.memory.planned(turn.message))
            answer = self.conversation.keep_if_possible(turn, found)
            self.history.take(answer)
            last = AnswerFinished(answer)
        except AthenaError as error:
            self._fail(turn, str(error))
            last = RunFailed(error.problem, error.fix, turn.text, error, turn.finished.answer)
        except KeyboardInterrupt:
            turn.stop.set()
            self.conversation.keep_so_far_if_possible(turn)  # whoever stops it hears of nothing else
            self._tell(turn)
            raise
        except BaseException:  # of whatever kind, and raised again: no question stays without an end
            self._fail(turn, UNEXPECTED)
            self._tell(turn)
            raise
        try:
            self._tell(turn)
        finally:  # a listener that fails costs nobody the answer
            yield last

    def _fail(self, turn: RunningTurn, why: str) -> None:
        with suppress(AthenaError):  # the conversation is gone, or the store is what failed: said elsewhere
            kept = self.conversation.keep_failed(turn, why)
            self.history.remember(turn.message, kept.text)

    def _tell(self, turn: RunningTurn) -> None:
        if self.parts.memory is not None and turn.outcome is not None:
            self.parts.memory.remember(turn.finished)
        for listen in self.parts.listeners:
            listen(turn.finished)
