"""Turns and conversations as MongoDB's records have them: whose they are, and words overwritten in them."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence

from pymongo.database import Database

from pipeline.errors import ErasureIncomplete
from pipeline.options import DEFAULT_USER
from pipeline.stores.conversations import said_in
from pipeline.stores.erasing import Erasing
from pipeline.stores.memories import turn_changed
from pipeline.stores.server.mongo import Document, chunks

CONVERSATIONS_A_QUERY = 10_000
TRIES = 5  # for a turn that is written meanwhile


def of_user(user: str | None) -> Document:
    """The filter for the conversations of a user; those of older versions are the default user's."""
    if user is None:
        return {}
    return {"user": {"$in": [user, None]} if user == DEFAULT_USER else user}


def stored_answer(turn: Document) -> str:
    """A turn's answer as JSON, also of versions that packed it."""
    answer = turn["answer"]
    return answer if isinstance(answer, str) else zlib.decompress(answer).decode()


def said_folded(question: str, text: str) -> str:
    """What a turn is found by, as it is stored: a search has nothing to fold."""
    return said_in(question, text).casefold()


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


def fold_earlier(database: Database[Document], user: str | None) -> None:
    """Store what a user's turns of earlier versions say."""
    found = [record["_id"] for record in database["conversations"].find(of_user(user), {"_id": 1})]
    for some in chunks(found, CONVERSATIONS_A_QUERY):
        for turn in [*database["turns"].find({"conversation": {"$in": some}, "said": None})]:
            unchanged = {"_id": turn["_id"], "answer": turn["answer"]}
            database["turns"].update_one(unchanged, {"$set": {"said": _said(turn)}})


def _said(turn: Document) -> str:
    text = turn.get("arrived") or json.loads(stored_answer(turn))["text"]
    return said_folded(turn["question"], text)


def mark_remembered(database: Database[Document], user: str, turns: list[str]) -> None:
    """Say of some of a user's turns that they were looked at."""
    for some in chunks(turns):
        found = [*database["turns"].find({"_id": {"$in": some}}, {"conversation": 1})]
        asked_in = [*{turn["conversation"] for turn in found}]
        where = {"_id": {"$in": asked_in}, **of_user(user)}
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
        asked_in = {"_id": turn["conversation"], **of_user(user)}
        if database["conversations"].find_one(asked_in, {"_id": 1}) is None:
            raise turn_changed()


def overwrite(database: Database[Document], user: str, words: Erasing) -> None:
    """Overwrite words in all turns and titles of a user; done twice, it does nothing more.

    Raises `ErasureIncomplete` where others keep writing one of them.
    """
    if not words:
        return
    for conversation in [*database["conversations"].find(of_user(user), {"title": 1})]:
        turns = [*database["turns"].find({"conversation": conversation["_id"]})]
        having = {turn["_id"] for turn in turns if words.is_in("\n".join(_texts(turn).values()))}
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
        texts = _texts(now)
        answer = texts.pop("answer")
        changes = {name: words.text(text) for name, text in texts.items()} | {"answer": words.answer(answer)}
        changes["said"] = _said(now | changes)
        unchanged = {name: now.get(name) for name in ("_id", "answer", *_WRITTEN)}
        if database["turns"].update_one(unchanged, {"$set": changes}).matched_count:
            return
        now = database["turns"].find_one({"_id": turn["_id"]})  # written meanwhile
    raise _written_meanwhile()


def _written_meanwhile() -> ErasureIncomplete:
    return ErasureIncomplete(
        "It is forgotten, but words of it may still be in a conversation: others keep writing to that.",
        "Whoever uses the memory next erases the rest: `athena memory list` does.",
    )


_WRITTEN = ("question", "feedback_text", "arrived")


def _texts(turn: Document) -> dict[str, str]:
    """What somebody wrote in a turn, by field; the answer as JSON."""
    texts = {name: turn[name] for name in _WRITTEN if turn.get(name)}
    return texts | {"answer": stored_answer(turn)}
