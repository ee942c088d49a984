"""Turns and conversations as MongoDB's records have them: whose they are, and words overwritten in them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from pymongo.collection import Collection
from pymongo.database import Database

from pipeline.errors import ErasureIncomplete
from pipeline.stores.conversations import title_without
from pipeline.stores.erasing import Erasing
from pipeline.stores.memories import turn_changed
from pipeline.stores.server.mongo import Document, chunks
from pipeline.stores.versions import Tree

CONVERSATIONS_A_QUERY = 10_000
TRIES = 5  # for a turn that is written meanwhile

ORDER = [("position", 1), ("created_at", 1)]
"""Turns in the order in which they were begun; FerretDB 1.24 gives two now and then the same number."""

NOT_EMBEDDED = {"embedding": b"", "embedded_by": ""}

_WRITTEN = ("question", "answer", "feedback_text")  # by somebody


def having(database: Database[Document], records: list[Document], words: Sequence[str]) -> list[Document]:
    """The conversations that have all the words, which are folded, in their order."""
    for word in words:
        titled = {record["_id"] for record in records if word in record["title"].casefold()}
        said: set[str] = set()
        others = (record["_id"] for record in records if record["_id"] not in titled)
        for some in chunks(others, CONVERSATIONS_A_QUERY):
            where = {"conversation": {"$in": some}, "said": {"$regex": re.escape(word)}}
            said |= {*database["turns"].distinct("conversation", where)}
        records = [record for record in records if record["_id"] in titled | said]
    return records


def own_turns(database: Database[Document], user: str, turns: Iterable[str]) -> Iterator[Document]:
    """Those of the turns that are a user's, each with its conversation."""
    for some in chunks(turns):
        found = [*database["turns"].find({"_id": {"$in": some}}, {"conversation": 1})]
        own = own_conversations(database, user, [*{turn["conversation"] for turn in found}])
        yield from (turn for turn in found if turn["conversation"] in own)


def own_conversations(database: Database[Document], user: str, ids: Sequence[str]) -> set[str]:
    """Those of the conversations that are a user's."""
    own: set[str] = set()
    for some in chunks(ids):
        where = {"_id": {"$in": some}, "user": user}
        own |= {record["_id"] for record in database["conversations"].find(where, {"_id": 1})}
    return own


def tree_of(turns: Collection[Document], conversation_id: str) -> Tree:
    """Which turn of a conversation follows which."""
    found = turns.find({"conversation": conversation_id}, {"after": 1, "aside": 1}).sort(ORDER)
    return Tree((turn["_id"], turn.get("after"), turn.get("aside")) for turn in found)


def go_through(turns: Collection[Document], conversation_id: str, way: Sequence[str]) -> None:
    """Let these turns be what was said, and the others be aside; interrupted, too many are what was said."""
    here = {"conversation": conversation_id}
    turns.update_many({**here, "_id": {"$in": way}}, {"$set": {"aside": False}})
    turns.update_many({**here, "_id": {"$nin": way}}, {"$set": {"aside": True}})


def with_versions(database: Database[Document], turns: Iterable[str]) -> set[str]:
    """Turns, their other versions, and what follows these aside."""
    of: dict[str, list[str]] = defaultdict(list)
    for some in chunks(turns):
        for turn in database["turns"].find({"_id": {"$in": some}}, {"conversation": 1}):
            of[turn["conversation"]].append(turn["_id"])
    return {id_ for known, ids in of.items() for id_ in tree_of(database["turns"], known).with_versions(ids)}


def change_turns(database: Database[Document], turns: Iterable[str], changes: Document) -> None:
    """Store other values of some fields in all of these."""
    for some in chunks(turns):
        database["turns"].update_many({"_id": {"$in": some}}, {"$set": changes})


def mark_remembered(database: Database[Document], user: str, turns: Sequence[str]) -> None:
    """Say of some of a user's turns that they were looked at."""
    own = own_turns(database, user, turns)
    change_turns(database, [turn["_id"] for turn in own], {"remembered": True})


def raise_revisions(database: Database[Document], conversations: Iterable[str]) -> None:
    """Let it be known that turns changed; afterwards, so that nobody takes old words for the new ones."""
    for some in chunks(set(conversations)):
        database["conversations"].update_many({"_id": {"$in": some}}, {"$inc": {"revision": 1}})


def delete_turns(database: Database[Document], turns: Iterable[Document]) -> None:
    """Delete turns, and conversations that have no other; done twice, it does nothing more."""
    gone: dict[str, set[str]] = defaultdict(set)
    for turn in turns:
        gone[turn["conversation"]].add(turn["_id"])
    for conversation_id, ids in gone.items():
        record = database["conversations"].find_one({"_id": conversation_id}, {"title": 1})
        if record is not None:
            _delete_of(database, record, ids)


def _delete_of(database: Database[Document], conversation: Document, gone: set[str]) -> None:
    """The title goes before the turns by which it is known what it was made of."""
    here = {"conversation": conversation["_id"]}
    turns = [*database["turns"].find(here, {"question": 1, "aside": 1}).sort(ORDER)]
    left = [turn["question"] for turn in turns if turn["_id"] not in gone and not turn.get("aside")]
    deleted = [turn["question"] for turn in turns if turn["_id"] in gone]
    if not left:
        database["turns"].delete_many(here)
        database["conversations"].delete_one({"_id": conversation["_id"]})
        database["turns"].delete_many(here)  # one that came before
        return
    title = title_without(conversation["title"], deleted, left[0])
    database["conversations"].update_one(conversation, {"$set": {"title": title}})
    for id_, after in tree_of(database["turns"], conversation["_id"]).without(gone).items():
        database["turns"].update_one({"_id": id_}, {"$set": {"after": after}})
    for some in chunks(gone):
        database["turns"].delete_many({"_id": {"$in": some}})
    counted = {"$set": {"turns": len(left)}, "$inc": {"revision": 1}}
    database["conversations"].update_one({"_id": conversation["_id"]}, counted)


def check_turns(database: Database[Document], user: str, read: Sequence[tuple[str, str]]) -> None:
    """Raise `TurnChanged` where one of a user's turns is gone, or has another question than was read."""
    for turn_id, question in read:
        turn = database["turns"].find_one({"_id": turn_id}, {"question": 1, "conversation": 1})
        if turn is None or turn["question"] != question:
            raise turn_changed()
        asked_in = {"_id": turn["conversation"], "user": user}
        if database["conversations"].find_one(asked_in, {"_id": 1}) is None:
            raise turn_changed()


def overwrite(database: Database[Document], user: str, words: Erasing) -> None:
    """Overwrite words in all turns and titles of a user; done twice, it does nothing more.

    Raises `ErasureIncomplete` where others keep writing one of them.
    """
    if not words:
        return
    for conversation in [*database["conversations"].find({"user": user}, {"title": 1})]:
        turns = [*database["turns"].find({"conversation": conversation["_id"]}, {"embedding": 0})]
        having = {turn["_id"] for turn in turns if words.is_in("\n".join(turn[name] for name in _WRITTEN))}
        if having or words.is_in(conversation["title"]):
            _overwrite_title(database, conversation, words, [turn["question"] for turn in turns])
            # The turns that have the words come last: by them it is known, after a kill, what is left to do.
            for turn in sorted(turns, key=lambda turn: turn["_id"] in having):
                _overwrite_turn(database, turn, words)
    # All of them: which ones were changed before a kill, nobody knows.
    database["conversations"].update_many({"user": user}, {"$inc": {"revision": 1}})


def _overwrite_title(
    database: Database[Document], conversation: Document, words: Erasing, questions: Sequence[str]
) -> None:
    now: Document | None = conversation
    for _ in range(TRIES):
        if now is None:
            return
        unchanged = {"_id": now["_id"], "title": now["title"]}
        changes = {"title": words.title(now["title"], questions)}
        if database["conversations"].update_one(unchanged, {"$set": changes}).matched_count:
            return
        now = database["conversations"].find_one({"_id": now["_id"]}, {"title": 1})  # renamed meanwhile
    raise _written_meanwhile()


def _overwrite_turn(database: Database[Document], turn: Document, words: Erasing) -> None:
    now: Document | None = turn
    for _ in range(TRIES):
        if now is None:
            return
        texts = {name: now[name] for name in (*_WRITTEN, "told")}
        changes: Document = {**words.turn(**texts)}
        if any(changes[name] != texts[name] for name in ("question", "told")):
            changes |= NOT_EMBEDDED
        unchanged = {"_id": now["_id"], **texts}
        if database["turns"].update_one(unchanged, {"$set": changes}).matched_count:
            return
        now = database["turns"].find_one({"_id": turn["_id"]})  # written meanwhile
    raise _written_meanwhile()


def _written_meanwhile() -> ErasureIncomplete:
    return ErasureIncomplete(
        "It is forgotten, but words of it may still be in a conversation: others keep writing to that.",
        "Whoever uses the memory next erases the rest: `athena memory list` does.",
    )
