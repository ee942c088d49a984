"""The tokens that language models read and wrote for a turn, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from pipeline.answer import Usage
from pipeline.options import PriceOptions

account: ContextVar[list[Usage] | None] = ContextVar("account", default=None)
"""The list to which `ChatStream` adds the usage of each request; None: usage is not collected."""


@contextmanager
def spending() -> Iterator[list[Usage]]:
    """Yield a list that collects the usage of each model request in this context, or in copies of it."""
    spent = list[Usage]()
    before = account.set(spent)
    try:
        yield spent
    finally:
        account.reset(before)


def usage_of(spent: Sequence[Usage], prices: PriceOptions, *, before: Usage | None = None) -> Usage | None:
    """Return the sum of `spent` and `before` with its cost; without requests, `before` as it is."""
    if not spent:
        return before
    every = [*spent, *([before] if before else [])]
    read, wrote = sum(one.tokens_in for one in every), sum(one.tokens_out for one in every)
    estimated = any(one.estimated for one in every)
    return Usage(read, wrote, estimated, prices.cost(read, wrote), spent[0].model)
