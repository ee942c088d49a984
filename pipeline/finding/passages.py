"""Passages: the fused sections with their text and the sentences found in them, and those that fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.answer import Passage
from pipeline.finding.fusion import Fused
from pipeline.finding.merging import is_merged
from pipeline.models.tokens import CountTokens
from pipeline.nodes import Node, ScoredNode, by_section
from pipeline.steps.records import Dropped, FetchedSection
from pipeline.stores.base import DocumentStore, SearchResponse, Vector


@dataclass(frozen=True, slots=True)
class Gathered:
    """Passages in the order of the fused ranking, and the section of each with what was found of it."""

    passages: list[Passage]
    sections: tuple[FetchedSection, ...]


def gather(
    ranking: Sequence[Fused],
    sentence_scores: Mapping[str, float],
    response: SearchResponse,
    *,
    store: DocumentStore,
    vector: Vector | None,
    threshold: float,
) -> Gathered:
    """Fetch the ranked sections with the sentences found in them, and merge where enough were found.

    A section found through its own lists only gets its one sentence nearest by vector, so that each passage
    can be quoted. A hit that has vanished since (another process deleted it) is left out. Only what is
    found is fetched: making nodes of all sentences of twenty sections took longer than the search.
    """
    ids = [item.id for item in ranking]
    sections = store.sections.get_many(ids)
    found = _found(sentence_scores, response, ids)
    unfound = [section_id for section_id in sections if not found[section_id]]
    nodes = store.sentences.get_many(
        [node_id for scores in found.values() for node_id in scores], sections=unfound
    )
    hits = _hits(found, nodes)
    leaves = by_section(node for node in nodes.values() if not found[node.section_id])
    nearest = _nearest(leaves, store=store, vector=vector)
    siblings = {
        section_id: group[0].node.metadata["siblings"] if group else len(leaves.get(section_id, ()))
        for section_id, group in hits.items()
    }
    passages = [
        Passage(
            sections[item.id],
            hits[item.id] or nearest.get(item.id, ()),
            is_merged(len(hits[item.id]), siblings[item.id], threshold=threshold),
            item.score,
        )
        for item in ranking
        if item.id in sections
    ]
    fetched = tuple(
        FetchedSection(
            section_id=passage.section.node_id,
            source=passage.section.metadata["source"],
            heading_path=tuple(passage.section.metadata["heading_path"]),
            siblings=siblings[passage.section.node_id],
            found=len(hits[passage.section.node_id]),
            merged=passage.merged,
        )
        for passage in passages
    )
    return Gathered(passages, fetched)


def passage_leaves(passages: Sequence[Passage], *, store: DocumentStore) -> dict[str, list[Node]]:
    """The sentences of each passage in reading order, by its section's id; of a parent, all its sections'."""
    found = store.sentences.of_sections([section for passage in passages for section in passage.section_ids])
    return {
        passage.section.node_id: [leaf for section in passage.section_ids for leaf in found.get(section, ())]
        for passage in passages
    }


@dataclass(frozen=True, slots=True)
class Selection:
    """What was kept, its tokens, and what was dropped."""

    passages: list[Passage]
    tokens: int
    dropped: list[Dropped]


def select(
    passages: Sequence[Passage], *, top_k: int, context_tokens: int, count_tokens: CountTokens
) -> Selection:
    """Keep passages best first while they fit; a smaller one further down may still fit.

    The best passage is always kept: an answer needs something to rest on, and the prompt is budgeted
    again when it is put together.
    """
    kept: list[Passage] = []
    dropped: list[Dropped] = []
    tokens = 0
    for passage in passages:
        if len(kept) == top_k:
            dropped.append(Dropped(passage.section.node_id, f"beyond the first {top_k}"))
            continue
        size = count_tokens(passage.text)
        if kept and tokens + size > context_tokens:
            dropped.append(Dropped(passage.section.node_id, f"{size} tokens do not fit the budget"))
            continue
        kept.append(passage)
        tokens += size
    return Selection(kept, tokens, dropped)


def _found(
    scores: Mapping[str, float], response: SearchResponse, section_ids: Sequence[str]
) -> dict[str, dict[str, float]]:
    """For each section the sentences that the lists named, with their fused scores."""
    found: dict[str, dict[str, float]] = {section_id: {} for section_id in section_ids}
    for node_id, section_id, _ in (*response.bm25_sentences, *response.dense_sentences):
        if section_id in found and node_id in scores:
            found[section_id][node_id] = scores[node_id]
    return found


def _hits(
    found: Mapping[str, Mapping[str, float]], nodes: Mapping[str, Node]
) -> dict[str, tuple[ScoredNode, ...]]:
    """For each section its found sentences with their scores, best first."""
    return {
        section_id: _ranked(
            ScoredNode(nodes[node_id], score) for node_id, score in scores.items() if node_id in nodes
        )
        for section_id, scores in found.items()
    }


def _nearest(
    leaves: Mapping[str, Sequence[Node]], *, store: DocumentStore, vector: Vector | None
) -> dict[str, tuple[ScoredNode, ...]]:
    """For each section its one sentence nearest to the query; nothing without a query vector."""
    if vector is None or not leaves:
        return {}
    vectors = store.sentences.vectors([leaf.node_id for group in leaves.values() for leaf in group])
    return {
        section_id: _ranked(
            ScoredNode(leaf, max(0.0, float(np.dot(vectors[leaf.node_id], vector))))
            for leaf in group
            if leaf.node_id in vectors
        )[:1]
        for section_id, group in leaves.items()
    }


def _ranked(hits: Iterable[ScoredNode]) -> tuple[ScoredNode, ...]:
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.node.metadata["position"])))
