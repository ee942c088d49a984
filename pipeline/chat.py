"""The third recipe: a message in, an answer with verified citations out, watched as it is made.

condense → retrieve → answerable? → quote, or prompt and generate → cite → verify → remember
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.chat_engine.types import AgentChatResponse, StreamingAgentChatResponse

from pipeline import condense
from pipeline.answer import Answer, Retrieval
from pipeline.citations import cite
from pipeline.context import Source, count_tokens, fitting_history, fitting_message, number_sources
from pipeline.errors import AthenaError, ModelError
from pipeline.events import (
    AnswerFinished,
    ChatEvent,
    RunFailed,
    RunningStep,
    SourcesFound,
    StepFinished,
    StepStarted,
    TokenArrived,
    Trace,
)
from pipeline.extractive import choose_quotes
from pipeline.history import TurnMemory
from pipeline.locate import SentenceLocator
from pipeline.models.generation import ChatStream, complete, stream_chat
from pipeline.prompts import condense_prompt, system_prompt
from pipeline.replies import (
    NO_MODEL,
    QUOTES_INSTEAD,
    nearest_sections,
    not_answered,
    quote_citations,
    quotes_text,
)
from pipeline.verification import verify

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from pipeline.conversations import ConversationStore
    from pipeline.models.base import Encoder, ModelChoice
    from pipeline.persona import Persona
    from pipeline.retrieve import HybridRetriever, RetrievalOptions
    from pipeline.stores.base import DocumentStore

WORKING = {
    "condense": "Reading the conversation",
    "hyde": "Writing a hypothetical answer",
    "embed": "Embedding the question",
    "search": "Searching {sentences:,} sentences",
    "fuse": "Fusing the rankings",
    "merge": "Merging sentences into sections",
    "rerank": "Reranking",
    "answerable": "Judging whether this answers it",
    "select": "Selecting passages",
    "prompt": "Writing the prompt",
    "generate": "Writing the answer",
    "quote": "Choosing quotes",
    "verify": "Checking the citations",
}
CONDENSE_TIMEOUT_S = 20.0
RESERVED_TOKENS = 32  # of the prompt, for what stands between messages and between sources
MESSAGE_CUT = "The message is longer than the model can read: only its beginning was sent."


class ChatEngine(CondensePlusContextChatEngine):
    """LlamaIndex's condense-plus-context engine, bound to one stored conversation.

    `run` yields typed events and keeps every turn, also one that was stopped or failed. `chat`,
    `stream_chat` and their async twins are the same run seen through LlamaIndex's types. Without a
    language model the answer is quotes.
    """

    def __init__(
        self,
        *,
        retriever: HybridRetriever,
        options: RetrievalOptions,
        llm: LLM | None,
        choice: ModelChoice,
        store: DocumentStore,
        encoder: Encoder,
        conversations: ConversationStore,
        conversation_id: str | None,
        persona: Persona,
        quotes: int = 5,
        history_tokens: int = 2000,
        max_answer_tokens: int = 1024,
        context_window: int = 8192,
    ) -> None:
        conversation = conversations.get(conversation_id) if conversation_id else None
        memory = TurnMemory.of(conversation)
        super().__init__(retriever=retriever, llm=llm, memory=memory)  # type: ignore[arg-type]
        self.conversation_id = conversation_id or ""
        self._searcher = retriever
        self._options = options
        self._model = llm
        self._choice = choice
        self._store = store
        self._encoder = encoder
        self._conversations = conversations
        self._persona = persona
        self._turns = memory
        self._quotes = quotes
        self._history_tokens = history_tokens
        self._prompt_tokens = max(512, context_window - max_answer_tokens)

    # -- the recipe ---------------------------------------------------------------------------------

    def _answer(self, turn: _Turn) -> Answer:
        self._condense(turn)
        self._retrieve(turn)
        if not turn.retrieval.answerability.answerable:
            return self._abstain(turn)
        self._keep(turn)
        if self._model is None:
            return self._quote(turn)
        return self._generate(turn)

    def _condense(self, turn: _Turn) -> None:
        """The message and the history as one question that stands alone."""
        with turn.trace.step("condense", message=turn.message, messages=len(turn.history)) as step:
            rewrite = partial(self._rewrite, stop=turn.stop) if self._model else None
            found = condense.condense(turn.history, turn.message, rewrite=rewrite)
            step.outputs.update(question=found.question, carried=found.carried, by=found.by)
            if found.problem:
                step.fail(found.problem)
        turn.question = found.question

    def _rewrite(self, history: Sequence[condense.Said], message: str, *, stop: threading.Event) -> str:
        assert self._model is not None  # noqa: S101  (only called with one)
        recent = fitting_history(history, budget=self._history_tokens)
        prompt = condense_prompt(recent, message)
        text = complete(self._model, prompt, timeout_s=CONDENSE_TIMEOUT_S, stop=stop)
        return "" if stop.is_set() else text  # half a question finds something else

    def _retrieve(self, turn: _Turn) -> None:
        """Passages and the verdict."""
        turn.retrieval = self._searcher.search(turn.question, trace=turn.trace, options=self._options)
        turn.emit(SourcesFound(turn.retrieval))
        sources = {passage.section.metadata["source"] for passage in turn.retrieval.passages}
        known = {info.source: info.hash for info in self._store.sections.documents()}
        turn.file_hashes = {source: known.get(source, "") for source in sources}

    def _abstain(self, turn: _Turn) -> Answer:
        """The documents do not answer: what was looked for, and the nearest sections."""
        nearest = nearest_sections(turn.retrieval.passages, turn.file_hashes)
        return turn.answer(text=not_answered(turn.question), abstained=True, nearest=nearest)

    def _quote(self, turn: _Turn, notice: str = "") -> Answer:
        """The best sentences as they stand."""
        with turn.trace.step("quote", limit=self._quotes) as step:
            quotes = choose_quotes(
                turn.retrieval, store=self._store, encoder=self._encoder, limit=self._quotes
            )
            citations = quote_citations(quotes, turn.file_hashes)
            step.outputs["quotes"] = [[quote.leaves[0].node_id, quote.score] for quote in quotes]
        notice = notice or f"{NO_MODEL} {self._choice.fix}".strip()
        return turn.answer(text=quotes_text(citations), mode="quote", citations=citations, notices=(notice,))

    def _generate(self, turn: _Turn) -> Answer:
        """The model's answer; where it fails before the first word, quotes stand in for it."""
        messages, sources = self._prompt(turn)
        try:
            stream = self._stream(turn, messages)
        except ModelError as error:
            if turn.text.strip():
                raise
            return self._quote(turn, notice=f"{error} {QUOTES_INSTEAD}")
        if not turn.text.strip() and not turn.stop.is_set():
            return self._quote(turn, notice=f"{self._choice.name} answered nothing. {QUOTES_INSTEAD}")
        generation = stream.generation
        notices = turn.notices + ((generation.notice,) if generation and generation.notice else ())
        return self._cited(turn, sources, notices=notices)

    def _prompt(self, turn: _Turn) -> tuple[list[ChatMessage], list[Source]]:
        """System header, sources, history and message, within the model's context."""
        with turn.trace.step("prompt") as step:
            bare = count_tokens(system_prompt(self._persona.system_header, self._persona.tone, ""))
            message = fitting_message(turn.message, budget=(self._prompt_tokens - bare) // 2)
            room = self._prompt_tokens - bare - count_tokens(message) - RESERVED_TOKENS
            sources = number_sources(
                turn.retrieval.passages, budget=min(self._options.context_tokens, max(200, room * 2 // 3))
            )
            text = "\n\n".join(source.text for source in sources)
            left = min(self._history_tokens, room - count_tokens(text))
            history = fitting_history(turn.history, budget=left)
            messages = [
                ChatMessage(
                    role=MessageRole.SYSTEM,
                    content=system_prompt(self._persona.system_header, self._persona.tone, text),
                ),
                *(_chat_message(item) for item in history),
                ChatMessage(role=MessageRole.USER, content=message),
            ]
            step.outputs["messages"] = [{"role": m.role.value, "text": m.content or ""} for m in messages]
            step.outputs["tokens"] = sum(count_tokens(m.content or "") for m in messages)
            step.outputs["history_left_out"] = len(turn.history) - len(history)
            if message != turn.message:
                turn.notices += (MESSAGE_CUT,)
        return messages, sources

    def _stream(self, turn: _Turn, messages: list[ChatMessage]) -> ChatStream:
        assert self._model is not None  # noqa: S101  (only called with one)
        with turn.trace.step("generate", model=self._choice.name) as step:
            stream = stream_chat(self._model, messages, stop=turn.stop)
            for piece in stream:
                turn.text += piece
                turn.emit(TokenArrived(piece))
            if stream.generation:
                step.outputs.update(asdict(stream.generation) | {"text": len(turn.text)})
        return stream

    def _cited(self, turn: _Turn, sources: list[Source], *, notices: tuple[str, ...] = ()) -> Answer:
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

    def _keep(self, turn: _Turn, answer: Answer | None = None) -> Answer:
        """Store the turn; first as stopped, so that what a kill leaves behind says so."""
        answer = answer or turn.answer(text="", status="stopped")
        if not self.conversation_id:
            self.conversation_id = self._conversations.create().info.id
        turn.turn_id = self._conversations.save_turn(
            self.conversation_id, replace(answer, turn_id=turn.turn_id)
        )
        return replace(answer, turn_id=turn.turn_id, conversation_id=self.conversation_id)

    # -- running it ---------------------------------------------------------------------------------

    def run(
        self,
        message: str,
        *,
        stop: threading.Event | None = None,
        chat_history: list[ChatMessage] | None = None,
    ) -> Iterator[ChatEvent]:
        """Answer a message and yield what happens; the last event is `AnswerFinished` or `RunFailed`.

        The work is done in a thread, so that events arrive while a step is at work. Leaving the iterator
        early stops the run.
        """
        stop = stop or threading.Event()
        message = message.encode(errors="replace").decode()  # half a surrogate pair cannot be stored
        if chat_history is not None:
            self._turns.set(chat_history)
        events: queue.SimpleQueue[ChatEvent | None] = queue.SimpleQueue()
        turn = _Turn(
            message, self._turns.said(), stop, events.put, self._working, self._model_name, self._settings()
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

    def _work(self, turn: _Turn, events: queue.SimpleQueue[ChatEvent | None]) -> None:
        try:
            answer = self._keep(turn, self._answer(turn))
            self._turns.remember(turn.message, answer.text)
            events.put(AnswerFinished(answer))
        except AthenaError as error:
            self._fail(turn, error)
        except BaseException as error:  # noqa: BLE001  (raised again in the thread that called `run`)
            turn.crash = error
        finally:
            events.put(None)

    def _fail(self, turn: _Turn, error: AthenaError) -> None:
        """Keep what there was of a failed turn, and say why it ended."""
        kept = turn.answer(text=turn.text, status="failed", notices=(str(error),))
        with suppress(AthenaError):  # the conversation is gone, or the store is what failed: said below
            self._keep(turn, kept)
            self._turns.remember(turn.message, turn.text)
        turn.emit(RunFailed(error.problem, error.fix, turn.text))

    def _working(self, step: RunningStep) -> str:
        text = WORKING.get(step.name, step.name)
        return text.format(sentences=self._store.sentences.count()) if step.name == "search" else text

    @property
    def _model_name(self) -> str:
        return self._choice.name if self._model is not None else ""

    def _settings(self) -> dict[str, object]:
        return asdict(self._options)

    # -- LlamaIndex's ways in -----------------------------------------------------------------------

    def chat(self, message: str, chat_history: list[ChatMessage] | None = None) -> AgentChatResponse:
        """The whole answer; raises `ModelError` where the run fails."""
        found: list[Retrieval] = []
        for event in self.run(message, chat_history=chat_history):
            match event:
                case SourcesFound(retrieval=retrieval):
                    found.append(retrieval)
                case AnswerFinished(answer=answer):
                    return AgentChatResponse(response=answer.text, source_nodes=_nodes(found))
                case RunFailed(message=problem, fix=fix):
                    raise ModelError(problem, fix)
        raise ModelError("The answer ended unexpectedly.", "Ask again.")

    def stream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """The answer as it is written; quotes and "not in the documents" come in one piece."""
        nodes: list[Any] = []
        return StreamingAgentChatResponse(
            chat_stream=self._chunks(message, chat_history, nodes),
            source_nodes=nodes,
            is_writing_to_memory=False,
        )

    def _chunks(
        self, message: str, chat_history: list[ChatMessage] | None, nodes: list[Any]
    ) -> Generator[ChatResponse, None, None]:
        """The run as LlamaIndex streams it; `nodes` gets the sources as soon as they are found."""
        text = ""
        for event in self.run(message, chat_history=chat_history):
            match event:
                case SourcesFound(retrieval=retrieval):
                    nodes += _nodes([retrieval])
                case TokenArrived(text=delta):
                    text += delta
                    yield _chunk(text, delta)
                case AnswerFinished(answer=answer) if not text:
                    yield _chunk(answer.text, answer.text)
                case RunFailed(message=problem, fix=fix):
                    raise ModelError(problem, fix)

    async def achat(self, message: str, chat_history: list[ChatMessage] | None = None) -> AgentChatResponse:
        """`chat` in a thread."""
        import asyncio

        return await asyncio.to_thread(self.chat, message, chat_history)

    async def astream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """`stream_chat` with an async stream."""
        nodes: list[Any] = []
        chunks = self._chunks(message, chat_history, nodes)
        return StreamingAgentChatResponse(
            achat_stream=_async(chunks), source_nodes=nodes, is_writing_to_memory=False
        )


class _Turn:
    """One turn while it runs."""

    def __init__(
        self,
        message: str,
        history: list[condense.Said],
        stop: threading.Event,
        emit: Callable[[ChatEvent], None],
        working: Callable[[RunningStep], str],
        model: str,
        settings: dict[str, object],
    ) -> None:
        self.message = message
        self.question = message
        self.history = history
        self.stop = stop
        self.emit = emit
        self.text = ""
        self.turn_id = ""
        self.notices: tuple[str, ...] = ()
        self.retrieval: Retrieval
        self.file_hashes: dict[str, str] = {}
        self.crash: BaseException | None = None
        self._model = model
        self._settings = settings
        self._started = time.perf_counter()
        self.trace = Trace(
            on_start=lambda step: emit(StepStarted(step.name, working(step))),
            on_finish=lambda step: emit(StepFinished(step)),
        )

    def answer(self, **given: Any) -> Answer:
        """The answer as it stands, with what is given on top."""
        known: dict[str, Any] = {
            "question": self.message,
            "condensed_question": self.question,
            "mode": "generate" if self._model else "quote",
            "abstained": False,
            "steps": tuple(self.trace.steps),
            "status": "stopped" if self.stop.is_set() else "complete",
            "seconds": time.perf_counter() - self._started,
            "settings": self._settings,
        } | given
        return Answer(model=self._model if known["mode"] == "generate" else "", **known)


def _chat_message(item: condense.Said) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER if item.by_user else MessageRole.ASSISTANT, content=item.text)


def _chunk(text: str, delta: str) -> ChatResponse:
    return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=text), delta=delta)


def _nodes(found: list[Retrieval]) -> list[Any]:
    from llama_index.core.schema import NodeWithScore

    passages = found[-1].passages if found else ()
    return [NodeWithScore(node=passage.node, score=passage.score) for passage in passages]


async def _async(chunks: Generator[ChatResponse, None, None]) -> AsyncGenerator[ChatResponse, None]:
    import asyncio

    with closing(chunks):
        while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
            yield chunk
