"""Why not this page? The ranks of one section in a search, and the step that dropped it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.analysis import PATH_SEPARATOR
from pipeline.answer import Answer, Retrieval
from pipeline.errors import UnknownDocument
from pipeline.finding.fusion import LISTS
from pipeline.nodes import Node
from pipeline.steps.records import Step, data_of
from pipeline.stores.base import SectionStore
from pipeline.stores.globs import matches

if TYPE_CHECKING:
    from pipeline.options import RetrievalOptions
    from pipeline.retrieve import HybridSearch

NOT_INDEXED = "not indexed"
CHANGED = "The index has changed since this was answered: these are the ranks of today."


@dataclass(frozen=True, slots=True)
class Place:
    """Where a section stands in one list: rank from 1 and raw score; None where it is not in it."""

    rank: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """How one section fared in a search.

    `dropped_by` is the step that lost it, `NOT_INDEXED`, or "" where the section was selected.
    """

    source: str
    heading_path: tuple[str, ...]
    dropped_by: str
    explanation: str
    places: Mapping[str, Place] = field(default_factory=dict)  # in the lists, "fused" and "reranked"
    final_rank: int | None = None


def why(retrieval: Retrieval, *, sections: SectionStore, source: str, heading: str) -> Why:
    """Follow the section `heading` ("Tank", "ECS > Tank") through a search that kept all ranks."""
    try:
        found = sections.document(source).sections
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

    Where the search selected the section and the answer cites nothing of it, the step that wrote the answer
    left it out. `explanation` says so where the index has changed since.
    """
    retrieval = hybrid_search.search(
        answer.condensed_question or answer.question,
        options=options,
        hypothesis=data_of(answer.steps, "hyde").get("hypothesis", ""),
        ranks=None,
    )
    found = why(retrieval, sections=hybrid_search.store.sections, source=source, heading=heading)
    if found.final_rank and not _is_cited(found, answer, hybrid_search.store.sections):
        step = "quote" if answer.mode == "quote" else "generate"
        text = f"It was passage {found.final_rank}, and the answer cites nothing of it."
        found = replace(found, dropped_by=step, explanation=text)
    then, now = (_rankings(steps)["fused"] for steps in (answer.steps, retrieval.steps))
    changed = [known for known, _ in then] != [known for known, _ in now[: len(then)]]
    return replace(found, explanation=f"{found.explanation} {CHANGED}") if changed else found


def _is_cited(found: Why, answer: Answer, sections: SectionStore) -> bool:
    """Return whether a citation of the answer, or a nearest section that it shows, is in the section."""
    document = sections.document(found.source)
    own = [section for section in document.sections if _path(section) == found.heading_path]
    return any(
        cited.source == found.source
        and cited.start < (s.end_char_idx or 0)
        and (s.start_char_idx or 0) < cited.end
        for cited in (*answer.citations, *answer.nearest)
        for s in own
    )


def _path(section: Node) -> tuple[str, ...]:
    return tuple(section.metadata["heading_path"])


def _rankings(steps: Sequence[Step]) -> dict[str, list[tuple[str, float]]]:
    """Return the ids of sections with their scores, best first: of each list, fused and reranked."""
    search = data_of(steps, "search")
    return {
        **{name: [(hit["section_id"], hit["score"]) for hit in search.get(name, ())] for name in LISTS},
        "fused": [(item["id"], item["score"]) for item in data_of(steps, "fuse").get("ranking", ())],
        "reranked": [
            (item["section_id"], item["score"]) for item in data_of(steps, "rerank").get("after", ())
        ],
    }


def _followed(section: Node, steps: Sequence[Step]) -> Why:
    """Return the section's rank in each step, and the first step after which it is missing."""
    search, select = data_of(steps, "search"), data_of(steps, "select")
    own, metadata = section.node_id, section.metadata
    places = {name: _place(ranking, own) for name, ranking in _rankings(steps).items()}
    dropped_by, text, final = "", "", None
    parents = data_of(steps, "merge_up").get("parents", ())
    shown = next((parent["section_id"] for parent in parents if own in parent["members"]), own)
    reason = next((item["why"] for item in select["dropped"] if item["section_id"] == shown), "")
    fused = places["fused"].rank
    if shown in select["selected"]:
        final = select["selected"].index(shown) + 1
        text = f"It was selected, in place {final}."
    elif search["paths"] and not matches(metadata["source"], search["paths"]):
        dropped_by, text = "search", "Only other documents were searched."
    elif all(places[name].rank is None for name in LISTS):
        dropped_by = "search"
        text = f"None of the four lists has it among its {search['candidates']} candidates."
    elif fused is None:
        dropped_by, text = "fuse", "It was found only by lists whose weight is 0."
    elif not reason:
        dropped_by, text = "merge", f"It was in place {fused} of the fusion; fewer passages are fetched."
    else:
        rank = places["reranked"].rank or fused
        dropped_by = "rerank" if fused <= select["top_k"] < rank else "select"
        text = f"It was in place {fused}, {rank} after reranking, and was left out: {reason}."
    return Why(metadata["source"], tuple(metadata["heading_path"]), dropped_by, text, places, final)


def _place(ranking: Iterable[tuple[str, float]], section_id: str) -> Place:
    """Return the first place of a section in a ranking of section ids and scores."""
    places = (Place(rank, score) for rank, (found, score) in enumerate(ranking, 1) if found == section_id)
    return next(places, Place())
