"""Search over one user's messages and their answers, which are read from the stored conversations.

Private conversations are stored elsewhere, and are never read here.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from memory.guard import without_secrets
from memory.turn_index import ANSWER, FoundTurn, Spoken, Turn, TurnIndex, stated_in
from memory.turn_search import FoundTurns, look_up
from pipeline.analysis import analyse, content_terms

if TYPE_CHECKING:
    from pipeline.models.base import Encoder
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.turns import RecallableTurn

FLOAT_BYTES = 4

_SPEAKER = re.compile(r"\s*([A-Z][a-zà-ÿ'’.-]{1,29}(?: [A-Z][a-zà-ÿ'’.-]{1,29}){0,2}): +(?=\S)")
_NO_SPEAKER = frozenset(("Note", "Warning", "Error", "Question", "Answer", "Update", "Subject"))


class UserTurns:
    """The turns of one user; safe to use from several threads."""

    def __init__(self, conversations: Conversations, user: str, *, encoder: Callable[[], Encoder]) -> None:
        self._conversations, self._user, self._encoder = conversations, user, encoder
        self._lock = threading.RLock()
        self._revisions: Mapping[str, int] = {}  # by conversation, as last read
        self._said: dict[str, list[Spoken]] = {}  # by conversation
        self._index = TurnIndex()

    def search(self, question: str, *, top_k: int = 10, without: Collection[str] = ()) -> FoundTurns:
        """Return at most `top_k` turns that may answer a question, best first, except ids in `without`."""
        with self._lock:
            self.follow()
            return look_up(self._index, question, encoder=self._encoder(), top_k=top_k, without=without)

    def find(self, query: str, *, least: float, limit: int) -> Sequence[FoundTurn]:
        """Return up to `limit` turns with all content words of a query or a cosine of `least`, best first."""
        found = self.search(query, top_k=len(self.all())).found
        return [it for it in found if it.similarity >= least or has_words(it.turn.text, query)][:limit]

    def own(self, topic: str = "", *, without: Collection[str] = ()) -> Sequence[Turn]:
        """Return the user's messages with all words of a topic, latest first, except the ids in `without`."""
        own = [turn for turn in self.all() if turn.role == "user" and turn.id not in without]
        said = [turn for turn in own if has_words(turn.text, topic)]
        return sorted(said, key=lambda turn: turn.at or 0.0)[::-1]

    def hidden(self) -> Mapping[Turn, str]:
        """Return messages that no search finds, such as memory requests: masked turns with full texts."""
        stored = [it for it in self._conversations.turns(self._user) if not (it.question or it.answer)]
        texts = {item: self._conversations.turn(item.id).question for item in stored}
        return {
            Turn(id=item.id, session=item.conversation_id, text=without_secrets(text), at=item.at): text
            for item, text in texts.items()
        }

    def all(self) -> Sequence[Turn]:
        """Return all turns; the turns of a conversation are in the order of time."""
        with self._lock:
            self.follow()
            return tuple(self._index.turns)

    def of(self, ids: Collection[str]) -> Mapping[str, Turn]:
        """Return turns by id; unknown ids are left out."""
        with self._lock:
            self.follow()
            numbers = self._index.numbers
            return {known: self._index.turns[numbers[known]] for known in ids if known in numbers}

    def before(self, turn_id: str) -> str:
        """Return the id of the user's message before a turn in its conversation, or "" if there is none."""
        own = [turn for turn in self.all() if turn.role == "user"]
        session = next((turn.session for turn in own if turn.id == turn_id), "")
        ids = ["", *(turn.id for turn in own if turn.session == session)]
        return ids[ids.index(turn_id) - 1] if turn_id in ids else ""

    def follow(self) -> None:
        """Update the index from the store: add new turns, and drop deleted ones."""
        with self._lock:
            revisions = self._conversations.revisions(self._user)
            if revisions == self._revisions:
                return
            changed = [known for known, number in revisions.items() if self._revisions.get(known) != number]
            before, read = self._said, self._read(changed)
            said = {name: before[name] for name in revisions if name in before} | read
            gone = before.keys() - said.keys()
            if gone or any(not _begins_with(turns, before.get(name, ())) for name, turns in read.items()):
                self._index, before = TurnIndex(), {}
            new = [item for name, turns in said.items() for item in turns[len(before.get(name, ())) :]]
            self._index.add(sorted(new, key=lambda item: item.turn.at or 0.0))
            self._said, self._revisions = said, dict(revisions)

    def _read(self, conversations: Sequence[str]) -> dict[str, list[Spoken]]:
        """Return the turns of conversations with vectors; make and store missing vectors of this model."""
        encoder, new = self._encoder(), []
        found: dict[str, list[Spoken]] = {name: [] for name in conversations}
        for turn in self._conversations.turns(self._user, conversations=conversations):
            if not (said := said_in(turn)):
                continue
            size = len(said) * encoder.dimensions * FLOAT_BYTES
            if (len(turn.embedding), turn.embedded_by) != (size, encoder.name):
                made = encoder.encode_passages([stated_in(one.text) for one in said]).astype(np.float32)
                turn = replace(turn, embedding=made.tobytes(), embedded_by=encoder.name)
                new.append(turn)
            vectors = np.frombuffer(turn.embedding, dtype=np.float32).reshape(len(said), encoder.dimensions)
            found[turn.conversation_id] += map(Spoken, said, vectors)
        if new:
            self._conversations.keep_embeddings(new)
        return found


def has_words(text: str, topic: str) -> bool:
    """Tell whether a text has all content words of a topic."""
    return set(content_terms(topic)) <= set(analyse(text))


def _begins_with(turns: Sequence[Spoken], before: Sequence[Spoken]) -> bool:
    return [item.turn for item in turns[: len(before)]] == [item.turn for item in before]


def said_in(turn: RecallableTurn) -> list[Turn]:
    """Return the message and the answer of a stored turn, with secrets masked, without empty ones.

    A name at the beginning of a message ("Ann: …") becomes its `speaker`, and is cut off.
    """
    match = _SPEAKER.match(turn.question)
    speaker = match[1] if match and match[1] not in _NO_SPEAKER else ""
    asked = without_secrets(turn.question[match.end() :] if match and speaker else turn.question)
    shared: dict[str, Any] = {"session": turn.conversation_id, "at": turn.at}
    message = Turn(id=turn.id, text=asked, speaker=speaker, **shared)
    answer = Turn(id=turn.id + ANSWER, text=without_secrets(turn.answer), role="assistant", **shared)
    return [one for one in (message, answer) if one.text.strip()]
