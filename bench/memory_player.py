"""Athena's memory as scripts use it: the embedded store in a folder, one preset, a clock that scripts set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bench.scripts import Believed, has_any
from memory.conversing.after import AfterAnswers
from memory.conversing.chat import RememberingChat
from memory.conversing.finishing import Finishing
from memory.options import PRESETS, MemoryOptions, PresetName
from memory.recalling.user_index import Indexes
from memory.recalling.user_turns import UserTurns
from memory.user_memory import UserMemory
from pipeline.answer import Answer, Mode
from pipeline.answering.turns import FinishedTurn
from pipeline.asking.small_talk import small_talk
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.database import FILE_NAME
from pipeline.stores.embedded.memories import EmbeddedMemories

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pipeline.models.base import Encoder

FOUND = 5
TURNS = 20  # of a conversation
HOUR_S = 3600.0
ASKING = "Remember that {}"  # before a fact, where only what is asked for is kept


@dataclass
class Clock:
    """The time that a script says it is."""

    at: float = 0.0

    def __call__(self) -> float:
        """It."""
        return self.at


class AthenaMemory:
    """Fulfils `Player`: each user has one conversation, which is stored as a chat stores it."""

    def __init__(self, folder: Path, *, preset: PresetName, encoder: Encoder) -> None:
        self.folder = folder
        self.preset = PRESETS[preset]
        self._clock = Clock()
        self._memories = EmbeddedMemories(folder / FILE_NAME)
        self._conversations = EmbeddedConversations(folder / FILE_NAME)
        self._conversations.clock = self._clock
        self.indexes = Indexes(self._memories, encoder=lambda: encoder)
        self._conversation_of: dict[str, str] = {}
        self._turns = cache(lambda user: UserTurns(self._conversations, user, encoder=lambda: encoder))

    def close(self) -> None:
        """Release the files."""
        self._memories.close()
        self._conversations.close()

    def of(self, user: str, *, at: float) -> UserMemory:
        """The memory of a user at a time."""
        self._clock.at = at
        return UserMemory(
            self.indexes,
            user,
            self._turns(user),
            options=MemoryOptions(memory=self.preset.name),
            zone=datetime.now().astimezone().tzinfo,  # type: ignore[arg-type]
            clock=self._clock,
        )

    def remember(self, user: str, text: str, *, at: float, fact: bool) -> None:
        """Say it in the user's conversation, and wait until it is remembered."""
        only_asked = self.preset.recalls and not self.preset.statements
        if fact and only_asked:
            text = ASKING.format(text if text.startswith("I") else text[:1].lower() + text[1:])
        self._turn(user, text, answer="Well.", at=at)

    def read_document(self, user: str, source: str, text: str, *, at: float) -> None:
        """An answer quotes the text: that is how a document's words come near the memory."""
        self._turn(user, f"What does {source} say?", answer=text, at=at)

    def _turn(self, user: str, question: str, *, answer: str, at: float) -> None:
        chat = self._chat(user, at=at)
        mode: Mode = "reply" if small_talk(question) else "quote"
        said = Answer(
            question=question, condensed_question=question, text=answer, mode=mode, model="", abstained=False
        )
        conversation = self._conversation(user)
        turn_id = self._conversations.save_turn(conversation, said)
        if chat.concerns(question, conversation_id=conversation):
            chat.reply(question, conversation_id=conversation, turn_id=turn_id)
            return
        stored = self._conversations.get(conversation).turns[-1].answer
        chat.remember(FinishedTurn(stored, (), (), "", "", at, 0.0))
        chat.finishing.after.finish()

    def store(self, user: str, said: Sequence[str], *, at: float, vectors: NDArray[np.float32]) -> None:
        """Store messages with their vectors, twenty to a conversation, an hour apart; no facts are made."""
        for number, text in enumerate(said):
            self._clock.at = at + number * HOUR_S
            if number % TURNS == 0:
                conversation = self._conversations.create(user=user).info.id
            answer = Answer(
                question=text, condensed_question=text, text="", mode="quote", model="", abstained=True
            )
            self._conversations.save_turn(conversation, answer)
        stored = self._conversations.recallable(user, list(self._conversations.revisions(user)))
        rows = zip(sorted(stored, key=lambda turn: turn.at), vectors, strict=True)
        model = self.indexes.encoder.name
        self._conversations.keep_embeddings(
            [replace(turn, embedding=vector.tobytes(), embedded_by=model) for turn, vector in rows]
        )

    def search(
        self, user: str, query: str, *, at: float, as_of: float | None, known_at: float | None
    ) -> Sequence[str]:
        """The first five that a search finds."""
        if not self.preset.recalls:
            return []
        found = self.of(user, at=at).search(query, limit=FOUND, as_of=as_of, known_at=known_at)
        return [item.memory.text for item in found]

    def recalled(self, user: str, message: str, *, at: float) -> Sequence[str]:
        """What the chat would put into the prompt."""
        found = self._chat(user, at=at).recall(message, question=message, left=())
        return [item.text for item in (*found.memories, *found.graph)]

    @property
    def keeps(self) -> bool:
        """Whether the preset keeps anything at all."""
        return self.preset.recalls

    def believed(self, user: str, *, at: float) -> Sequence[Believed]:
        """All live memories."""
        return [Believed(memory.text, bool(memory.disputed)) for memory in self.of(user, at=at).list()]

    def forget(self, user: str, query: str, *, words: Sequence[str], at: float) -> None:
        """Forget, of what the preview shows, what has one of the words; in the turns as well."""
        memory = self.of(user, at=at)
        shown = memory.forgetting(search=query).meant
        memory.forget(memory.forgetting(item.id for item in shown if has_any(item.text, words)))

    def files_with(self, words: Sequence[str]) -> Sequence[str]:
        """The files that hold one of these words, as they are written."""
        wanted = [word.encode() for word in words]
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_file()]
        return [path.name for path in files if any(word in path.read_bytes() for word in wanted)]

    def _chat(self, user: str, *, at: float) -> RememberingChat:
        memory, after = self.of(user, at=at), AfterAnswers(background=False)
        return RememberingChat(Finishing(memory=memory, conversations=self._conversations, after=after))

    def _conversation(self, user: str) -> str:
        if user not in self._conversation_of:
            self._conversation_of[user] = self._conversations.create(user=user).info.id
        return self._conversation_of[user]
