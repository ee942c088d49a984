"""A question as a chat without a language model would ask it, and the quotes that it would show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evals.runs.answers import Shown
from pipeline.answering.quotes import choose_quotes
from pipeline.asking.follow_ups import Condensed, condense
from pipeline.messages import Message

if TYPE_CHECKING:
    from athena import Athena
    from evals.datasets import Question
    from pipeline.answer import Retrieval


def condensed(query: Question) -> Condensed:
    """The question with its history as one that stands alone, and its other reading."""
    history = [Message(turn.role, turn.text) for turn in query.history]
    return condense(history, query.text)


def quotes_shown(athena: Athena, retrieval: Retrieval) -> list[Shown]:
    """The quotes that an answer without a language model would show, in order."""
    limit = athena.settings.quotes
    quotes = choose_quotes(retrieval, store=athena.store, encoder=athena.encoder, limit=limit)
    return [Shown(quote.shown, quote.passage.section.metadata["source"], quote.folded) for quote in quotes]
