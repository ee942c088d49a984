"""The tokens that language models read and wrote for a turn, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace

from pipeline.answer import Usage
from pipeline.options import PriceOptions

account: ContextVar[list[Usage] | None] = ContextVar("account", default=None)
"""Where `ChatStream` adds each request of this context; None: nowhere."""


@contextmanager
def spending() -> Iterator[list[Usage]]:
    """Collect the requests to models that the block makes, also in threads that copy its context."""
    spent = list[Usage]()
    before = account.set(spent)
    try:
        yield spent
    finally:
        account.reset(before)


def usage_of(spent: Sequence[Usage], prices: PriceOptions, *, before: Usage | None = None) -> Usage | None:
    """Return the sum of all requests, each with its cost, and of `before`; None where no model was asked.

    The cost is None where one of the models has no price.
    """
    if not spent:
        return before
    priced = [replace(one, cost=prices.cost(one.model, one.tokens_in, one.tokens_out)) for one in spent]
    every = [*priced, *([before] if before else [])]
    known = [one.cost for one in every if one.cost is not None]
    return Usage(
        tokens_in=sum(one.tokens_in for one in every),
        tokens_out=sum(one.tokens_out for one in every),
        estimated=any(one.estimated for one in every),
        cost=sum(known) if len(known) == len(every) else None,
        model=spent[0].model,
    )
