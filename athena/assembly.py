"""Settings → assembled objects: the only place that chooses a backend.

Everything is made at its first use, so that a command pays only for what it needs: an ingest that has
nothing to do imports neither LlamaIndex nor a model.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from athena.settings import GARBAGE_THRESHOLD, MANUALS, SWITCH_INTERVAL_S, Settings
from pipeline.errors import ConfigurationError, ModelError, StoreError
from pipeline.models.base import CrossEncoder, Encoder, ModelChoice
from pipeline.stores.base import Manifest
from pipeline.stores.manifest import FORMAT

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from athena.diagnosis import Diagnosis
    from pipeline.answer import Answer, Retrieval
    from pipeline.answering.persona import Persona
    from pipeline.chat import ChatRecipe
    from pipeline.finding.admission import Admission
    from pipeline.finding.hyde import Hypothesize
    from pipeline.finding.why import Why
    from pipeline.ingest import IngestReport, Progress
    from pipeline.llamaindex.chat_engine import ChatEngine
    from pipeline.llamaindex.retriever import HybridRetriever
    from pipeline.retrieve import HybridSearch, RetrievalOptions
    from pipeline.steps.phoenix import PhoenixTracer
    from pipeline.stores.base import DocumentStore
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.migration import Migration
    from pipeline.stores.server import OrphanReport, ServerAddresses, ServerStore
    from readers.cutting import MarkdownCutter, SentenceCutter

MISSION_PERSONA = Path(__file__).parents[1] / "mission" / "persona.toml"
TELEMETRY = "What the ship's console shows at this moment:"
LOCAL_EMBEDDINGS = ("bundled", "sentence-transformers")
SPLITTER = "punkt-1"
"""Names how sections are cut into sentences; another one makes an index that has to be rebuilt."""


def load_settings(**given: Any) -> Settings:
    """The settings of the environment and `.env`, with those given on top; raises `ConfigurationError`."""
    try:
        return Settings(**given)
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"Cannot read '.env': not UTF-8 (byte 0x{error.object[error.start]:02X} at {error.start:,}).",
            "Save it as UTF-8.",
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(["ATHENA", *map(str, first["loc"])]).upper()
        raise ConfigurationError(
            f"{name} cannot be {first['input']!r}: {first['msg'][0].lower()}{first['msg'][1:]}.",
            "Mend it in the environment, in .env or on the command line.",
        ) from error


def mission_folder(settings: Settings) -> Path:
    """Where saved games and the progress over levels are kept."""
    return settings.data_dir / "mission"


def mission_persona(telemetry: str = "") -> Persona:
    """Who answers aboard the ship, told what the console shows; raises `ConfigurationError`."""
    from pipeline.answering.persona import load_persona

    persona = load_persona(MISSION_PERSONA)
    if not telemetry:
        return persona
    header = f"{persona.system_header}\n\n{TELEMETRY}\n{telemetry}"
    return persona.model_copy(update={"system_header": header})


def has_mission(settings: Settings) -> bool:
    """Whether the corpus is the ship's manuals, or a copy of them: another one has no mission."""
    first_pages = [folder / "index.md" for folder in (settings.corpus, MANUALS)]
    with suppress(OSError):
        return len({page.read_bytes() for page in first_pages}) == 1
    return False


def open_athena(settings: Settings) -> Athena:
    """Athena over the index in `settings.data_dir`; nothing is read before it is needed."""
    return Athena(settings)


class Athena:
    """The assembled parts; safe to use from several threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.RLock()
        self._cross_encoder: tuple[CrossEncoder | None, ModelChoice] | None = None

    # -- what is indexed ----------------------------------------------------------------------------

    @cached_property
    def store(self) -> DocumentStore:
        """The documents, sections and sentences."""
        with self._lock:
            return self.__dict__.get("store") or self._open_store()

    def _open_store(self) -> DocumentStore:
        if self.settings.store == "server":
            return _server_store()(server_addresses(self.settings), manifest=self.manifest)
        from pipeline.stores.embedded import EmbeddedStore

        return EmbeddedStore(self.settings.data_dir, manifest=self.manifest)

    @property
    def manifest(self) -> Manifest:
        """What an index made now would be made with."""
        return Manifest(FORMAT, self.encoder.name, self.encoder.dimensions, SPLITTER)

    def ingest(
        self,
        paths: Iterable[Path | str],
        *,
        root: str | None = None,
        rebuild: bool = False,
        on_progress: Callable[[Progress], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> IngestReport:
        """Bring the index up to date with the Markdown at and below `paths`."""
        from pipeline.ingest import Corpus, ingest
        from readers.errors import ReaderError
        from readers.files import find_files, read_source
        from readers.ids import document_id

        return ingest(
            paths,
            store=self.store,
            corpus=Corpus(find_files, read_source, document_id, ReaderError),
            make_cutter=self._make_cutter,
            make_encoder=lambda: self.encoder,
            manifest=self.manifest,
            max_bytes=int(self.settings.max_file_mb * 1_000_000),
            root=root,
            rebuild=rebuild,
            on_progress=on_progress,
            should_stop=should_stop,
        )

    def delete_document(self, source: str) -> None:
        """Remove a document from the index; raises `UnknownDocument`."""
        self.store.sections.delete_document(source)

    def sentence_cutter(self) -> SentenceCutter:
        """Cuts sections into sentences no longer than the embedding model reads."""
        from readers.cutting import SentenceCutter

        return SentenceCutter(self.encoder.count_tokens, max_tokens=max(8, self.encoder.max_tokens - 2))

    def _make_cutter(self) -> MarkdownCutter:
        from readers.cutting import MarkdownCutter

        return MarkdownCutter(self.sentence_cutter())

    # -- models -------------------------------------------------------------------------------------

    @cached_property
    def _encoder_choice(self) -> tuple[Encoder, ModelChoice]:
        from pipeline.models.base import EncoderOptions
        from pipeline.models.embedding import choose_encoder

        settings = self.settings
        options = EncoderOptions(
            threads=settings.embedding_threads,
            ollama_url=settings.ollama_url,
            openai_api_key=settings.openai_api_key,
            openai_base_url=settings.openai_base_url,
            connect_timeout_s=settings.connect_timeout_s,
            request_timeout_s=settings.request_timeout_s,
        )
        return choose_encoder(settings.embedding_model, options=options)

    @property
    def encoder(self) -> Encoder:
        """The embedding model."""
        return self._encoder_choice[0]

    def cross_encoder(self, *, fetch: bool = False) -> tuple[CrossEncoder | None, ModelChoice]:
        """The cross-encoder and why; only `fetch` downloads or converts one that is not on disk."""
        from pipeline.models.cross_encoder import find_cross_encoder

        known = self._cross_encoder
        if known is None or (known[0] is None and fetch):
            # Not under the lock: a download takes minutes, and answers go on without it meanwhile.
            settings = self.settings
            known = find_cross_encoder(
                settings.cross_encoder, model_cache=settings.model_cache, fetch=fetch, retry=fetch
            )
            self._cross_encoder = known
        return known

    def language_model(self, name: str | None = None) -> tuple[LLM | None, ModelChoice]:
        """The language model of a name, by default the settings'; None where there is none."""
        from pipeline.models.llm import choose_language_model

        return choose_language_model(name or self.settings.llm, options=self._llm_options)

    @cached_property
    def _llm_options(self) -> Any:
        from pipeline.models.llm import LanguageModelOptions

        settings = self.settings
        return LanguageModelOptions(
            ollama_url=settings.ollama_url,
            openai_api_key=settings.openai_api_key,
            openai_base_url=settings.openai_base_url,
            context_window=settings.context_window,
            max_answer_tokens=settings.max_answer_tokens,
            temperature=settings.temperature,
            connect_timeout_s=settings.connect_timeout_s,
            request_timeout_s=settings.request_timeout_s,
        )

    def language_models(self) -> list[str]:
        """The names to pick from: `ollama/NAME`, `openai/NAME`, and `none` at the end."""
        from pipeline.models.llm import list_language_models

        return list_language_models(options=self._llm_options)

    def models(self) -> list[ModelChoice]:
        """What was chosen for each role, and why."""
        return [self._encoder_choice[1], self.cross_encoder()[1], self.language_model()[1]]

    def warm_up(self, *, serving: bool = False) -> None:
        """Load the embedding model in the background: it is needed soon, and importing takes as long.

        A model on a server is left alone: a text of no use would cost a request, maybe money. A process
        that goes on `serving` also reads the sections that the servers keep, where there is room for all.
        """
        if serving:
            gc.set_threshold(GARBAGE_THRESHOLD)
            sys.setswitchinterval(SWITCH_INTERVAL_S)
        jobs: list[Callable[[], object]] = []
        if self._encoder_choice[1].provider in LOCAL_EMBEDDINGS:
            jobs.append(lambda: self.encoder.encode_query(""))
        if serving and self.settings.store == "server":
            jobs.append(lambda: cast("ServerStore", self.store).sections.warm_up())

        def run(job: Callable[[], object]) -> None:
            with suppress(ModelError, StoreError):  # what needs it will say so
                job()

        for job in jobs:
            # Not a daemon: ended in the middle of loading, ONNX Runtime would abort the process.
            threading.Thread(target=run, args=(job,), name="warm-up").start()

    # -- finding ------------------------------------------------------------------------------------

    @property
    def options(self) -> RetrievalOptions:
        """The settings of a search; `hyde` stands for "if a model is connected" unless it is off."""
        from pipeline.retrieve import RetrievalOptions

        s = self.settings
        return RetrievalOptions(
            hyde=s.hyde != "off",
            hyde_lexical=s.hyde_lexical,
            alpha=s.alpha,
            candidates=s.candidates,
            bm25_section_share=s.bm25_section_share,
            dense_section_share=s.dense_section_share,
            simple_ratio_thresh=s.simple_ratio_thresh,
            rerank=s.rerank,
            rerank_top_n=s.rerank_top_n,
            rerank_weight=s.rerank_weight,
            top_k=s.top_k,
            context_tokens=s.context_tokens,
        )

    @property
    def hybrid_search(self) -> HybridSearch:
        """The search over the index, with the settings' language model for hypotheses."""
        return self.hybrid_search_over(self.store, self.language_model()[0])

    @property
    def retriever(self) -> HybridRetriever:
        """The same search as LlamaIndex's retriever, to put into a program of LlamaIndex's parts."""
        from pipeline.llamaindex.retriever import HybridRetriever

        return HybridRetriever(self.hybrid_search)

    @cached_property
    def _admission(self) -> Admission:
        """One for all searches."""
        from pipeline.finding.admission import Admission

        with self._lock:
            return self.__dict__.get("_admission") or Admission()

    def hybrid_search_over(self, store: DocumentStore, llm: LLM | None) -> HybridSearch:
        """A search over any store, with this language model (or none) for hypotheses."""
        from pipeline.answering.context import count_tokens
        from pipeline.finding.answerability import calibrated
        from pipeline.retrieve import HybridSearch

        return HybridSearch(
            store=store,
            encoder=self.encoder,
            count_tokens=count_tokens,
            options=self.options,
            calibration=calibrated(self.encoder.name, threshold=self.settings.answerable_threshold),
            cross_encoder=self.cross_encoder()[0] if self.settings.rerank else None,
            hypothesize=self._hypothesizer(llm),
            admission=self._admission,
        )

    def _hypothesizer(self, llm: LLM | None) -> Hypothesize | None:
        if llm is None or self.settings.hyde == "off":
            return None
        from pipeline.answering.prompts import hypothesis_prompt
        from pipeline.models.generation import complete

        return lambda question, stop: complete(
            llm, hypothesis_prompt(question), timeout_s=self.settings.hyde_timeout_s, stop=stop
        )

    def search(self, query: str, *, paths: str | None = None) -> Retrieval:
        """Passages for a query, as many as `top_k` says whatever their length; its steps have all ranks."""
        self._require_index()
        options = replace(self.options, paths=paths, context_tokens=10**9)
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

    @property
    def _where(self) -> str:
        return "the servers" if self.settings.store == "server" else f"'{self.settings.data_dir}'"

    def _require_index(self) -> None:
        if self.store.sections.manifest() is None:
            raise StoreError(
                f"Nothing is indexed in {self._where} yet.",
                "Index a folder of Markdown with `athena ingest FOLDER`.",
            )

    # -- chatting -----------------------------------------------------------------------------------

    @cached_property
    def conversations(self) -> Conversations:
        """The stored conversations."""
        with self._lock:
            return self.__dict__.get("conversations") or self._open_conversations()

    def _open_conversations(self) -> Conversations:
        if self.settings.store == "server":
            _server_store()
            from pipeline.stores.server.conversations import ServerConversations

            return ServerConversations(server_addresses(self.settings))
        from pipeline.stores.embedded.conversations import EmbeddedConversations
        from pipeline.stores.embedded.database import FILE_NAME

        return EmbeddedConversations(self.settings.data_dir / FILE_NAME)

    @cached_property
    def persona(self) -> Persona:
        """Who answers, and in what tone."""
        from pipeline.answering.persona import load_persona

        return load_persona(self.settings.persona)

    @cached_property
    def tracer(self) -> PhoenixTracer | None:
        """What sends each turn to Phoenix; None where no address of one is set."""
        with self._lock:
            return self.__dict__.get("tracer") or self._open_tracer()

    def _open_tracer(self) -> PhoenixTracer | None:
        if not self.settings.phoenix_url:
            return None
        _tracing()
        from pipeline.steps.phoenix import PhoenixTracer

        return PhoenixTracer(self.settings.phoenix_url)

    def chat_engine(self, **given: Any) -> ChatEngine:
        """A `chat` as LlamaIndex's chat engine, to put into a program of LlamaIndex's parts."""
        from pipeline.llamaindex.chat_engine import ChatEngine

        return ChatEngine(self.chat(**given))

    def chat(
        self,
        *,
        conversation_id: str | None = None,
        llm: str | None = None,
        options: RetrievalOptions | None = None,
        paths: str | None = None,
        persona: Persona | None = None,
    ) -> ChatRecipe:
        """A chat bound to one conversation, or to a new one, with another persona on request."""
        from pipeline.chat import ChatParts, ChatRecipe

        self._require_index()
        model, choice = self.language_model(llm)
        parts = ChatParts(
            hybrid_search=self.hybrid_search_over(self.store, model),
            options=replace(options or self.options, paths=paths),
            llm=model,
            choice=choice,
            conversations=self.conversations,
            persona=persona or self.persona,
            quotes=self.settings.quotes,
            history_tokens=self.settings.history_tokens,
            max_answer_tokens=self.settings.max_answer_tokens,
            context_window=self.settings.context_window,
            listeners=(self.tracer.record,) if self.tracer else (),
        )
        return ChatRecipe(parts, conversation_id)

    def banner(self) -> str:
        """One line on what is connected."""
        documents = self.store.sections.documents()
        model = self.language_model()[1]
        answering = model.name or "no language model: answers are quotes"
        return f"{len(documents):,} documents, {self.store.sentences.count():,} sentences; {answering}"

    # -- looking after itself -----------------------------------------------------------------------

    def diagnose(self) -> Diagnosis:
        """Whether everything works, and what mends what does not."""
        from athena.diagnosis import diagnose

        return diagnose(
            data_dir=self.settings.data_dir,
            open_store=lambda: self.store,
            manifest=lambda: self.manifest,
            encoder=lambda: self.encoder,
            models=self._model_makers(),
            servers=self._servers if self.settings.store == "server" else None,
            tracing=self._check_tracing if self.settings.phoenix_url else None,
        )

    def _check_tracing(self) -> str:
        _tracing()
        from pipeline.steps.phoenix import check_phoenix

        return check_phoenix(self.settings.phoenix_url)

    def repair(self) -> OrphanReport | None:
        """Remove from the servers what lies there without its counterpart; None for the embedded store.

        That one has nothing to repair: what is derived in it heals itself.
        """
        return self._servers().remove_orphans() if self.settings.store == "server" else None

    def migrate(
        self, to: str, *, force: bool = False, report: Callable[[str, int, int], None] | None = None
    ) -> Migration:
        """Copy index and conversations from the other store into `to`: "embedded" or "server"."""
        from pipeline.stores.migration import migrate

        settings = {name: self.settings.model_copy(update={"store": name}) for name in ("embedded", "server")}
        target = Athena(settings.pop(to))
        source = Athena(settings.popitem()[1])
        try:
            return migrate(
                source.store,
                target.store,
                conversations=(source.conversations, target.conversations),
                force=force,
                report=report,
            )
        finally:
            source.close()
            target.close()

    def _servers(self) -> ServerStore:
        """The server store as such, for what only it can do."""
        return cast("ServerStore", self.store)

    def _model_makers(self) -> Sequence[Callable[[], ModelChoice]]:
        return (
            lambda: self._encoder_choice[1],
            lambda: self.cross_encoder(fetch=True)[1],
            lambda: self.language_model()[1],
        )

    def close(self) -> None:
        """Release files and connections; what was not made is not made for it."""
        for name in ("conversations", "store", "tracer"):
            if self.__dict__.get(name) is not None:
                self.__dict__[name].close()


def server_addresses(settings: Settings) -> ServerAddresses:
    """Where MongoDB and Weaviate are; raises `ConfigurationError`."""
    _server_store()
    from pipeline.stores.server import ServerAddresses

    return ServerAddresses(
        mongodb_url=settings.mongodb_url,
        mongodb_database=settings.mongodb_database,
        weaviate_url=settings.weaviate_url,
        weaviate_grpc_host=settings.weaviate_grpc_host,
        weaviate_grpc_port=settings.weaviate_grpc_port,
        weaviate_api_key=settings.weaviate_api_key,
        weaviate_ca_file=settings.weaviate_ca_file,
        weaviate_prefix=settings.weaviate_prefix,
    )


def _server_store() -> type[ServerStore]:
    """The server store's class, or what to install."""
    try:
        from pipeline.stores.server import ServerStore
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"ATHENA_STORE=server needs the package '{error.name}', which is not installed.",
            "Install the extra: `pip install 'athena-docs[server]'`.",
        ) from error
    return ServerStore


def _tracing() -> None:
    """Nothing, or what to install."""
    try:
        import openinference.semconv.trace  # noqa: F401
        import opentelemetry.exporter.otlp.proto.http.trace_exporter
        import opentelemetry.sdk.trace.export  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"ATHENA_PHOENIX_URL needs the package '{error.name}', which is not installed.",
            "Install the extra: `pip install 'athena-docs[tracing]'`, or leave the setting empty.",
        ) from error
