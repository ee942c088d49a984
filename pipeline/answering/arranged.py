"""Answers that a rule arranges out of quotes: the outline of a topic, two things side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pipeline.answer import Citation, Retrieval, Unit, Verdict
from pipeline.answering.comparisons import compare, comparison_text
from pipeline.answering.overviews import outline_of, outline_text
from pipeline.answering.quotes import Quote
from pipeline.answering.replies import quote_citations, quote_units
from pipeline.asking.kinds import Asked
from pipeline.asking.sides import sides_of
from pipeline.models.base import Encoder
from pipeline.stores.base import DocumentStore


@dataclass(frozen=True, slots=True)
class Arranged:
    """An answer's text with its quotes in order, one citation and one unit each."""

    text: str
    quotes: tuple[Quote, ...]
    citations: tuple[Citation, ...]
    units: tuple[Unit, ...]
    verdict: Verdict


def arranged(
    retrieval: Retrieval,
    *,
    asked: Asked,
    search: Callable[[str], Retrieval],
    store: DocumentStore,
    encoder: Encoder,
) -> Arranged | None:
    """The outline or the comparison that is `asked` for, of what the question names.

    None where it asks for neither, no heading names the topic, or neither side is in the documents: such a
    question is answered like any other.
    """
    match asked:
        case Asked.SUMMARISE:
            return _outlined(retrieval, store)
        case Asked.COMPARE:
            return _compared(retrieval, search, store, encoder)
    return None


def _outlined(retrieval: Retrieval, store: DocumentStore) -> Arranged | None:
    outline = outline_of(retrieval.question, retrieval, store=store)
    if outline is None:
        return None
    quotes = tuple(line.quote for line in outline.lines)
    lines = enumerate(outline.lines, start=1)
    units = tuple(_unit(line.quote, marker, line.more) for marker, line in lines)
    return Arranged(outline_text(outline), quotes, _citations(quotes, store), units, "answered")


def _compared(
    retrieval: Retrieval, search: Callable[[str], Retrieval], store: DocumentStore, encoder: Encoder
) -> Arranged | None:
    sides = sides_of(retrieval.question)
    if sides is None:
        return None
    found = compare(sides, retrieval, search=search, store=store, encoder=encoder)
    if len(found.missing) == len(found.sides):
        return None
    verdict: Verdict = "closest" if found.missing else "answered"
    citations = _citations(found.quotes, store)
    units = tuple(replace(unit, folded=False) for unit in quote_units(found.quotes))
    return Arranged(comparison_text(found, citations, units), found.quotes, citations, units, verdict)


def _citations(quotes: tuple[Quote, ...], store: DocumentStore) -> tuple[Citation, ...]:
    return quote_citations(quotes, {info.source: info.hash for info in store.sections.documents()})


def _unit(quote: Quote, marker: int, more: int) -> Unit:
    """How a line's quote is shown: a row with its table's header, everything else as it stands."""
    header = quote.best.metadata.get("header", "") if quote.kind == "table" else ""
    lead = quote.lead or header
    return Unit(marker, quote.kind, quote.start, quote.end, lead=lead, left_out_after=more)
