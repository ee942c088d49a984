"""What Athena says without a language model: quotes, and that the documents do not answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.answer import Citation, Passage, Support
from pipeline.answering.citations import citation_of
from pipeline.answering.quotes import Quote

NEAREST = 4  # sections shown where the documents do not answer
NO_MODEL = "No language model is connected: these are quotes from the documents."
MAY_NOT_ANSWER = "The documents may not answer this: check the answer against what it cites."
QUOTES_INSTEAD = "These are quotes from the documents instead."


def quote_citations(quotes: Sequence[Quote], file_hashes: Mapping[str, str]) -> tuple[Citation, ...]:
    """The quotes as citations, numbered in their order."""
    return tuple(
        citation_of(
            quote.leaves,
            quote.passage,
            marker=marker,
            file_hash=file_hashes.get(quote.passage.section.metadata["source"], ""),
            verified=True,
        )
        for marker, quote in enumerate(quotes, start=1)
    )


def quotes_text(citations: Sequence[Citation]) -> str:
    """The quotes as Markdown: grouped by section under its path, each with its marker."""
    parts: list[str] = []
    group: tuple[str, tuple[str, ...]] | None = None
    for citation in citations:
        section = (citation.source, citation.heading_path)
        if section != group:
            group = section
            parts.append(f"**{' › '.join(citation.heading_path) or citation.source}**")
        parts.append("\n".join(f"> {line}" for line in f"{citation.quote} [{citation.marker}]".splitlines()))
    return "\n\n".join(parts)


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


def what_is_unsupported(support: Support) -> str:
    """What to say of a sentence that no passage bears out."""
    if support.missing:
        return f"The passages do not say: {', '.join(support.missing)}"
    return "No passage says this."


def how_many_unsupported(support: Sequence[Support]) -> str:
    """How many sentences of an answer lack support, in a few words; "" where none does."""
    lacking = sum(not item.supported for item in support)
    if not lacking:
        return ""
    return f"{lacking} of {len(support)} {'sentence' if len(support) == 1 else 'sentences'} unsupported"


def not_answered(question: str) -> str:
    """The reply where the documents do not answer."""
    return (
        f"I found nothing about this in the documents. I looked for: “{question}”. "
        "Below are the nearest sections, in case one of them helps. Otherwise try the words that the "
        "documents use, or ask one thing at a time."
    )
