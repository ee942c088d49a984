"""Documents and sections as resources, with completion of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_types as types

from athena.tools.addresses import DOCUMENTS, SECTIONS, Addresses
from athena.tools.cutting import MOST, cut_lines
from athena.tools.document_tools import CONTENT
from athena.tools.places import place_of
from athena.tools.tool import Refused
from pipeline.stores.base import SearchRequest

if TYPE_CHECKING:
    from athena import Athena

MARKDOWN = "text/markdown"
PAGE = 200  # documents in one answer to `resources/list`
MOST_VALUES = 100  # as the protocol has it

TEMPLATES = (
    types.ResourceTemplate(
        name="document",
        title="A document",
        uri_template=f"{DOCUMENTS}{{source}}",
        description=f"A whole document, by its source. {CONTENT}",
        mime_type=MARKDOWN,
    ),
    types.ResourceTemplate(
        name="section",
        title="A section",
        uri_template=f"{SECTIONS}{{id}}",
        description=f"A section, by its id. {CONTENT}",
        mime_type=MARKDOWN,
    ),
)


def listed(athena: Athena, *, after: str) -> types.ListResourcesResult:
    """The documents after a source, a page of them."""
    infos = [info for info in athena.store.sections.documents() if info.source > after]
    resources = [
        types.Resource(
            name=info.source,
            title=info.title or info.source,
            uri=Addresses().document(info.source),
            mime_type=MARKDOWN,
        )
        for info in infos[:PAGE]
    ]
    more = infos[PAGE - 1].source if len(infos) > PAGE else None
    return types.ListResourcesResult(resources=resources, next_cursor=more)


def contents(athena: Athena, *, uri: str) -> types.ReadResourceResult:
    """What a resource says, as far as 25 kB go; raises `Refused` for an unknown one."""
    if not uri.startswith((DOCUMENTS, SECTIONS)):
        raise Refused(f"'{uri[:200]}' is no resource.", f"There are {DOCUMENTS}SOURCE and {SECTIONS}ID.")
    place = place_of(athena, uri)
    first, last = place.lines
    found = cut_lines(place.document.text, first=first, last=last, room=MOST)
    about = {"athena/notice": CONTENT, "athena/lines": found.numbers}
    if found.rest:
        about["athena/more"] = f'The rest: get({{"id": "{place.id}", "lines": "{found.rest}"}})'
    text = types.TextResourceContents(uri=uri, text=found.text, mime_type=MARKDOWN, _meta=about)
    return types.ReadResourceResult(contents=[text])


def completed(athena: Athena, *, uri: str, value: str) -> types.Completion:
    """Sources that have the value in them, those that begin with it first; ids of sections about it."""
    if uri == TEMPLATES[0].uri_template:
        low = value.casefold()
        sources = [info.source for info in athena.store.sections.documents() if low in info.source.casefold()]
        values = sorted(sources, key=lambda source: (not source.casefold().startswith(low), source))
    elif uri == TEMPLATES[1].uri_template and any(map(str.isalnum, value)):
        found = athena.store.sentences.search(SearchRequest(text=value, vector=None, top_k=20))
        values = [hit.node_id for hit in found.bm25_sections]
    else:
        values = []
    more = len(values) > MOST_VALUES
    return types.Completion(values=values[:MOST_VALUES], total=len(values), has_more=more)
