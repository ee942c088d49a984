"""Usage: tokens, cost, answers and durations, counted from the stored turns."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import Literal

from pipeline.stores.conversations import Conversations
from pipeline.stores.turns import TurnUsage

UsageKey = Literal["model", "day", "user"]
NO_MODEL, TOTAL = "none", "total"
P95 = 0.95


@dataclass(frozen=True, slots=True)
class UsageRow:
    """Usage summed over turns; None means that it is unknown, not that it is 0."""

    turns: int
    answers: int  # complete answers that do not abstain
    abstentions: int
    tokens_in: int | None
    tokens_out: int | None
    estimated: bool  # some tokens were counted here, since the model's server did not report them
    cost: float | None  # of the turns whose model has a price
    p95_s: float | None  # 95th percentile of the turns' durations, in seconds
    recalls: int = 0  # turns that recalled memories
    relevance: tuple[float, ...] = ()  # lowest, median and highest cosine of the recalled memories; () = none


def usage(conversations: Conversations, by: UsageKey) -> dict[str, UsageRow]:
    """Return a row for each model, day (ISO date, local time) or user, sorted by key, then the `TOTAL`."""
    turns = conversations.usage()
    found: dict[str, list[TurnUsage]] = defaultdict(list)
    for turn in turns:
        day = date.fromtimestamp(turn.at).isoformat()
        keys = {"model": turn.model or NO_MODEL, "day": day, "user": turn.user}
        found[keys[by]].append(turn)
    return {key: _row(found[key]) for key in sorted(found)} | {TOTAL: _row(turns)}


def _row(turns: Sequence[TurnUsage]) -> UsageRow:
    used = [turn.usage for turn in turns if turn.usage]
    costs = [one.cost for one in used if one.cost is not None]
    seconds = sorted(turn.seconds for turn in turns)
    complete = [turn for turn in turns if turn.complete]
    near = sorted(chain(*(turn.relevance for turn in turns)))
    return UsageRow(
        turns=len(turns),
        answers=sum(not turn.abstained for turn in complete),
        abstentions=sum(turn.abstained for turn in complete),
        tokens_in=sum(one.tokens_in for one in used) if used else None,
        tokens_out=sum(one.tokens_out for one in used) if used else None,
        estimated=any(one.estimated for one in used),
        cost=sum(costs) if costs else None,
        p95_s=seconds[math.ceil(P95 * len(seconds)) - 1] if seconds else None,
        recalls=sum(bool(turn.relevance) for turn in turns),
        relevance=(near[0], near[len(near) // 2], near[-1]) if near else (),
    )
