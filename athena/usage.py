"""Usage: tokens, cost, answers and how long they took, counted from the stored turns."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from memory.times import local_day
from pipeline.errors import UnknownConversation
from pipeline.stores.conversations import Conversations, Turn

NO_MODEL = "none"
P95 = 0.95


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Some turns together; what is not known of any of them is None, which is not 0.

    Tokens are `estimated` where some were counted by us. `cost` is that of the turns that have one;
    `unpriced` is how many asked a model that has no price.
    """

    turns: int
    answers: int  # that were complete, and did not abstain
    abstentions: int
    tokens_in: int | None
    tokens_out: int | None
    estimated: bool
    cost: float | None
    unpriced: int
    p95_s: float | None  # of a turn


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What `athena usage --json` prints; days are those of this machine's clock, the latest first."""

    since: str | None
    total: UsageRow
    by_model: Mapping[str, UsageRow]
    by_day: Mapping[str, UsageRow]
    by_user: Mapping[str, UsageRow]


def usage(
    conversations: Conversations, *, user: str | None = None, since: float | None = None
) -> UsageReport:
    """The usage of a user, or of all, in what was asked since a time, in seconds since the epoch."""
    begun = since or 0.0
    found: list[tuple[str, Turn]] = []
    for info in conversations.list(user=user):
        if info.updated_at < begun:
            continue
        with suppress(UnknownConversation):  # deleted since the list was made
            whole = conversations.get(info.id)
            found += [(info.user, turn) for turn in whole.turns if turn.created_at >= begun]
    days = _by(found, lambda _, turn: local_day(turn.created_at))
    return UsageReport(
        since=None if since is None else local_day(since),
        total=_row([turn for _, turn in found]),
        by_model=_by(found, lambda _, turn: _model(turn)),
        by_day=dict(sorted(days.items(), reverse=True)),
        by_user=_by(found, lambda user, _: user),
    )


def _model(turn: Turn) -> str:
    used = turn.answer.usage
    return (used.model if used else turn.answer.model) or NO_MODEL


def _by(found: Sequence[tuple[str, Turn]], key: Callable[[str, Turn], str]) -> Mapping[str, UsageRow]:
    """A row for each key, by name."""
    groups: dict[str, list[Turn]] = defaultdict(list)
    for user, turn in found:
        groups[key(user, turn)].append(turn)
    return {name: _row(groups[name]) for name in sorted(groups)}


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
