"""Where a result can be read: on the page, opened at its span, or without one as a resource."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from pipeline.answer import Citation
    from pipeline.nodes import Node

DOCUMENTS = "athena://documents/"
SECTIONS = "athena://sections/"


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of results; `base` is that of the server whose page is there, "" where none is."""

    base: str = ""

    def document(self, source: str) -> str:
        """A whole document's."""
        return self._page(source=source) if self.base else DOCUMENTS + quote(source, safe="")

    def section(self, node: Node) -> str:
        """A section's."""
        return self._span(node.node_id, node.metadata["source"], node.start_char_idx, node.end_char_idx)

    def citation(self, citation: Citation) -> str:
        """That of the words that are cited."""
        return self._span(citation.section_id, citation.source, citation.start, citation.end)

    def _span(self, section_id: str, source: str, start: int | None, end: int | None) -> str:
        return self._page(source=source, start=start, end=end) if self.base else SECTIONS + section_id

    def _page(self, **span: object) -> str:
        return f"{self.base.rstrip('/')}/documents?{urlencode(span)}"
