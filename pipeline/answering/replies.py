"""What Athena says without a language model: quotes, and that the documents do not answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.answer import Answer, Citation, Passage, Unit
from pipeline.answering.citations import citation_of, escaped_markers, quote_hash
from pipeline.answering.excerpts import readers_quote
from pipeline.answering.quotes import Quote, choose_quotes
from pipeline.answering.section_blocks import end_of, start_of
from pipeline.words import CLOSEST, counted
from readers.dialects import display, mask

if TYPE_CHECKING:
    from pipeline.answering.turns import RunningTurn
    from pipeline.retrieve import HybridSearch
    from pipeline.steps.trace import RunningStep

NEAREST = 4  # sections shown where the documents do not answer
NO_MODEL = "No language model is connected: these are quotes from the documents."
MAY_NOT_ANSWER = "The documents may not answer this: check the answer against what it cites."
QUOTES_INSTEAD = "These are quotes from the documents instead."
NO_MARKER_BESIDE = re.compile(r"(?:\||`{3,}|~{3,})\s*\Z")  # after a table's row or a fence it would be lost


def quoted(step: RunningStep, turn: RunningTurn, search: HybridSearch, *, notice: str) -> Answer:
    """Return the best units as they stand, with a notice why no model answers."""
    limit = step.data["limit"]
    quotes = choose_quotes(turn.found, store=search.store, encoder=search.encoder, limit=limit)
    step.data["quotes"] = [{"node_id": quote.best.node_id, "score": quote.score} for quote in quotes]
    citations, units = quote_citations(quotes, turn.file_hashes), quote_units(quotes)
    turn.notices += (notice,)
    opening = CLOSEST if turn.found.answerability.verdict == "closest" else ""
    text = quotes_text(citations, units, opening=opening)
    return turn.answer(text=text, mode="quote", citations=citations, units=units)


def without_model_note(notices: Sequence[str]) -> tuple[str, ...]:
    """The notices without the one that no model is connected, for where that is said already."""
    return tuple(notice for notice in notices if not notice.startswith(NO_MODEL))


def has_model_note(notices: Sequence[str]) -> bool:
    """Whether one of the notices says that no model is connected."""
    return without_model_note(notices) != tuple(notices)


def quote_citations(quotes: Sequence[Quote], file_hashes: Mapping[str, str]) -> tuple[Citation, ...]:
    """The quotes as citations, numbered in their order."""
    return tuple(
        _citation(quote, marker, file_hashes.get(quote.passage.section.metadata["source"], ""))
        for marker, quote in enumerate(quotes, start=1)
    )


def quote_units(quotes: Sequence[Quote]) -> tuple[Unit, ...]:
    """How the quotes are shown, by the same numbers."""
    return tuple(_unit(quote, marker) for marker, quote in enumerate(quotes, start=1))


def quotes_text(citations: Sequence[Citation], units: Sequence[Unit] = (), *, opening: str = "") -> str:
    """The quotes as Markdown: grouped by section under its path, each with its lead and marker.

    What is left out of a table, a list or a procedure is counted where it is missing; folded quotes are
    counted at the end.
    """
    by_marker = {unit.marker: unit for unit in units}
    folded = sum(unit.folded for unit in units)
    parts = [opening] if opening else []
    group: tuple[str, tuple[str, ...]] | None = None
    for citation in citations:
        unit = by_marker.get(citation.marker)
        if unit and unit.folded:
            continue
        section = (citation.source, citation.heading_path)
        if section != group:
            group = section
            parts.append(f"**{where(citation)}**")
        parts.append(block_quote(citation, unit))
    if folded:
        parts.append(f"*{counted(folded, 'more passage')}*")
    return "\n\n".join(parts)


def where(citation: Citation) -> str:
    """The headings that a citation stands under, else its file."""
    return " › ".join(citation.heading_path) or citation.source


def _citation(quote: Quote, marker: int, file_hash: str) -> Citation:
    """The citation of the quoted span, with the bullet or fence before its first leaf."""
    leaves = quote.leaves
    cited = citation_of(leaves, quote.passage, marker=marker, file_hash=file_hash, verified=True)
    text, offset = quote.passage.section.text, start_of(quote.passage.section)
    above = text[quote.start - offset : start_of(leaves[0]) - offset].count("\n")
    below = text[end_of(leaves[-1]) - offset : quote.end - offset].count("\n")
    return replace(
        cited,
        start=quote.start,
        end=quote.end,
        start_line=cited.start_line - above,
        end_line=cited.end_line + below,
        quote=quote.text,
        quote_hash=quote_hash(quote.text),
    )


def _unit(quote: Quote, marker: int) -> Unit:
    part, best = quote.part, quote.best
    whole = not (part.left_out_before or part.left_out_after)
    together = part.kind == "steps" and whole  # a procedure's steps answer together
    return Unit(
        marker=marker,
        kind=part.kind,
        start=part.start,
        end=part.end,
        lead=part.lead,
        answer_start=None if together else start_of(best),
        answer_end=None if together else end_of(best),
        left_out_before=part.left_out_before,
        left_out_after=part.left_out_after,
        folded=quote.folded,
    )


def block_quote(citation: Citation, unit: Unit | None) -> str:
    """As a block quote of Markdown the lead, the quote with its marker, and how much is left out."""
    quote = readers_quote(citation)
    text = escaped_markers(f"{display(mask(unit.lead))}\n{quote}" if unit and unit.lead else quote)
    left_out = _left_out(unit) if unit else ""
    beside = "\n\n" if NO_MARKER_BESIDE.search(citation.quote) else " "
    whole = f"{text}{beside}[{citation.marker}]" + (f"\n\n{left_out}" if left_out else "")
    return "\n".join(f"> {line}".rstrip() for line in whole.splitlines())


def _left_out(unit: Unit) -> str:
    """For example "… 7 more rows", or "… 2 more steps before, 1 after"."""
    before, after = unit.left_out_before, unit.left_out_after
    if not unit.left_out:
        return ""
    parts = unit.more(before or after)
    if not before:
        return parts
    return f"{parts} before, {after} after" if after else f"{parts} before"


def nearest_sections(passages: Sequence[Passage], file_hashes: Mapping[str, str]) -> tuple[Citation, ...]:
    """The nearest sections, each by its best sentence."""
    return tuple(
        citation_of(
            [passage.sentences[0].node if passage.sentences else passage.section],
            passage,
            marker=marker,
            file_hash=file_hashes.get(passage.section.metadata["source"], ""),
            verified=False,
        )
        for marker, passage in enumerate(passages[:NEAREST], start=1)
    )


def not_answered(question: str, *, personal: bool = False) -> str:
    """The reply where the documents do not answer; nor what was said, which a `personal` question is of."""
    if personal:
        return f"You have told me nothing about this, and the documents do not either: “{question}”."
    return (
        f"I found nothing about this in the documents. I looked for: “{question}”. "
        "Below are the nearest sections, in case one of them helps. Otherwise try the words that the "
        "documents use, or ask one thing at a time."
    )
