"""Conversations to take away: as Markdown with their sources, or as JSON.

What makes a file runs outside of a session, where `process` knows nothing: it is given the Athena.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

from athena.shapes import answer_shape
from pipeline.words import harmless, harmless_json
from ui.shared.words import local_time

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.stores.conversations import Conversation, Turn


def markdown_of(athena: Athena, conversation_id: str) -> str:
    """A conversation as Markdown, citations as footnotes; raises `UnknownConversation`."""
    found = athena.conversations.get(conversation_id)
    return harmless(athena.filled_in(found.as_markdown(), user=found.info.user))


def json_of(athena: Athena, conversation_id: str) -> str:
    """A conversation as JSON; raises `UnknownConversation`."""
    return _written(athena, [athena.conversations.get(conversation_id)])


def all_as_json(athena: Athena, user: str) -> str:
    """All conversations of a user in one file, the latest used first."""
    stored = athena.conversations
    return _written(athena, [stored.get(info.id) for info in stored.list(user=user)])


def all_as_markdown(athena: Athena, user: str) -> bytes:
    """All conversations of a user as a zip with a file each: footnotes are numbered within one."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, info in enumerate(athena.conversations.list(user=user), start=1):
            day = local_time(info.updated_at)[:10]
            archive.writestr(f"{number:04}-{day}-{file_name(info.title)}.md", markdown_of(athena, info.id))
    return buffer.getvalue()


def file_name(title: str) -> str:
    """A title as a file's name, without its ending."""
    kept = "".join(c if c.isalnum() else "-" for c in title.lower())
    return "-".join(part for part in kept.split("-") if part)[:60] or "conversation"


def _written(athena: Athena, conversations: list[Conversation]) -> str:
    shapes = [_shape(athena, conversation) for conversation in conversations]
    return harmless_json(json.dumps({"conversations": shapes}, ensure_ascii=False, indent=1)) + "\n"


def _shape(athena: Athena, conversation: Conversation) -> dict[str, Any]:
    info = conversation.info
    return {
        "id": info.id,
        "title": info.title,
        "user": info.user,
        "assistant": info.assistant,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
        "scope": list(info.scope),
        "pinned": info.pinned,
        "turns": [_turn_shape(athena, turn, user=info.user) for turn in conversation.turns],
    }


def _turn_shape(athena: Athena, turn: Turn, *, user: str) -> dict[str, Any]:
    """A turn as `athena ask --json` prints its answer, without the steps, and what its reader thought."""
    shape = answer_shape(*athena.with_memories(turn.answer, user=user))
    shape.pop("steps")
    rating = {"created_at": turn.created_at, "feedback": turn.feedback, "feedback_text": turn.feedback_text}
    return shape | rating
