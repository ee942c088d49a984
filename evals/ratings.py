"""Rated answers of the chat as a question set in BEIR's layout, for `athena eval answers FOLDER --index`.

An answer with a thumb up becomes a question whose right answers are the quotes that it cited; an abstention
with a thumb up becomes a question that the documents do not answer. A question whose answer has a thumb down,
or a thumb up and no citation, is written without a judgement, for somebody to add `answers`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.answering.citations import without_markers
from pipeline.errors import DatasetError

if TYPE_CHECKING:
    from pipeline.stores.conversations import Conversations
    from pipeline.stores.turns import Turn


def write_rated(conversations: Conversations, folder: Path, *, user: str | None = None) -> int:
    """Write the rated answers to a user, or to everybody, into a new folder, and return their number.

    Raises `DatasetError` if the folder exists or cannot be written.
    """
    rows = [row for info in conversations.list(user=user) for row in rated(conversations.get(info.id).turns)]
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    try:
        folder.mkdir(parents=True)
        (folder / "queries.jsonl").write_text(text, encoding="utf-8")
    except FileExistsError as error:
        raise DatasetError(f"'{folder}' exists already.", "Name a folder that does not exist yet.") from error
    except OSError as error:
        raise DatasetError(
            f"Cannot write '{folder}': {error.strerror or error}.", "Make room, or name another folder."
        ) from error
    return len(rows)


def rated(turns: Sequence[Turn]) -> Iterator[dict[str, Any]]:
    """Yield the rated turns of one conversation as rows of `queries.jsonl`, with the messages before them."""
    history: list[dict[str, str]] = []
    for turn in turns:
        if turn.feedback is not None:
            yield {"_id": turn.id, "text": turn.question, "history": list(history), **_judgement(turn)}
        history.append({"role": "user", "text": turn.question})
        history.append({"role": "assistant", "text": without_markers(turn.answer.text)})


def _judgement(turn: Turn) -> dict[str, Any]:
    answer = turn.answer
    if turn.feedback != 1 or (not answer.abstained and not answer.citations):
        return {"kind": "rated bad" if turn.feedback == -1 else "rated good"}
    if answer.abstained:
        return {"kind": "rated good", "answerable": False}
    answers = [{"text": one.quote, "source": one.source} for one in answer.citations]
    return {"kind": "rated good", "answerable": True, "answers": answers}
