"""Turns and conversations as MongoDB's records have them: whose they are, and words overwritten in them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pymongo.database import Database

from pipeline.errors import ErasureIncomplete
from pipeline.stores.erasing import Erasing
from pipeline.stores.memories import turn_changed
from pipeline.stores.server.mongo import Document, chunks

CONVERSATIONS_A_QUERY = 10_000
TRIES = 5  # for a turn that is written meanwhile

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


def mark_remembered(database: Database[Document], user: str, turns: list[str]) -> None:
    """Say of some of a user's turns that they were looked at."""
    for some in chunks(turns):
        found = [*database["turns"].find({"_id": {"$in": some}}, {"conversation": 1})]
        asked_in = [*{turn["conversation"] for turn in found}]
        where = {"_id": {"$in": asked_in}, "user": user}
        own = {record["_id"] for record in database["conversations"].find(where, {"_id": 1})}
        ids = [turn["_id"] for turn in found if turn["conversation"] in own]
        if ids:
            database["turns"].update_many({"_id": {"$in": ids}}, {"$set": {"remembered": True}})


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
        turns = [*database["turns"].find({"conversation": conversation["_id"]})]
        having = {turn["_id"] for turn in turns if words.is_in("\n".join(turn[name] for name in _WRITTEN))}
        if having or words.is_in(conversation["title"]):
            _overwrite_title(database, conversation, words, [turn["question"] for turn in turns])
            # The turns that have the words come last: by them it is known, after a kill, what is left to do.
            for turn in sorted(turns, key=lambda turn: turn["_id"] in having):
                _overwrite_turn(database, turn, words)


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
        texts = {name: now[name] for name in _WRITTEN}
        changes = words.turn(**texts)
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
