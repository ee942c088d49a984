"""Citations as other programs show them: OpenAI's annotations and Open WebUI's own events."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from pipeline.answer import Answer, Citation
from pipeline.answering.citations import MARKER

NUMBER = 1  # the group of a marker that has its numbers

Shape = dict[str, Any]
Span = tuple[int, int]


class Addresses:
    """Where a citation can be read: on the page, opened at its span, or without one as the section's text."""

    def __init__(self, base: str, *, page: bool) -> None:
        self._base = base.rstrip("/")
        self._page = page

    def of(self, citation: Citation) -> str:
        """The address of one citation."""
        if not self._page:
            return f"{self._base}/api/sections/{citation.section_id}"
        span = {"source": citation.source, "start": citation.start, "end": citation.end}
        return f"{self._base}/documents?{urlencode(span)}"


def url_citations(answer: Answer, text: str, addresses: Addresses) -> list[Shape]:
    """An annotation for each marker in the text, and for a citation without one, of the whole text."""
    spans = _in_quotes(answer, text) if answer.mode == "quote" else _in_sentences(answer, text)
    marked = {citation.marker for citation, _ in spans}
    rest = [(citation, (0, len(text))) for citation in answer.citations if citation.marker not in marked]
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": start,
                "end_index": end,
                "title": title_of(citation),
                "url": addresses.of(citation),
            },
        }
        for citation, (start, end) in [*spans, *rest]
    ]


def _in_sentences(answer: Answer, text: str) -> list[tuple[Citation, Span]]:
    """Each citation that a marker names, and where; a model is given the markers of sources escaped."""
    cited = {str(citation.marker): citation for citation in answer.citations}
    return [
        (cited[number], match.span())
        for match in MARKER.finditer(text)
        for number in match[NUMBER].replace(",", " ").split()
        if number in cited
    ]


def _in_quotes(answer: Answer, text: str) -> list[tuple[Citation, Span]]:
    """Each quote's citation, and where its own marker is, after what the document itself may have of them."""
    from pipeline.answering.replies import block_quote  # idle doors do without what answers

    units = {unit.marker: unit for unit in answer.units}
    spans, end = [], 0
    for citation in answer.citations:
        block = block_quote(citation, units[citation.marker])
        if (start := text.find(block, end)) >= 0:
            end, marker = start + len(block), f"[{citation.marker}]"
            at = start + block.rfind(marker)
            spans.append((citation, (at, at + len(marker))))
    return spans


def source_events(answer: Answer, addresses: Addresses) -> list[Shape]:
    """Open WebUI's own event for each citation, with the exact quote."""
    return [
        {
            "event": {
                "type": "source",
                "data": {
                    "source": {"name": title_of(citation), "url": addresses.of(citation)},
                    "document": [citation.quote],
                    "metadata": [{"source": addresses.of(citation), "name": title_of(citation)}],
                },
            }
        }
        for citation in answer.citations
    ]


def title_of(citation: Citation) -> str:
    """What a citation is called: file, page and headings."""
    return " › ".join([citation.file, *citation.heading_path])
