"""The tokens that language models read and wrote for a turn, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from pipeline.answer import Usage
from pipeline.options import PriceOptions


@dataclass(frozen=True, slots=True)
class Spent:
    """The tokens of one request to a model; `estimated` where its server did not report both."""

    model: str
    tokens_in: int
    tokens_out: int
    estimated: bool = False


account: ContextVar[list[Spent] | None] = ContextVar("account", default=None)
"""Where `ChatStream` adds each request of this context; None: nowhere."""


@contextmanager
def spending() -> Iterator[list[Spent]]:
    """Collect the requests to models that the block makes, also in threads that copy its context."""
    spent = list[Spent]()
    before = account.set(spent)
    try:
        yield spent
    finally:
        account.reset(before)


def usage_of(spent: Sequence[Spent], prices: PriceOptions, *, before: Usage | None = None) -> Usage | None:
    """Return the sum of all requests and of `before`; None where no model was asked.

    The cost is None where one of the models has no price.
    """
    if not spent:
        return before
    costs = [prices.cost(one.model, one.tokens_in, one.tokens_out) for one in spent]
    every: list[Spent | Usage] = [*spent, *([before] if before else [])]
    costs += [before.cost] if before else []
    known = [cost for cost in costs if cost is not None]
    return Usage(
        tokens_in=sum(one.tokens_in for one in every),
        tokens_out=sum(one.tokens_out for one in every),
        estimated=any(one.estimated for one in every),
        cost=sum(known) if len(known) == len(costs) else None,
        model=spent[0].model,
    )
