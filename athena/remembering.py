"""What is remembered: put together from the store, the embedding model, the documents and the persona."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from athena.loading import part
from memory.options import MemoryOptions
from pipeline.errors import UnknownDocument

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from athena.settings import Settings
    from memory.indexes import Indexes
    from memory.remember import Complete
    from memory.user_memory import UserMemory
    from pipeline.answering.persona import Persona
    from pipeline.stores.base import DocumentStore

MODEL_TIMEOUT_S = 60.0


def user_memory(
    settings: Settings,
    indexes: Indexes,
    *,
    user: str,
    persona: Persona,
    store: Callable[[], DocumentStore],
    find_llm: Callable[[], LLM | None],
    unread: Callable[[], Sequence[str]],
) -> UserMemory:
    """The memory of one user."""
    from memory.documents import Documents
    from memory.static import static_of
    from memory.times import UserZone
    from memory.user_memory import UserMemory

    return UserMemory(
        indexes,
        user,
        options=part(settings, MemoryOptions),
        static=static_of(persona, user=user),
        find_model=partial(_model, find_llm),
        documents=Documents(hashes=partial(_hashes, store), text=partial(_text, store)),
        zone=UserZone(),
        unread=unread,
    )


def _model(find_llm: Callable[[], LLM | None]) -> Complete | None:
    llm = find_llm()
    if llm is None:
        return None
    from pipeline.models.generation import complete

    return partial(complete, llm, timeout_s=MODEL_TIMEOUT_S)


def _hashes(store: Callable[[], DocumentStore]) -> Mapping[str, str]:
    return {info.source: info.hash for info in store().sections.documents()}


def _text(store: Callable[[], DocumentStore], source: str) -> str | None:
    try:
        return store().sections.document(source).text
    except UnknownDocument:
        return None
