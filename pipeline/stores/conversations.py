"""Conversations: their records, the protocol `Conversations` of a store, and turns as stores keep them."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, partial
from typing import Any, Protocol

from pydantic import TypeAdapter

from pipeline.answer import Answer
from pipeline.answering.citations import escaped_markers, renamed_markers, without_markers
from pipeline.answering.recollection import looked_up
from pipeline.errors import UnknownConversation
from pipeline.options import DEFAULT_USER
from pipeline.redaction import redacted
from pipeline.steps.records import data_of
from pipeline.stores.globs import as_scope, written
from pipeline.words import well_formed

TITLE_CHARACTERS = 60
RECALLED_CHARACTERS = 2000
"""The search over turns reads so many characters of an answer."""


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """One conversation without its turns; times in seconds since the epoch.

    `assistant` is the name of the persona that answers, "" where it is not known. `scope` has the globs of
    the documents to search, none for all. `revision` rises with every change of a turn.
    """

    id: str
    title: str
    created_at: float
    updated_at: float
    turns: int
    user: str = DEFAULT_USER
    assistant: str = ""
    scope: tuple[str, ...] = ()
    pinned: bool = False
    revision: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Turn:
    """One question with its answer, and the reader's rating of it (1, -1 or None).

    `versions` are the former answers to the same question, oldest first. `embedding` has the float32 vectors
    of its recalled texts, one after the other; the memory decides how many. `embedded_by` names their model.
    """

    id: str
    question: str
    answer: Answer
    created_at: float
    feedback: int | None = None
    feedback_text: str = ""
    versions: tuple[Answer, ...] = ()
    embedding: bytes = field(default=b"", compare=False)
    embedded_by: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallableTurn:
    """A turn for the search over turns; `question` and `answer` are "" where it must not find them."""

    id: str
    conversation_id: str
    question: str
    answer: str
    at: float
    embedding: bytes = b""
    embedded_by: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation whole, its turns in order."""

    info: ConversationInfo
    turns: tuple[Turn, ...]

    def as_markdown(self) -> str:
        """The conversation as Markdown, citations as footnotes."""
        parts = [f"# {self.info.title or 'Conversation'}"]
        for number, turn in enumerate(self.turns, start=1):
            parts += _exported_turn(turn, number)
        return "\n\n".join(parts) + "\n"


Change = Callable[[Turn | None], Turn]
"""Makes the turn to store from the stored one, None where there is none."""


class Conversations(Protocol):
    """The conversations of one store; safe to use from several threads.

    A backend writes the seven methods that have no body here; the others call those. `clock` returns the time
    in seconds since the epoch; an evaluation sets another one.
    """

    clock: Callable[[], float] = staticmethod(time.time)

    def list(
        self,
        *,
        user: str | None = None,
        limit: int | None = None,
        before: ConversationInfo | None = None,
        pinned: bool | None = None,
        words: str = "",
    ) -> list[ConversationInfo]:
        """The conversations of one user, or of all, the last used first.

        `before` is the last one of the page before this one. `pinned` selects pinned ones or the others. Each
        of the `words` must stand in the title, a question or an answer, in any case.
        """

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""

    def turns(self, user: str, *, conversations: Collection[str] | None = None) -> Sequence[RecallableTurn]:
        """The turns of a user, of some conversations or of all, in the order in which they were begun."""

    def save(self, info: ConversationInfo) -> None:
        """Write a conversation's fields, in the place of those with the same id; not its turns.

        The store itself keeps `turns` and `revision` right.
        """

    def write(self, conversation_id: str, turn_id: str, change: Change) -> None:
        """Store what `change` makes of a turn, in one transaction; a new turn comes last.

        A new turn sets the conversation's time of use, and its title where it has none. `change` is called
        again where another process writes the same turn. The revision rises where the turn differs from
        before. Raises `UnknownConversation`.
        """

    def delete(self, conversation_id: str, turn_ids: Collection[str] | None = None) -> None:
        """Delete a conversation, or only these of its turns; raises `UnknownConversation`.

        A title that was made of a deleted question is made of the first question that is left.
        """

    # -- what follows from these ------------------------------------------------------------------------

    def create(self, title: str = "", *, user: str = DEFAULT_USER, assistant: str = "") -> Conversation:
        """A new, empty conversation; without a title it gets one from its first question."""
        now = self.clock()
        info = ConversationInfo(str(uuid.uuid4()), well_formed(title), now, now, 0, user, assistant)
        self.save(info)
        return Conversation(info, ())

    def restore(self, conversation: Conversation) -> None:
        """Write a conversation whole, with its ids and times, in the place of one with the same id."""
        with suppress(UnknownConversation):
            self.delete(conversation.info.id)
        self.save(conversation.info)
        for turn in conversation.turns:
            self.write(conversation.info.id, turn.id, partial(_restored, turn))
        self.save(conversation.info)  # its time of use

    def users(self) -> Sequence[str]:
        """The users that have a conversation, sorted by name."""
        return sorted({info.user for info in self.list()})

    def revisions(self, user: str) -> Mapping[str, int]:
        """The revisions of a user's conversations, by their ids.

        Read the revision before the turns: the turns are then never older than it.
        """
        return {info.id: info.revision for info in self.list(user=user)}

    def conversation_of(self, turn_id: str) -> str:
        """The id of a turn's conversation; raises `UnknownConversation`."""
        return self.turn(turn_id).answer.conversation_id

    def rename(self, conversation_id: str, title: str) -> None:
        """Give a conversation another title; raises `UnknownConversation`."""
        self._change(conversation_id, title=well_formed(title.strip()))

    def set_scope(self, conversation_id: str, scope: Sequence[str]) -> None:
        """Search only the documents that these globs match from now on; raises `UnknownConversation`."""
        self._change(conversation_id, scope=tuple(well_formed(glob) for glob in scope))

    def pin(self, conversation_id: str, *, pinned: bool) -> None:
        """Pin or unpin a conversation; its time of use stays. Raises `UnknownConversation`."""
        self._change(conversation_id, pinned=pinned)

    def save_turn(self, conversation_id: str, answer: Answer, *, instead_of: str = "") -> str:
        """Store an answer as a turn, and return the turn's id.

        An answer with the id of a stored turn replaces that turn's answer. `instead_of` names a turn of the
        conversation: an answer to the same question becomes that turn's, which keeps the former one among its
        versions; another question deletes that turn and all after it. Raises `UnknownConversation`.
        """
        turn_id = answer.turn_id or str(uuid.uuid4())
        if instead_of:
            turns = self.get(conversation_id).turns
            place = next((number for number, turn in enumerate(turns) if turn.id == instead_of), None)
            if place is None:
                raise unknown_turn(instead_of)
            if turns[place].question == answer.question:
                turn_id = instead_of
            else:
                self.delete(conversation_id, [turn.id for turn in turns[place:]])
        answer = replace(answer, turn_id=turn_id, conversation_id=conversation_id)

        def saved(turn: Turn | None) -> Turn:
            if turn is None:
                return Turn(turn_id, answer.question, answer, self.clock())
            if turn_id == instead_of:
                versions = (*turn.versions, turn.answer)
                return replace(turn, answer=answer, versions=versions, feedback=None, feedback_text="")
            return replace(turn, answer=answer)

        self.write(conversation_id, turn_id, saved)
        return turn_id

    def change_turn(self, turn_id: str, change: Callable[[Turn], Turn]) -> None:
        """Store what `change` makes of a turn; raises `UnknownConversation`."""

        def changed(turn: Turn | None) -> Turn:
            if turn is None:
                raise unknown_turn(turn_id)
            return change(turn)

        self.write(self.conversation_of(turn_id), turn_id, changed)

    def choose(self, turn_id: str, version: int) -> None:
        """Show another of a turn's versions, by its place among them; raises `UnknownConversation`."""
        self.change_turn(turn_id, lambda turn: _chosen(turn, version))

    def change_answer(self, turn_id: str, change: Callable[[Answer], Answer]) -> None:
        """Store what `change` makes of a turn's answer, unless the turn was deleted."""
        with suppress(UnknownConversation):
            self.change_turn(turn_id, lambda turn: replace(turn, answer=change(turn.answer)))

    def set_feedback(self, turn_id: str, value: int | None, text: str = "") -> None:
        """Store the reader's rating of an answer: 1, -1, or None; raises `UnknownConversation`."""
        word = well_formed(text)
        self.change_turn(turn_id, lambda turn: replace(turn, feedback=value, feedback_text=word))

    def keep_embeddings(self, turns: Sequence[RecallableTurn]) -> None:
        """Store the embeddings of turns whose recalled texts are still these; no revision rises."""
        for turn in turns:
            with suppress(UnknownConversation):
                self.write(turn.conversation_id, turn.id, partial(_embedded, turn))

    def _change(self, conversation_id: str, **values: Any) -> None:
        self.save(replace(self.get(conversation_id).info, **values))


def turn_record(turn: Turn) -> dict[str, Any]:
    """A turn as stores keep it: its answers as JSON without secrets, and the texts to find it by."""
    question, answer = recalled_texts(turn)
    return {
        "id": turn.id,
        "created_at": turn.created_at,
        "feedback": turn.feedback,
        "feedback_text": turn.feedback_text,
        "question": turn.question,
        "recalled_question": question,
        "recalled_answer": answer,
        "searched": f"{turn.question}\n{turn.answer.text}".casefold(),
        "embedding": turn.embedding,
        "embedded_by": turn.embedded_by,
        "answer": answer_json(turn.answer),
        "versions": redacted(json.dumps(turn.versions, default=_fields, ensure_ascii=False)),
    }


def turn_of(record: Mapping[str, Any]) -> Turn:
    """The turn of a record; keys of an answer that this version does not know are ignored."""
    values = {item.name: record[item.name] for item in fields(Turn)}
    return Turn(
        **values
        | {
            "answer": _answer_of(json.loads(record["answer"])),
            "versions": tuple(map(_answer_of, json.loads(record["versions"]))),
        }
    )


def recallable_of(record: Mapping[str, Any]) -> RecallableTurn:
    """A record as the search over turns needs it."""
    return RecallableTurn(
        id=record["id"],
        conversation_id=record["conversation_id"],
        question=record["recalled_question"],
        answer=record["recalled_answer"],
        at=record["created_at"],
        embedding=record["embedding"],
        embedded_by=record["embedded_by"],
    )


def changed_turn(old: Turn | None, change: Change) -> Turn:
    """What `change` makes of a turn, without an embedding of texts that have changed."""
    new = change(old)
    if old is None or recalled_texts(old) == recalled_texts(new):
        return new
    return replace(new, embedding=b"", embedded_by="")


def recalled_texts(turn: Turn) -> tuple[str, str]:
    """The texts of the question and the answer that the search over turns reads; "" for one it must not.

    It reads nothing of a request to the memory that stored nothing. It does not read an answer that could not
    be given, nor one that quotes: that is found in its document.
    """
    answer = turn.answer
    if answer.mode == "memory":
        done = data_of(answer.steps, "remember")
        kept = any(done.get(name) for name in ("added", "known", "touched", "replaced"))
        return (turn.question, "") if kept or looked_up(answer) else ("", "")
    answered = answer.status == "complete" and answer.verdict == "answered" and not answer.abstained
    if not answered or answer.mode != "generate":
        return turn.question, ""
    return turn.question, redacted(without_markers(answer.text))[:RECALLED_CHARACTERS]


def new_revision() -> int:
    """The first revision of a conversation: higher than that of a deleted one with the same id."""
    return time.time_ns() // 1000


def title_without(title: str, deleted: Sequence[str], left: Sequence[str]) -> str:
    """A conversation's title after turns with `deleted` questions are gone, by the questions `left`."""
    if title in map(title_of, deleted):
        return title_of(left[0]) if left else ""
    return title


def title_of(question: str) -> str:
    """A title from a first question: its first words."""
    text = " ".join(question.split())
    if len(text) <= TITLE_CHARACTERS:
        return text
    return text[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + " …"


def answer_json(answer: Answer) -> str:
    """The answer as it is stored, without secrets. `asdict` would copy every rank of every step first."""
    return redacted(json.dumps(answer, default=_fields, ensure_ascii=False))


def scope_of(answer: Answer) -> tuple[str, ...]:
    """The globs of the documents that were searched for an answer; () for all documents."""
    kept = answer.settings.get("paths")
    return as_scope(kept) if isinstance(kept, str | tuple | list) else ()


def unknown_conversation(conversation_id: str) -> UnknownConversation:
    """The error for a conversation that is not stored."""
    return UnknownConversation(
        f"No conversation '{conversation_id}' is stored; it may have been deleted.", "Start a new one."
    )


def not_of(user: str, info: ConversationInfo) -> UnknownConversation:
    """The error for a conversation of another user."""
    return UnknownConversation(
        f"Conversation '{info.id}' belongs to '{info.user}', not to '{user}'.",
        f"Go on as that user, with --user '{info.user}' or ATHENA_USER.",
    )


def unknown_turn(turn_id: str) -> UnknownConversation:
    """The error for an answer that is not stored."""
    return UnknownConversation(
        f"No answer '{turn_id}' is stored; its conversation may have been deleted.", "Start a new one."
    )


def _restored(turn: Turn, _: Turn | None) -> Turn:
    return turn


def _embedded(made: RecallableTurn, turn: Turn | None) -> Turn:
    if turn is None:
        raise unknown_turn(made.id)
    if recalled_texts(turn) != (made.question, made.answer):
        return turn
    return replace(turn, embedding=made.embedding, embedded_by=made.embedded_by)


def _chosen(turn: Turn, version: int) -> Turn:
    """The turn with the answer at a place among its versions shown; the circle of answers keeps its order."""
    circle = (*turn.versions, turn.answer)
    return replace(turn, answer=circle[version], versions=(*circle[version + 1 :], *circle[:version]))


@cache
def _adapter() -> TypeAdapter[Answer]:
    return TypeAdapter(Answer)


def _answer_of(stored: Mapping[str, Any]) -> Answer:
    return _adapter().validate_python(stored)


def _fields(value: object) -> dict[str, Any]:
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} cannot be stored")
    return {item.name: getattr(value, item.name) for item in fields(value)}


def _exported_turn(turn: Turn, number: int) -> list[str]:
    answer = turn.answer
    # Footnotes count through the whole document.
    text = renamed_markers(answer.text, lambda marker: f"[^{number}-{marker}]")
    notes = [
        f"[^{number}-{item.marker}]: {' › '.join([item.file, *item.heading_path])}, "
        f"lines {item.start_line}-{item.end_line}: “{escaped_markers(' '.join(item.quote.split()))}”"
        for item in answer.citations
    ]
    status = [] if answer.status == "complete" else [f"*This answer was {answer.status}.*"]
    quoted = "\n".join(f"> {line}" for line in turn.question.splitlines())
    globs = ", ".join(f"`{written(glob)}`" for glob in scope_of(answer))
    scope = [f"Only in: {globs}"] if globs else []
    return [f"## Question {number}", quoted, *scope, text or "*No answer.*", *status, *notes]
