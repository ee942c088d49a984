"""Conversations: their records, and how they are kept as rows, in each store alike."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pipeline.answer import Answer
from pipeline.errors import UnknownConversation
from pipeline.options import DEFAULT_USER
from pipeline.stores.rows import Row, Rows, find, update
from pipeline.stores.turns import (
    RecallableTurn,
    Turn,
    question_of,
    recallable_of,
    title_of,
    turn_of,
    turn_row,
    unknown_turn,
    with_embedding,
    with_version,
    without_old_embedding,
)
from pipeline.words import well_formed

LEAST_INTERVAL_S = 1e-6
"""Between the rows of two turns; a clock that is set back must not change their order."""

Change = Callable[[Turn | None], Turn]
"""Makes the turn to store from the stored one, None where there is none."""


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
    revision: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation whole, its turns in order."""

    info: ConversationInfo
    turns: tuple[Turn, ...]


class Conversations:
    """The conversations of one store; safe to use from several threads and processes.

    `clock` returns the time in seconds since the epoch; an evaluation sets another one.
    """

    def __init__(self, rows: Rows, *, clock: Callable[[], float] = time.time) -> None:
        self._rows = rows
        self.clock = clock

    def list(
        self,
        *,
        user: str | None = None,
        limit: int | None = None,
        before: ConversationInfo | None = None,
        words: str = "",
    ) -> list[ConversationInfo]:
        """The conversations of one user, or of all, the last used first.

        `before` is the last one of the page before this one. Each of the `words` must stand in the title, a
        question or an answer, in any case.
        """
        ids: set[str] | None = None
        for word in words.casefold().split():
            found = {row.id for row in self._rows.select("conversation", user=user, text=word)}
            found |= {row.group for row in self._rows.select("turn", user=user, text=word)}
            ids = found if ids is None else ids & found
        rows = self._rows.select(
            "conversation",
            ids=ids,
            user=user,
            before=(before.updated_at, before.id) if before else None,
            limit=limit,
        )
        return [_info_of(row) for row in rows]

    def users(self) -> Sequence[str]:
        """The users that have a conversation, sorted by name."""
        return self._rows.users("conversation")

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        info = _info(self._rows, conversation_id)
        turns = self._rows.select("turn", groups=[conversation_id], whole=True)
        return Conversation(info, tuple(map(turn_of, reversed(turns))))

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""
        row = find(self._rows, "turn", turn_id)
        if row is None:
            raise unknown_turn(turn_id)
        return turn_of(row)

    def turns(self, user: str, *, conversations: Collection[str] | None = None) -> Sequence[RecallableTurn]:
        """The turns of a user, of some conversations or of all, in the order in which they were begun."""
        rows = self._rows.select("turn", user=user, groups=conversations)
        return [recallable_of(row) for row in reversed(rows)]

    def revisions(self, user: str) -> Mapping[str, int]:
        """The revisions of a user's conversations, by their ids.

        Read the revision before the turns: the turns are then never older than it.
        """
        return {info.id: info.revision for info in self.list(user=user)}

    def conversation_of(self, turn_id: str) -> str:
        """The id of a turn's conversation; raises `UnknownConversation`."""
        found = self._rows.select("turn", ids=[turn_id])
        if not found:
            raise unknown_turn(turn_id)
        return found[0].group

    # -- conversations ----------------------------------------------------------------------------------

    def create(self, title: str = "", *, user: str = DEFAULT_USER, assistant: str = "") -> Conversation:
        """A new, empty conversation; without a title it gets one from its first question."""
        now = self.clock()
        info = ConversationInfo(str(uuid.uuid4()), well_formed(title), now, now, 0, user, assistant)
        self.save(info)
        return Conversation(info, ())

    def save(self, info: ConversationInfo) -> None:
        """Write a conversation's title, scope and time of use; a new one's fields, but no turns.

        The first revision is higher than that of a deleted conversation with the same id.
        """

        def saved(row: Row | None) -> Row:
            old = _info_of(row) if row else replace(info, turns=0, revision=time.time_ns() // 1000)
            return _row_of(replace(old, title=info.title, updated_at=info.updated_at, scope=info.scope))

        update(self._rows, "conversation", info.id, saved)

    def restore(self, conversation: Conversation) -> None:
        """Write a conversation whole, with its ids and times, in the place of one with the same id."""
        with suppress(UnknownConversation):
            self.delete(conversation.info.id)
        self.save(conversation.info)
        for turn in conversation.turns:
            self.write(conversation.info.id, turn.id, lambda _, turn=turn: turn)  # type: ignore[misc]
        self.save(conversation.info)  # its time of use

    def rename(self, conversation_id: str, title: str) -> None:
        """Give a conversation another title; raises `UnknownConversation`."""
        self._change(conversation_id, title=well_formed(title.strip()))

    def set_scope(self, conversation_id: str, scope: Sequence[str]) -> None:
        """Search only the documents that these globs match from now on; raises `UnknownConversation`."""
        self._change(conversation_id, scope=tuple(well_formed(glob) for glob in scope))

    def delete(self, conversation_id: str, turn_ids: Collection[str] | None = None) -> None:
        """Delete a conversation, or only these of its turns; raises `UnknownConversation`.

        A title that was made of a deleted question is made of the first question that is left. Turns go
        before and after their conversation: a process that writes one meanwhile finds the conversation gone,
        and deletes that turn.
        """
        with self._rows.transaction() as rows:
            if turn_ids is not None:
                delete_turns(rows, conversation_id, turn_ids)
                return
            _info(rows, conversation_id)
            _delete_all_turns(rows, conversation_id)
            rows.delete("conversation", [conversation_id])
            _delete_all_turns(rows, conversation_id)

    # -- turns ------------------------------------------------------------------------------------------

    def write(self, conversation_id: str, turn_id: str, change: Change) -> None:
        """Store what `change` makes of a turn; a new turn comes last.

        A new turn sets the conversation's time of use, and its title where it has none. `change` is called
        again where another process writes the same turn. The revision rises where the turn differs from
        before. Raises `UnknownConversation`; a conversation that is deleted meanwhile takes the turn along.
        """
        with self._rows.transaction() as rows:
            try:
                user = _info(rows, conversation_id).user
                last = rows.select("turn", groups=[conversation_id], limit=1)
                at = max([time.time(), *(row.at + LEAST_INTERVAL_S for row in last)])

                def changed(row: Row | None) -> Row:
                    old = turn_of(row) if row else None
                    new = without_old_embedding(change(old), old)
                    position = row.at if row else at
                    return turn_row(new, conversation_id=conversation_id, user=user, at=position)

                old, new = update(rows, "turn", turn_id, changed)
                if old is None:
                    _count_turns(rows, conversation_id, lambda info: _used(info, new))
                elif (old.head, old.body) != (new.head, new.body):
                    _count_turns(rows, conversation_id, lambda info: info)
            except UnknownConversation:
                own = rows.select("turn", ids=[turn_id], groups=[conversation_id])
                rows.delete("turn", [row.id for row in own])
                raise

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
        self.change_turn(turn_id, lambda turn: with_version(turn, version))

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
        for made in turns:
            with suppress(UnknownConversation):
                self.change_turn(made.id, lambda turn, made=made: with_embedding(turn, made))  # type: ignore[misc]

    def _change(self, conversation_id: str, **values: Any) -> None:
        self.save(replace(_info(self._rows, conversation_id), **values))


def delete_turns(rows: Rows, conversation_id: str, turn_ids: Collection[str]) -> None:
    """Delete turns of a conversation; raises `UnknownConversation`."""
    turns = rows.select("turn", groups=[conversation_id])[::-1]
    titles = {title_of(question_of(row)) for row in turns if row.id in turn_ids}
    left = [question_of(row) for row in turns if row.id not in turn_ids]
    rows.delete("turn", [row.id for row in turns if row.id in turn_ids])

    def titled(info: ConversationInfo) -> ConversationInfo:
        return replace(info, title=title_of(left[0]) if left else "") if info.title in titles else info

    _count_turns(rows, conversation_id, titled)


def _delete_all_turns(rows: Rows, conversation_id: str) -> None:
    rows.delete("turn", [row.id for row in rows.select("turn", groups=[conversation_id])])


def unknown_conversation(conversation_id: str) -> UnknownConversation:
    """Return the error for a conversation that is not stored."""
    return UnknownConversation(
        f"No conversation '{conversation_id}' is stored; it may have been deleted.", "Start a new one."
    )


def not_of(user: str, info: ConversationInfo) -> UnknownConversation:
    """Return the error for a conversation of another user."""
    return UnknownConversation(
        f"Conversation '{info.id}' belongs to '{info.user}', not to '{user}'.",
        f"Go on as that user, with --user '{info.user}' or ATHENA_USER.",
    )


def _count_turns(
    rows: Rows, conversation_id: str, change: Callable[[ConversationInfo], ConversationInfo]
) -> None:
    """Count a conversation's turns, raise its revision, and change more of it; raises if it is deleted."""

    def counted(row: Row | None) -> Row:
        if row is None:
            raise unknown_conversation(conversation_id)
        info = change(_info_of(row))
        turns = rows.count("turn", conversation_id)
        return _row_of(replace(info, turns=turns, revision=info.revision + 1))

    update(rows, "conversation", conversation_id, counted)


def _used(info: ConversationInfo, turn: Row) -> ConversationInfo:
    """The conversation with a new turn: used at its time, and with a title."""
    created_at, title = json.loads(turn.head)["created_at"], info.title or title_of(question_of(turn))
    return replace(info, updated_at=created_at, title=title)


def _info(rows: Rows, conversation_id: str) -> ConversationInfo:
    row = find(rows, "conversation", conversation_id)
    if row is None:
        raise unknown_conversation(conversation_id)
    return _info_of(row)


def _row_of(info: ConversationInfo) -> Row:
    return Row(
        id=info.id,
        user=info.user,
        at=info.updated_at,
        text=info.title.casefold(),
        head=json.dumps(asdict(info), ensure_ascii=False),
    )


def _info_of(row: Row) -> ConversationInfo:
    head = json.loads(row.head)
    return ConversationInfo(**{**head, "scope": tuple(head["scope"])})
