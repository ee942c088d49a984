"""Athena: what programs, the pages, the command line and the evaluation talk to.

A facade over the parts that the settings ask for. Each is made at its first use, so that a command pays only
for what it needs: an ingest that has nothing to do imports neither LlamaIndex nor a model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

from athena import reading, searching, stores, warming
from athena.loading import load_settings, part
from athena.memory_assembly import MemoryAssembly
from athena.models import Given
from athena.parts import Parts
from athena.settings import Settings
from pipeline.answering.recollection import filled_in, memories_named
from pipeline.options import ChatOptions, PriceOptions
from pipeline.stores.globs import Globs, as_globs, as_scope
from pipeline.words import counted, well_formed

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM

    from athena.streams import AnswerStream, AsyncAnswerStream
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer, Retrieval
    from pipeline.answering.persona import Persona
    from pipeline.answering.turns import ChatAgent
    from pipeline.chat import ChatRecipe
    from pipeline.errors import AthenaError
    from pipeline.finding.why import Why
    from pipeline.ingest import IngestReport, Progress
    from pipeline.llamaindex.retriever import HybridRetriever
    from pipeline.messages import Message
    from pipeline.models.base import CrossEncoder, Encoder
    from pipeline.options import RetrievalOptions
    from pipeline.steps.events import ChatEvent
    from readers.errors import ReaderError


def open_athena(
    settings: Settings | None = None,
    *,
    llm: str | LLM | None = None,
    encoder: BaseEmbedding | Encoder | None = None,
    reranker: CrossEncoder | None = None,
) -> Athena:
    """Athena over the index in `settings.data_dir`; nothing is read before it is needed.

    Without settings, those of the environment and `.env`. Models that are given take the place of those that
    the settings name (`pipeline/models/given.py` says what they may be).
    """
    return Athena(settings or load_settings(), Given(llm, encoder, reranker))


class Asking(TypedDict, total=False):
    """How `Athena.chat` and what is made of it may be told to ask."""

    conversation_id: str | None
    llm: str | LLM | None
    options: RetrievalOptions | None
    paths: Globs | None
    persona: Persona | None
    user: str | None
    private: bool
    agent: ChatAgent | None


class Athena(Parts):
    """The assembled parts and what is done with them; safe to use from several threads."""

    def __init__(self, settings: Settings, given: Given | None = None) -> None:
        super().__init__(settings, given)
        self._remembering = MemoryAssembly(self)
        self._ingesting: list[None] = []  # one for each run

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what is indexed ----------------------------------------------------------------------------

    @property
    def ingesting(self) -> bool:
        """Whether documents are being indexed here: what is not read yet is not found."""
        return bool(self._ingesting)

    def ingest(
        self,
        paths: Path | str | Iterable[Path | str],
        *,
        root: str | None = None,
        rebuild: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
        unfinished: frozenset[str] = frozenset(),
    ) -> IngestReport:
        """Bring the index up to date with the documents at and below `paths`.

        `should_stop` is asked by more than one thread. Files at `unfinished` real paths are being written:
        they are left as they are indexed.
        """
        from pipeline.ingest import ingest

        self._ingesting.append(None)
        try:
            with closing(
                reading.make_reader(self.settings, self.sentence_cutter, unfinished=unfinished)
            ) as reader:
                report = ingest(
                    _listed(paths),
                    store=self.store,
                    reader=reader,
                    encoder=self.encoder,
                    manifest=self.manifest,
                    root=root,
                    uploads=reading.shared_uploads(self.settings),
                    rebuild=rebuild,
                    on_progress=on_progress,
                    should_stop=should_stop,
                )
            warnings = reading.language_warning(report.languages, self.models)
            return replace(report, warnings=[*warnings, *report.warnings])
        finally:
            self._ingesting.pop()

    def watch(
        self,
        paths: Path | str | Iterable[Path | str],
        *,
        stop: threading.Event,
        tell: Callable[[IngestReport], None],
        fail: Callable[[AthenaError], None],
        known: Iterable[ReaderError] = (),
    ) -> None:
        """Ingest what changes at and below `paths` until `stop` is set, and what had changed before.

        `tell` gets the report of each ingest that did anything, with a problem once; `fail` gets an error, as
        that another process is writing, once: it is tried again. Problems that are `known` were told before.
        """
        from athena.folder_watch import FolderWatch

        def ingest(changed: Sequence[Path], unfinished: frozenset[str]) -> IngestReport:
            return self.ingest(changed, unfinished=unfinished, should_stop=stop.is_set)

        folders = [Path(path) for path in _listed(paths)]
        apart = self.settings.data_dir
        FolderWatch(folders, ingest=ingest, apart=apart, tell=tell, fail=fail, known=known).run(stop)

    def delete_document(self, source: str) -> None:
        """Remove a document from the index; raises `UnknownDocument`."""
        with self.store.writing(self.store.sections.manifest() or self.manifest) as writing:
            writing.delete(source)

    def delete_with_file(self, source: str) -> bool:
        """Remove a document from the index, and its file where it is ours; whether a file was deleted.

        Raises `UnknownDocument`. Another's file stays, and comes back when its folder is indexed again.
        """
        from pipeline.ingesting import uploads
        from pipeline.ingesting.documents import paths_of

        with reading.changing_files:
            info = self.store.sections.document(source).info
            folder = reading.kept_in(self.settings, info)
            self.delete_document(source)
            return folder is not None and any(uploads.remove(path, folder) for path in paths_of(info))

    def warm_up(self, *, serving: bool = False) -> None:
        """Load the embedding model in the background: it is needed soon, and other imports take as long.

        A model on a server is left alone: a request for nothing may cost money. A process that stays up,
        `serving`, also counts the words of the documents, by which spelling is corrected.
        """
        self.serving = self.serving or serving
        jobs: list[Callable[[], object]] = []
        if self.models.embeds_here:
            jobs.append(lambda: self.encoder.encode_query(""))
        if serving:
            warming.serve_many()
        if serving and self.settings.spelling:
            jobs.append(lambda: self.store.sentences.vocabulary())
        warming.run_ahead(jobs)

    # -- finding ------------------------------------------------------------------------------------

    @property
    def retriever(self) -> HybridRetriever:
        """The same search as LlamaIndex's retriever, to put into a program of LlamaIndex's parts."""
        from pipeline.llamaindex.retriever import HybridRetriever

        return HybridRetriever(self.hybrid_search)

    def search(self, query: str, *, paths: Globs | None = None) -> Retrieval:
        """Passages for a query, as many as `top_k` says whatever their length; its steps have all ranks."""
        stores.require_index(self.settings, self.store)
        options = self.options.but(paths=_well_formed(paths), context_tokens=searching.NO_BUDGET)
        return self.hybrid_search.search(query, options=options, ranks=None)

    def search_many(self, queries: Iterable[str], *, paths: Globs | None = None) -> list[Retrieval]:
        """What `search` finds for each query, in their order; as many at a time as there are cores."""
        stores.require_index(self.settings, self.store)
        search = self.hybrid_search
        options = self.options.but(paths=_well_formed(paths), context_tokens=searching.NO_BUDGET)
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda query: search.search(query, options=options, ranks=None), queries))

    def why(self, searched: str | Retrieval, source: str, heading: str) -> Why:
        """What became of one section in a search of `search`, or in a new one for a question."""
        from pipeline.finding.why import why

        retrieval = self.hybrid_search.search(searched, ranks=None) if isinstance(searched, str) else searched
        return why(retrieval, sections=self.store.sections, source=source, heading=heading)

    # -- chatting -----------------------------------------------------------------------------------

    def chat(
        self,
        *,
        conversation_id: str | None = None,
        llm: str | LLM | None = None,
        options: RetrievalOptions | None = None,
        paths: Globs | None = None,
        persona: Persona | None = None,
        user: str | None = None,
        private: bool = False,
        agent: ChatAgent | None = None,
    ) -> ChatRecipe:
        """A chat bound to one conversation, or to a new one, with another persona or user on request.

        Without `paths` it asks the documents that the conversation's scope means; a new one gets its scope
        from them. `llm` is the name of a model or the model itself.
        A `private` one is kept in this process alone, and nothing of it is remembered. An `agent` chooses its
        tools before it answers (`from agent import open_agent`); without a language model it is not asked.
        """
        from pipeline.answering.turns import ChatParts
        from pipeline.chat import ChatRecipe

        stores.require_index(self.settings, self.store)
        model, choice = self.models.language_model(llm)
        private = private or (conversation_id or "") in self.private_conversations
        user = user or self.settings.user
        parts = ChatParts(
            hybrid_search=self.hybrid_search_over(self.store, model),
            options=_within(options or self.options, paths),
            llm=model,
            choice=choice,
            conversations=self.private_conversations if private else self.conversations,
            persona=persona or self.persona,
            limits=part(self.settings, ChatOptions),
            listeners=(self.tracer.record,) if self.tracer and not private else (),
            user=user,
            memory=self._remembering.in_chat(user, persona=persona, private=private),
            prices=part(self.settings, PriceOptions),
            agent=agent,
        )
        return ChatRecipe(parts, conversation_id)

    def ask(
        self, question: str, *, history: Sequence[Message] | None = None, **asking: Unpack[Asking]
    ) -> Answer:
        """The answer to a question, in a new conversation or in that of `conversation_id`.

        `history` takes the place of what was said before. Raises the `AthenaError` that ended it.
        """
        return self.stream(question, history=history, **asking).answer

    async def aask(
        self, question: str, *, history: Sequence[Message] | None = None, **asking: Unpack[Asking]
    ) -> Answer:
        """`ask` in a thread; it ends where the task is cancelled."""
        return await self.astream(question, history=history, **asking).answer()

    def stream(
        self, question: str, *, history: Sequence[Message] | None = None, **asking: Unpack[Asking]
    ) -> AnswerStream:
        """The same answer while it is made: its events, or its text."""
        from athena.streams import AnswerStream

        def run(stop: threading.Event) -> Iterator[ChatEvent]:
            return self.chat(**asking).run(question, stop=stop, history=history)

        return AnswerStream(run, lambda answer: self.with_memories(answer, user=asking.get("user"))[0])

    def astream(
        self, question: str, *, history: Sequence[Message] | None = None, **asking: Unpack[Asking]
    ) -> AsyncAnswerStream:
        """`stream` for `async for`."""
        from athena.streams import AsyncAnswerStream

        return AsyncAnswerStream(self.stream(question, history=history, **asking))

    def rate(self, turn_id: str, value: int | None, word: str = "", *, private: bool = False) -> None:
        """Store the reader's rating of an answer: 1, -1, or None to take it back, with a comment.

        Raises `UnknownConversation` where the answer is not stored any more.
        """
        conversations = self.private_conversations if private else self.conversations
        conversations.set_feedback(turn_id, value, word)
        if not private:
            user = conversations.get(conversations.conversation_of(turn_id)).info.user
            self._remembering.rated(user, turn_id, value)

    # -- remembering --------------------------------------------------------------------------------

    @property
    def memory(self) -> UserMemory:
        """What is remembered of the settings' user."""
        return self.memory_of()

    def memory_of(self, user: str | None = None, *, persona: Persona | None = None) -> UserMemory:
        """What is remembered of a user, by default the settings'; with another persona on request."""
        return self._remembering.memory_of(user or self.settings.user, persona=persona)

    def with_memories(self, answer: Answer, *, user: str | None = None) -> tuple[Answer, Mapping[str, str]]:
        """The answer with what the memories say that its text names, and what came to mind for it, by id."""
        ids = (*answer.recalled, *answer.related, *memories_named(answer.text))
        if not ids:
            return answer, {}
        texts = self.memory_of(user).texts(ids)
        shown = replace(answer, text=filled_in(answer.text, texts))
        return shown, {known: texts[known] for known in (*answer.recalled, *answer.related) if known in texts}

    def filled_in(self, text: str, *, user: str | None = None) -> str:
        """A stored text with what the memories say now that it names; forgotten ones are said to be that."""
        ids = memories_named(text)
        return filled_in(text, self.memory_of(user).texts(ids)) if ids else text

    def banner(self) -> str:
        """One line on what is connected."""
        documents, sentences = self.store.sections.documents(), self.store.sections.statistics().sentences
        model = self.models.language_model()[1]
        answering = model.name or "no language model: answers are quotes"
        return f"{counted(len(documents), 'document')}, {counted(sentences, 'sentence')}; {answering}"

    # -- looking after itself -----------------------------------------------------------------------

    def finish(self) -> None:
        """Do what is left to do after answers."""
        self._remembering.finish()

    def close(self) -> None:
        """Do what is left to do after answers, and release files and connections."""
        with ExitStack() as last:
            for name in ("tracer", "store", "memories", "conversations", "keys"):
                last.callback(self._release, name)
            self.finish()

    def _release(self, name: str) -> None:
        if self.__dict__.get(name) is not None:
            self.__dict__[name].close()


def _listed(paths: Path | str | Iterable[Path | str]) -> list[Path | str]:
    """The paths, of which there may be one: its letters are none, though `/` would be a folder."""
    return [paths] if isinstance(paths, str | Path) else list(paths)


def _within(options: RetrievalOptions, paths: Globs | None) -> RetrievalOptions:
    return options.but(paths=_well_formed(paths)) if paths else options


def _well_formed(paths: Globs | None) -> Globs | None:
    return as_globs(well_formed(glob) for glob in as_scope(paths))
