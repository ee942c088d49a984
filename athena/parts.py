"""The parts that the settings ask for, each made at its first use: what the rest of `athena` is made of."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

from athena import reading, searching, stores
from athena.models import Given, Models
from athena.once import made_once
from athena.settings import Settings
from pipeline.errors import ConfigurationError
from pipeline.models.base import Encoder
from pipeline.stores.base import Manifest

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from pipeline.answering.persona import Persona
    from pipeline.options import RetrievalOptions
    from pipeline.retrieve import HybridSearch
    from pipeline.steps.tracing import TurnTracer
    from pipeline.stores.base import DocumentStore
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.embedded import EmbeddedStore
    from pipeline.stores.keys import Keys
    from pipeline.stores.memories import Memories
    from pipeline.stores.private import PrivateConversations
    from pipeline.stores.server import ServerStore
    from readers.corpus import MarkdownCorpus
    from readers.cutting import SentenceCutter


class Parts:
    """What one process has one of; safe to use from several threads.

    A command pays only for what it needs: an ingest that has nothing to do imports neither LlamaIndex nor a
    model.
    """

    def __init__(self, settings: Settings, given: Given | None = None) -> None:
        self.settings = settings
        self.lock = threading.RLock()
        self.serving = False  # whether the process goes on for many answers
        self.models = Models(settings, given)

    def use(self, settings: Settings) -> None:
        """Go on with other settings for models, search and persona, from the next question on.

        The index stays open, and answers that are being written end as they began. Where the data is, and
        with which model it is embedded, stays as it was.
        """
        with self.lock:
            self.settings = settings
            self.models.use(settings)
            self.__dict__.pop("persona", None)

    # -- what is indexed ----------------------------------------------------------------------------

    @made_once
    def store(self) -> DocumentStore:
        """The documents, sections and sentences."""
        return stores.open_store(self.settings, self.manifest)

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

    def sentence_cutter(self) -> SentenceCutter:
        """Cuts sections into sentences no longer than the embedding model reads."""
        return reading.make_cutter(self.encoder)

    @property
    def reader(self) -> MarkdownCorpus:
        """Finds documents, reads or converts them, and cuts them as the embedding model needs it."""
        return reading.make_reader(self.settings, self.sentence_cutter)

    @property
    def encoder(self) -> Encoder:
        """The embedding model."""
        return self.models.encoder[0]

    # -- finding ------------------------------------------------------------------------------------

    @property
    def options(self) -> RetrievalOptions:
        """The options of a search, as the settings have them."""
        return searching.retrieval_options(self.settings)

    @property
    def hybrid_search(self) -> HybridSearch:
        """The search over the index, with the settings' language model for hypotheses."""
        return self.hybrid_search_over(self.store, self.models.language_model()[0])

    def hybrid_search_over(self, store: DocumentStore, llm: LLM | None) -> HybridSearch:
        """A search over any store, with this language model (or none) for hypotheses."""
        return searching.make_search(
            self.settings,
            store=store,
            encoder=self.encoder,
            cross_encoder=self.models.cross_encoder()[0] if self.settings.rerank else None,
            llm=llm,
        )

    # -- chatting and remembering ---------------------------------------------------------------------

    @made_once
    def conversations(self) -> Conversations:
        """The stored conversations."""
        return stores.open_conversations(self.settings)

    @made_once
    def persona(self) -> Persona:
        """Who answers, and in what tone."""
        from pipeline.answering.persona import load_persona

        return load_persona(self.settings.persona)

    @made_once
    def tracer(self) -> TurnTracer | None:
        """The exporter of finished turns as traces; None without ATHENA_PHOENIX_URL."""
        if not self.settings.phoenix_url:
            return None
        try:
            from pipeline.steps.tracing import TurnTracer
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                f"ATHENA_PHOENIX_URL needs the package '{error.name}', which is not installed.",
                "Install the extra: `pip install 'athena-docs[tracing]'`, or leave the setting empty.",
            ) from error
        return TurnTracer(self.settings.phoenix_url)

    @made_once
    def private_conversations(self) -> PrivateConversations:
        """The conversations that are kept in this process alone."""
        from pipeline.stores.private import PrivateConversations

        return PrivateConversations()

    @made_once
    def keys(self) -> Keys:
        """The keys by which other programs come in."""
        return stores.open_keys(self.settings)

    @made_once
    def memories(self) -> Memories:
        """The stored memories of all users."""
        return stores.open_memories(self.settings)
