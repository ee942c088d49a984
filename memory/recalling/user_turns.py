"""What one user said and was answered in their conversations, as the store has it: the memory itself.

Private conversations are kept elsewhere: nothing of them gets here.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from memory.ids import ANSWER
from memory.reading.guard import without_secrets
from memory.recalling.turn_index import SPEAKERS, FoundTurn, Turn, TurnIndex, cut
from memory.recalling.turn_search import FoundTurns, look_up, verdict_of
from pipeline.analysis import analyse
from pipeline.answering.recollection import left_of
from pipeline.terms import content_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.models.base import Encoder
    from pipeline.stores.conversations import Conversations, RecallableTurn
    from pipeline.stores.memories import Memory

    Vectors = NDArray[np.float32]
    Heard = tuple[RecallableTurn, list[Turn]]  # a stored turn, and what was said in it

MOST_USERS = 64  # whose turns are kept in the process; 10,000 turns take some 30 MB
LEAST_SIMILAR = 0.5  # cosine of a turn and a topic that it shares few words with
LEAST_REPEATED = 4  # words of a deleted message that are looked for in other turns
LOOKED_AT = 10  # turns that a search weighs

_SPEAKER = re.compile(r"\s*([A-Z][a-zà-ÿ'’.-]{1,29}(?: [A-Z][a-zà-ÿ'’.-]{1,29}){0,2}): +(?=\S)")
_NO_SPEAKER = frozenset(
    ("Note", "Warning", "Error", "Question", "Answer", "Update", "Edit", "Re", "Subject", "PS")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which of what was said is looked for: between two times, by one speaker."""

    since: float | None = None
    until: float | None = None
    speaker: str = ""  # "you", "assistant" or a name; "" is anybody

    def __bool__(self) -> bool:
        return bool(self.speaker) or (self.since, self.until) != (None, None)

    def has(self, turn: Turn) -> bool:
        """Whether a turn is one of them."""
        return self.is_then(turn.at or 0.0) and self.speaker.casefold() in ("", turn.who.casefold())

    def has_fact(self, memory: Memory) -> bool:
        """Whether a memory is: by when it was kept, and who it is of."""
        return self.is_then(memory.created_at) and self.speaker.casefold() in (
            "",
            SPEAKERS[memory.origin == "user"],
        )

    def before(self, *times: float | None) -> Which:
        """The same until the earliest of some times, too."""
        ends = [at for at in (self.until, *times) if at is not None]
        return replace(self, until=min(ends, default=None))

    def is_then(self, at: float) -> bool:
        """Whether a time is between the two."""
        return (self.since is None or self.since <= at) and (self.until is None or at <= self.until)


ANY = Which()


class UserTurns:
    """The turns of one user; safe to use from several threads."""

    def __init__(self, conversations: Conversations, user: str, *, encoder: Callable[[], Encoder]) -> None:
        self._conversations, self._user, self._encoder = conversations, user, encoder
        self._lock = threading.RLock()
        self._revisions: Mapping[str, int] = {}  # of the conversations, as they were read
        self._said: dict[str, list[Turn]] = {}  # by conversation
        self._index = self._empty()

    def search(self, question: str, *, top_k: int = LOOKED_AT, without: Collection[str] = ()) -> FoundTurns:
        """The `top_k` turns that most likely answer a question, best first, but for some by id."""
        with self._lock:
            self.follow()
            found = look_up(self._index, question, encoder=self._encoder(), top_k=top_k + len(without))
        left = tuple(item for item in found.found if item.turn.id not in without)[:top_k]
        return replace(found, found=left)

    def find(
        self, query: str, *, least: float, which: Which = ANY, limit: int = LOOKED_AT
    ) -> Sequence[FoundTurn]:
        """The turns that a search shows, best first: with all its content words, or at least as similar.

        Without a query all of them, latest first.
        """
        if not query.strip():
            said = [turn for turn in reversed(self.all()) if which.has(turn)]
            return [FoundTurn(turn, 0.0) for turn in said[:limit]]
        wanted = set(content_terms(query))
        found = [item for item in self.search(query, top_k=len(self.all())).found if which.has(item.turn)]
        return [
            item
            for item in found
            if item.similarity >= least or (wanted and wanted <= set(analyse(item.turn.text)))
        ][:limit]

    def speakers(self) -> Sequence[str]:
        """Whose turns there are: you, the assistant, and names, as `Which` takes them."""
        return tuple(dict.fromkeys((*SPEAKERS[::-1], *(turn.who for turn in self.all()))))

    def about(self, topic: str) -> Sequence[Turn]:
        """What was said with all content words of a topic; else what likely answers a question about it."""
        wanted = set(content_terms(topic))
        named = [turn for turn in self.all() if wanted <= set(analyse(turn.text))]
        if named:
            return named
        found = self.search(topic)
        if verdict_of(found.probability, personal=True) != "remembered":
            return ()
        return [item.turn for item in found.found if item.similarity >= LEAST_SIMILAR]

    def leave_out(self, turn_ids: Sequence[str]) -> None:
        """Find these no longer; they stay in their conversations."""
        self._conversations.leave_out(self._user, turn_ids)

    def words_of(self, turn_ids: Sequence[str]) -> Sequence[str]:
        """What the user wrote in some turns, where it is long enough to be told apart in others."""
        questions = [self._conversations.turn(turn_id).question for turn_id in turn_ids]
        return [text for text in questions if len(text.split()) >= LEAST_REPEATED]

    def all(self) -> Sequence[Turn]:
        """All of them, in the order of time."""
        with self._lock:
            self.follow()
            return tuple(self._index.turns)

    def of(self, ids: Collection[str]) -> Mapping[str, Turn]:
        """Some of them by id; those that are gone are left out."""
        with self._lock:
            self.follow()
            numbers = self._index.numbers
            return {known: self._index.turns[numbers[known]] for known in ids if known in numbers}

    def names_speaker(self, text: str) -> bool:
        """Whether a text names one of those who speak, where messages begin with their names."""
        with self._lock:
            names = [name for name in self._index.layout.names if name]
        return any(re.search(rf"\b{re.escape(name)}\b", text) for name in names)

    def says(self, word: str) -> bool:
        """Whether anything that was said has a word."""
        with self._lock:
            return bool(self._index.turns) and self._index.has(analyse(word))

    def follow(self) -> None:
        """Take in what was said since, and drop what was deleted or forgotten."""
        with self._lock:
            revisions = self._conversations.revisions(self._user)
            if revisions == self._revisions:
                return
            changed = [known for known, number in revisions.items() if self._revisions.get(known) != number]
            stored = self._conversations.recallable(self._user, changed)
            gone = self._revisions.keys() - revisions.keys()
            self._take([(turn, said_in(turn)) for turn in stored], changed=changed, gone=gone)
            self._revisions = dict(revisions)

    def _take(self, stored: Sequence[Heard], *, changed: Sequence[str], gone: Collection[str]) -> None:
        said: dict[str, list[Turn]] = {name: [] for name in changed}
        for turn, parts in stored:
            said[turn.conversation_id] += parts
        known = dict(pair for turn, parts in stored for pair in self._vectors(turn, parts))
        before = {name: self._said.get(name, []) for name in said}
        if not gone and all(said[name][: len(turns)] == turns for name, turns in before.items()):
            new = [turn for name, turns in said.items() for turn in turns[len(before[name]) :]]
            self._said |= said
        else:
            known |= {turn.id: self._index.vectors_of(turn.id) for turn in self._index.turns}
            self._said = {name: turns for name, turns in (self._said | said).items() if name not in gone}
            self._index = self._empty()
            new = [turn for turns in self._said.values() for turn in turns]
        embedded = self._index.add(sorted(new, key=lambda turn: turn.at or 0.0), known=known)
        self._keep(stored, {turn.id.removesuffix(ANSWER) for turn in embedded})

    def _keep(self, stored: Sequence[Heard], embedded: Collection[str]) -> None:
        """Store the vectors of what was embedded, so that the next process need not do it."""
        name = self._encoder().name
        kept = [
            replace(
                turn,
                embedding=b"".join(self._index.vectors_of(said.id).tobytes() for said in parts),
                embedded_by=name,
            )
            for turn, parts in stored
            if turn.id in embedded
        ]
        if kept:
            self._conversations.keep_embeddings(kept)

    def _vectors(self, turn: RecallableTurn, said: Sequence[Turn]) -> list[tuple[str, Vectors]]:
        """The stored vectors of what was said in a turn, by its ids; none of another model or words."""
        encoder = self._encoder()
        if turn.embedded_by != encoder.name:
            return []
        rows = np.frombuffer(turn.embedding, dtype=np.float32).reshape(-1, encoder.dimensions)
        sizes = [len(cut(part.text).texts) for part in said]
        if sum(sizes) != len(rows):
            return []
        parts = np.split(rows, np.cumsum(sizes)[:-1])
        return [(turn.id, rows) for turn, rows in zip(said, parts, strict=True)]

    def _empty(self) -> TurnIndex:
        return TurnIndex(embed=lambda texts: self._encoder().encode_passages(texts))


class TurnsOfUsers:
    """The turns of each user of a process; safe to use from several threads."""

    def __init__(self, conversations: Conversations, *, encoder: Callable[[], Encoder]) -> None:
        self._conversations, self._encoder = conversations, encoder
        self._lock = threading.Lock()
        self._of: dict[str, UserTurns] = {}

    def of(self, user: str) -> UserTurns:
        """Those of one user; of `MOST_USERS`, those who were asked for last."""
        with self._lock:
            turns = self._of.pop(user, None) or UserTurns(self._conversations, user, encoder=self._encoder)
            self._of[user] = turns
            while len(self._of) > MOST_USERS:
                self._of.pop(next(iter(self._of)))
            return turns


def said_in(turn: RecallableTurn) -> list[Turn]:
    """What was said in a stored turn: by the user, or whom their message begins with, and the assistant.

    Secrets in it are overwritten: they are found by nobody, and never told. Nor is what was forgotten, with
    the rest of its sentence.
    """
    said = []
    question, answer = left_of(turn.question), left_of(turn.answer)
    if question.strip():
        match = _SPEAKER.match(question)
        speaker = match[1] if match and match[1] not in _NO_SPEAKER else ""
        text = without_secrets(question[match.end() :] if match and speaker else question)
        said.append(Turn(id=turn.id, session=turn.conversation_id, text=text, speaker=speaker, at=turn.at))
    if answer.strip():
        said.append(
            Turn(
                id=turn.id + ANSWER,
                session=turn.conversation_id,
                text=without_secrets(answer),
                role="assistant",
                at=turn.at,
            )
        )
    return said
