"""What language models read and wrote on behalf of a turn, noted where they are asked: see `ChatStream`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import TypeVar

from pipeline.answer import Usage
from pipeline.options import PriceOptions

Event = TypeVar("Event")


@dataclass(frozen=True, slots=True)
class Spent:
    """The tokens of one request to a model; `estimated` where its server did not report both."""

    model: str
    tokens_in: int
    tokens_out: int
    estimated: bool = False


account: ContextVar[list[Spent] | None] = ContextVar("account", default=None)
"""Where requests of this context are noted; None: nowhere."""


@contextmanager
def spending() -> Iterator[list[Spent]]:
    """What is spent in the block, by this thread."""
    spent = list[Spent]()
    before = account.set(spent)
    try:
        yield spent
    finally:
        account.reset(before)


def noted_in(spent: list[Spent], events: Iterator[Event]) -> Iterator[Event]:
    """The same events; what is spent between them is noted, whichever threads they are taken in."""
    context = copy_context()
    context.run(account.set, spent)
    while True:
        try:
            event = context.run(next, events)
        except StopIteration:
            return
        yield event


def usage_of(spent: Sequence[Spent], prices: PriceOptions, *, before: Usage | None = None) -> Usage | None:
    """All of it together, with what was spent `before`; None where no model was asked.

    There is no cost where one of the models has no price.
    """
    costs = [prices.cost(one.model, one.tokens_in, one.tokens_out) for one in spent]
    costs += [before.cost] if before else []
    known = [cost for cost in costs if cost is not None]
    if not costs:
        return None
    return Usage(
        tokens_in=sum(one.tokens_in for one in spent) + (before.tokens_in if before else 0),
        tokens_out=sum(one.tokens_out for one in spent) + (before.tokens_out if before else 0),
        estimated=any(one.estimated for one in spent) or bool(before and before.estimated),
        cost=sum(known) if len(known) == len(costs) else None,
        model=spent[0].model if spent else before.model if before else "",
    )
