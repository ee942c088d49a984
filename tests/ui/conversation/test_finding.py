"""Conversations by their day, and what tells those of one title apart."""

from __future__ import annotations

from datetime import datetime

from pipeline.stores.conversations import ConversationInfo
from ui.conversation.finding import by_day, times

NOON = datetime(2026, 5, 4, 12, 30, 10).astimezone()  # a Monday


def used(title: str, seconds: int) -> ConversationInfo:
    at = NOON.timestamp() + seconds
    return ConversationInfo(f"{title}{seconds}", title, at, at, 1)


def test_days_have_names() -> None:
    days = by_day([used("A", 0), used("B", -86_400), used("C", -3 * 86_400)], today=NOON.date())
    assert [day.name for day in days] == ["Today", "Yesterday", "Friday, 1 May"]


def test_those_of_one_title_are_told_apart_by_time() -> None:
    infos = [used("Sleep", 0), used("Sleep", -60), used("Sleep", -65), used("Alone", 0)]
    assert times(infos) == {"Sleep0": "12:30", "Sleep-60": "12:29:10", "Sleep-65": "12:29:05"}
    assert times(infos[:1], beside=infos[1:]) == {"Sleep0": "2026-05-04 12:30"}
