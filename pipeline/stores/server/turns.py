"""Turns and conversations as MongoDB's records have them: whose they are, and words overwritten in them."""

from __future__ import annotations

import zlib
from collections import defaultdict
from typing import Any

from pymongo.database import Database

from pipeline.options import DEFAULT_USER
from pipeline.stores.erasing import Erasing
from pipeline.stores.server.mongo import Document, chunks

CONVERSATIONS_A_QUERY = 100
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


def overwrite(database: Database[Document], user: str, words: Erasing) -> None:
    """Overwrite words in all turns and titles of a user; done twice, it does nothing more."""
    if not words:
        return
    titles = {
        record["_id"]: record["title"]
        for record in database["conversations"].find(of_user(user), {"title": 1})
    }
    asked: dict[str, list[str]] = defaultdict(list)
    for some in chunks(titles, CONVERSATIONS_A_QUERY):
        for turn in database["turns"].find({"conversation": {"$in": some}}):
            if _overwrite_turn(database, turn, words):
                asked[turn["conversation"]].append(turn["question"])
    for id_, title in titles.items():
        if (changed := words.title(title, asked[id_])) != title:
            database["conversations"].update_one({"_id": id_, "title": title}, {"$set": {"title": changed}})


def _overwrite_turn(database: Database[Document], turn: Document, words: Erasing) -> bool:
    """Overwrite words in a turn; False where it has none of them."""
    now: Document | None = turn
    for _ in range(TRIES):
        if now is None or (changes := _overwritten(now, words)) is None:
            return now is not turn
        unchanged = {"_id": now["_id"], "answer": now["answer"]}
        if database["turns"].update_one(unchanged, {"$set": changes}).matched_count:
            return True
        now = database["turns"].find_one({"_id": turn["_id"]})
    return True


def _overwritten(turn: Document, words: Erasing) -> Document | None:
    """What changes in a turn's record; None where it has none of the words."""
    texts = {name: str(turn[name]) for name in ("question", "feedback_text", "arrived") if turn.get(name)}
    answer = stored_answer(turn)
    if not words.may_be_in("\n".join([*texts.values(), answer])):
        return None
    changes: dict[str, Any] = {name: words.text(text) for name, text in texts.items()}
    changes["answer"] = words.answer(answer)
    if all(turn.get(name) == text for name, text in changes.items()):
        return None
    return changes
