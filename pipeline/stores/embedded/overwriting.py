"""Forgotten words, overwritten in all turns and titles of a user."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence

from pipeline.stores.erasing import Erasing

_CONVERSATIONS = "SELECT id, title FROM conversation WHERE user = ?"
_TURNS = "SELECT id, question, answer, feedback_text FROM turn WHERE conversation_id = ?"

Texts = tuple[str, ...]  # question, answer and feedback of a turn


class Overwriting:
    """Overwrites words; what texts say is looked at before anybody has to wait for it."""

    def __init__(self, user: str, words: Sequence[str]) -> None:
        self._user = user
        self._words = Erasing.of(words)
        self._have: dict[bytes, bool] = {}  # by a hash of the texts
        self._done: dict[bytes, Texts] = {}

    def look(self, connection: sqlite3.Connection) -> None:
        """Look at all that is stored now, so that `overwrite` has to look only at what comes after."""
        if self._words:
            self._changes(connection)

    def overwrite(self, connection: sqlite3.Connection) -> None:
        """Overwrite the words, within a transaction."""
        if self._words:
            titles, turns = self._changes(connection)
            connection.executemany("UPDATE conversation SET title = ? WHERE id = ?", titles)
            connection.executemany(
                "UPDATE turn SET question = ?, answer = ?, feedback_text = ? WHERE id = ?", turns
            )

    def _changes(self, connection: sqlite3.Connection) -> tuple[list[Texts], list[Texts]]:
        """New titles and texts of turns, each with its id behind it."""
        titles: list[Texts] = []
        changed: list[Texts] = []
        for id_, title in connection.execute(_CONVERSATIONS, (self._user,)).fetchall():
            turns = connection.execute(_TURNS, (id_,)).fetchall()
            if self._is_in((title,)) or any(self._is_in(texts) for _, *texts in turns):
                asked = [question for _, question, *_ in turns]
                titles.append((self._words.title(title, asked), id_))
                changed += [(*self._overwritten(texts), turn_id) for turn_id, *texts in turns]
        return titles, changed

    def _is_in(self, texts: Sequence[str]) -> bool:
        key = _hash(texts)
        if key not in self._have:
            self._have[key] = self._words.is_in("\n".join(texts))
        return self._have[key]

    def _overwritten(self, texts: Sequence[str]) -> Texts:
        key = _hash(texts)
        if key not in self._done:
            question, answer, feedback = texts
            words = self._words
            self._done[key] = (words.text(question), words.answer(answer), words.text(feedback))
        return self._done[key]


def _hash(texts: Sequence[str]) -> bytes:
    digest = hashlib.sha256()
    for text in texts:
        given = text.encode("utf-8", "surrogatepass")
        digest.update(len(given).to_bytes(8, "big") + given)
    return digest.digest()
