"""Usage: tokens, cost, answers and durations, counted from the stored turns."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from memory.times import local_day
from pipeline.errors import UnknownConversation
from pipeline.stores.conversations import Conversations
from pipeline.stores.turns import Turn

NO_MODEL = "none"
P95 = 0.95


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The sums over some turns; None means unknown, which is not 0."""

    turns: int
    answers: int  # complete ones that do not abstain
    abstentions: int
    tokens_in: int | None
    tokens_out: int | None
    estimated: bool  # some tokens were counted here, since the model's server did not report them
    cost: float | None  # of the turns that have one
    unpriced: int  # turns whose model has no price
    p95_s: float | None  # of a turn's duration


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Usage in total and by model, day and user; days are local, the latest first."""

    since: str | None
    total: UsageRow
    by_model: Mapping[str, UsageRow]
    by_day: Mapping[str, UsageRow]
    by_user: Mapping[str, UsageRow]


def usage(
    conversations: Conversations, *, user: str | None = None, since: float | None = None
) -> UsageReport:
    """Return the usage of one user or of all, since a time in seconds since the epoch."""
    found: list[tuple[str, Turn]] = []
    for info in conversations.list(user=user):
        with suppress(UnknownConversation):  # deleted since the list was made
            found += [(info.user, turn) for turn in conversations.get(info.id).turns]
    found = [(name, turn) for name, turn in found if turn.created_at >= (since or 0.0)]
    models = [turn.answer.usage.model if turn.answer.usage else turn.answer.model for _, turn in found]
    days = _grouped([(local_day(turn.created_at), turn) for _, turn in found])
    return UsageReport(
        since=None if since is None else local_day(since),
        total=_row([turn for _, turn in found]),
        by_model=_grouped([(name or NO_MODEL, turn) for name, (_, turn) in zip(models, found, strict=True)]),
        by_day=dict(reversed(days.items())),
        by_user=_grouped(found),
    )


def _grouped(turns: Sequence[tuple[str, Turn]]) -> dict[str, UsageRow]:
    """Return a row for each key, by key."""
    groups: dict[str, list[Turn]] = defaultdict(list)
    for key, turn in turns:
        groups[key].append(turn)
    return {key: _row(groups[key]) for key in sorted(groups)}


def _row(turns: Sequence[Turn]) -> UsageRow:
    used = [turn.answer.usage for turn in turns if turn.answer.usage]
    costs = [one.cost for one in used if one.cost is not None]
    seconds = sorted(turn.answer.seconds for turn in turns)
    complete = [turn.answer for turn in turns if turn.answer.status == "complete"]
    return UsageRow(
        turns=len(turns),
        answers=sum(not answer.abstained for answer in complete),
        abstentions=sum(answer.abstained for answer in complete),
        tokens_in=sum(one.tokens_in for one in used) if used else None,
        tokens_out=sum(one.tokens_out for one in used) if used else None,
        estimated=any(one.estimated for one in used),
        cost=sum(costs) if costs else None,
        unpriced=len(used) - len(costs),
        p95_s=seconds[math.ceil(P95 * len(seconds)) - 1] if seconds else None,
    )
