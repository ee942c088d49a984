"""What ids name: a section, by the id that a search gives, or a whole document, by its source."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING
from urllib.parse import unquote

from athena.stores import require_index
from athena.tools.addresses import DOCUMENTS, SECTIONS, Addresses
from athena.tools.tool import Refused
from pipeline.errors import UnknownDocument

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.nodes import Node
    from pipeline.stores.base import StoredDocument

WHERE_FROM = "Ids come from search, outline and list_documents."


@dataclass(frozen=True, slots=True)
class Place:
    """A document, or one section of it."""

    document: StoredDocument
    section: Node | None = None

    @property
    def id(self) -> str:
        """The section's id, or the document's source."""
        return self.section.node_id if self.section else self.source

    @property
    def source(self) -> str:
        """The document's."""
        return self.document.info.source

    @property
    def title(self) -> str:
        """The headings that lead there, or the document's title."""
        return title_of(self.section) if self.section else self.document.info.title or self.source

    def url(self, addresses: Addresses) -> str:
        """Where it can be read."""
        return addresses.section(self.section) if self.section else addresses.document(self.source)

    @property
    def lines(self) -> tuple[int, int]:
        """Its first and last line in the document."""
        if self.section:
            return self.section.metadata["start_line"], self.section.metadata["end_line"]
        return 1, self.document.text.count("\n") + 1

    @property
    def last_below(self) -> int:
        """The last line of the sections below a section; its own last line where there are none."""
        if self.section is None:
            return self.lines[1]
        path = self.section.metadata["heading_path"]
        below = self.lines[1]
        for node in self.document.sections:
            if node.metadata["start_line"] > below and node.metadata["heading_path"][: len(path)] == path:
                below = node.metadata["end_line"]
        return below


def title_of(section: Node) -> str:
    """The headings that lead to a section."""
    return " › ".join(section.metadata["heading_path"]) or str(section.metadata["source"])


def place_of(athena: Athena, given: str) -> Place:
    """What an id, a source or one of our URLs names; raises `Refused` for nothing."""
    named = (
        unquote(given.removeprefix(SECTIONS).removeprefix(DOCUMENTS))
        if given.startswith("athena:")
        else given
    )
    sections = athena.store.sections
    section = sections.get_many([named]).get(named)
    try:
        document = sections.document(section.metadata["source"] if section else named)
    except UnknownDocument as error:
        require_index(athena.settings, athena.store)
        near = get_close_matches(named, [info.source for info in sections.documents()], n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise Refused(f"Nothing has the id '{named[:200]}'.{hint}", WHERE_FROM) from error
    return Place(document, section)
