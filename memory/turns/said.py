"""What a user said about a topic: messages of their conversations that share a word with it, best first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from memory.turns.index import Turn, TurnIndex
from memory.turns.search import search_turns
from pipeline.analysis import analyse
from pipeline.terms import content_terms

if TYPE_CHECKING:
    from pipeline.models.base import Encoder
    from pipeline.stores.conversations import Conversations

CONVERSATIONS = 200  # the latest used that are read
READ = 100  # of their messages with a word of the topic, the latest, that are embedded and compared


def said_about(topic: str, messages: Iterable[Turn], *, encoder: Encoder, top_k: int) -> list[Turn]:
    """The `top_k` messages, best first; none where no message has a word of the topic."""
    wanted = set(content_terms(topic))
    sharing = [message for message in messages if not wanted.isdisjoint(analyse(message.text))]
    index = TurnIndex(sorted(sharing, key=_time)[-READ:], embed=encoder.encode_passages)
    return [found.turn for found in search_turns(index, topic, encoder=encoder, top_k=top_k)]


def messages_of(conversations: Conversations, user: str, *, without: Sequence[str] = ()) -> Iterator[Turn]:
    """What a user wrote in their latest conversations, but not to the memory; `without` some turns, by id."""
    for info in conversations.list(user=user, limit=CONVERSATIONS):
        for turn in conversations.get(info.id).turns:
            if turn.answer.mode != "memory" and turn.id not in without:
                yield Turn(id=turn.id, session=info.id, text=turn.question, at=turn.created_at)


def _time(turn: Turn) -> float:
    return turn.at or 0.0
