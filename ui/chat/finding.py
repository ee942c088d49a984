"""The conversations that have some words, and the days on which they were used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby

from pipeline.errors import UnknownConversation
from pipeline.stores.conversations import ConversationInfo, Conversations

READ = 200  # conversations whose text is read in one search, the latest; older ones are found by their title


@dataclass(frozen=True, slots=True)
class Day:
    """The conversations that were last used on one day."""

    name: str
    infos: tuple[ConversationInfo, ...]


def by_day(infos: Iterable[ConversationInfo], *, today: date) -> list[Day]:
    """Conversations by the day of their last use on this machine's clock, in their order."""
    grouped = groupby(infos, key=lambda info: datetime.fromtimestamp(info.updated_at).astimezone().date())
    return [Day(_day_name(day, today), tuple(group)) for day, group in grouped]


def having(infos: Sequence[ConversationInfo], words: str, *, store: Conversations) -> list[ConversationInfo]:
    """Those that have all the words in their title, questions or answers, in their order."""
    wanted = words.casefold().split()
    return [
        info
        for position, info in enumerate(infos)
        if _has(info.title, wanted) or (position < READ and _has(_text_of(info, store), wanted))
    ]


def _has(text: str, wanted: Sequence[str]) -> bool:
    folded = text.casefold()
    return all(word in folded for word in wanted)


def _text_of(info: ConversationInfo, store: Conversations) -> str:
    try:
        turns = store.get(info.id).turns
    except UnknownConversation:  # deleted in another window
        return ""
    return "\n".join([info.title, *(f"{turn.question}\n{turn.answer.text}" for turn in turns)])


def _day_name(day: date, today: date) -> str:
    if day == today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    return f"{day:%A}, {day.day} {day:%B}" + (f" {day.year}" if day.year != today.year else "")
