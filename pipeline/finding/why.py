"""Why not this page? What became of one section in a search: its ranks, and the step that dropped it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.answer import Retrieval
from pipeline.errors import UnknownDocument
from pipeline.finding.fusion import LISTS
from pipeline.nodes import Node
from pipeline.steps.events import Step
from pipeline.stores.base import SectionStore
from pipeline.stores.globs import matches

NOT_INDEXED = "not indexed"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a section stands in one list: rank from 1 and raw score; None where it is not in it."""

    rank: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """What became of one section: `dropped_by` is the step that lost it, "" where it was selected."""

    source: str
    heading_path: tuple[str, ...]
    indexed: bool
    dropped_by: str
    explanation: str
    lists: Mapping[str, Place] = field(default_factory=dict)
    fused: Place = field(default_factory=Place)
    reranked: Place = field(default_factory=Place)
    final_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """Where one section stood from step to step; `final` is its rank among those selected."""

    lists: Mapping[str, Place]
    fused: Place
    reranked: Place
    final: int | None


def why(retrieval: Retrieval, *, sections: SectionStore, source: str, heading: str) -> Why:
    """Follow the section named `heading` in `source` through the steps of a finished search."""
    try:
        document = sections.document(source)
    except UnknownDocument as error:
        return Why(source, (), False, NOT_INDEXED, str(error))
    section = _find(document.sections, heading)
    if section is None:
        names = [repr(node.metadata["heading_path"][-1]) for node in _named(document.sections)[:8]]
        known = ", ".join(names) or "no headings"
        text = f"'{source}' is indexed, but no section in it is called '{heading}'. It has {known}."
        return Why(source, (), False, NOT_INDEXED, text)
    return _follow(section, {step.name: step for step in retrieval.steps})


def _find(sections: Sequence[Node], heading: str) -> Node | None:
    """The section whose path, written `A > B`, or whose last heading is `heading`; case does not count."""
    wanted = heading.strip().casefold()
    for node in sections:
        path = [part.casefold() for part in node.metadata["heading_path"]]
        if wanted in (" > ".join(path), path[-1] if path else ""):
            return node
    return None


def _named(sections: Sequence[Node]) -> list[Node]:
    return [node for node in sections if node.metadata["heading_path"]]


def _follow(section: Node, steps: Mapping[str, Step]) -> Why:
    lists = {name: _place(steps["search"].outputs[name], section.node_id) for name in LISTS}
    ranking = [item[0] for item in steps["fuse"].outputs["ranking"]]
    scores = {item[0]: item[1] for item in steps["fuse"].outputs["ranking"]}
    fused = _rank(ranking, scores, section.node_id)
    after = steps["rerank"].outputs.get("after", [])
    reranked = _rank([item[0] for item in after], {item[0]: item[1] for item in after}, section.node_id)
    selected = list(steps["select"].outputs["selected"])
    final = selected.index(section.node_id) + 1 if section.node_id in selected else None
    dropped_by, explanation = _verdict(section, Places(lists, fused, reranked, final), steps)
    return Why(
        source=section.metadata["source"],
        heading_path=tuple(section.metadata["heading_path"]),
        indexed=True,
        dropped_by=dropped_by,
        explanation=explanation,
        lists=lists,
        fused=fused,
        reranked=reranked,
        final_rank=final,
    )


def _place(hits: Sequence[Sequence[Any]], section_id: str) -> Place:
    for rank, (_, hit_section, score) in enumerate(hits, start=1):
        if hit_section == section_id:
            return Place(rank, float(score))
    return Place()


def _rank(ranking: Sequence[str], scores: Mapping[str, float], section_id: str) -> Place:
    return Place(ranking.index(section_id) + 1, scores[section_id]) if section_id in scores else Place()


def _verdict(section: Node, places: Places, steps: Mapping[str, Step]) -> tuple[str, str]:
    if places.final is not None:
        return "", f"It was selected, in place {places.final}."
    if all(place.rank is None for place in places.lists.values()):
        return "search", _not_found(section.metadata["source"], steps["search"].inputs)
    if places.fused.rank is None:
        return "fuse", "It was found only by lists whose weight is 0."
    place = f"It was in place {places.fused.rank} of the fusion"
    reason = dict(steps["select"].outputs["dropped"]).get(section.node_id)
    if reason is None:
        return "merge", f"{place}, further down than passages are fetched."
    top_k, reranked = steps["select"].inputs["top_k"], places.reranked.rank
    if reranked is not None and places.fused.rank <= top_k < reranked:
        return "rerank", f"{place}, but in place {reranked} after reranking: {reason}."
    return "select", f"{place}, but was left out: {reason}."


def _not_found(source: str, searched: Mapping[str, Any]) -> str:
    glob = searched.get("paths")
    if glob and not matches(source, glob):
        return f"Only sources that match '{glob}' were searched."
    return f"None of the four lists has it among its candidates ({searched['candidates']} sections each)."
