"""Usage: tokens, cost, answers and durations, counted from the stored turns."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from itertools import chain
from typing import Literal

from pipeline.answer import Answer
from pipeline.errors import UnknownConversation
from pipeline.steps.records import data_of
from pipeline.stores.conversations import Conversations

UsageKey = Literal["model", "day", "user"]
NO_MODEL, TOTAL = "none", "total"
P95 = 0.95


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The sums over some answers; None means unknown, which is not 0."""

    turns: int
    answers: int  # complete ones that do not abstain
    abstentions: int
    tokens_in: int | None
    tokens_out: int | None
    estimated: bool  # some tokens were counted here, since the model's server did not report them
    cost: float | None  # of the answers whose model has a price
    p95_s: float | None  # of an answer's duration
    recalls: int = 0  # answers with memories in their prompt
    relevance: tuple[float, ...] = ()  # of those memories: the least, the median and the highest cosine


def usage(conversations: Conversations, by: UsageKey) -> dict[str, UsageRow]:
    """Return the usage by model, local day or user, and in total."""
    found: dict[str, list[Answer]] = defaultdict(list)
    for info in conversations.list():
        with suppress(UnknownConversation):  # deleted since the list was made
            for turn in conversations.get(info.id).turns:
                used = turn.answer.usage
                model = (used.model if used else turn.answer.model) or NO_MODEL
                day = date.fromtimestamp(turn.created_at).isoformat()
                keys = {"model": model, "day": day, "user": info.user}
                found[keys[by]].append(turn.answer)
    rows = {key: _row(found[key]) for key in sorted(found)}
    return rows | {TOTAL: _row([*chain(*found.values())])}


def _row(answers: Sequence[Answer]) -> UsageRow:
    used = [answer.usage for answer in answers if answer.usage]
    costs = [one.cost for one in used if one.cost is not None]
    seconds = sorted(answer.seconds for answer in answers)
    complete = [answer for answer in answers if answer.status == "complete"]
    recalled = [data_of(answer.steps, "recall").get("recalled", ()) for answer in answers]
    near = sorted(item["relevance"] for item in chain(*recalled))
    return UsageRow(
        turns=len(answers),
        answers=sum(not answer.abstained for answer in complete),
        abstentions=sum(answer.abstained for answer in complete),
        tokens_in=sum(one.tokens_in for one in used) if used else None,
        tokens_out=sum(one.tokens_out for one in used) if used else None,
        estimated=any(one.estimated for one in used),
        cost=sum(costs) if costs else None,
        p95_s=seconds[math.ceil(P95 * len(seconds)) - 1] if seconds else None,
        recalls=sum(map(bool, recalled)),
        relevance=(near[0], near[len(near) // 2], near[-1]) if near else (),
    )
