"""The third recipe: a message in, an answer with verified citations out, watched as it is made.

condense → retrieve → answerable? → quote, or prompt and generate → cite → verify → remember
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING

from pipeline.answer import Answer
from pipeline.answering import condensing as condense
from pipeline.answering.citations import cite
from pipeline.answering.context import Budget, Prompt, Source, assemble_prompt, count_tokens, fitting_history
from pipeline.answering.history import History
from pipeline.answering.locating import SentenceLocator
from pipeline.answering.prompts import condense_prompt
from pipeline.answering.quotes import choose_quotes
from pipeline.answering.replies import (
    NO_MODEL,
    QUOTES_INSTEAD,
    nearest_sections,
    not_answered,
    quote_citations,
    quotes_text,
)
from pipeline.answering.turn import WORKING, OnEnd, Turn
from pipeline.answering.verification import verify
from pipeline.errors import AthenaError, ModelError, StoreError
from pipeline.retrieve import STOPPED
from pipeline.steps.events import (
    AnswerFinished,
    ChatEvent,
    RunFailed,
    RunningStep,
    SourcesFound,
    TokenArrived,
)
from pipeline.stores.conversations import title_of

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from pipeline.answering.persona import Persona
    from pipeline.messages import Message
    from pipeline.models.base import Encoder, ModelChoice
    from pipeline.models.generation import ChatStream
    from pipeline.options import RetrievalOptions
    from pipeline.retrieve import HybridSearch
    from pipeline.stores.base import DocumentStore
    from pipeline.stores.conversations import Conversations

CONDENSE_TIMEOUT_S = 20.0
KEEP_EVERY_S = 1.0  # how much of an answer a kill can lose
UNEXPECTED = "The answer ended unexpectedly. Ask again."
BY_RULES = "The follow-up was completed by rules, not by the model: {why}."
NO_HYPOTHESIS = "The search went without a hypothetical answer: {why}."
MESSAGE_CUT = "The message is longer than the model can read: only its beginning was sent."


class ChatRecipe:
    """A chat that is bound to one stored conversation.

    `run` yields typed events and keeps every turn, also one that was stopped or failed. Without a language
    model the answer is quotes. `on_end` hears of each turn when it is over, however it ended.
    `llama_chat.py` shows a chat as LlamaIndex's engine.
    """

    def __init__(
        self,
        *,
        hybrid_search: HybridSearch,
        options: RetrievalOptions,
        llm: LLM | None,
        choice: ModelChoice,
        store: DocumentStore,
        encoder: Encoder,
        conversations: Conversations,
        conversation_id: str | None,
        persona: Persona,
        quotes: int = 5,
        history_tokens: int = 2000,
        max_answer_tokens: int = 1024,
        context_window: int = 8192,
        on_end: OnEnd | None = None,
    ) -> None:
        conversation = conversations.get(conversation_id) if conversation_id else None
        self.history = History.of(conversation)
        self.conversation_id = conversation_id or ""
        self.hybrid_search = hybrid_search
        self.llm = llm
        self._options = options
        self._choice = choice
        self._store = store
        self._encoder = encoder
        self._conversations = conversations
        self._persona = persona
        self._quotes = quotes
        self._history_tokens = history_tokens
        self._prompt_tokens = max(512, context_window - max_answer_tokens)
        self._on_end = on_end

    # -- the recipe ---------------------------------------------------------------------------------

    def _answer(self, turn: Turn) -> Answer:
        self._condense(turn)
        self._retrieve(turn)
        if not turn.retrieval.answerability.answerable:
            return self._abstain(turn)
        if self.llm is None:
            return self._quote(turn)
        return self._generate(turn)

    def _condense(self, turn: Turn) -> None:
        """The message and the history as one question that stands alone."""
        with turn.trace.step("condense", message=turn.message, messages=len(turn.history)) as step:
            rewrite = partial(self._rewrite, stop=turn.stop) if self.llm else None
            found = condense.condense(turn.history, turn.message, rewrite=rewrite)
            step.outputs.update(question=found.question, carried=found.carried, by=found.by)
            if found.problem and turn.stop.is_set():
                step.skip(STOPPED)
            elif found.problem:
                step.fail(found.problem)
                turn.notices += (BY_RULES.format(why=found.problem.rstrip(".")),)
        turn.question = found.question

    def _rewrite(self, history: Sequence[Message], message: str, *, stop: threading.Event) -> str:
        from pipeline.models.generation import complete

        assert self.llm is not None  # noqa: S101  (only called with one)
        recent = fitting_history(history, budget=self._history_tokens)
        prompt = condense_prompt(recent, message)
        text = complete(self.llm, prompt, timeout_s=CONDENSE_TIMEOUT_S, stop=stop)
        return "" if stop.is_set() else text  # half a question finds something else

    def _retrieve(self, turn: Turn) -> None:
        """Passages and the verdict."""
        turn.retrieval = self.hybrid_search.search(
            turn.question, trace=turn.trace, options=self._options, stop=turn.stop
        )
        turn.notices += tuple(
            NO_HYPOTHESIS.format(why=step.detail.rstrip("."))
            for step in turn.retrieval.steps
            if step.name == "hyde" and step.status == "failed"
        )
        turn.emit(SourcesFound(turn.retrieval))
        sources = {passage.section.metadata["source"] for passage in turn.retrieval.passages}
        known = {info.source: info.hash for info in self._store.sections.documents()}
        turn.file_hashes = {source: known.get(source, "") for source in sources}

    def _abstain(self, turn: Turn) -> Answer:
        """The documents do not answer: what was looked for, and the nearest sections."""
        nearest = nearest_sections(turn.retrieval.passages, turn.file_hashes)
        return turn.answer(text=not_answered(turn.question), abstained=True, nearest=nearest)

    def _quote(self, turn: Turn, notice: str = "") -> Answer:
        """The best sentences as they stand."""
        with turn.trace.step("quote", limit=self._quotes) as step:
            quotes = choose_quotes(
                turn.retrieval, store=self._store, encoder=self._encoder, limit=self._quotes
            )
            citations = quote_citations(quotes, turn.file_hashes)
            step.outputs["quotes"] = [[quote.leaves[0].node_id, quote.score] for quote in quotes]
        notice = notice or f"{NO_MODEL} {self._choice.fix}".strip()
        notices = (*turn.notices, notice)
        return turn.answer(text=quotes_text(citations), mode="quote", citations=citations, notices=notices)

    def _generate(self, turn: Turn) -> Answer:
        """The model's answer; where it fails before the first word, quotes stand in for it."""
        prompt = self._prompt(turn)
        self._begin(turn)
        try:
            stream = self._stream(turn, prompt.messages)
        except ModelError as error:
            if turn.text.strip():
                with suppress(ModelError):  # the embedding model is gone, too: the text alone is kept
                    turn.partial = self._cited(turn, prompt.sources)
                raise
            return self._quote(turn, notice=f"{error} {QUOTES_INSTEAD}")
        if not turn.text.strip() and not turn.stop.is_set():
            return self._quote(turn, notice=f"{self._choice.name} answered nothing. {QUOTES_INSTEAD}")
        generation = stream.generation
        notices = turn.notices + ((generation.notice,) if generation and generation.notice else ())
        return self._cited(turn, prompt.sources, notices=notices)

    def _prompt(self, turn: Turn) -> Prompt:
        """System header, sources, history and message, within the model's context."""
        with turn.trace.step("prompt") as step:
            prompt = assemble_prompt(
                self._persona,
                turn.retrieval.passages,
                turn.history,
                turn.message,
                budget=Budget(self._prompt_tokens, self._options.context_tokens, self._history_tokens),
            )
            step.outputs["messages"] = [{"role": m.role, "text": m.text} for m in prompt.messages]
            step.outputs["tokens"] = sum(count_tokens(m.text) for m in prompt.messages)
            step.outputs["history_left_out"] = prompt.history_left_out
            turn.notices += (MESSAGE_CUT,) if prompt.message_cut else ()
        return prompt

    def _stream(self, turn: Turn, messages: Sequence[Message]) -> ChatStream:
        from pipeline.models.generation import stream_chat

        assert self.llm is not None  # noqa: S101  (only called with one)
        with (
            turn.trace.step("generate", model=self._choice.name) as step,
            closing(stream_chat(self.llm, messages, stop=turn.stop)) as stream,
        ):
            kept = time.monotonic()
            for piece in stream:
                turn.text += piece
                turn.emit(TokenArrived(piece))
                if time.monotonic() - kept >= KEEP_EVERY_S:
                    with suppress(StoreError):  # busy: the next time, or at the end
                        self._conversations.keep_text(turn.turn_id, turn.text)
                    kept = time.monotonic()
            if stream.generation:
                step.outputs.update(asdict(stream.generation) | {"text": len(turn.text)})
        return stream

    def _cited(self, turn: Turn, sources: Sequence[Source], *, notices: tuple[str, ...] = ()) -> Answer:
        """The generated text with markers resolved and every sentence checked."""
        with turn.trace.step("verify") as step:
            passages = {source.number: source.passage for source in sources}
            locate = SentenceLocator(list(passages.values()), store=self._store, encoder=self._encoder)
            cited = cite(turn.text.strip(), passages, locate=locate, file_hashes=turn.file_hashes)
            support = verify(cited.text, cited.pieces, cited.citations, encoder=self._encoder)
            failed = {marker for item in support if not item.supported for marker in item.markers}
            held = {marker for item in support if item.supported for marker in item.markers}
            citations = tuple(
                replace(citation, verified=citation.marker in held or citation.marker not in failed)
                for citation in cited.citations
            )
            step.outputs.update(sentences=len(support), supported=sum(item.supported for item in support))
        return turn.answer(
            text=cited.text, mode="generate", citations=citations, support=support, notices=notices
        )

    def _begin(self, turn: Turn) -> None:
        """Store a turn that is being answered: as stopped, so that what a kill leaves behind says so.

        Its steps, some 100 kB, come with the end: each second's text would write them again.
        """
        self._keep(turn, turn.answer(text="", status="stopped", steps=()))

    def _keep(self, turn: Turn, answer: Answer) -> Answer:
        """Store a turn, in the place of what was stored of it before."""
        turn.outcome = answer
        if not self.conversation_id:
            self.conversation_id = self._conversations.create(title_of(turn.message)).info.id
        turn.turn_id = self._conversations.save_turn(
            self.conversation_id, replace(answer, turn_id=turn.turn_id)
        )
        turn.outcome = replace(answer, turn_id=turn.turn_id, conversation_id=self.conversation_id)
        return turn.outcome

    # -- running it ---------------------------------------------------------------------------------

    def run(
        self,
        message: str,
        *,
        stop: threading.Event | None = None,
        history: Sequence[Message] | None = None,
    ) -> Iterator[ChatEvent]:
        """Answer a message and yield what happens; the last event is `AnswerFinished` or `RunFailed`.

        `history` takes the place of what was said before. The work is done in a thread, so that events
        arrive while a step is at work. Leaving the iterator early stops the run.
        """
        stop = stop or threading.Event()
        message = message.encode(errors="replace").decode()  # half a surrogate pair cannot be stored
        if history is not None:
            self.history.replace(history)
        events: queue.SimpleQueue[ChatEvent | None] = queue.SimpleQueue()
        turn = Turn(
            message, self.history.said(), stop, events.put, self._working, self._model_name, self._settings()
        )
        context = contextvars.copy_context()
        worker = threading.Thread(
            target=context.run, args=(self._work, turn, events), name="chat", daemon=True
        )
        worker.start()
        try:
            while (event := events.get()) is not None:
                yield event
        except BaseException:  # the caller leaves early
            stop.set()
            raise
        worker.join()
        if turn.crash:
            raise turn.crash

    def _work(self, turn: Turn, events: queue.SimpleQueue[ChatEvent | None]) -> None:
        try:
            answer = self._keep(turn, self._answer(turn))
            self.history.remember(turn.message, answer.text)
            events.put(AnswerFinished(answer))
        except AthenaError as error:
            self._keep_failed(turn, str(error))
            turn.emit(RunFailed(error.problem, error.fix, turn.text, error))
        except BaseException as error:  # noqa: BLE001  (raised again in the thread that called `run`)
            turn.crash = error
            self._keep_failed(turn, UNEXPECTED)
        finally:
            try:
                self._tell(turn)
            finally:
                events.put(None)

    def _tell(self, turn: Turn) -> None:
        """Hand the turn, which is over, to who asked for it."""
        if self._on_end:
            self._on_end(turn.finished)

    def _keep_failed(self, turn: Turn, why: str) -> None:
        """Keep what there was of a failed turn, with why it ended as its last notice."""
        kept = turn.partial or turn.answer(text=turn.text)
        with suppress(AthenaError):  # the conversation is gone, or the store is what failed: said elsewhere
            self._keep(turn, replace(kept, status="failed", notices=(*turn.notices, why)))
            self.history.remember(turn.message, kept.text)

    def _working(self, step: RunningStep) -> str:
        text = WORKING.get(step.name, step.name)
        return text.format(sentences=self._store.sentences.count()) if step.name == "search" else text

    @property
    def _model_name(self) -> str:
        return self._choice.name if self.llm is not None else ""

    def _settings(self) -> dict[str, object]:
        return self._options.model_dump()
