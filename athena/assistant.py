"""Athena: what programs, the pages, the command line and the evaluation talk to.

A facade over the parts that the settings ask for. Each is made at its first use, so that a command pays only
for what it needs: an ingest that has nothing to do imports neither LlamaIndex nor a model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from athena import reading, searching, stores, warming, watching
from athena.loading import part
from athena.models import Models
from athena.once import made_once
from athena.remembering import Remembering
from athena.settings import Settings
from pipeline.answering.remembering import filled_in, memories_named
from pipeline.models.base import CrossEncoder, Encoder, ModelChoice, Pulling
from pipeline.options import ChatOptions
from pipeline.stores.base import Manifest
from pipeline.stores.globs import Globs, as_globs, as_scope
from pipeline.words import counted, well_formed

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from athena.diagnosis import Diagnosis
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer, Retrieval
    from pipeline.answering.persona import Persona
    from pipeline.chat import ChatRecipe
    from pipeline.finding.admission import Admission
    from pipeline.finding.why import Why
    from pipeline.ingest import IngestReport, Progress
    from pipeline.llamaindex.chat_engine import ChatEngine
    from pipeline.llamaindex.retriever import HybridRetriever
    from pipeline.nodes import Node
    from pipeline.options import RetrievalOptions
    from pipeline.retrieve import HybridSearch
    from pipeline.steps.phoenix import PhoenixTracer
    from pipeline.stores.base import DocumentStore, Vector
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.embedded import EmbeddedStore
    from pipeline.stores.embedded.salvage import Salvage
    from pipeline.stores.memories import Memories
    from pipeline.stores.migration import Migration
    from pipeline.stores.private import PrivateConversations
    from pipeline.stores.server import OrphanReport, ServerStore
    from readers.corpus import MarkdownCorpus
    from readers.cutting import SentenceCutter


def open_athena(settings: Settings) -> Athena:
    """Athena over the index in `settings.data_dir`; nothing is read before it is needed."""
    return Athena(settings)


class Athena:
    """The assembled parts; safe to use from several threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.lock = threading.RLock()
        self.serving = False  # whether the process goes on for many answers
        self._models = Models(settings)
        self._remembering = Remembering(self)

    def use(self, settings: Settings) -> None:
        """Go on with other settings for models, search and persona, from the next question on.

        The index stays open, and answers that are being written end as they began. Where the data is, and
        with which model it is embedded, stays as it was.
        """
        with self.lock:
            self.settings = settings
            self._models.use(settings)
            self.__dict__.pop("persona", None)

    # -- what is indexed ----------------------------------------------------------------------------

    @made_once
    def store(self) -> DocumentStore:
        """The documents, sections and sentences."""
        return stores.open_store(self.settings, self.manifest, embed=self._embed)

    @property
    def embedded_store(self) -> EmbeddedStore:
        """The same store where it is files in the data folder, for what only that one can do."""
        return cast("EmbeddedStore", self.store)

    @property
    def server_store(self) -> ServerStore:
        """The same store where the settings choose the servers, for what only that one can do."""
        return cast("ServerStore", self.store)

    @property
    def manifest(self) -> Manifest:
        """What an index made now would be made with."""
        return stores.manifest_of(self.encoder)

    def _embed(self, sections: Sequence[Node], sentences: Sequence[Node]) -> dict[str, Vector]:
        from pipeline.ingesting.batches import embed_nodes

        return embed_nodes(sections, sentences, encoder=self.encoder)

    def ingest(
        self,
        paths: Iterable[Path | str],
        *,
        root: str | None = None,
        rebuild: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> IngestReport:
        """Bring the index up to date with the documents at and below `paths`, web addresses among them.

        `should_stop` is asked by more than one thread.
        """
        from pipeline.ingest import ingest

        paths, refused = reading.fetch_pages(paths, self.settings, should_stop=should_stop)
        with closing(self.reader) as reader:
            report = ingest(
                paths,
                store=self.store,
                reader=reader,
                encoder=self.encoder,
                manifest=self.manifest,
                root=root,
                rebuild=rebuild,
                on_progress=on_progress,
                should_stop=should_stop,
            )
        report = replace(report, problems=(*refused, *report.problems))
        if changed := {*report.added, *report.changed, *report.deleted}:
            self._remembering.check_documents(changed)
        return report

    def delete_document(self, source: str) -> None:
        """Remove a document from the index; raises `UnknownDocument`."""
        self.store.delete_document(source)
        self._remembering.check_documents({source})

    def sentence_cutter(self) -> SentenceCutter:
        """Cuts sections into sentences no longer than the embedding model reads."""
        return reading.make_cutter(self.encoder)

    @property
    def reader(self) -> MarkdownCorpus:
        """Finds documents, reads or converts them, and cuts them as the embedding model needs it."""
        return reading.make_reader(self.settings, self.sentence_cutter)

    # -- models -------------------------------------------------------------------------------------

    @property
    def encoder(self) -> Encoder:
        """The embedding model."""
        return self._models.encoder[0]

    @property
    def encoder_choice(self) -> ModelChoice:
        """Which embedding model it is, and why."""
        return self._models.encoder[1]

    def cross_encoder(self) -> tuple[CrossEncoder | None, ModelChoice]:
        """The cross-encoder and why; None where it is not on disk."""
        return self._models.cross_encoder()

    def fetch_cross_encoder(
        self, on_progress: Callable[[Pulling], None] | None = None
    ) -> tuple[CrossEncoder | None, ModelChoice]:
        """The same, downloaded or converted where it is not on disk: nothing else fetches it."""
        return self._models.fetch_cross_encoder(on_progress)

    def language_model(self, name: str | None = None) -> tuple[LLM | None, ModelChoice]:
        """The language model of a name, by default the settings'; None where there is none."""
        return self._models.language_model(name)

    def language_models(self) -> list[str]:
        """The names to pick from: `ollama/NAME`, `openai/NAME`, and `none` at the end."""
        return self._models.language_models()

    def warm_up(self, *, serving: bool = False) -> None:
        """Load the embedding model in the background: it is needed soon, and other imports take as long.

        A model on a server is left alone: a request for nothing may cost money. A process that stays up,
        `serving`, also counts the words of the documents, by which spelling is corrected, and reads the
        sections that the servers keep, if there is room for all.
        """
        self.serving = self.serving or serving
        warming.warm_up(self, embeds_here=self._models.embeds_here, serving=serving)

    # -- finding ------------------------------------------------------------------------------------

    @property
    def options(self) -> RetrievalOptions:
        """The options of a search, as the settings have them."""
        return searching.retrieval_options(self.settings)

    @property
    def hybrid_search(self) -> HybridSearch:
        """The search over the index, with the settings' language model for hypotheses."""
        return self.hybrid_search_over(self.store, self.language_model()[0])

    @property
    def retriever(self) -> HybridRetriever:
        """The same search as LlamaIndex's retriever, to put into a program of LlamaIndex's parts."""
        from pipeline.llamaindex.retriever import HybridRetriever

        return HybridRetriever(self.hybrid_search)

    @made_once
    def _admission(self) -> Admission:
        """One for all searches."""
        from pipeline.finding.admission import Admission

        return Admission()

    def hybrid_search_over(self, store: DocumentStore, llm: LLM | None) -> HybridSearch:
        """A search over any store, with this language model (or none) for hypotheses."""
        return searching.make_search(
            self.settings,
            store=store,
            encoder=self.encoder,
            cross_encoder=self.cross_encoder()[0] if self.settings.rerank else None,
            llm=llm,
            admission=self._admission,
        )

    def search(self, query: str, *, paths: Globs | None = None) -> Retrieval:
        """Passages for a query, as many as `top_k` says whatever their length; its steps have all ranks."""
        stores.require_index(self.settings, self.store)
        options = self.options.but(paths=_well_formed(paths), context_tokens=searching.NO_BUDGET)
        return self.hybrid_search.search(query, options=options, ranks=None)

    def why(self, searched: str | Retrieval, source: str, heading: str) -> Why:
        """What became of one section in a search of `search`, or in a new one for a question."""
        from pipeline.finding.why import why

        retrieval = self.hybrid_search.search(searched, ranks=None) if isinstance(searched, str) else searched
        return why(retrieval, sections=self.store.sections, source=source, heading=heading)

    def why_answered(self, answer: Answer, source: str, heading: str, *, options: RetrievalOptions) -> Why:
        """What became of one section in the search of a stored answer, which is made again."""
        from pipeline.finding.why import why_answered

        return why_answered(
            answer, hybrid_search=self.hybrid_search, options=options, source=source, heading=heading
        )

    # -- chatting -----------------------------------------------------------------------------------

    @made_once
    def conversations(self) -> Conversations:
        """The stored conversations; where nothing can be stored, those of this process."""
        if not stores.keeps_conversations(self.settings):
            from pipeline.stores.private import PrivateConversations

            return PrivateConversations()
        return stores.open_conversations(self.settings)

    @made_once
    def persona(self) -> Persona:
        """Who answers, and in what tone."""
        from pipeline.answering.persona import load_persona

        return load_persona(self.settings.persona)

    @made_once
    def tracer(self) -> PhoenixTracer | None:
        """What sends each turn to Phoenix; None where the settings have no address of one."""
        return watching.open_tracer(self.settings.phoenix_url)

    def chat(
        self,
        *,
        conversation_id: str | None = None,
        llm: str | None = None,
        options: RetrievalOptions | None = None,
        paths: Globs | None = None,
        persona: Persona | None = None,
        user: str | None = None,
        private: bool = False,
    ) -> ChatRecipe:
        """A chat bound to one conversation, or to a new one, with another persona or user on request.

        Without `paths` it asks the documents that the conversation's scope means; a new one gets its scope
        from them.
        A `private` one is kept in this process alone, and nothing of it is remembered.
        """
        from pipeline.answering.chat_parts import ChatParts
        from pipeline.chat import ChatRecipe

        stores.require_index(self.settings, self.store)
        model, choice = self.language_model(llm)
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
            kept=private or stores.keeps_conversations(self.settings),
        )
        return ChatRecipe(parts, conversation_id)

    def try_out(self, settings: Settings, question: str, *, paths: Globs | None = None) -> Answer:
        """What a question is answered with other settings, over the same index; nothing of it is kept.

        Raises what ends an answer.
        """
        from athena.changing import try_out

        return try_out(self, settings, question, admission=self._admission, paths=paths)

    def rate(self, turn_id: str, value: int | None, word: str = "", *, private: bool = False) -> None:
        """Keep what the reader thought of an answer, 1, -1 or None, and say it in the answer's trace.

        Of a `private` conversation there is no trace. Raises `UnknownConversation` where the answer is not
        stored any more.
        """
        conversations = self.private_conversations if private else self.conversations
        conversations.set_feedback(turn_id, value, word)
        if self.tracer and not private:
            self.tracer.annotate(turn_id, value, word)

    def chat_engine(self, **given: Any) -> ChatEngine:
        """A `chat` as LlamaIndex's chat engine, to put into a program of LlamaIndex's parts."""
        from pipeline.llamaindex.chat_engine import ChatEngine

        return ChatEngine(self.chat(**given))

    # -- remembering --------------------------------------------------------------------------------

    @made_once
    def private_conversations(self) -> PrivateConversations:
        """The conversations that are kept in this process alone."""
        from pipeline.stores.private import PrivateConversations

        return PrivateConversations()

    @made_once
    def memories(self) -> Memories:
        """The stored memories of all users."""
        return stores.open_memories(self.settings)

    @property
    def memory(self) -> UserMemory:
        """What is remembered of the settings' user."""
        return self.memory_of()

    def memory_of(self, user: str | None = None, *, persona: Persona | None = None) -> UserMemory:
        """What is remembered of a user, by default the settings'; with another persona on request."""
        return self._remembering.memory_of(user or self.settings.user, persona=persona)

    def with_memories(self, answer: Answer, *, user: str | None = None) -> tuple[Answer, Mapping[str, str]]:
        """The answer with what the memories say that its text names, and what was recalled for it, by id."""
        ids = (*answer.recalled, *memories_named(answer.text))
        if not ids:
            return answer, {}
        texts = self.memory_of(user).texts(ids)
        shown = replace(answer, text=filled_in(answer.text, texts))
        return shown, {known: texts[known] for known in answer.recalled if known in texts}

    def filled_in(self, text: str, *, user: str | None = None) -> str:
        """A stored text with what the memories say now that it names; forgotten ones are said to be that."""
        ids = memories_named(text)
        return filled_in(text, self.memory_of(user).texts(ids)) if ids else text

    def banner(self) -> str:
        """One line on what is connected."""
        documents, sentences = self.store.sections.documents(), self.store.sentences.count()
        model = self.language_model()[1]
        answering = model.name or "no language model: answers are quotes"
        return f"{counted(len(documents), 'document')}, {counted(sentences, 'sentence')}; {answering}"

    # -- looking after itself -----------------------------------------------------------------------

    def diagnose(self) -> Diagnosis:
        """Whether everything works, and how to fix what does not."""
        from athena.diagnosis import diagnose

        return diagnose(self)

    def repair(self) -> OrphanReport | None:
        """Remove from each server what the other does not have; None for the embedded store.

        That one has nothing to repair: its derived indexes are rebuilt when they are damaged.
        """
        return self.server_store.remove_orphans() if self.settings.store == "server" else None

    def salvage(self, into: Path) -> Salvage:
        """Copy what can be read of a damaged data folder into a new one."""
        from pipeline.stores.embedded.salvage import salvage

        return salvage(self.settings.data_dir, into)

    def migrate(
        self, to: str, *, force: bool = False, report: Callable[[str, int, int], None] | None = None
    ) -> Migration:
        """Copy index and conversations from the other store into `to`: "embedded" or "server"."""
        return stores.copy_to(to, self.settings, self.manifest, force=force, report=report)

    def close(self) -> None:
        """Do what is left to do after answers, and release files and connections."""
        with ExitStack() as last:
            for name in ("tracer", "store", "memories", "conversations"):
                last.callback(self._release, name)
            self._remembering.finish()

    def _release(self, name: str) -> None:
        if self.__dict__.get(name) is not None:
            self.__dict__[name].close()


def _within(options: RetrievalOptions, paths: Globs | None) -> RetrievalOptions:
    return options.but(paths=_well_formed(paths)) if paths else options


def _well_formed(paths: Globs | None) -> Globs | None:
    return as_globs(well_formed(glob) for glob in as_scope(paths))
