"""Conversations in MongoDB: a record each, and one for each turn."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from pipeline.answer import Answer
from pipeline.errors import StoreError, UnknownConversation
from pipeline.options import DEFAULT_USER
from pipeline.stores.conversations import (
    Conversation,
    ConversationInfo,
    Turn,
    answer_from,
    answer_json,
    record_of,
    title_of,
    unknown_conversation,
    unknown_turn,
)
from pipeline.stores.memories import turn_changed
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.memories import ServerMemories
from pipeline.stores.server.mongo import Document, chunks
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.turns import TRIES, fold_earlier, having, of_user, said_folded, stored_answer
from pipeline.words import well_formed

# Turns in the order in which they were begun.
_ORDER = [("position", 1), ("created_at", 1)]
_LATEST = [("updated_at", -1), ("_id", -1)]

PLACES_TRIED = 50


class ServerConversations:
    """Fulfils `Conversations`; safe to use from several threads, processes and machines."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._servers = Servers(addresses)
        self._memories = ServerMemories(addresses)
        self._folded: set[str | None] = set()  # users of whom no turn is left as earlier versions stored it

    def create(self, title: str = "", *, user: str = DEFAULT_USER, assistant: str = "") -> Conversation:
        """A new, empty conversation; without a title it gets one from its first question."""
        self._servers.mongo.ensure_indexes()
        now = time.time()
        info = ConversationInfo(str(uuid.uuid4()), well_formed(title), now, now, 0, user, assistant)
        with self._servers.mongo.collection("conversations") as conversations:
            conversations.insert_one({"_id": info.id, **_kept(info), "begun": 0, "turns": 0})
        return Conversation(info, ())

    def list(
        self,
        *,
        user: str | None = None,
        limit: int | None = None,
        before: ConversationInfo | None = None,
        pinned: bool | None = None,
        words: str = "",
    ) -> list[ConversationInfo]:
        """Those of one user, or of all, the latest used first: the first `limit` of those after `before`."""
        if limit == 0:
            return []  # to MongoDB it would mean all
        where = of_user(user) | _used_before(before) | _pinned(pinned)
        wanted = words.casefold().split()
        with self._servers.mongo.database() as database:
            if wanted and user not in self._folded:
                fold_earlier(database, user)
                self._folded.add(user)
            found = database["conversations"].find(where).sort(_LATEST).limit(0 if wanted else limit or 0)
            records = having(database, [*found], wanted)
        return [_info(record, self._turns_of(record)) for record in records[:limit]]

    def users(self) -> Sequence[str]:
        """All users that have a conversation, by name."""
        with self._servers.mongo.collection("conversations") as conversations:
            names = {name for name in conversations.distinct("user") if name is not None}
            if conversations.find_one({"user": None}, {"_id": 1}):  # of earlier versions
                names.add(DEFAULT_USER)
        return sorted(names)

    def unremembered(self, user: str) -> Sequence[Turn]:
        """The turns of a user that nobody has looked at yet, oldest first."""
        unread = {"remembered": False}
        turns: list[Document] = []
        with self._servers.mongo.database() as database:
            asked_in = {turn["conversation"] for turn in database["turns"].find(unread, {"conversation": 1})}
            for some in chunks(asked_in):
                where = {"_id": {"$in": some}, **of_user(user)}
                own = [record["_id"] for record in database["conversations"].find(where, {"_id": 1})]
                if own:
                    turns += database["turns"].find({**unread, "conversation": {"$in": own}})
        turns.sort(key=lambda turn: (turn["created_at"], turn["position"]))
        return [_turn(turn) for turn in turns]

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        with self._servers.mongo.database() as database:
            record = database["conversations"].find_one({"_id": conversation_id})
            if record is None:
                raise unknown_conversation(conversation_id)
            turns = [*database["turns"].find({"conversation": conversation_id}).sort(_ORDER)]
        return Conversation(_info(record, len(turns)), tuple(_turn(turn) for turn in turns))

    def rename(self, conversation_id: str, title: str) -> None:
        """Give it another title; raises `UnknownConversation`."""
        with self._servers.mongo.collection("conversations") as conversations:
            done = conversations.update_one(
                {"_id": conversation_id}, {"$set": {"title": well_formed(title.strip())}}
            )
        if done.matched_count == 0:
            raise unknown_conversation(conversation_id)

    def set_scope(self, conversation_id: str, scope: Sequence[str]) -> None:
        """Ask only the documents that these globs mean from now on, or all; raises `UnknownConversation`."""
        globs = [well_formed(glob) for glob in scope]
        with self._servers.mongo.collection("conversations") as conversations:
            done = conversations.update_one({"_id": conversation_id}, {"$set": {"scope": globs}})
        if done.matched_count == 0:
            raise unknown_conversation(conversation_id)

    def pin(self, conversation_id: str, *, pinned: bool) -> None:
        """Pin it, or take that back; raises `UnknownConversation`."""
        with self._servers.mongo.collection("conversations") as conversations:
            done = conversations.update_one({"_id": conversation_id}, {"$set": {"pinned": pinned}})
        if done.matched_count == 0:
            raise unknown_conversation(conversation_id)

    def delete(self, conversation_id: str) -> None:
        """Remove it with all its turns; raises `UnknownConversation`.

        Its turns go first: interrupted, it is still listed, and can be deleted again.
        """
        with self._servers.mongo.database() as database:
            record = database["conversations"].find_one({"_id": conversation_id}, {"user": 1})
            found = [*database["turns"].find({"conversation": conversation_id}, {"remembered": 1})]
            turns = [turn["_id"] for turn in found]
            unread = [turn["_id"] for turn in found if not turn.get("remembered", True)]
            users = database["memories"].distinct("user", {"turns": {"$in": turns}}) if turns else ()
            for user in users:
                self._memories.leave_turns(user, turns)
            database["turns"].delete_many({"conversation": conversation_id})
            done = database["conversations"].delete_one({"_id": conversation_id})
            # Who writes a turn looks afterwards whether its conversation is there: this one came before.
            database["turns"].delete_many({"conversation": conversation_id})
        if done.deleted_count == 0:
            raise unknown_conversation(conversation_id)
        if record is not None and unread:  # somebody may be reading one, to remember it
            self._memories.leave_turns(_user(record), unread, gone=True)

    def save_turn(self, conversation_id: str, answer: Answer, *, remembered: bool = False) -> str:
        """Write a turn, new or in the place of the one that `answer.turn_id` names; returns its id."""
        now = time.time()
        is_new = not answer.turn_id
        answer = replace(answer, turn_id=answer.turn_id or str(uuid.uuid4()), conversation_id=conversation_id)
        said = said_folded(answer.question, answer.text)
        written: Document = {"status": answer.status, "answer": answer_json(answer), "said": said}
        if remembered:
            written["remembered"] = True
        if is_new or not self._write_over(answer, written, now):
            self._write_new(answer, written, now)
        return answer.turn_id

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""
        with self._servers.mongo.collection("turns") as turns:
            found = turns.find_one({"_id": turn_id})
        if found is None:
            raise unknown_turn(turn_id)
        return _turn(found)

    def conversation_of(self, turn_id: str) -> str:
        """The id of the conversation that has a turn; raises `UnknownConversation`."""
        with self._servers.mongo.collection("turns") as turns:
            found = turns.find_one({"_id": turn_id}, {"conversation": 1})
        if found is None:
            raise unknown_turn(turn_id)
        return str(found["conversation"])

    def change_answer(self, turn_id: str, change: Callable[[Answer], Answer]) -> None:
        """Store what `change` makes of a turn's answer as it is at that moment; nothing where it is gone."""
        with self._servers.mongo.collection("turns") as turns:
            for _ in range(TRIES):
                record = turns.find_one({"_id": turn_id})
                if record is None:
                    return
                changed = answer_json(change(_turn(record).answer))
                unchanged = {"_id": turn_id, "answer": record["answer"]}
                if turns.update_one(unchanged, {"$set": {"answer": changed}}).matched_count:
                    return
        raise StoreError("Other processes keep writing this answer.", "Try again.")

    def set_feedback(self, turn_id: str, value: int | None, text: str = "") -> None:
        """Keep what the reader thought of an answer: 1, -1, or None to take it back."""
        with self._servers.mongo.collection("turns") as turns:
            done = turns.update_one(
                {"_id": turn_id}, {"$set": {"feedback": value, "feedback_text": well_formed(text)}}
            )
        if done.matched_count == 0:
            raise unknown_turn(turn_id)

    def restore(self, conversation: Conversation) -> None:
        """Write a conversation whole, with its ids and times, in the place of one of the same id."""
        self._servers.mongo.ensure_indexes()
        info = conversation.info
        turns = [record_of(turn, info.id, number) for number, turn in enumerate(conversation.turns, start=1)]
        for turn, given in zip(turns, conversation.turns, strict=True):
            turn["_id"], turn["said"] = turn.pop("id"), said_folded(given.question, given.answer.text)
        whole = {"_id": info.id, **_kept(info), "begun": len(turns), "turns": len(turns)}
        with self._servers.mongo.database() as database:
            database["turns"].delete_many({"conversation": info.id})
            if turns:
                database["turns"].insert_many(turns)
            # Last: a copy that is interrupted before this has no conversation yet, and is made again.
            database["conversations"].replace_one({"_id": info.id}, whole, upsert=True)

    def close(self) -> None:
        """Give up the connections; the last one in the process to do so closes them."""
        self._memories.close()
        self._servers.close()

    def _write_over(self, answer: Answer, written: Document, now: float) -> bool:
        """Replace what is stored of a turn; False where nothing is.

        Raises `TurnChanged` where the question was overwritten meanwhile.
        """
        with self._servers.mongo.collection("turns") as turns:
            here = {"_id": answer.turn_id}
            if turns.find_one(here, {"_id": 1}) is None:
                return False
            if turns.update_one({**here, "question": answer.question}, {"$set": written}).matched_count == 0:
                if turns.find_one(here, {"_id": 1}) is None:  # deleted at this moment
                    return False
                raise turn_changed()
            try:
                self._use(answer, now)
            except UnknownConversation:
                turns.delete_one({"_id": answer.turn_id})
                raise
        return True

    def _write_new(self, answer: Answer, written: Document, now: float) -> None:
        """Write a turn of which nothing is stored."""
        begun = {
            "_id": answer.turn_id,
            "conversation": answer.conversation_id,
            "question": answer.question,
            "created_at": now,
            "feedback_text": "",
            "remembered": False,
            **written,
        }
        with self._servers.mongo.collection("turns") as turns:
            for attempt in range(PLACES_TRIED):
                try:
                    turns.insert_one({**begun, "position": self._use(answer, now, begun=1)})
                    break
                except DuplicateKeyError:  # MongoDB gives a number once, FerretDB 1.24 now and then twice
                    if attempt == PLACES_TRIED - 1:
                        raise
            if self._count_turns(answer.conversation_id) is None:
                turns.delete_one({"_id": answer.turn_id})
                raise unknown_conversation(answer.conversation_id)

    def _use(self, answer: Answer, now: float, *, begun: int = 0) -> int:
        """Note that a conversation is used and that `begun` turns begin now; returns how many ever began.

        Raises `UnknownConversation`.
        """
        with self._servers.mongo.collection("conversations") as conversations:
            record = conversations.find_one_and_update(
                {"_id": answer.conversation_id},
                {"$set": {"updated_at": now}, "$inc": {"begun": begun}},
                return_document=ReturnDocument.AFTER,
            )
            if record is None:
                raise unknown_conversation(answer.conversation_id)
            if not record["title"]:
                conversations.update_one(
                    {"_id": answer.conversation_id, "title": ""},
                    {"$set": {"title": title_of(answer.question)}},
                )
        return int(record["begun"])

    def _turns_of(self, record: Document) -> int:
        """How many turns a listed conversation has; those of earlier versions are counted once."""
        kept = record.get("turns")
        return int(kept) if kept is not None else self._count_turns(record["_id"]) or 0

    def _count_turns(self, conversation_id: str) -> int | None:
        """Count the turns of a conversation, and keep their number; None where it is gone.

        The largest number stays: of two that are written at once, either may be counted last.
        """
        with self._servers.mongo.database() as database:
            number = database["turns"].count_documents({"conversation": conversation_id})
            done = database["conversations"].update_one({"_id": conversation_id}, {"$max": {"turns": number}})
        return number if done.matched_count else None


def _used_before(last: ConversationInfo | None) -> Document:
    """The filter for conversations that are listed after one."""
    if last is None:
        return {}
    older = {"updated_at": {"$lt": last.updated_at}}
    return {"$or": [older, {"updated_at": last.updated_at, "_id": {"$lt": last.id}}]}


def _pinned(pinned: bool | None) -> Document:
    """The filter for pinned conversations, or for the others; those of earlier versions are not pinned."""
    if pinned is None:
        return {}
    return {"pinned": True if pinned else {"$ne": True}}


def _kept(info: ConversationInfo) -> Document:
    return {
        "title": info.title,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
        "user": info.user,
        "assistant": info.assistant,
        "scope": list(info.scope),
        "pinned": info.pinned,
    }


def _info(record: Document, turns: int) -> ConversationInfo:
    return ConversationInfo(
        id=record["_id"],
        title=record["title"],
        created_at=record["created_at"],
        updated_at=record["updated_at"],
        turns=turns,
        user=_user(record),
        assistant=record.get("assistant", ""),
        scope=tuple(record.get("scope", ())),
        pinned=record.get("pinned", False),
    )


def _user(record: Document) -> str:
    return str(record.get("user", DEFAULT_USER))


def _turn(record: dict[str, Any]) -> Turn:
    """A turn, also of versions that packed the answer, and kept its text beside it until it was whole."""
    answer = answer_from(json.loads(stored_answer(record)))
    return Turn(
        id=record["_id"],
        question=record["question"],
        answer=replace(answer, text=record.get("arrived", answer.text)),
        created_at=record["created_at"],
        feedback=record.get("feedback"),
        feedback_text=record.get("feedback_text", ""),
        remembered=record.get("remembered", True),  # from before there were memories: not looked at
    )
