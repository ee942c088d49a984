"""One question's quotes and verdict against what its data set knows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evals.datasets import Question, Span
from pipeline.answer import Retrieval, Verdict
from pipeline.answering.quotes import choose_quotes

if TYPE_CHECKING:
    from athena import Athena


@dataclass(frozen=True, slots=True)
class Shown:
    """A quote as a reader sees it; a folded one after a click."""

    text: str
    source: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """One question: what was quoted, whether it holds the answer, and the verdict."""

    query_id: str
    answerable: bool
    probability: float
    verdict: Verdict
    first: bool | None  # None where the data name no answer
    unfolded: bool | None  # whether a quote that is seen without a click holds it
    any: bool | None
    words: int  # seen without a click
    ms: float
    kind: str = ""

    @property
    def abstained(self) -> bool:
        """True where the verdict is that the documents do not answer."""
        return self.verdict == "not in the documents"


def quotes_shown(athena: Athena, retrieval: Retrieval) -> list[Shown]:
    """The quotes that an answer without a language model would show, in order."""
    limit = athena.settings.quotes
    quotes = choose_quotes(retrieval, store=athena.store, encoder=athena.encoder, limit=limit)
    return [Shown(quote.shown, quote.passage.section.metadata["source"], quote.folded) for quote in quotes]


def judge(query: Question, retrieval: Retrieval, shown: Sequence[Shown], ms: float) -> Judged:
    """One question's quotes and verdict against what the data set knows."""
    holds = [any(holds_gold(quote.text, quote.source, gold) for gold in query.gold) for quote in shown]
    unfolded = [not quote.folded for quote in shown]
    known = bool(query.answerable and query.gold)
    verdict = retrieval.answerability
    return Judged(
        query.id,
        query.answerable,
        verdict.probability,
        verdict.verdict,
        first=bool(holds and holds[0]) if known else None,
        unfolded=any(here and seen for here, seen in zip(holds, unfolded, strict=True)) if known else None,
        any=any(holds) if known else None,
        words=sum(len(quote.text.split()) for quote in shown if not quote.folded),
        ms=ms,
        kind=query.kind,
    )


def holds_gold(text: str, source: str, gold: Span) -> bool:
    """Whether a quote has the gold in it and is from its document, where that is known."""
    return gold.source in ("", source) and contains(text, gold.text)


def contains(text: str, answer: str) -> bool:
    """Whether the text has the answer in it; case, white space and Markdown's marks do not count."""
    return _plain(answer) in _plain(text)


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[*_`]", "", text)).strip().casefold()
