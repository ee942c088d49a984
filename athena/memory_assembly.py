"""Assemble the memory from the store, the embedding model, the language model and the persona."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from athena.loading import part
from athena.once import made_once
from memory.options import MemoryOptions
from pipeline.options import PriceOptions

if TYPE_CHECKING:
    from athena.parts import Parts
    from memory.after import AfterAnswers
    from memory.chat import RememberingChat
    from memory.facts import Complete
    from memory.index import Indexes
    from memory.turns import UserTurns
    from memory.user_memory import UserMemory
    from pipeline.answering.persona import Persona

MODEL_TIMEOUT_S = 60.0
MOST_USERS = 64  # whose turns are kept in the process; 10,000 turns take some 30 MB


class MemoryAssembly:
    """The memories of all users of one Athena; safe to use from several threads."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.lock = parts.lock  # for `made_once`

    def memory_of(self, user: str, *, persona: Persona | None = None) -> UserMemory:
        """Return the memory of one user, with another persona on request."""
        from memory.transfer import static_of
        from memory.user_memory import UserMemory

        parts = self._parts
        persona = persona or parts.persona
        says = {tag: getattr(persona, tag) for tag in ("identity", "goals", "rules", "environment")}
        return UserMemory(
            self._indexes,
            user,
            self._turns_of(user),
            options=part(parts.settings, MemoryOptions),
            static=static_of(persona.name, says, persona.memories, user=user),
            find_model=self._model,
            hashes=self._hashes,
            clock=lambda: round(parts.conversations.clock(), 6),
        )

    def in_chat(self, user: str, *, persona: Persona | None, private: bool) -> RememberingChat:
        """Return a user's memory for a chat."""
        from memory.chat import PRIVATE, RememberingChat
        from memory.finishing import Finishing

        parts = self._parts
        finishing = Finishing(
            memory=self.memory_of(user, persona=persona),
            conversations=parts.conversations,
            after=self._after_answers,
            prices=part(parts.settings, PriceOptions),
        )
        return RememberingChat(finishing, PRIVATE if private else "")

    def rated(self, user: str, turn_id: str, value: int | None) -> None:
        """Move the importance of what was kept of a turn with the reader's thumb: 1, -1 or None."""
        self.memory_of(user).rated(turn_id, value)

    def finish(self) -> None:
        """Do the jobs that are left after answers."""
        if (after := self.__dict__.get("_after_answers")) is not None:
            after.finish()

    @made_once
    def _indexes(self) -> Indexes:
        """The users' memories in this process."""
        from memory.index import Indexes

        return Indexes(self._parts.memories, encoder=lambda: self._parts.encoder)

    @made_once
    def _turns_of(self) -> Callable[[str], UserTurns]:
        """The users' turns in this process, by user."""
        from memory.turns import UserTurns

        parts = self._parts
        return lru_cache(MOST_USERS)(
            lambda user: UserTurns(parts.conversations, user, encoder=lambda: parts.encoder)
        )

    @made_once
    def _after_answers(self) -> AfterAnswers:
        """The jobs after answers: in the background where this process serves, else when it closes."""
        from memory.after import AfterAnswers

        return AfterAnswers(background=self._parts.serving)

    def _model(self) -> Complete | None:
        llm, _ = self._parts.models.language_model()
        if llm is None:
            return None
        from pipeline.models.generation import complete

        def ask(prompt: str, *, schema: Mapping[str, Any] | None = None) -> str:
            return complete(llm, prompt, timeout_s=MODEL_TIMEOUT_S, json_schema=schema)

        return ask

    def _hashes(self) -> Mapping[str, str]:
        return {info.source: info.hash for info in self._parts.store.sections.documents()}
