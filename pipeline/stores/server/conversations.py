"""Conversations in MongoDB: a record each, and one for each turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pymongo import ReturnDocument

from pipeline.answer import Answer
from pipeline.errors import StoreError, UnknownConversation
from pipeline.stores.conversations import (
    Conversation,
    ConversationInfo,
    Conversations,
    RecallableTurn,
    Turn,
    conversation_from,
    info_from,
    new_revision,
    record_of,
    title_of,
    turn_from,
    unknown_conversation,
    unknown_turn,
    written_of,
)
from pipeline.stores.memories import turn_changed
from pipeline.stores.server.addresses import ServerAddresses
from pipeline.stores.server.memories import ServerMemories
from pipeline.stores.server.mongo import Document, chunks
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.stored_turns import (
    NOT_EMBEDDED,
    ORDER,
    TRIES,
    change_turns,
    go_through,
    having,
    own_conversations,
    own_turns,
    raise_revisions,
    tree_of,
    with_versions,
)

_LATEST = [("updated_at", -1), ("_id", -1)]
_WHOLE = {"embedding": 0}  # all fields of a turn but that one
_RECALLABLE = (
    "conversation",
    "question",
    "told",
    "left_out",
    "aside",
    "created_at",
    "embedding",
    "embedded_by",
)


class ServerConversations(Conversations):
    """Fulfils `Conversations`; safe to use from several threads, processes and machines."""

    def __init__(self, addresses: ServerAddresses) -> None:
        self._servers = Servers(addresses)
        self._memories = ServerMemories(addresses)

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
        where = _used_before(before)
        if user is not None:
            where["user"] = user
        if pinned is not None:
            where["pinned"] = pinned
        wanted = words.casefold().split()
        with self._servers.mongo.database() as database:
            found = database["conversations"].find(where).sort(_LATEST).limit(0 if wanted else limit or 0)
            records = having(database, [*found], wanted)
        return [_info(record) for record in records[:limit]]

    def users(self) -> Sequence[str]:
        """All users that have a conversation, by name."""
        with self._servers.mongo.collection("conversations") as conversations:
            return sorted(conversations.distinct("user"))

    def unremembered(self, user: str) -> Sequence[Turn]:
        """The turns of a user that nobody has looked at yet, oldest first."""
        unread = {"remembered": False}
        turns: list[Document] = []
        with self._servers.mongo.database() as database:
            asked_in = {turn["conversation"] for turn in database["turns"].find(unread, {"conversation": 1})}
            for some in chunks(asked_in):
                where = {"_id": {"$in": some}, "user": user}
                own = [record["_id"] for record in database["conversations"].find(where, {"_id": 1})]
                if own:
                    turns += database["turns"].find({**unread, "conversation": {"$in": own}}, _WHOLE)
        turns.sort(key=lambda turn: (turn["created_at"], turn["position"]))
        return [_turn(turn) for turn in turns]

    def rated(self, user: str, value: int) -> Sequence[Turn]:
        """The turns of a user whose reader thought so of the answer, the latest first."""
        with self._servers.mongo.database() as database:
            found = [*database["turns"].find({"feedback": value}, _WHOLE).sort("created_at", -1)]
            own = own_conversations(database, user, [*{turn["conversation"] for turn in found}])
        return [_turn(turn) for turn in found if turn["conversation"] in own]

    def revisions(self, user: str) -> Mapping[str, int]:
        """The ids of a user's conversations, each with a number that rises with every change of its turns."""
        with self._servers.mongo.collection("conversations") as conversations:
            return {
                record["_id"]: record["revision"]
                for record in conversations.find({"user": user}, {"revision": 1})
            }

    def recallable(self, user: str, conversation_ids: Sequence[str]) -> Sequence[RecallableTurn]:
        """The turns of these conversations of a user, conversation by conversation, in their order."""
        found: list[Document] = []
        with self._servers.mongo.database() as database:
            for some in chunks(own_conversations(database, user, conversation_ids)):
                where = {"conversation": {"$in": some}}
                found += database["turns"].find(where, dict.fromkeys((*_RECALLABLE, "position"), 1))
        place = {id_: number for number, id_ in enumerate(conversation_ids)}
        found.sort(key=lambda turn: (place[turn["conversation"]], turn["position"], turn["created_at"]))
        return [_recallable(turn) for turn in found]

    def keep_embeddings(self, turns: Sequence[RecallableTurn]) -> None:
        """Store the embeddings of those whose question and answer are still these; no revision rises."""
        with self._servers.mongo.collection("turns") as stored:
            for turn in turns:
                here = {"_id": turn.id, "question": turn.question, "told": turn.answer, "left_out": False}
                embedded = {"embedding": turn.embedding, "embedded_by": turn.embedded_by}
                stored.update_one(here, {"$set": embedded})

    def leave_out(self, user: str, turn_ids: Sequence[str]) -> None:
        """Let these turns of a user not be found again; they stay in their conversations."""
        with self._servers.mongo.database() as database:
            own = [*own_turns(database, user, with_versions(database, turn_ids))]
            change_turns(database, [turn["_id"] for turn in own], {"left_out": True, **NOT_EMBEDDED})
            raise_revisions(database, [turn["conversation"] for turn in own])

    def get(self, conversation_id: str) -> Conversation:
        """One conversation whole; raises `UnknownConversation`."""
        with self._servers.mongo.database() as database:
            record = database["conversations"].find_one({"_id": conversation_id})
            if record is None:
                raise unknown_conversation(conversation_id)
            turns = [*database["turns"].find({"conversation": conversation_id}, _WHOLE).sort(ORDER)]
        return conversation_from(_info(record), [*map(_turn, turns)])

    def change(self, conversation_id: str, **fields: object) -> None:
        """Store other values of some fields; raises `UnknownConversation`."""
        with self._servers.mongo.collection("conversations") as conversations:
            if conversations.update_one({"_id": conversation_id}, {"$set": fields}).matched_count == 0:
                raise unknown_conversation(conversation_id)

    def delete(self, conversation_id: str) -> None:
        """Remove it with all its turns; raises `UnknownConversation`.

        Its turns go first: interrupted, it is still listed, and can be deleted again.
        """
        with self._servers.mongo.database() as database:
            record = database["conversations"].find_one({"_id": conversation_id}, {"user": 1})
            if record is None:
                raise unknown_conversation(conversation_id)
            found = [*database["turns"].find({"conversation": conversation_id}, {"remembered": 1})]
            turns = [turn["_id"] for turn in found]
            for user in database["memories"].distinct("user", {"named": {"$in": turns}}) if turns else ():
                self._memories.leave_turns(user, turns)
            database["turns"].delete_many({"conversation": conversation_id})
            database["conversations"].delete_one({"_id": conversation_id})
            # Who writes a turn looks afterwards whether its conversation is there: this one came before.
            database["turns"].delete_many({"conversation": conversation_id})
        if unread := [turn["_id"] for turn in found if not turn["remembered"]]:
            # Somebody may be reading one, to remember it.
            self._memories.leave_turns(record["user"], unread, gone=True)

    def write(self, conversation_id: str, turn: Turn, *, instead_of: str = "") -> None:
        """Write a new turn, or its answer where it is there; raises as `save_turn` does."""
        record = record_of(turn)
        written: Document = {**written_of(turn.question, turn.answer), **NOT_EMBEDDED}
        written |= {"remembered": True} if turn.remembered else {}
        here = {"_id": record.pop("id"), "question": turn.question}
        with self._servers.mongo.collection("turns") as turns:
            if turns.update_one(here, {"$set": written}).matched_count:
                try:
                    self._use(conversation_id, turn)
                except UnknownConversation:
                    turns.delete_one(here)
                    raise
                return
            if turns.find_one({"_id": turn.id}, {"_id": 1}) is not None:
                raise turn_changed()
            tree = tree_of(turns, conversation_id)
            if instead_of and instead_of not in tree.after:
                raise unknown_turn(instead_of)
            record["after"] = tree.after[instead_of] if instead_of else tree.last
            position = self._use(conversation_id, turn, begun=1)
            where = {"conversation": conversation_id, "position": position}
            turns.insert_one({**record, **here, **where, **NOT_EMBEDDED})
            if instead_of:
                go_through(turns, conversation_id, [turn.id, *tree.way_to(record["after"])])
            if not self._count_turns(conversation_id, fewer=bool(instead_of)):
                turns.delete_one({"_id": turn.id})
                raise unknown_conversation(conversation_id)

    def choose(self, turn_id: str) -> None:
        """Go through this version of a turn, and what followed it; raises `UnknownConversation`."""
        conversation_id = self.conversation_of(turn_id)
        with self._servers.mongo.collection("turns") as turns:
            way = tree_of(turns, conversation_id).way_through(turn_id)
            if not way:  # deleted meanwhile
                raise unknown_turn(turn_id)
            go_through(turns, conversation_id, way)
        self._count_turns(conversation_id, fewer=True)

    def turn(self, turn_id: str) -> Turn:
        """One turn; raises `UnknownConversation`."""
        return _turn(self._stored(turn_id))

    def conversation_of(self, turn_id: str) -> str:
        """The id of the conversation that has a turn; raises `UnknownConversation`."""
        return str(self._stored(turn_id, {"conversation": 1})["conversation"])

    def change_answer(self, turn_id: str, change: Callable[[Answer], Answer]) -> None:
        """Store what `change` makes of a turn's answer as it is at that moment; nothing where it is gone."""
        with self._servers.mongo.database() as database:
            for _ in range(TRIES):
                record = database["turns"].find_one({"_id": turn_id}, _WHOLE)
                if record is None:
                    return
                written: Document = {**written_of(record["question"], change(_turn(record).answer))}
                written |= NOT_EMBEDDED if written["told"] != record["told"] else {}
                unchanged = {"_id": turn_id, "answer": record["answer"], "question": record["question"]}
                if database["turns"].update_one(unchanged, {"$set": written}).matched_count:
                    raise_revisions(database, [record["conversation"]])
                    return
        raise StoreError("Other processes keep writing this answer.", "Try again.")

    def change_turn(self, turn_id: str, **fields: object) -> None:
        """Store other values of some fields of a turn; raises `UnknownConversation`."""
        with self._servers.mongo.collection("turns") as turns:
            if turns.update_one({"_id": turn_id}, {"$set": fields}).matched_count == 0:
                raise unknown_turn(turn_id)

    def restore(self, conversation: Conversation) -> None:
        """Write a conversation whole, with its ids and times, in the place of one of the same id."""
        self._servers.mongo.ensure_indexes()
        id_ = conversation.info.id
        turns = [
            {**record_of(turn), **NOT_EMBEDDED, "_id": turn.id, "conversation": id_, "position": position}
            for position, turn in enumerate((*conversation.turns, *conversation.aside), start=1)
        ]
        whole = {**_stored_info(conversation.info), "begun": len(turns), "turns": len(conversation.turns)}
        with self._servers.mongo.database() as database:
            database["turns"].delete_many({"conversation": id_})
            if turns:
                database["turns"].insert_many(turns)
            # Last: a copy that is interrupted before this has no conversation yet, and is made again.
            database["conversations"].replace_one({"_id": id_}, whole, upsert=True)

    def close(self) -> None:
        """Give up the connections; the last one in the process to do so closes them."""
        self._memories.close()
        self._servers.close()

    def _stored(self, turn_id: str, fields: Document = _WHOLE) -> Document:
        with self._servers.mongo.collection("turns") as turns:
            found = turns.find_one({"_id": turn_id}, fields)
        if found is None:
            raise unknown_turn(turn_id)
        return found

    def _use(self, conversation_id: str, turn: Turn, *, begun: int = 0) -> int:
        """Note that a turn is written and that `begun` of them begin now; returns how many ever began.

        Raises `UnknownConversation`.
        """
        with self._servers.mongo.collection("conversations") as conversations:
            record = conversations.find_one_and_update(
                {"_id": conversation_id},
                {"$set": {"updated_at": turn.created_at}, "$inc": {"begun": begun, "revision": 1}},
                return_document=ReturnDocument.AFTER,
            )
            if record is None:
                raise unknown_conversation(conversation_id)
            if not record["title"]:
                untitled = {"_id": conversation_id, "title": ""}
                conversations.update_one(untitled, {"$set": {"title": title_of(turn.question)}})
        return int(record["begun"])

    def _count_turns(self, conversation_id: str, *, fewer: bool = False) -> bool:
        """Count the turns of a conversation, and keep their number; False where it is gone.

        The largest number stays, unless there may be `fewer`: of two that are written at once, either may be
        counted last.
        """
        with self._servers.mongo.database() as database:
            here = {"conversation": conversation_id, "aside": {"$ne": True}}
            number = database["turns"].count_documents(here)
            counted = {"$set" if fewer else "$max": {"turns": number}, "$inc": {"revision": 1}}
            done = database["conversations"].update_one({"_id": conversation_id}, counted)
        return done.matched_count > 0


def _used_before(last: ConversationInfo | None) -> Document:
    """The filter for conversations that are listed after one."""
    if last is None:
        return {}
    older = {"updated_at": {"$lt": last.updated_at}}
    return {"$or": [older, {"updated_at": last.updated_at, "_id": {"$lt": last.id}}]}


def _stored_info(info: ConversationInfo) -> Document:
    fields = {name: getattr(info, name) for name in info.__slots__ if name != "id"}
    return {"_id": info.id, "revision": new_revision(), **fields}


def _info(record: Document) -> ConversationInfo:
    return info_from({**record, "id": record["_id"]})


def _recallable(record: Document) -> RecallableTurn:
    found = record["told"] is not None and not (record["left_out"] or record.get("aside"))
    return RecallableTurn(
        id=record["_id"],
        conversation_id=record["conversation"],
        question=record["question"] if found else "",
        answer=record["told"] if found else "",
        at=record["created_at"],
        embedding=record["embedding"],
        embedded_by=record["embedded_by"],
    )


def _turn(record: dict[str, Any]) -> Turn:
    return turn_from({**record, "id": record["_id"]})
