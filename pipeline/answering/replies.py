"""Replies without a language model: quotes, and the message that the documents do not answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from pipeline.answer import Answer, Citation, Passage, Unit
from pipeline.answering.citations import citation_of, escaped_markers
from pipeline.answering.excerpts import shown
from pipeline.answering.quotes import choose_quotes
from pipeline.words import CLOSEST, counted

if TYPE_CHECKING:
    from pipeline.answering.turns import RunningTurn
    from pipeline.retrieve import HybridSearch
    from pipeline.steps.records import Step

NEAREST = 4  # most sections shown if the documents do not answer
NEAR = 0.35  # least cosine of the question to the first passages at which sections are shown
OTHERWISE = "Try the words that the documents use, ask one thing at a time, or add documents about it."
NO_MODEL = "No language model is connected: these are quotes from the documents."
QUOTES_INSTEAD = "These are quotes from the documents instead."
NO_MARKER_BESIDE = re.compile(r"(?:\||`{3,}|~{3,})\s*\Z")  # after a table row or a fence it would not show


def quoted(step: Step, turn: RunningTurn, search: HybridSearch, *, notice: str) -> Answer:
    """Return an answer of the best quotes, and add a `notice` why no model answers; fill the step's data."""
    store, limit, reader = search.store, step.data["limit"], search.cross_encoder
    quotes = choose_quotes(turn.found, store=store, limit=limit, cross_encoder=reader)
    step.data["quotes"] = [{"node_id": quote.best.node_id, "score": quote.chance} for quote in quotes]
    citations = tuple(
        replace(quote.citation, file_hash=turn.file_hashes.get(quote.citation.source, "")) for quote in quotes
    )
    units = tuple(quote.unit for quote in quotes)
    turn.notices += (notice,)
    opening = CLOSEST if turn.found.answerability.verdict == "closest" else ""
    text = quotes_text(citations, units, opening=opening)
    return turn.answer(text=text, mode="quote", citations=citations, units=units)


def without_model_note(notices: Sequence[str]) -> tuple[str, ...]:
    """Return the notices without the one that no model is connected, for callers that show it themselves."""
    return tuple(notice for notice in notices if not notice.startswith(NO_MODEL))


def quotes_text(citations: Sequence[Citation], units: Sequence[Unit], *, opening: str = "") -> str:
    """Return the quotes as Markdown, each with its marker; adjacent ones of a section share one heading.

    Folded quotes are left out; a last line has their number.
    """
    by_marker = {unit.marker: unit for unit in units}
    shown_ones = [item for item in citations if not by_marker[item.marker].folded]
    blocks = [opening] if opening else []
    for section, group in groupby(shown_ones, key=where):
        blocks += [f"**{section}**", *(block_quote(item, by_marker[item.marker]) for item in group)]
    if folded := len(citations) - len(shown_ones):
        blocks.append(f"*{counted(folded, 'more passage')}*")
    return "\n\n".join(blocks)


def where(citation: Citation) -> str:
    """Return the headings above a citation, joined by " › ", or its file if there are none."""
    return " › ".join(citation.heading_path) or citation.source


def block_quote(citation: Citation, unit: Unit) -> str:
    """Return a Markdown block quote: lead, quote and marker, with "…" before or after it if it is cut."""
    excerpt = shown(unit, citation)
    lead = f"{excerpt.lead}\n\n" if excerpt.lead else ""
    beside = "\n\n" if NO_MARKER_BESIDE.search(excerpt.text) else " "
    text = f"{escaped_markers(lead + excerpt.text)}{beside}[{citation.marker}]"
    before, after = unit.cut(citation)
    whole = "\n\n".join(filter(None, [before, text, after]))
    return "\n".join(f"> {line}".rstrip() for line in whole.splitlines())


def nearest_sections(passages: Sequence[Passage], file_hashes: Mapping[str, str]) -> tuple[Citation, ...]:
    """Return citations of the first `NEAREST` passages, each of its best sentence."""
    return tuple(
        citation_of(
            [passage.sentences[0].node if passage.sentences else passage.section],
            passage,
            marker=marker,
            file_hash=file_hashes.get(passage.section.metadata["source"], ""),
        )
        for marker, passage in enumerate(passages[:NEAREST], start=1)
    )


def not_answered(question: str, *, personal: bool, nearest: bool) -> str:
    """Return a reply that the documents, and if `personal` the user's earlier messages, have no answer.

    `nearest` is True if the nearest sections are shown below the text.
    """
    if personal:
        return f"You have told me nothing about this, and the documents do not either: “{question}”."
    below = "Below are the nearest sections, in case one of them helps. " if nearest else ""
    return f"I found nothing about this in the documents. I looked for: “{question}”. {below}{OTHERWISE}"
