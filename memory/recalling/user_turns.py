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
from memory.recalling.turn_index import SPEAKERS, FoundTurn, Spoken, Turn, TurnIndex, cut
from memory.recalling.turn_search import FoundTurns, look_up, verdict_of
from pipeline.analysis import analyse
from pipeline.answering.recollection import left_of
from pipeline.finding.spelling import misspelt, with_words
from pipeline.terms import content_terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.models.base import Encoder
    from pipeline.stores.conversations import Conversations, RecallableTurn
    from pipeline.stores.memories import Memory

    Vectors = NDArray[np.float32]

FLOAT_BYTES = 4  # of each number in a stored vector
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
        return self._fits(turn.at or 0.0, turn.who)

    def has_fact(self, memory: Memory) -> bool:
        """Whether a memory is: by when it was kept, and who it is of."""
        return self._fits(memory.created_at, SPEAKERS[memory.origin == "user"])

    def _fits(self, at: float, who: str) -> bool:
        is_then = (self.since is None or self.since <= at) and (self.until is None or at <= self.until)
        return is_then and self.speaker.casefold() in ("", who.casefold())

    def before(self, *times: float | None) -> Which:
        """The same until the earliest of some times, too."""
        ends = [at for at in (self.until, *times) if at is not None]
        return replace(self, until=min(ends, default=None))


ANY = Which()


class UserTurns:
    """The turns of one user; safe to use from several threads."""

    def __init__(self, conversations: Conversations, user: str, *, encoder: Callable[[], Encoder]) -> None:
        self._conversations, self._user, self._encoder = conversations, user, encoder
        self._lock = threading.RLock()
        self._revisions: Mapping[str, int] = {}  # of the conversations, as they were read
        self._said: dict[str, list[Spoken]] = {}  # by conversation
        self._index = TurnIndex()

    def search(self, question: str, *, top_k: int = LOOKED_AT, without: Collection[str] = ()) -> FoundTurns:
        """The `top_k` turns that most likely answer a question, best first, but for some by id."""
        with self._lock:
            self.follow()
            question = with_words(question, misspelt(question, self._index))
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

    def own(self, topic: str = "", *, without: Collection[str] = ()) -> Sequence[Turn]:
        """The user's messages, of a topic where one is given, latest first, but for some by id."""
        said = self.about(topic) if topic else self.all()
        own = [turn for turn in reversed(said) if turn.role == "user" and turn.id not in without]
        return sorted(own, key=lambda turn: -(turn.at or 0.0))

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

    def unfound(self) -> Sequence[str]:
        """The ids of the stored turns that nothing is found of: requests to forget, and what was left out."""
        stored = self._conversations.recallable(self._user, [*self._conversations.revisions(self._user)])
        return [turn.id for turn in stored if not (turn.question or turn.answer)]

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
            names = [name for name in self._index.names if name]
        return any(re.search(rf"\b{re.escape(name)}\b", text) for name in names)

    def says(self, word: str) -> bool:
        """Whether anything that was said has a word."""
        with self._lock:
            return bool(self._index.turns) and all(term in self._index.texts for term in analyse(word))

    def follow(self) -> None:
        """Take in what was said since, and drop what was deleted or forgotten."""
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
        """What was said in conversations; words that this model has not embedded are, once for all."""
        encoder = self._encoder()
        stored = self._conversations.recallable(self._user, conversations)
        parts = {turn.id: [(said, cut(said.text)) for said in said_in(turn)] for turn in stored}
        texts = {known: [text for _, pieces in said for text in pieces] for known, said in parts.items()}
        sizes = {known: len(held) * encoder.dimensions * FLOAT_BYTES for known, held in texts.items()}
        known = {turn.id: turn for turn in stored if parts[turn.id]}
        new = [
            turn
            for turn in known.values()
            if (len(turn.embedding), turn.embedded_by) != (sizes[turn.id], encoder.name)
        ]
        if new:
            rows = iter(encoder.encode_passages([text for turn in new for text in texts[turn.id]]))
            vectors_of = (b"".join(next(rows).tobytes() for _ in texts[turn.id]) for turn in new)
            made = [
                replace(turn, embedding=vectors, embedded_by=encoder.name)
                for turn, vectors in zip(new, vectors_of, strict=True)
            ]
            self._conversations.keep_embeddings(made)
            known |= {turn.id: turn for turn in made}
        found: dict[str, list[Spoken]] = {name: [] for name in conversations}
        for turn in known.values():
            vectors = np.frombuffer(turn.embedding, dtype=np.float32).reshape(-1, encoder.dimensions)
            for said, pieces in parts[turn.id]:
                found[turn.conversation_id].append(Spoken(said, pieces, vectors[: len(pieces)]))
                vectors = vectors[len(pieces) :]
        return found


def _begins_with(turns: Sequence[Spoken], before: Sequence[Spoken]) -> bool:
    return [item.turn for item in turns[: len(before)]] == [item.turn for item in before]


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
