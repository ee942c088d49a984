"""The tokens that language models read and wrote for a turn, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

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
    """Return the sum of all requests and of `before`, with their cost; None where no model was asked."""
    if not spent:
        return before
    every = [*spent, *([before] if before else [])]
    read, wrote = sum(one.tokens_in for one in every), sum(one.tokens_out for one in every)
    estimated = any(one.estimated for one in every)
    return Usage(read, wrote, estimated, prices.cost(read, wrote), spent[0].model)
