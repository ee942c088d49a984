"""Passages: the fused sections with their text, the sentences found in them, and what was merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llama_index.core.schema import NodeWithScore, TextNode

from pipeline.answer import Passage
from pipeline.automerge import Merge, merge_sections
from pipeline.fusion import Fused
from pipeline.stores.base import DocumentStore, SearchResponse, Vector


@dataclass(frozen=True, slots=True)
class Gathered:
    """Passages in the order of the fused ranking, the merges, and how to name each section."""

    passages: list[Passage]
    merges: list[Merge]
    labels: Mapping[str, Mapping[str, Any]]  # section id → source, heading_path, siblings


def gather(
    ranking: Sequence[Fused],
    sentence_ranking: Sequence[Fused],
    response: SearchResponse,
    *,
    store: DocumentStore,
    vector: Vector | None,
    threshold: float,
) -> Gathered:
    """Fetch the ranked sections and their sentences in one call each, and merge where enough were found.

    A section found through its own lists only gets its best sentences by vector, so that each passage
    can be quoted. A hit whose section has vanished since (another process deleted it) is left out.
    """
    ids = [item.id for item in ranking]
    sections, leaves = store.sections.get_many(ids), store.sentences.of_sections(ids)
    found = _found(sentence_ranking, response, ids)
    siblings = {section_id: len(leaves.get(section_id, ())) for section_id in ids}
    merges = merge_sections(found, siblings, simple_ratio_thresh=threshold)
    closeness = _closeness([i for i in ids if not found[i]], leaves, store=store, vector=vector)
    passages = []
    for item in ranking:
        if item.id not in sections:
            continue
        hits = _hits(leaves.get(item.id, []), found[item.id] or closeness.get(item.id, {}))
        passages.append(Passage(sections[item.id], hits, merges[item.id].merged, item.score))
    labels = {
        passage.section.node_id: {
            "source": passage.section.metadata["source"],
            "heading_path": passage.section.metadata["heading_path"],
            "siblings": siblings[passage.section.node_id],
        }
        for passage in passages
    }
    shown = [merge for merge in merges.values() if merge.found and merge.section_id in labels]
    return Gathered(passages, shown, labels)


def _found(
    sentence_ranking: Sequence[Fused], response: SearchResponse, section_ids: Sequence[str]
) -> dict[str, dict[str, float]]:
    """For each section the sentences that the lists named, with their fused scores."""
    section_of = {
        hit.node_id: hit.section_id for hit in (*response.bm25_sentences, *response.dense_sentences)
    }
    found: dict[str, dict[str, float]] = {section_id: {} for section_id in section_ids}
    for item in sentence_ranking:
        if section_of[item.id] in found:
            found[section_of[item.id]][item.id] = item.score
    return found


def _closeness(
    section_ids: Sequence[str],
    leaves: Mapping[str, Sequence[TextNode]],
    *,
    store: DocumentStore,
    vector: Vector | None,
) -> dict[str, dict[str, float]]:
    """For each section its one sentence nearest to the query; nothing without a query vector."""
    nodes = [leaf.node_id for section_id in section_ids for leaf in leaves.get(section_id, ())]
    if vector is None or not nodes:
        return {}
    vectors = store.sentences.vectors(nodes)
    nearest: dict[str, dict[str, float]] = {}
    for section_id in section_ids:
        scores = {
            leaf.node_id: float(np.dot(vectors[leaf.node_id], vector))
            for leaf in leaves.get(section_id, ())
            if leaf.node_id in vectors
        }
        if scores:
            best = max(scores, key=lambda node_id: (scores[node_id], node_id))
            nearest[section_id] = {best: max(0.0, scores[best])}
    return nearest


def _hits(leaves: Sequence[TextNode], scores: Mapping[str, float]) -> tuple[NodeWithScore, ...]:
    hits = [NodeWithScore(node=leaf, score=scores[leaf.node_id]) for leaf in leaves if leaf.node_id in scores]
    return tuple(sorted(hits, key=lambda hit: (-(hit.score or 0.0), hit.node.metadata["position"])))
