"""Passages: the fused sections with their text and the sentences found in them, and those that fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pipeline.analysis import title_key
from pipeline.answer import Passage
from pipeline.finding.fusion import Fused
from pipeline.finding.merging import is_merged
from pipeline.finding.names import names, names_first
from pipeline.models.tokens import CountTokens
from pipeline.nodes import Node, ScoredNode, StoredNode, by_section
from pipeline.steps.records import Dropped, FetchedSection, SelectStep
from pipeline.stores.base import DocumentStore, Vector

if TYPE_CHECKING:
    from pipeline.options import SearchOptions
    from pipeline.steps.trace import RunningStep

LOOKED_AT = 100  # sections of the ranking among which names and versions are looked for


def fetch_sections(
    ranking: Sequence[Fused], question: str, *, store: DocumentStore, depth: int
) -> list[tuple[Fused, StoredNode]]:
    """The first `depth` sections of a ranking with their nodes, those that the question names first.

    A section that another process has deleted since is left out.
    """
    nodes = store.sections.get_many([item.id for item in ranking[:depth]])
    title = f"={title_key(question)}"
    is_title = not store.sentences.lacking([title])
    if is_title or names(question) or any("version" in node.metadata for node in nodes.values()):
        nodes = store.sections.get_many([item.id for item in ranking[:LOOKED_AT]])
    found = [(item, nodes[item.id]) for item in ranking if item.id in nodes]
    return names_first(found, [node for _, node in found], question)[:depth]


def gather(
    found: Sequence[tuple[Fused, StoredNode]],
    scores: Mapping[str, Mapping[str, float]],
    *,
    store: DocumentStore,
    vector: Vector | None,
    options: SearchOptions,
) -> list[Passage]:
    """A passage a section, merged where enough of its sentences have `scores` (by section and sentence id).

    A section of which no sentence was found gets the one nearest to `vector`, so that it can be quoted.
    """
    ids = [section.node_id for _, section in found]
    nodes = store.sentences.get_many(
        [node_id for section_id in ids for node_id in scores.get(section_id, ())],
        sections=[section_id for section_id in ids if section_id not in scores],
    )
    unfound = by_section(node for node in nodes.values() if node.section_id not in scores)
    nearest = _nearest(unfound, store=store, vector=vector)
    passages = []
    for item, section in found:
        own = scores.get(item.id, {})
        hits = _ranked((nodes[node_id], score) for node_id, score in own.items() if node_id in nodes)
        merged = is_merged(len(hits), len(section.sentence_ids), threshold=options.simple_ratio_thresh)
        passages.append(Passage(section, hits or nearest.get(item.id, ()), merged, item.score))
    return passages


def fetched(
    passages: Sequence[Passage], scores: Mapping[str, Mapping[str, float]]
) -> tuple[FetchedSection, ...]:
    """The record of each passage's section, with how many of its sentences were found."""
    return tuple(
        FetchedSection(
            passage.section.node_id,
            passage.section.metadata["source"],
            tuple(passage.section.metadata["heading_path"]),
            siblings=max((hit.node.metadata["siblings"] for hit in passage.sentences), default=0),
            found=len(scores.get(passage.section.node_id, ())),
            merged=passage.merged,
        )
        for passage in passages
    )


def passage_leaves(passages: Sequence[Passage], *, store: DocumentStore) -> dict[str, list[Node]]:
    """The sentences of each passage in reading order, by its section's id; of a parent, all its sections'."""
    found = store.sentences.of_sections([section for passage in passages for section in passage.section_ids])
    return {
        passage.section.node_id: [leaf for section in passage.section_ids for leaf in found.get(section, ())]
        for passage in passages
    }


def select(step: RunningStep[SelectStep], passages: Sequence[Passage], count: CountTokens) -> list[Passage]:
    """The passages that fit the step's `top_k` and `context_tokens`, best first.

    A smaller one further down may still fit; the best is always kept: the prompt is budgeted again.
    """
    kept, dropped, tokens = list[Passage](), list[Dropped](), 0
    for passage in passages:
        size = count(passage.text) if len(kept) < step.record.top_k else 0
        if len(kept) == step.record.top_k:
            dropped.append(Dropped(passage.section.node_id, f"beyond the first {step.record.top_k}"))
        elif kept and tokens + size > step.record.context_tokens:
            dropped.append(Dropped(passage.section.node_id, f"{size} tokens do not fit the budget"))
        else:
            kept.append(passage)
            tokens += size
    selected = tuple(passage.section.node_id for passage in kept)
    step.set(selected=selected, dropped=tuple(dropped), tokens=tokens)
    return kept


def _nearest(
    leaves: Mapping[str, Sequence[StoredNode]], *, store: DocumentStore, vector: Vector | None
) -> dict[str, tuple[ScoredNode, ...]]:
    """For each section its one sentence nearest to the query; nothing without a query vector."""
    if vector is None or not leaves:
        return {}
    vectors = store.sentences.vectors([leaf.node_id for group in leaves.values() for leaf in group])
    near = {node_id: max(0.0, float(np.dot(found, vector))) for node_id, found in vectors.items()}
    return {
        section_id: _ranked((leaf, near[leaf.node_id]) for leaf in group if leaf.node_id in near)[:1]
        for section_id, group in leaves.items()
    }


def _ranked(scored: Iterable[tuple[Node, float]]) -> tuple[ScoredNode, ...]:
    """The scored sentences, best first, ties in reading order."""
    hits = (ScoredNode(node, score) for node, score in scored)
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.node.metadata["position"])))
