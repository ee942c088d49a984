"""Conversations: each turn's answer with its citations, steps and settings together."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, Protocol

from pydantic import TypeAdapter

from pipeline.answer import Answer
from pipeline.answering.citations import escaped_markers, renamed_markers, without_markers
from pipeline.answering.recollection import BLOCK, looked_up
from pipeline.asking.questions import is_question
from pipeline.errors import UnknownConversation
from pipeline.options import DEFAULT_USER
from pipeline.redaction import redacted
from pipeline.steps.records import data_of
from pipeline.stores.globs import as_scope, written
from pipeline.stores.versions import Tree
from pipeline.words import well_formed

TITLE_CHARACTERS = 60
OVERWRITTEN = re.compile(f"{BLOCK}+(?: {BLOCK}+)*")
TOLD_CHARACTERS = 2000  # of an answer, that it is found again by
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What reading an answer raises that is not as it was written."""


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """One conversation in a list; times in seconds since the epoch.

    It belongs to a user and to an assistant, whose persona's name it was begun with; "" is not known. Its
    `scope` has globs: only the documents that one of them means are asked in it; without any, all are.
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


@dataclass(frozen=True, slots=True)
class Turn:
    """One question with its answer, and what the reader thought of it (1, -1 or None)."""

    id: str
    question: str
    answer: Answer
    created_at: float
    feedback: int | None = None
    feedback_text: str = ""
    remembered: bool = False  # it was looked at for what is to be remembered of it
    left_out: bool = False  # it is not found again
    after: str | None = None  # id of the turn that it follows, "" for none; None: it is not known yet
    aside: bool = False  # another version is in its place, or in that of a turn that it follows


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallableTurn:
    """A turn as it can be found again: what was asked and answered, without steps and citations."""

    id: str
    conversation_id: str
    question: str  # "" where it is not to be found again
    answer: str  # the answer's text without citation markers; "" where it is not to be found again
    at: float
    embedding: bytes = b""  # float32 rows, one after the other; how many and of what is the memory's business
    embedded_by: str = ""  # name of the embedding model; "" where it was not embedded


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation whole, turns in order; `aside` are those that another version is in the place of."""

    info: ConversationInfo
    turns: tuple[Turn, ...]
    aside: tuple[Turn, ...] = ()

    def versions(self, turn: Turn) -> tuple[str, ...]:
        """The ids of the versions that a turn has, itself among them, the oldest first."""
        found = [other for other in (*self.turns, *self.aside) if other.after == turn.after]
        return tuple(other.id for other in sorted(found, key=lambda other: other.created_at))

    def as_markdown(self) -> str:
        """All of it as Markdown, citations as footnotes."""
        parts = [f"# {self.info.title or 'Conversation'}"]
        for number, turn in enumerate(self.turns, start=1):
            parts += _exported_turn(turn, number)
        return "\n\n".join(parts) + "\n"


class Conversations(Protocol):
    """All conversations of one store; safe to use from several threads.

    A store says how a conversation and a turn are read, written and changed; what that is for is said here.
    `clock` tells what time it is, in seconds since the epoch; an evaluation sets another.
    """

    clock: Callable[[], float] = staticmethod(time.time)

    def create(self, title: str = "", *, user: str = DEFAULT_USER, assistant: str = "") -> Conversation:
        """A new, empty conversation; without a title it gets one from its first question."""
        now = self.clock()
        info = ConversationInfo(str(uuid.uuid4()), well_formed(title), now, now, 0, user, assistant)
        made = Conversation(info, ())
        self.restore(made)
        return made

    def list(
        self,
        *,
        user: str | None = None,
        limit: int | None = None,
        before: ConversationInfo | None = None,
        pinned: bool | None = None,
        words: str = "",
    ) -> list[ConversationInfo]:
        """Those of one user, or of all, the latest used first: the first `limit` of those after `before`.

        `before` is the last one of the page that was read before: it comes, by its time of use, before these.
        `pinned` leaves out the others, or the pinned ones. Each of the `words` stands somewhere in the title,
        the questions or the answers' texts, in whatever case.
        """

    def users(self) -> Sequence[str]:
        """All users that have a conversation, by name."""

    def unremembered(self, user: str) -> Sequence[Turn]:
        """The turns of a user that nobody has looked at yet for what is to be remembered, oldest first.

        A turn that is being answered at this moment is among them; `MemoryChanges.remembered` takes them out.
        """

    def rated(self, user: str, value: int) -> Sequence[Turn]:
        """The turns of a user whose reader thought so of the answer, the latest first."""

    def revisions(self, user: str) -> Mapping[str, int]:
        """The ids of a user's conversations, each with a number that rises with every change of its turns.

        Cheap. Whoever reads turns reads the number before them: what was read is then never older than that.
        """

    def recallable(self, user: str, conversation_ids: Sequence[str]) -> Sequence[RecallableTurn]:
        """The turns of these conversations of a user, conversation by conversation, in their order."""

    def keep_embeddings(self, turns: Sequence[RecallableTurn]) -> None:
        """Store the embeddings of those whose question and answer are still these; no revision rises."""

    def leave_out(self, user: str, turn_ids: Sequence[str]) -> None:
        """Let these turns of a user not be found again; they stay in their conversations."""

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""

    def conversation_of(self, turn_id: str) -> str:
        """The id of the conversation that has a turn; raises `UnknownConversation`."""

    def rename(self, conversation_id: str, title: str) -> None:
        """Give it another title; raises `UnknownConversation`."""
        self.change(conversation_id, title=well_formed(title.strip()))

    def set_scope(self, conversation_id: str, scope: Sequence[str]) -> None:
        """Ask only the documents that these globs mean from now on, or all; raises `UnknownConversation`."""
        self.change(conversation_id, scope=[well_formed(glob) for glob in scope])

    def pin(self, conversation_id: str, *, pinned: bool) -> None:
        """Pin it, or take that back; it was not used by that. Raises `UnknownConversation`."""
        self.change(conversation_id, pinned=pinned)

    def change(self, conversation_id: str, **fields: object) -> None:
        """Store other values of some fields of `ConversationInfo`; raises `UnknownConversation`."""

    def delete(self, conversation_id: str) -> None:
        """Remove it with all its turns; raises `UnknownConversation`."""

    def save_turn(
        self, conversation_id: str, answer: Answer, *, remembered: bool = False, instead_of: str = ""
    ) -> str:
        """Write a turn, new or in the place of the one that `answer.turn_id` names; returns its id.

        A new one follows the last, or is another version of the turn that it is `instead_of`. One that is
        `remembered` need not be looked at for what is to be remembered, now or later. Raises
        `UnknownConversation`, also where it was deleted while the answer was being written, and `TurnChanged`
        where the question that is stored is another: words of it were forgotten meanwhile.
        """
        answer = replace(answer, turn_id=answer.turn_id or str(uuid.uuid4()), conversation_id=conversation_id)
        turn = Turn(answer.turn_id, answer.question, answer, self.clock(), remembered=remembered)
        self.write(conversation_id, turn, instead_of=instead_of)
        return turn.id

    def write(self, conversation_id: str, turn: Turn, *, instead_of: str = "") -> None:
        """Write a new turn, or its answer where it is there; raises as `save_turn` does."""

    def choose(self, turn_id: str) -> None:
        """Go through this version of a turn, and what followed it; raises `UnknownConversation`."""

    def change_answer(self, turn_id: str, change: Callable[[Answer], Answer]) -> None:
        """Store what `change` makes of a turn's answer as it is at that moment; nothing where it is gone.

        It may be called again where somebody else writes meanwhile.
        """

    def set_feedback(self, turn_id: str, value: int | None, text: str = "") -> None:
        """Keep what the reader thought of an answer: 1, -1, or None to take it back.

        Raises `UnknownConversation` where the answer is not stored any more.
        """
        self.change_turn(turn_id, feedback=value, feedback_text=well_formed(text))

    def change_turn(self, turn_id: str, **fields: object) -> None:
        """Store other values of some fields of a `Turn`; raises `UnknownConversation`."""

    def restore(self, conversation: Conversation) -> None:
        """Write a conversation whole, with its ids and times, in the place of one of the same id."""

    def close(self) -> None:
        """Release files and connections."""


def record_of(turn: Turn) -> dict[str, Any]:
    """A turn as it is stored: its answer as JSON, and what it is found by."""
    return {
        "id": turn.id,
        "question": turn.question,
        "created_at": turn.created_at,
        "feedback": turn.feedback,
        "feedback_text": turn.feedback_text,
        "remembered": turn.remembered,
        "left_out": turn.left_out,
        "after": turn.after,
        "aside": turn.aside,
        **written_of(turn.question, turn.answer),
    }


def written_of(question: str, answer: Answer) -> dict[str, str | None]:
    """What is stored of an answer, and goes where that is written again."""
    return {
        "answer": answer_json(answer),
        "said": said_in(question, answer.text),
        "told": told_in(answer),
    }


def turn_from(stored: Mapping[str, Any]) -> Turn:
    """The turn of a record; raises ValueError where it is none."""
    if not isinstance(stored["created_at"], float) or stored["feedback"] not in (None, 1, -1):
        raise ValueError("not a turn")
    return Turn(
        id=stored["id"],
        question=str(stored["question"]),
        answer=answer_from(json.loads(stored["answer"])),
        created_at=stored["created_at"],
        feedback=stored["feedback"],
        feedback_text=str(stored["feedback_text"]),
        remembered=bool(stored["remembered"]),
        left_out=bool(stored["left_out"]),
        after=stored.get("after"),
        aside=bool(stored.get("aside")),
    )


def conversation_from(info: ConversationInfo, turns: Sequence[Turn]) -> Conversation:
    """A conversation of all its turns in the order in which they were begun."""
    after = Tree((turn.id, turn.after, turn.aside) for turn in turns).after
    placed = [replace(turn, after=after[turn.id]) for turn in turns]
    chosen = tuple(turn for turn in placed if not turn.aside)
    return Conversation(replace(info, turns=len(chosen)), chosen, tuple(t for t in placed if t.aside))


def info_from(stored: Mapping[str, Any]) -> ConversationInfo:
    """The conversation of a record by its fields; raises ValueError where it is none."""
    info: ConversationInfo = _adapter("conversation").validate_python(stored)
    return info


def new_revision() -> int:
    """What a conversation that is written whole begins at: higher than one of the same id ever was."""
    return time.time_ns() // 1000


def said_in(question: str, text: str) -> str:
    """What a turn is found by: its question and its answer's text, as a search folds them."""
    return f"{question}\n{text}".casefold()


def told_in(answer: Answer) -> str | None:
    """What a turn is found again by beside its question; None where that is not to be found, either.

    A command to the memory that left nothing there is nothing that was said, and a question to it is what was
    asked; what could not be answered was not told; and what was quoted is found in its document.
    """
    if answer.mode == "memory":
        done = data_of(answer.steps, "remember")
        kept = any(done.get(name) for name in ("added", "known", "touched", "replaced"))
        is_said = kept or looked_up(answer) or is_question(answer.question)
        return "" if is_said else None  # what is no request may tell something, too
    is_told = answer.status == "complete" and answer.verdict == "answered" and not answer.abstained
    return told_as(answer.text) if is_told and answer.mode == "generate" else ""


def told_as(text: str) -> str:
    """An answer's text as it is found again."""
    return redacted(without_markers(text))[:TOLD_CHARACTERS]


def told_in_json(stored: str) -> str | None:
    """As `told_in`, of an answer as it is stored; None where it cannot be read."""
    try:
        return told_in(answer_from(json.loads(stored)))
    except UNREADABLE:
        return None


def title_of(question: str) -> str:
    """A title from a first question: its first words."""
    text = shown_title(" ".join(question.split()))
    if len(text) <= TITLE_CHARACTERS:
        return text
    return text[:TITLE_CHARACTERS].rsplit(" ", 1)[0] + " …"


def shown_title(text: str) -> str:
    """A title with "…" for what was overwritten in it; "" where nothing else is left."""
    left = OVERWRITTEN.sub("…", text)
    return left if left == text or re.search(r"\w", left) else ""


def title_without(title: str, deleted: Iterable[str], first: str) -> str:
    """A conversation's title once turns are deleted, by their questions; `first` is the first one left."""
    return title_of(first) if title in map(title_of, deleted) else title


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
