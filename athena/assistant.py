"""`Athena`: the class that programs, the pages, the command line and the evaluation call."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from athena import reading
from athena.components import (
    Components,
    build_components,
    build_search,
    manifest_of,
    require_index,
    retrieval_options,
    user_memory,
    with_settings,
)
from athena.lazy import Lazy, run_ahead, shorten_pauses
from athena.loading import choices_after, drafted, load_settings, options_of, write_choices
from athena.models import Given, Models, is_remote
from athena.settings import Settings
from pipeline.answering.recollection import filled_in, memories_named
from pipeline.options import NO_BUDGET, ChatOptions, PriceOptions, RetrievalOptions
from pipeline.stores.globs import Globs, as_scope
from pipeline.words import well_formed

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from athena.streams import AnswerStream
    from memory.chat import AfterAnswers
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer, Message, Retrieval
    from pipeline.answering.persona import Persona
    from pipeline.answering.turns import ChatAgent
    from pipeline.chat import ChatRecipe
    from pipeline.ingest import IngestReport, Progress
    from pipeline.llamaindex.retriever import HybridRetriever
    from pipeline.models.base import CrossEncoder, Encoder
    from pipeline.retrieve import HybridSearch
    from pipeline.steps.events import ChatEvent
    from pipeline.stores.base import Manifest, Store
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.keys import Keys
    from pipeline.stores.private import PrivateConversations


def open_athena(
    settings: Settings | None = None,
    *,
    llm: str | LLM | None = None,
    encoder: Encoder | None = None,
    reranker: CrossEncoder | None = None,
) -> Athena:
    """Return an Athena for these settings; the store and the models are opened at their first use.

    Without `settings`, `load_settings()` is called, which may raise `ConfigurationError`. `llm`, `encoder`
    and `reranker` replace the models that the settings name.
    """
    return Athena(build_components(settings or load_settings(), Given(llm, encoder, reranker)))


class Asking(TypedDict, total=False):
    """The options of `ask`, `stream` and `chat`, all of them optional."""

    conversation_id: str | None  # the stored conversation to continue; None begins a new one
    llm: str | LLM | None  # a model or its name
    options: RetrievalOptions | None
    paths: Iterable[str] | None  # globs of the documents to search; None: the conversation's scope
    persona: Persona | None
    user: str | None
    private: bool  # keep the conversation only in this process, and remember nothing of it
    unkept: bool  # like private, and the conversation is dropped after the answer
    agent: ChatAgent | None  # from `agent.open_agent`: calls tools; ignored without a language model


class Athena:
    """Ingests, searches, answers and remembers by one set of components; safe to use from several threads."""

    def __init__(self, components: Components) -> None:
        self.components = components
        self._after_answers = Lazy(_make_after_answers)
        self._ingesting: list[None] = []  # one item for each running ingest
        self._changing = threading.Lock()  # a change of settings reads settings.json, then writes it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- components ---------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """The settings in use."""
        return self.components.settings

    def use(self, settings: Settings) -> None:
        """Use other settings from the next question on; answers in progress keep the former settings."""
        self.components = with_settings(self.components, settings)

    def change_settings(self, changes: Mapping[str, Any]) -> Settings:
        """Store changed choices of the Settings page, and use them; None removes a choice.

        Raises `ConfigurationError` for an invalid value or an unwritable data folder; then nothing changes.
        """
        with self._changing:
            settings = drafted(self.settings, changes)
            write_choices(settings.data_dir, choices_after(self.settings, changes))
            self.use(settings)
        return settings

    @property
    def models(self) -> Models:
        """The models in use, and why they were chosen."""
        return self.components.models

    @property
    def encoder(self) -> Encoder:
        """The embedding model."""
        return self.models.encoder()[0]

    @property
    def manifest(self) -> Manifest:
        """The manifest of an index that is made now."""
        return manifest_of(self.encoder)

    @property
    def store(self) -> Store:
        """The documents, conversations, memories and API keys."""
        return self.components.store()

    @property
    def conversations(self) -> Conversations:
        """The stored conversations."""
        return self.store.conversations

    @property
    def private_conversations(self) -> PrivateConversations:
        """The conversations that are kept in this process alone."""
        return self.components.private_conversations()

    @property
    def keys(self) -> Keys:
        """The API keys."""
        from pipeline.stores.keys import Keys

        return Keys(self.store.rows)

    @property
    def persona(self) -> Persona:
        """The assistant's persona: name, greeting and tone."""
        return self.components.persona()

    @property
    def options(self) -> RetrievalOptions:
        """The search options in the settings."""
        return retrieval_options(self.settings)

    @property
    def hybrid_search(self) -> HybridSearch:
        """The search over the index."""
        return build_search(self.components)

    @property
    def retriever(self) -> HybridRetriever:
        """The same search as a LlamaIndex retriever, for programs that use LlamaIndex."""
        from pipeline.llamaindex.retriever import HybridRetriever

        return HybridRetriever(self.hybrid_search)

    # -- indexing -----------------------------------------------------------------------------------

    @property
    def ingesting(self) -> bool:
        """Whether this process is indexing documents."""
        return bool(self._ingesting)

    def ingest(
        self,
        paths: Path | str | Iterable[Path | str],
        *,
        rebuild: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> IngestReport:
        """Bring the index up to date with the documents at and below `paths`, and report what was done.

        Ends early once `should_stop()` is true; several threads call it. Raises `StoreError`, `ModelError`.
        """
        from pipeline.ingest import ingest

        self._ingesting.append(None)
        folder = self.settings.data_dir / reading.UPLOADS
        try:
            with closing(reading.make_reader(self.settings, lambda: self.encoder)) as reader:
                report = ingest(
                    [paths] if isinstance(paths, str | Path) else list(paths),
                    store=self.store,
                    reader=reader,
                    encoder=self.encoder,
                    manifest=self.manifest,
                    uploads=folder if self.settings.store == "server" else None,  # of other machines, too
                    rebuild=rebuild,
                    on_progress=on_progress,
                    should_stop=should_stop,
                )
            warnings = reading.language_warning(report.languages, self.models)
            return replace(report, warnings=[*warnings, *report.warnings])
        finally:
            self._ingesting.pop()

    def delete_with_file(self, source: str) -> bool:
        """Delete a document from the index, and its file if uploaded; return whether a file was deleted.

        Raises `UnknownDocument`. A file in another folder stays: the next ingest of that folder indexes it.
        """
        from pipeline.ingesting import uploads
        from pipeline.ingesting.documents import paths_of

        with reading.changing_files:
            info = self.store.document(source).info
            folder = reading.kept_in(self.settings, info)
            with self.store.writing(self.store.statistics().manifest or self.manifest) as writing:
                writing.delete(source)
            return folder is not None and any(uploads.remove(path, folder) for path in paths_of(info))

    def warm_up(self, *, serving: bool = False) -> None:
        """Load the embedding model in a thread, while the caller imports other modules.

        A model on a server (a request may cost money) or from the program is left alone. With `serving`, for
        a process that stays up, also load the word list for spelling, and shorten Python's own pauses.
        """
        if self.models.given.encoder is None and not is_remote(self.settings):
            run_ahead(lambda: self.encoder.encode_query(""))
        if serving:
            shorten_pauses()
            run_ahead(lambda: self.store.vocabulary("a"))

    # -- finding ------------------------------------------------------------------------------------

    def search(
        self, query: str, *, paths: Iterable[str] = (), limit: int | None = None, all_ranks: bool = False
    ) -> Retrieval:
        """Return the best passages for a query, with no limit on their total length.

        `limit` is the most passages, by default `top_k`. The steps have the first ranks of each ranking,
        with `all_ranks` all of them. Raises `NothingIndexed`.
        """
        require_index(self.settings, self.store)
        options = self.options.but(
            paths=_well_formed(paths), context_tokens=NO_BUDGET, top_k=limit or self.settings.top_k
        )
        kept: dict[str, Any] = {"ranks": None} if all_ranks else {}
        return self.hybrid_search.search(query, options=options, **kept)

    # -- chatting -----------------------------------------------------------------------------------

    def chat(self, **asking: Unpack[Asking]) -> ChatRecipe:
        """Return a chat in a stored or new conversation; raises `NothingIndexed`, `UnknownConversation`."""
        from memory.chat import PRIVATE, RememberingChat
        from pipeline.answering.turns import ChatParts
        from pipeline.chat import ChatRecipe
        from pipeline.stores.private import PrivateConversations

        require_index(self.settings, self.store)
        model, choice = self.models.language_model(asking.get("llm"))
        conversation_id, persona = asking.get("conversation_id"), asking.get("persona")
        unkept, known = asking.get("unkept", False), self.private_conversations
        private = unkept or asking.get("private", False) or (conversation_id or "") in known
        user = asking.get("user") or self.settings.user
        memory, prices = self.memory_of(user, persona=persona), options_of(self.settings, PriceOptions)
        why_private = PRIVATE if private else ""
        tracer = self.components.tracer()
        options, paths = asking.get("options") or self.options, _well_formed(asking.get("paths"))
        parts = ChatParts(
            hybrid_search=build_search(self.components),
            options=options.but(paths=paths) if paths else options,
            llm=model,
            choice=choice,
            conversations=PrivateConversations() if unkept else known if private else self.conversations,
            persona=persona or self.persona,
            limits=options_of(self.settings, ChatOptions),
            listeners=(tracer.record,) if tracer and not private else (),
            user=user,
            memory=RememberingChat(
                memory, self.store.conversations, self._after_answers(), prices, why_private=why_private
            ),
            prices=prices,
            agent=asking.get("agent"),
        )
        return ChatRecipe(parts, conversation_id)

    def ask(
        self, question: str, *, history: Sequence[Message] | None = None, **asking: Unpack[Asking]
    ) -> Answer:
        """Return the answer to a question, in a new conversation or in that of `conversation_id`.

        `history` takes the place of the conversation's turns. Raises the `AthenaError` that ended the answer.
        """
        return self.stream(question, history=history, **asking).answer

    def stream(
        self, question: str, *, history: Sequence[Message] | None = None, **asking: Unpack[Asking]
    ) -> AnswerStream:
        """Return the answer of `ask` as a stream of events or text; the first step asks the question."""
        from athena.streams import AnswerStream

        def run(stop: threading.Event) -> Iterator[ChatEvent]:
            return self.chat(**asking).run(question, stop=stop, history=history)

        return AnswerStream(run, lambda answer: self.with_memories(answer, user=asking.get("user"))[0])

    def astream(
        self, question: str, *, history: Sequence[Message] | None = None, **asking: Unpack[Asking]
    ) -> AsyncGenerator[ChatEvent, None]:
        """Yield the events of `stream` for `async for`; a thread does the work."""
        from athena.streams import arriving

        return arriving(self.stream(question, history=history, **asking))

    def rate(self, turn_id: str, value: int | None, *, private: bool = False) -> None:
        """Store the reader's rating of an answer: 1, -1, or None to take it back.

        Unless `private`, the rating also changes the importance of the memory of that question and answer.
        Raises `UnknownConversation` if the answer is no longer stored.
        """
        conversations = self.private_conversations if private else self.conversations
        conversations.set_feedback(turn_id, value)
        if not private:
            user = conversations.get(conversations.turn(turn_id).answer.conversation_id).info.user
            self.memory_of(user).rated(turn_id, value)

    # -- remembering --------------------------------------------------------------------------------

    @property
    def memory(self) -> UserMemory:
        """The memory of the settings' user."""
        return self.memory_of()

    def memory_of(self, user: str | None = None, *, persona: Persona | None = None) -> UserMemory:
        """Return the memory of `user`, with the static memories of `persona`; default: the settings'."""
        return user_memory(self.components, user or self.settings.user, persona=persona)

    def with_memories(self, answer: Answer, *, user: str | None = None) -> tuple[Answer, Mapping[str, str]]:
        """Return the answer with memories' ids replaced by their texts, and the recalled texts by id."""
        ids = (*answer.recalled, *memories_named(answer.text))
        if not ids:
            return answer, {}
        texts = self.memory_of(user).texts(ids)
        shown = replace(answer, text=filled_in(answer.text, texts))
        return shown, {known: texts[known] for known in answer.recalled if known in texts}

    # -- ending -------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Wait for the background jobs of past answers, which store facts in the memory."""
        if (after := self._after_answers.made) is not None:
            after.finish()

    def close(self) -> None:
        """Wait for the background jobs, then close the store and the tracer, even if a step fails."""
        with ExitStack() as last:
            if (tracer := self.components.tracer.made) is not None:
                last.callback(tracer.close)
            if (store := self.components.store.made) is not None:
                last.callback(store.close)
            self.finish()


def _make_after_answers() -> AfterAnswers:
    from memory.chat import AfterAnswers

    return AfterAnswers()


def _well_formed(paths: Iterable[str] | None) -> Globs | None:
    return as_scope(map(well_formed, as_scope(paths))) or None
