"""Conversations: their records, what a store of them must do, and how an answer is stored."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
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
TOLD_CHARACTERS = 2000
"""Of an answer's text: so much of it is kept for the search over turns."""


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """One conversation in a list; times in seconds since the epoch.

    `assistant` is the name of the persona that it was begun with, "" where that is not known. `scope` has
    globs of the documents that are searched in it, none for all. `revision` rises with every change of its
    turns.
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
    """One question with its answer, and what the reader thought of it (1, -1 or None).

    `versions` are the former answers to the same question, the oldest first.
    """

    id: str
    question: str
    answer: Answer
    created_at: float
    feedback: int | None = None
    feedback_text: str = ""
    versions: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallableTurn:
    """What the search over turns needs of a turn: its texts, without steps and citations.

    `question` and `answer` are "" where they must not be found. `embedding` has float32 rows, one after the
    other; the memory decides how many. `embedded_by` names the embedding model, "" without an embedding.
    """

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
        """All of it as Markdown, citations as footnotes."""
        parts = [f"# {self.info.title or 'Conversation'}"]
        for number, turn in enumerate(self.turns, start=1):
            parts += _exported_turn(turn, number)
        return "\n\n".join(parts) + "\n"


class Conversations(Protocol):
    """All conversations of one store; safe to use from several threads.

    A backend writes the methods that have no body here; the others are made of those. `clock` returns the
    time in seconds since the epoch; an evaluation sets another one.
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
        of the `words` must stand in the title, the questions or the answers' texts, in any case.
        """

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""

    def recallable(self, user: str, conversation_ids: Sequence[str]) -> Sequence[RecallableTurn]:
        """The turns of these conversations of a user, conversation by conversation, in their order."""

    def keep_embeddings(self, turns: Sequence[RecallableTurn]) -> None:
        """Store the embeddings of turns whose texts are still these; no revision rises."""

    def save(self, info: ConversationInfo) -> None:
        """Write a conversation's fields, new or in the place of those of the same id; not its turns.

        The store keeps `turns` and `revision` itself.
        """

    def write(self, conversation_id: str, turn: Turn) -> None:
        """Write a turn, new at the end or in the place of the one of its id, and the time of use.

        A conversation without a title gets one from the question. Raises `UnknownConversation`.
        """

    def change_turn(self, turn_id: str, change: Callable[[Turn], Turn]) -> None:
        """Store what `change` makes of a turn, in one transaction; raises `UnknownConversation`.

        `change` may be called again where somebody else writes meanwhile.
        """

    def delete(self, conversation_id: str) -> None:
        """Remove a conversation with all its turns; raises `UnknownConversation`."""

    def delete_turns(self, conversation_id: str, turn_ids: Sequence[str]) -> None:
        """Remove turns of a conversation; a title that was made of one of them is made again."""

    def close(self) -> None:
        """Release files and connections."""

    # -- made of these ----------------------------------------------------------------------------------

    def create(self, title: str = "", *, user: str = DEFAULT_USER, assistant: str = "") -> Conversation:
        """A new, empty conversation; without a title it gets one from its first question."""
        now = self.clock()
        info = ConversationInfo(str(uuid.uuid4()), well_formed(title), now, now, 0, user, assistant)
        self.save(info)
        return Conversation(info, ())

    def restore(self, conversation: Conversation) -> None:
        """Write a conversation whole, with its ids and times, in the place of one of the same id."""
        with suppress(UnknownConversation):
            self.delete(conversation.info.id)
        self.save(conversation.info)
        for turn in conversation.turns:
            self.write(conversation.info.id, turn)
        self.save(conversation.info)  # its time of use

    def users(self) -> Sequence[str]:
        """All users that have a conversation, by name."""
        return sorted({info.user for info in self.list()})

    def revisions(self, user: str) -> Mapping[str, int]:
        """The ids of a user's conversations with their revisions.

        Whoever reads turns reads the revision before them: what was read is then never older than that.
        """
        return {info.id: info.revision for info in self.list(user=user)}

    def conversation_of(self, turn_id: str) -> str:
        """The id of the conversation that has a turn; raises `UnknownConversation`."""
        return self.turn(turn_id).answer.conversation_id

    def rename(self, conversation_id: str, title: str) -> None:
        """Give a conversation another title; raises `UnknownConversation`."""
        self._change(conversation_id, title=well_formed(title.strip()))

    def set_scope(self, conversation_id: str, scope: Sequence[str]) -> None:
        """Search only the documents that these globs match from now on; raises `UnknownConversation`."""
        self._change(conversation_id, scope=tuple(well_formed(glob) for glob in scope))

    def pin(self, conversation_id: str, *, pinned: bool) -> None:
        """Pin a conversation or take that back; that is no use of it. Raises `UnknownConversation`."""
        self._change(conversation_id, pinned=pinned)

    def save_turn(self, conversation_id: str, answer: Answer, *, instead_of: str = "") -> str:
        """Write an answer as a turn, and return the turn's id.

        An answer with the id of a stored turn takes the place of that turn's answer. `instead_of` names a
        turn of the conversation: an answer to the same question becomes that turn's, which keeps the former
        answer among its versions; another question deletes that turn and all that follow it, and is new.
        Raises `UnknownConversation`, also where the conversation was deleted meanwhile.
        """
        if instead_of:
            if self._answered_again(conversation_id, answer, instead_of):
                return instead_of
            turns = [turn.id for turn in self.get(conversation_id).turns]
            self.delete_turns(conversation_id, turns[turns.index(instead_of) :])
        answer = replace(answer, turn_id=answer.turn_id or str(uuid.uuid4()), conversation_id=conversation_id)
        try:
            self.change_turn(answer.turn_id, lambda turn: replace(turn, answer=answer))
        except UnknownConversation:
            turn = Turn(answer.turn_id, answer.question, answer, self.clock())
            self.write(conversation_id, turn)
        return answer.turn_id

    def choose(self, turn_id: str, version: int) -> None:
        """Show another of a turn's versions, by its place among them; raises `UnknownConversation`."""
        self.change_turn(turn_id, lambda turn: _chosen(turn, version))

    def change_answer(self, turn_id: str, change: Callable[[Answer], Answer]) -> None:
        """Store what `change` makes of a turn's answer, unless the turn was deleted meanwhile."""
        with suppress(UnknownConversation):
            self.change_turn(turn_id, lambda turn: replace(turn, answer=change(turn.answer)))

    def set_feedback(self, turn_id: str, value: int | None, text: str = "") -> None:
        """Store what the reader thought of an answer: 1, -1, or None; raises `UnknownConversation`."""
        word = well_formed(text)
        self.change_turn(turn_id, lambda turn: replace(turn, feedback=value, feedback_text=word))

    def _change(self, conversation_id: str, **values: Any) -> None:
        self.save(replace(self.get(conversation_id).info, **values))

    def _answered_again(self, conversation_id: str, answer: Answer, turn_id: str) -> bool:
        """Put an answer to the same question in a turn's place; False for another question."""
        former = self.turn(turn_id)
        if former.answer.conversation_id != conversation_id:
            raise unknown_turn(turn_id)
        if former.question != answer.question:
            return False
        answer = replace(answer, turn_id=turn_id, conversation_id=conversation_id)

        def again(turn: Turn) -> Turn:
            versions = (*turn.versions, turn.answer)
            return replace(turn, answer=answer, versions=versions, feedback=None, feedback_text="")

        self.change_turn(turn_id, again)
        return True


def record_of(turn: Turn) -> dict[str, Any]:
    """A turn as it is stored: its answers as JSON, and what it is found by."""
    return {
        "id": turn.id,
        "created_at": turn.created_at,
        "feedback": turn.feedback,
        "question": turn.question,
        "feedback_text": turn.feedback_text,
        "told": told_in(turn.answer),
        "said": f"{turn.question}\n{turn.answer.text}".casefold(),
        "answer": answer_json(turn.answer),
        "versions": redacted(json.dumps(turn.versions, default=_fields, ensure_ascii=False)),
    }


def turn_from(stored: Mapping[str, Any]) -> Turn:
    """The turn of a record."""
    return Turn(
        id=stored["id"],
        question=stored["question"],
        answer=answer_from(json.loads(stored["answer"])),
        created_at=stored["created_at"],
        feedback=stored["feedback"],
        feedback_text=stored["feedback_text"],
        versions=tuple(map(answer_from, json.loads(stored["versions"]))),
    )


def new_revision() -> int:
    """The first revision of a conversation: higher than that of a deleted one of the same id."""
    return time.time_ns() // 1000


def retitled(title: str, deleted: Sequence[str], left: Sequence[str]) -> str:
    """A conversation's title after turns with `deleted` questions are gone, by the questions `left`."""
    if title in map(title_of, deleted):
        return title_of(left[0]) if left else ""
    return title


def told_in(answer: Answer) -> str | None:
    """The answer's text for the search over turns, "" where only its question is searched, None for neither.

    A request to the memory that stored nothing is not searched. Neither is the text of an answer that could
    not be given, nor of one that quotes: that is found in its document.
    """
    if answer.mode == "memory":
        done = data_of(answer.steps, "remember")
        kept = any(done.get(name) for name in ("added", "known", "touched", "replaced"))
        return "" if kept or looked_up(answer) else None
    is_told = answer.status == "complete" and answer.verdict == "answered" and not answer.abstained
    shown = redacted(without_markers(answer.text))[:TOLD_CHARACTERS]
    return shown if is_told and answer.mode == "generate" else ""


def title_of(question: str) -> str:
    """A title from a first question: its first words."""
    text = " ".join(question.split())
    if len(text) <= TITLE_CHARACTERS:
        return text
    return text[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + " …"


def answer_json(answer: Answer) -> str:
    """The answer as it is stored, without secrets. `asdict` would copy every rank of every step first."""
    return redacted(json.dumps(answer, default=_fields, ensure_ascii=False))


def answer_from(stored: Mapping[str, Any]) -> Answer:
    """The answer from its JSON; keys that this version does not know are left out."""
    answer: Answer = _adapter("answer").validate_python(stored)
    return answer


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    """Reads an answer or a conversation's info; each is made when it is needed first."""
    return TypeAdapter({"answer": Answer, "conversation": ConversationInfo}[kind])


def _fields(value: object) -> dict[str, Any]:
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} cannot be stored")
    return {field.name: getattr(value, field.name) for field in fields(value)}


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
    asked = [f"Only in: {_in_code(scope)}"] if (scope := scope_of(answer)) else []
    return [f"## Question {number}", quoted, *asked, text or "*No answer.*", *status, *notes]


def scope_of(answer: Answer) -> tuple[str, ...]:
    """The globs that an answer was searched in; () for all documents."""
    kept = answer.settings.get("paths")
    return as_scope(kept) if isinstance(kept, str | tuple | list) else ()


def _in_code(scope: Sequence[str]) -> str:
    """Names as Markdown that shows them as they are."""
    return ", ".join(f"`{written(glob)}`" for glob in scope)


def unknown_conversation(conversation_id: str) -> UnknownConversation:
    """The error for a conversation that is not stored."""
    return UnknownConversation(
        f"No conversation '{conversation_id}' is stored; it may have been deleted.", "Start a new one."
    )


def not_of(user: str, info: ConversationInfo) -> UnknownConversation:
    """The error for a conversation of somebody else."""
    return UnknownConversation(
        f"Conversation '{info.id}' belongs to '{info.user}', not to '{user}'.",
        f"Go on as that user, with --user '{info.user}' or ATHENA_USER.",
    )


def unknown_turn(turn_id: str) -> UnknownConversation:
    """The error for an answer that is not stored."""
    return UnknownConversation(
        f"No answer '{turn_id}' is stored; its conversation may have been deleted.", "Start a new one."
    )


def _chosen(turn: Turn, version: int) -> Turn:
    """The turn with the answer at a place among its versions shown; the circle of answers keeps its order."""
    circle = (*turn.versions, turn.answer)
    return replace(turn, answer=circle[version], versions=(*circle[version + 1 :], *circle[:version]))
