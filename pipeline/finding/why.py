"""Why not this page? The ranks of one section in a search, and the step that dropped it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.analysis import PATH_SEPARATOR
from pipeline.answer import Answer, Retrieval
from pipeline.errors import UnknownDocument
from pipeline.finding.fusion import LISTS
from pipeline.nodes import Node, end_of, start_of
from pipeline.steps.records import Step, data_of
from pipeline.stores.base import DocumentStore
from pipeline.stores.globs import matches

if TYPE_CHECKING:
    from pipeline.options import RetrievalOptions
    from pipeline.retrieve import HybridSearch

NOT_INDEXED = "not indexed"


@dataclass(frozen=True, slots=True)
class Place:
    """A section's rank in one list, from 1, and its score there; None if it is not in the list."""

    rank: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """What became of one section in a search.

    `dropped_by` is the step that dropped it, `NOT_INDEXED`, or "" if the section was selected.
    """

    source: str
    heading_path: tuple[str, ...]
    dropped_by: str
    explanation: str
    places: Mapping[str, Place] = field(default_factory=dict)  # in the lists, "fused" and "reranked"
    final_rank: int | None = None


def why(retrieval: Retrieval, *, store: DocumentStore, source: str, heading: str) -> Why:
    """Follow the section `heading` ("Tank", "ECS > Tank") through a search that kept all ranks."""
    try:
        found = store.document(source).sections
    except UnknownDocument as error:
        return Why(source, (), NOT_INDEXED, str(error))
    wanted = heading.strip().casefold()
    for section in found:
        path = section.metadata["heading_path"]
        if wanted in (PATH_SEPARATOR.join(path).casefold(), path[-1].casefold()):
            return _followed(section, retrieval.steps)
    names = ", ".join(repr(section.metadata["heading_path"][-1]) for section in found[:8])
    text = f"'{source}' is indexed, but no section in it is called '{heading}'. It has {names}."
    return Why(source, (), NOT_INDEXED, text)


def why_answered(
    answer: Answer, *, hybrid_search: HybridSearch, options: RetrievalOptions, source: str, heading: str
) -> Why:
    """Follow a section through a new search for a stored answer's question, up to the answer itself.

    The ranks are those of today's index. If the search selected the section and the answer cites nothing of
    it, the step that wrote the answer left it out.
    """
    retrieval = hybrid_search.search(
        answer.condensed_question or answer.question,
        options=options,
        hypothesis=data_of(answer.steps, "embed").get("hypothesis", ""),
        ranks=None,
    )
    found = why(retrieval, store=hybrid_search.store, source=source, heading=heading)
    if not found.final_rank:
        return found
    cited = [one for one in (*answer.citations, *answer.nearest) if one.source == source]
    for section in hybrid_search.store.document(source).sections:
        is_own = tuple(section.metadata["heading_path"]) == found.heading_path
        if is_own and any(one.start < end_of(section) and start_of(section) < one.end for one in cited):
            return found
    text = f"It was passage {found.final_rank}, and the answer cites nothing of it."
    return replace(found, dropped_by="quote" if answer.mode == "quote" else "generate", explanation=text)


def _followed(section: Node, steps: Sequence[Step]) -> Why:
    """Return the section's rank in each step, and the first step after which it is missing."""
    search, select = data_of(steps, "search"), data_of(steps, "select")
    own, metadata = section.node_id, section.metadata
    places = _places(own, steps)
    parents = data_of(steps, "merge_up").get("parents", ())
    shown = next((parent["section_id"] for parent in parents if own in parent["members"]), own)
    reason = next((item["why"] for item in select["dropped"] if item["section_id"] == shown), "")
    fused, final = places["fused"].rank, None
    if shown in select["selected"]:
        final = select["selected"].index(shown) + 1
        dropped_by, text = "", f"It was selected, in place {final}."
    elif search["paths"] and not matches(metadata["source"], search["paths"]):
        dropped_by, text = "search", "Only other documents were searched."
    elif fused is None:
        text = f"None of the four lists has it among its {search['candidates']} candidates."
        dropped_by = "search"
    elif not reason:
        dropped_by, text = "merge", f"It was in place {fused} of the fusion; fewer passages are fetched."
    else:
        rank = places["reranked"].rank or fused
        dropped_by = "rerank" if fused <= select["top_k"] < rank else "select"
        text = f"It was in place {fused}, {rank} after reranking, and was left out: {reason}."
    return Why(metadata["source"], tuple(metadata["heading_path"]), dropped_by, text, places, final)


def _places(section_id: str, steps: Sequence[Step]) -> dict[str, Place]:
    """Return the first place of a section in each list, fused and reranked."""
    search, fused, reranked = (data_of(steps, name) for name in ("search", "fuse", "rerank"))
    rankings = {name: [(hit["section_id"], hit["score"]) for hit in search.get(name, ())] for name in LISTS}
    rankings["fused"] = [(item["id"], item["score"]) for item in fused.get("ranking", ())]
    rankings["reranked"] = [(item["section_id"], item["score"]) for item in reranked.get("after", ())]
    places = dict.fromkeys(rankings, Place())
    for name, ranking in rankings.items():
        for rank, (id_, score) in reversed([*enumerate(ranking, 1)]):
            if id_ == section_id:
                places[name] = Place(rank, score)
    return places
