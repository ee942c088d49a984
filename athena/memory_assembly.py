"""Assemble a user's memory from the stores, the models and the persona."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from athena.components import Components
from athena.loading import options_of
from memory.options import MemoryOptions
from pipeline.options import PriceOptions

if TYPE_CHECKING:
    from memory.chat import RememberingChat
    from memory.facts import Complete
    from memory.finishing import AfterAnswers
    from memory.user_memory import UserMemory
    from pipeline.answering.persona import Persona

MODEL_TIMEOUT_S = 60.0


def user_memory(components: Components, user: str, *, persona: Persona | None = None) -> UserMemory:
    """Return the memory of one user, with the static memories of a persona, by default the settings'."""
    from memory.transfer import static_of
    from memory.user_memory import UserMemory

    conversations = components.store().conversations
    persona = persona or components.persona()
    says = {tag: getattr(persona, tag) for tag in ("identity", "goals", "rules", "environment")}
    return UserMemory(
        components.memory_indexes(),
        user,
        components.turns_of(user),
        options=options_of(components.settings, MemoryOptions),
        static=static_of(persona.name, says, persona.memories, user=user),
        find_model=lambda: _complete(components),
        hashes=lambda: _document_hashes(components),
        clock=lambda: round(conversations.clock(), 6),
    )


def memory_in_chat(
    components: Components, memory: UserMemory, after: AfterAnswers, *, private: bool
) -> RememberingChat:
    """Return a user's memory for a chat; a `private` chat remembers nothing."""
    from memory.chat import PRIVATE, RememberingChat
    from memory.finishing import Finishing

    finishing = Finishing(
        memory=memory,
        conversations=components.store().conversations,
        after=after,
        prices=options_of(components.settings, PriceOptions),
    )
    return RememberingChat(finishing, PRIVATE if private else "")


def _complete(components: Components) -> Complete | None:
    """Return a function that asks the language model; None where there is no model."""
    llm, _ = components.models.language_model()
    if llm is None:
        return None
    from pipeline.models.generation import complete

    def ask(prompt: str, *, schema: Mapping[str, Any] | None = None) -> str:
        return complete(llm, prompt, timeout_s=MODEL_TIMEOUT_S, json_schema=schema)

    return ask


def _document_hashes(components: Components) -> Mapping[str, str]:
    return {info.source: info.hash for info in components.store().sections.documents()}
