"""What is remembered: put together from the store, the embedding model, the documents and the persona."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from athena import stores
from athena.loading import part
from athena.once import made_once
from memory.options import PRESETS, MemoryOptions
from pipeline.errors import AthenaError, UnknownDocument
from pipeline.options import PriceOptions

if TYPE_CHECKING:
    from athena.parts import Parts
    from memory.conversing.after import AfterAnswers, TurnsInHand
    from memory.conversing.chat import RememberingChat
    from memory.deciding.remember import Complete
    from memory.recalling.user_index import Indexes
    from memory.recalling.user_turns import UserTurns
    from memory.user_memory import UserMemory
    from pipeline.answering.persona import Persona
    from pipeline.ingesting.report import Progress

MODEL_TIMEOUT_S = 60.0
MOST_USERS = 64  # whose turns are kept in the process; 10,000 turns take some 30 MB

logger = logging.getLogger(__name__)


class MemoryAssembly:
    """What one Athena remembers of its users; safe to use from several threads."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.lock = parts.lock
        self._caught_up: set[str] = set()  # users whose unremembered turns were looked for

    def memory_of(self, user: str, *, persona: Persona | None = None) -> UserMemory:
        """The memory of one user, with another persona on request."""
        from dateutil.tz import tzlocal

        from memory.recalling.documents import Documents
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
            prices=part(parts.settings, PriceOptions),
            static=static_of(persona.name, says, persona.memories, user=user),
            find_model=self._model,
            documents=Documents(hashes=self._hashes, text=self._text),
            zone=tzlocal(),
            clock=lambda: round(parts.conversations.clock(), 6),
            unread=lambda: [turn.id for turn in parts.conversations.unremembered(user)],
        )

    def in_chat(self, user: str, *, persona: Persona | None, private: bool) -> RememberingChat:
        """A user's memory for a chat; what an earlier process left unremembered is caught up once."""
        from memory.conversing.chat import PRIVATE, UNWRITABLE, RememberingChat
        from memory.conversing.finishing import Finishing
        from memory.recalling.document_graph import read_documents

        parts = self._parts
        finishing = Finishing(
            memory=self.memory_of(user, persona=persona),
            conversations=parts.conversations,
            after=self._after_answers,
            in_hand=self._turns_in_hand,
            left_undone=partial(self._again, user),
            elsewhere_s=parts.settings.answer_timeout_s if parts.settings.store == "server" else 0,
        )
        chat = RememberingChat(finishing)
        if private:
            chat = RememberingChat(finishing, parts.private_conversations, PRIVATE)
        elif not stores.keeps_conversations(parts.settings):
            chat = RememberingChat(finishing, parts.conversations, UNWRITABLE)
        if not private and self._is_first(user):
            self._catch_up(chat)
        if chat.private is None and chat.memory.preset.documents:
            self._after_answers.add(partial(read_documents, chat.memory))
        return chat

    def check_documents(self, sources: Collection[str]) -> None:
        """Mark what is remembered of these documents as stale where they do not say it any more.

        What cannot be marked now is looked at again before it is recalled.
        """
        try:
            for user in self._parts.memories.users_citing(sources):
                self.memory_of(user).check_documents()
        except AthenaError as error:
            logger.warning("memories of documents are not checked yet: %s", error)

    def read_documents(
        self,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        """Read the documents that are named for it into the graph of the settings' user.

        Others' graphs follow when they begin a chat; so does this one where it cannot be written now.
        """
        settings = self._parts.settings
        if not PRESETS[settings.memory].documents:
            return
        from memory.recalling.document_graph import read_documents
        from pipeline.ingesting.report import Progress

        def tell(done: int, total: int, document: str) -> None:
            if on_progress is not None:
                on_progress(Progress("relating", done, total, document))

        try:
            read_documents(self.memory_of(settings.user), tell=tell, should_stop=should_stop or bool)
        except AthenaError as error:
            logger.warning("documents are not in the graph yet: %s", error)

    def finish(self) -> None:
        """Do what is left to do after answers."""
        if (after := self.__dict__.get("_after_answers")) is not None:
            after.finish()

    @made_once
    def _indexes(self) -> Indexes:
        """The users' memories in this process."""
        from memory.recalling.user_index import Indexes

        return Indexes(self._parts.memories, encoder=lambda: self._parts.encoder)

    @made_once
    def _turns_of(self) -> Callable[[str], UserTurns]:
        """What a user said, in this process."""
        from memory.recalling.user_turns import UserTurns

        parts = self._parts
        return lru_cache(MOST_USERS)(
            lambda user: UserTurns(parts.conversations, user, encoder=lambda: parts.encoder)
        )

    @made_once
    def _after_answers(self) -> AfterAnswers:
        """What is done after answers: while the process goes on where it serves, else when it closes."""
        from memory.conversing.after import AfterAnswers

        return AfterAnswers(background=self._parts.serving)

    @made_once
    def _turns_in_hand(self) -> TurnsInHand:
        """The turns that this process answers and remembers, as others in the same data folder see them."""
        from memory.conversing.after import TurnsInHand

        return TurnsInHand(self._parts.settings.data_dir / "in_hand")

    def _is_first(self, user: str) -> bool:
        """Whether nobody has caught up for a user yet; who asks does it now."""
        with self.lock:
            first = user not in self._caught_up
            self._caught_up.add(user)
        return first

    def _again(self, user: str) -> None:
        """What was left undone is looked at when the user's next chat begins."""
        with self.lock:
            self._caught_up.discard(user)

    @staticmethod
    def _catch_up(chat: RememberingChat) -> None:
        """What cannot be caught up now is tried again when the next chat begins; the answer goes without."""
        try:
            chat.catch_up()
        except AthenaError as error:
            logger.warning("earlier turns are not remembered yet: %s", error)

    def _model(self) -> Complete | None:
        llm, _ = self._parts.models.language_model()
        if llm is None:
            return None
        from pipeline.models.generation import complete

        return partial(complete, llm, timeout_s=MODEL_TIMEOUT_S)

    def _hashes(self) -> Mapping[str, str]:
        return {info.source: info.hash for info in self._parts.store.sections.documents()}

    def _text(self, source: str) -> str | None:
        try:
            return self._parts.store.sections.document(source).text
        except UnknownDocument:
            return None
