"""The days on which conversations were used, and what tells those of one title apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby

from pipeline.stores.conversations import ConversationInfo


@dataclass(frozen=True, slots=True)
class Day:
    """The conversations that were last used on one day."""

    name: str
    infos: tuple[ConversationInfo, ...]


def by_day(infos: Iterable[ConversationInfo], *, today: date) -> list[Day]:
    """Conversations by the day of their last use on this machine's clock, in their order."""
    grouped = groupby(infos, key=lambda info: _used(info).date())
    return [Day(_day_name(day, today), tuple(group)) for day, group in grouped]


def times(
    infos: Iterable[ConversationInfo], *, beside: Iterable[ConversationInfo] | None = None
) -> Mapping[str, str]:
    """When they were used, by id, of those that share their title; to the second where they share the minute.

    With the day where they are not of one: then they are told from those `beside` them, too.
    """
    listed = list(infos)
    titles = Counter(info.title for info in (*listed, *(beside or ())))
    to_the_minute = "%H:%M" if beside is None else "%Y-%m-%d %H:%M"
    minutes = Counter((info.title, _used(info).strftime(to_the_minute)) for info in listed)

    def time(info: ConversationInfo) -> str:
        minute = _used(info).strftime(to_the_minute)
        alone = minutes[info.title, minute] == 1
        return minute if alone else _used(info).strftime(f"{to_the_minute}:%S")

    return {info.id: time(info) for info in listed if titles[info.title] > 1}


def _used(info: ConversationInfo) -> datetime:
    return datetime.fromtimestamp(info.updated_at).astimezone()


def _day_name(day: date, today: date) -> str:
    if day == today:
        return "Today"
    if day == today - timedelta(days=1):
        return "Yesterday"
    return f"{day:%A}, {day.day} {day:%B}" + (f" {day.year}" if day.year != today.year else "")
