"""The tables of one document that together are what a question asks to list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipeline.answer import Passage, Retrieval
from pipeline.answering.quote_windows import Window
from pipeline.answering.section_blocks import SectionLeaves, start_of
from pipeline.finding.tree import Trees
from pipeline.nodes import StoredNode
from pipeline.stores.base import DocumentStore
from pipeline.terms import content_terms

READ_DOCUMENTS = 3  # of the first passages
_ASKING = re.compile(
    r"\b(?:list|lists|enumerate|name|show|give|names?|all|every|each|whole|complete|full|entire|exist|exists)\b",
    re.IGNORECASE,
)


class Table(NamedTuple):
    """One of the tables: its section with the leaves in it, and which of them it is."""

    passage: Passage
    section: SectionLeaves
    window: Window


def tables_of(question: str, retrieval: Retrieval, *, store: DocumentStore) -> list[Table]:
    """The tables of one document that together are what is to be listed, in its order; [] where none are.

    They have the same header, and each stands under a heading of its own that names what is asked for. One
    alone is a quote like others.
    """
    terms = set(content_terms(_ASKING.sub(" ", question)))
    if not terms:
        return []
    sources = dict.fromkeys(passage.section.metadata["source"] for passage in retrieval.passages)
    trees = Trees(store.sections)
    kept: list[Table] = []
    for source in list(sources)[:READ_DOCUMENTS]:
        tree = trees.get(source)
        named = [section for section in tree.document.sections if _names(section, terms)] if tree else []
        for tables in _by_header(named, store).values():
            kept = max(kept, tables, key=len)
    return kept if len(kept) > 1 else []


def _names(section: StoredNode, terms: set[str]) -> bool:
    """Whether the section's own heading has all the terms."""
    return terms <= set(content_terms("".join(section.metadata["heading_path"][-1:])))


def _by_header(sections: Sequence[StoredNode], store: DocumentStore) -> dict[str, list[Table]]:
    """Their tables by the header that they share."""
    leaves = store.sentences.of_sections([section.node_id for section in sections])
    found: dict[str, list[Table]] = {}
    for section in sections:
        own = leaves.get(section.node_id, ())
        parsed = SectionLeaves.of(own, text=section.text, offset=start_of(section))
        for window in _tables(parsed):
            header = parsed.leaves[window.block.first].text if window.block else ""
            found.setdefault(header, []).append(Table(Passage(section, (), False, 0.0), parsed, window))
    return found


def _tables(section: SectionLeaves) -> Iterator[Window]:
    """All tables of a section, each with what introduces it."""
    for block in section.blocks:
        if block.kind == "table":
            yield Window(block.first if block.lead is None else block.lead, block.last, block)
