"""Select: the passages that an answer may rest on, within a number and a token budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.answer import Passage
from pipeline.steps.records import Dropped

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Selection:
    """What was kept, its tokens, and what was dropped."""

    passages: list[Passage]
    tokens: int
    dropped: list[Dropped]


def select(
    passages: Sequence[Passage], *, top_k: int, context_tokens: int, count_tokens: CountTokens
) -> Selection:
    """Keep passages best first while they fit; a smaller one further down may still fit.

    The best passage is always kept: an answer needs something to rest on, and the prompt is budgeted
    again when it is put together.
    """
    kept: list[Passage] = []
    dropped: list[Dropped] = []
    tokens = 0
    for passage in passages:
        if len(kept) == top_k:
            dropped.append(Dropped(passage.section.node_id, f"beyond the first {top_k}"))
            continue
        size = count_tokens(passage.text)
        if kept and tokens + size > context_tokens:
            dropped.append(Dropped(passage.section.node_id, f"{size} tokens do not fit the budget"))
            continue
        kept.append(passage)
        tokens += size
    return Selection(kept, tokens, dropped)
