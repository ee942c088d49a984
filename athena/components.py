"""The components of one Athena, as one record. Each component is made at its first use.

So a command pays only for what it needs: an ingest with nothing to do imports neither LlamaIndex nor a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from athena.lazy import Lazy
from athena.loading import options_of
from athena.models import Given, Models, build_models, is_remote
from athena.settings import Settings
from memory.options import MemoryOptions
from pipeline.analysis import EMBEDDING_RECIPE
from pipeline.answering.persona import Persona, load_persona
from pipeline.errors import NothingIndexed, extra_for
from pipeline.models.base import Encoder
from pipeline.options import RetrievalOptions
from pipeline.stores.base import FORMAT, DocumentStore, Manifest, Store
from pipeline.stores.private import PrivateConversations

if TYPE_CHECKING:
    from memory.facts import Complete
    from memory.index import Indexes
    from memory.turns import UserTurns
    from memory.user_memory import UserMemory
    from pipeline.retrieve import HybridSearch
    from pipeline.steps.tracing import TurnTracer

MODEL_TIMEOUT_S = 60.0  # for one request of the memory to a language model
MOST_USERS = 64  # users whose turns are cached in the process; 10,000 turns take about 30 MB
SPLITTER = "punkt-1"
"""The name of the sentence splitter; an index made with another one has to be rebuilt."""


@dataclass(frozen=True, slots=True)
class Components:
    """The components for one set of settings; safe to use from several threads."""

    settings: Settings
    models: Models
    store: Lazy[Store]
    private_conversations: Lazy[PrivateConversations]  # kept in this process alone
    persona: Lazy[Persona]
    tracer: Lazy[TurnTracer | None]
    memory_indexes: Lazy[Indexes]
    turns_of: Callable[[str], UserTurns]  # by user


def build_components(settings: Settings, given: Given) -> Components:
    """Return the components for the settings; models in `given` replace those that the settings name."""
    models = build_models(settings, given)
    store = Lazy(lambda: open_store(settings, lambda: manifest_of(models.encoder()[0])))
    return Components(
        settings=settings,
        models=models,
        store=store,
        private_conversations=Lazy(PrivateConversations),
        persona=Lazy(lambda: load_persona(settings.persona)),
        tracer=Lazy(lambda: _tracer(settings)),
        memory_indexes=_memory_indexes(store, models),
        turns_of=_turns_of(store, models),
    )


def with_settings(components: Components, settings: Settings) -> Components:
    """Return the components for changed settings of the language model, memory and persona.

    The store and local models are reused; an embedding model on a server uses the address in `settings`.
    """
    store, before = components.store, components.models
    models = replace(build_models(settings, before.given), cross_encoder=before.cross_encoder)
    persona = Lazy(lambda: load_persona(settings.persona))
    changed = replace(components, settings=settings, models=models, persona=persona)
    if not is_remote(settings):
        return replace(changed, models=replace(models, encoder=before.encoder))
    return replace(changed, memory_indexes=_memory_indexes(store, models), turns_of=_turns_of(store, models))


def build_search(components: Components) -> HybridSearch:
    """Return the search over the index."""
    from pipeline.finding.verdict import CALIBRATIONS, UNCALIBRATED
    from pipeline.models.tokens import count_tokens
    from pipeline.retrieve import HybridSearch

    encoder = components.models.encoder()[0]
    return HybridSearch(
        store=components.store(),
        encoder=encoder,
        count_tokens=count_tokens,
        options=retrieval_options(components.settings),
        calibration=CALIBRATIONS.get(encoder.name, UNCALIBRATED),
        cross_encoder=components.models.cross_encoder()[0],
    )


def retrieval_options(settings: Settings) -> RetrievalOptions:
    """Return the options of a search."""
    return options_of(settings, RetrievalOptions, hyde=settings.hyde == "on")


def _tracer(settings: Settings) -> TurnTracer | None:
    """Return the trace exporter, None if ATHENA_PHOENIX_URL is empty; raises `ConfigurationError`."""
    if not settings.phoenix_url:
        return None
    with extra_for("ATHENA_PHOENIX_URL", "tracing"):
        from pipeline.steps.tracing import TurnTracer
    return TurnTracer(settings.phoenix_url)


# -- the store ---------------------------------------------------------------------------------------------


def open_store(settings: Settings, manifest: Callable[[], Manifest] | None = None) -> Store:
    """Return the store that the settings choose; the caller closes it.

    If `manifest` is given, a search in an index with another manifest raises `ManifestMismatch`. Raises
    `ConfigurationError` if the drivers of the servers are not installed.
    """
    match settings.store:
        case "embedded":
            from pipeline.stores.embedded import EmbeddedStore

            return EmbeddedStore(settings.data_dir, manifest=manifest)
        case "server":
            with extra_for("ATHENA_STORE=server", "server"):
                from pipeline.stores.server import ServerAddresses, ServerStore
            return ServerStore(options_of(settings, ServerAddresses), manifest=manifest)


def manifest_of(encoder: Encoder) -> Manifest:
    """Return the manifest of an index that is made now with this embedding model."""
    return Manifest(FORMAT, encoder.name, encoder.dimensions, SPLITTER, encoder.fingerprint, EMBEDDING_RECIPE)


def require_index(settings: Settings, store: DocumentStore) -> None:
    """Raise `NothingIndexed` if the store has no index yet."""
    if store.statistics().manifest is None:
        where = "the servers" if settings.store == "server" else f"'{settings.data_dir}'"
        raise NothingIndexed(
            f"Nothing is indexed in {where} yet.", "Index a folder of Markdown with `athena ingest FOLDER`."
        )


# -- memory -------------------------------------------------------------------------------------------------


def _memory_indexes(store: Lazy[Store], models: Models) -> Lazy[Indexes]:
    """Return the memory indexes of all users; they are opened at the first call."""

    def make() -> Indexes:
        from memory.index import Indexes

        return Indexes(store().memories, encoder=lambda: models.encoder()[0])

    return Lazy(make)


def _turns_of(store: Lazy[Store], models: Models) -> Callable[[str], UserTurns]:
    """Return a function that returns a user's turns by user name; it caches the latest `MOST_USERS` users."""

    @lru_cache(MOST_USERS)
    def turns_of(user: str) -> UserTurns:
        from memory.turns import UserTurns

        return UserTurns(store().conversations, user, encoder=lambda: models.encoder()[0])

    return turns_of


def user_memory(components: Components, user: str, *, persona: Persona | None = None) -> UserMemory:
    """Return a user's memory with the static memories of `persona`, by default the settings' persona."""
    from memory.graph import id_of
    from memory.user_memory import UserMemory
    from pipeline.answering.recollection import Recalled

    conversations = components.store().conversations
    says = (persona or components.persona()).memories
    own = (Recalled(id=id_of("persona", text), text=text) for text in says if text.strip())
    return UserMemory(
        components.memory_indexes(),
        user,
        components.turns_of(user),
        options=options_of(components.settings, MemoryOptions),
        static=tuple(own),
        find_model=lambda: _complete(components),
        hashes=lambda: {info.source: info.hash for info in components.store().documents()},
        clock=lambda: round(conversations.clock(), 6),
    )


def _complete(components: Components) -> Complete | None:
    """Return a function that asks the language model; None where there is no model."""
    llm, _ = components.models.language_model()
    if llm is None:
        return None
    from pipeline.models.generation import complete

    def ask(prompt: str, *, schema: Mapping[str, Any] | None = None) -> str:
        return complete(llm, prompt, timeout_s=MODEL_TIMEOUT_S, json_schema=schema)

    return ask
