"""Conversations: their records, and how every store keeps them as rows."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pydantic import TypeAdapter

from pipeline.answer import Answer
from pipeline.errors import UnknownConversation
from pipeline.options import DEFAULT_USER
from pipeline.stores.rows import Row, Rows, find, update
from pipeline.stores.turns import RecallableTurn, Turn, TurnUsage, title_of, turn_of, turn_row, unknown
from pipeline.words import well_formed

LEAST_INTERVAL_S = 1e-6
"""The least time between two turns' rows, so that a clock that is set back does not change their order."""


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """One conversation without its turns; times in seconds since the epoch.

    `scope` has the globs of the documents to search; () for all documents.
    """

    id: str
    title: str
    created_at: float
    updated_at: float
    user: str = DEFAULT_USER
    scope: tuple[str, ...] = ()


_INFO = TypeAdapter(ConversationInfo)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation with its turns, in order."""

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
        self, *, user: str | None = None, limit: int | None = None, words: str = ""
    ) -> list[ConversationInfo]:
        """Return the conversations of one user (None: of all users), the last used first.

        Each of the `words` must occur in the title, a question or an answer, in upper or lower case.
        """
        ids: set[str] | None = None
        for word in words.casefold().split():
            found = {row.id for row in self._rows.select("conversation", user=user, text=word)}
            found |= {row.group for row in self._rows.select("turn", user=user, text=word)}
            ids = found if ids is None else ids & found
        rows = self._rows.select("conversation", ids=ids, user=user, limit=limit)
        return [_info_of(row) for row in rows]

    def get(self, conversation_id: str) -> Conversation:
        """Return one conversation with its turns; raises `UnknownConversation`."""
        info = _info(self._rows, conversation_id)
        return Conversation(info, tuple(_turns(self._rows, conversation_id)))

    def turn(self, turn_id: str) -> Turn:
        """Return one turn; raises `UnknownConversation`."""
        row = find(self._rows, "turn", turn_id)
        if row is None:
            raise unknown("answer", turn_id)
        return turn_of(row)

    def turns(self, user: str, *, conversations: Collection[str] | None = None) -> Sequence[RecallableTurn]:
        """Return the turns of a user in these conversations (None: in all), oldest first."""
        rows = self._rows.select("turn", user=user, groups=conversations)
        return [RecallableTurn.of(row) for row in reversed(rows)]

    def usage(self) -> Sequence[TurnUsage]:
        """Return the usage of all stored turns, oldest first; one query."""
        return [TurnUsage.of(row) for row in reversed(self._rows.select("turn"))]

    def revisions(self, user: str) -> Mapping[str, int]:
        """Return a number for each of a user's conversations; it rises with every change of it or its turns.

        Read the revisions before the turns, so that the turns are never older than their revision.
        """
        return {row.id: row.version for row in self._rows.select("conversation", user=user)}

    # -- conversations ----------------------------------------------------------------------------------

    def create(self, title: str = "", *, user: str = DEFAULT_USER, scope: Sequence[str] = ()) -> Conversation:
        """Store and return a new, empty conversation; its first question replaces an empty title."""
        now = self.clock()
        info = ConversationInfo(str(uuid.uuid4()), title, now, now, user, tuple(scope))
        self.save(info)
        return Conversation(info, ())

    def save(self, info: ConversationInfo) -> None:
        """Write a conversation's own fields; its turns stay as they are."""
        update(self._rows, "conversation", info.id, lambda _: _row_of(info))

    def restore(self, conversation: Conversation) -> None:
        """Write a conversation with its turns, ids and times, replacing a stored one with the same id.

        `updated_at` is written last: if a copy's is older than the original's, the copy was interrupted.
        """
        info = conversation.info
        with suppress(UnknownConversation):
            self.delete(info.id)
        self.save(replace(info, updated_at=0.0))
        for turn in conversation.turns:
            self._add(info.id, turn)
        self.save(info)

    def rename(self, conversation_id: str, title: str) -> None:
        """Give a conversation another title; raises `UnknownConversation`."""
        _change(self._rows, conversation_id, lambda info: replace(info, title=title.strip()))

    def set_scope(self, conversation_id: str, scope: Sequence[str]) -> None:
        """Set the globs of the documents that the conversation searches; raises `UnknownConversation`."""
        _change(self._rows, conversation_id, lambda info: replace(info, scope=tuple(scope)))

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation with its turns; raises `UnknownConversation`."""
        with self._rows.transaction() as rows:
            _info(rows, conversation_id)
            delete_conversation(rows, conversation_id)

    # -- turns ------------------------------------------------------------------------------------------

    def save_turn(self, conversation_id: str, answer: Answer, *, instead_of: str = "") -> str:
        """Store an answer as a turn, and return the turn's id.

        An answer with the id of a stored turn replaces that turn's answer. `instead_of` is the id of a turn
        of the conversation: an answer to the same question replaces that turn's answer, which becomes one of
        its versions; for another question, that turn and all after it are deleted. A new turn sets the
        conversation's `updated_at`, and its title if it has none. Raises `UnknownConversation`; if the
        conversation is deleted meanwhile, the turn is deleted, too.
        """
        turn_id = answer.turn_id or str(uuid.uuid4())
        if instead_of:
            turns = self.get(conversation_id).turns
            place = next((number for number, turn in enumerate(turns) if turn.id == instead_of), None)
            if place is None:
                raise unknown("answer", instead_of)
            if turns[place].question == answer.question:
                turn_id = instead_of
            else:
                with self._rows.transaction() as rows:
                    gone = [turn.id for turn in turns[place:]]
                    delete_turns(rows, conversation_id, gone, title=title_of(answer.question))
        answer = replace(answer, turn_id=turn_id, conversation_id=conversation_id)

        def saved(turn: Turn) -> Turn:
            if turn_id == instead_of:
                return Turn(turn_id, answer, turn.created_at, versions=(*turn.versions, turn.answer))
            return replace(turn, answer=answer)

        try:
            self.change_turn(turn_id, saved)
        except UnknownConversation:
            self._add(conversation_id, Turn(turn_id, answer, self.clock()))
        return turn_id

    def change_turn(self, turn_id: str, change: Callable[[Turn], Turn]) -> None:
        """Replace a turn by `change(turn)`; called again if another process writes the turn meanwhile.

        Raises `UnknownConversation`.
        """

        def changed(row: Row | None) -> Row:
            if row is None:
                raise unknown("answer", turn_id)
            return turn_row(change(turn_of(row)), row)

        with self._rows.transaction() as rows:
            _note(rows, update(rows, "turn", turn_id, changed), lambda info: info)

    def choose(self, turn_id: str, version: int) -> None:
        """Show another of a turn's versions, by its index in `versions`; raises `UnknownConversation`.

        The answers keep their circular order: `versions` then begins with the answer after the shown one. A
        rating is removed: it was of the other answer.
        """

        def chosen(turn: Turn) -> Turn:
            circle = (*turn.versions, turn.answer)
            others = (*circle[version + 1 :], *circle[:version])
            return replace(turn, answer=circle[version], versions=others, feedback=None)

        self.change_turn(turn_id, chosen)

    def set_feedback(self, turn_id: str, value: int | None) -> None:
        """Store the reader's rating of an answer: 1, -1, or None; raises `UnknownConversation`."""
        self.change_turn(turn_id, lambda turn: replace(turn, feedback=value))

    def keep_embeddings(self, turns: Sequence[RecallableTurn]) -> None:
        """Store the embeddings of those turns whose recalled texts have not changed; no revision rises."""
        for made in turns:
            row = find(self._rows, "turn", made.id)
            if row is not None:
                known = RecallableTurn.of(row)
                new = replace(row, embedding=made.embedding, embedded_by=made.embedded_by)
                if (known.question, known.answer) == (made.question, made.answer):
                    self._rows.swap("turn", replace(new, version=row.version + 1), expected=row.version)

    def _add(self, conversation_id: str, turn: Turn) -> None:
        with self._rows.transaction() as rows:
            user, title = _info(rows, conversation_id).user, title_of(turn.question)
            last = rows.select("turn", groups=[conversation_id], limit=1)
            at = max([turn.created_at, *(row.at + LEAST_INTERVAL_S for row in last)])
            row = Row(id=turn.id, user=user, group=conversation_id, at=at)
            new = turn_row(replace(turn, created_at=at), row)
            rows.put("turn", [new])
            _note(rows, new, lambda info: replace(info, updated_at=at, title=info.title or title))


def delete_conversation(rows: Rows, conversation_id: str) -> None:
    """Delete a conversation with its turns.

    Both are deleted twice: a turn that another process writes meanwhile is deleted the second time, or by
    that process when it finds the conversation gone.
    """
    for _ in range(2):
        rows.put("turn", removed=[row.id for row in rows.select("turn", groups=[conversation_id])])
        rows.put("conversation", removed=[conversation_id])


def delete_turns(rows: Rows, conversation_id: str, turn_ids: Collection[str], *, title: str = "") -> bool:
    """Delete turns of a conversation, and return whether any are left; raises `UnknownConversation`.

    If the first turn is deleted, the first question that is left becomes the title; if none is left, `title`.
    """
    turns = _turns(rows, conversation_id)
    left = [turn for turn in turns if turn.id not in turn_ids]
    rows.put("turn", removed=[turn.id for turn in turns if turn.id in turn_ids])
    title = title_of(left[0].question) if left else title
    keeps_first = left[:1] == turns[:1]
    _change(rows, conversation_id, lambda info: info if keeps_first else replace(info, title=title))
    return bool(left)


def not_of(user: str, info: ConversationInfo) -> UnknownConversation:
    """Return the error for a conversation of another user."""
    return UnknownConversation(
        f"Conversation '{info.id}' belongs to '{info.user}', not to '{user}'.",
        f"Go on as that user, with --user '{info.user}' or ATHENA_USER.",
    )


def _note(rows: Rows, turn: Row, change: Callable[[ConversationInfo], ConversationInfo]) -> None:
    """Change the conversation of a turn; if it is gone, delete the turn and raise `UnknownConversation`."""
    try:
        _change(rows, turn.group, change)
    except UnknownConversation:
        rows.put("turn", removed=[turn.id])
        raise


def _change(rows: Rows, conversation_id: str, change: Callable[[ConversationInfo], ConversationInfo]) -> None:
    """Change a conversation's own fields and increase its revision; raises `UnknownConversation`."""

    def changed(row: Row | None) -> Row:
        if row is None:
            raise unknown("conversation", conversation_id)
        return _row_of(change(_info_of(row)))

    update(rows, "conversation", conversation_id, changed)


def _turns(rows: Rows, conversation_id: str) -> list[Turn]:
    return [turn_of(row) for row in reversed(rows.select("turn", groups=[conversation_id], whole=True))]


def _info(rows: Rows, conversation_id: str) -> ConversationInfo:
    row = find(rows, "conversation", conversation_id)
    if row is None:
        raise unknown("conversation", conversation_id)
    return _info_of(row)


def _row_of(info: ConversationInfo) -> Row:
    return Row(
        id=info.id,
        user=info.user,
        at=info.updated_at,
        text=well_formed(info.title).casefold(),
        head=well_formed(_INFO.dump_json(info).decode()),
    )


def _info_of(row: Row) -> ConversationInfo:
    return _INFO.validate_json(row.head)
