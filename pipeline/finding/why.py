"""Why not this page? The ranks of one section in a search, and the step that dropped it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.answer import Answer, Retrieval
from pipeline.errors import UnknownDocument
from pipeline.nodes import Node
from pipeline.steps import records
from pipeline.steps.records import Step, step_of
from pipeline.stores.base import SectionStore
from pipeline.stores.globs import matches
from pipeline.terms import content_terms, stop_terms, text_terms

if TYPE_CHECKING:
    from pipeline.options import RetrievalOptions
    from pipeline.retrieve import HybridSearch

CHANGED = "The index has changed since this was answered: these are the ranks of today."


@dataclass(frozen=True, slots=True)
class Place:
    """Where a section stands in one list: rank from 1 and raw score; None where it is not in it."""

    rank: int | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Why:
    """How one section fared in a search: `dropped_by` is the step that lost it, "" if it was selected."""

    source: str
    heading_path: tuple[str, ...]
    indexed: bool
    dropped_by: str
    explanation: str
    lists: Mapping[str, Place] = field(default_factory=dict)
    fused: Place = field(default_factory=Place)
    reranked: Place = field(default_factory=Place)
    final_rank: int | None = None
    remedy: str = ""  # a change of the document or of an option that would have brought it


def why(retrieval: Retrieval, *, sections: SectionStore, source: str, heading: str) -> Why:
    """Follow the section `heading` ("Tank", "ECS > Tank") through a search that kept all ranks."""
    try:
        found = sections.document(source).sections
    except UnknownDocument as error:
        return Why(source, (), False, "not indexed", str(error))
    wanted = heading.strip().casefold()
    for section in found:
        path = section.metadata["heading_path"]
        if wanted in (" > ".join(path).casefold(), "".join(path[-1:]).casefold()):
            return _followed(section, retrieval.steps)
    names = ", ".join(repr("".join(section.metadata["heading_path"][-1:])) for section in found[:8])
    text = f"'{source}' is indexed, but no section in it is called '{heading}'. It has {names}."
    return Why(source, (), False, "not indexed", text)


def why_answered(
    answer: Answer, *, hybrid_search: HybridSearch, options: RetrievalOptions, source: str, heading: str
) -> Why:
    """The same for a stored answer, by a new search; it says so where the index has changed since."""
    retrieval = hybrid_search.search(
        answer.condensed_question or answer.question,
        options=options,
        hypothesis=step_of(answer.steps, records.HydeStep).hypothesis,
        ranks=None,
        alternative=step_of(answer.steps, records.SearchStep).alternative_query,
    )
    found = why(retrieval, sections=hybrid_search.store.sections, source=source, heading=heading)
    then, now = (
        [item.id for item in step_of(steps, records.FuseStep).ranking[: records.KEPT_RANKS]]
        for steps in (answer.steps, retrieval.steps)
    )
    return replace(found, explanation=f"{found.explanation} {CHANGED}") if then and then != now else found


def _followed(section: Node, steps: Sequence[Step]) -> Why:
    """The section's places from step to step, and the first step after which it is missing."""
    search, select = step_of(steps, records.SearchStep), step_of(steps, records.SelectStep)
    fusion, rerank = step_of(steps, records.FuseStep), step_of(steps, records.RerankStep)
    own, metadata = section.node_id, section.metadata
    parents = step_of(steps, records.MergeUpStep).parents
    shown = next((parent.section_id for parent in parents if own in parent.members), own)
    lists = {
        name: _place(((h.section_id, h.score) for h in hits), own) for name, hits in search.lists.items()
    }
    fused = _place(((item.id, item.score) for item in fusion.ranking), own)
    reranked = _place(((item.section_id, item.score) for item in rerank.after), own)
    final = _place(((id_, 0.0) for id_ in select.selected), shown).rank
    reason = next((item.why for item in select.dropped if item.section_id == shown), "")
    remedy = _other_words(section, search.text)
    if final is not None:
        dropped_by, text, remedy = "", f"It was selected, in place {final}.", ""
    elif search.paths and not matches(metadata["source"], search.paths):
        dropped_by, text = "search", "Only other documents were searched."
        remedy = "A wider choice of documents."
    elif all(place.rank is None for place in lists.values()):
        dropped_by, text = (
            "search",
            f"None of the four lists has it among its {search.candidates} candidates.",
        )
    elif fused.rank is None:
        dropped_by, text = "fuse", "It was found only by lists whose weight is 0."
    elif not reason:
        dropped_by, text = "merge", f"It was in place {fused.rank} of the fusion; fewer passages are fetched."
    else:
        rank = reranked.rank or fused.rank
        dropped_by = "rerank" if fused.rank <= select.top_k < rank else "select"
        text = f"It was in place {fused.rank}, {rank} after reranking, and was left out: {reason}."
        remedy = f"At least {rank} passages (top_k), or more tokens for them (context_tokens)."
    path = tuple(metadata["heading_path"])
    return Why(metadata["source"], path, True, dropped_by, text, lists, fused, reranked, final, remedy)


def _place(ranking: Iterable[tuple[str, float]], section_id: str) -> Place:
    """The first place of a section in a ranking of section ids and scores."""
    places = (Place(rank, score) for rank, (found, score) in enumerate(ranking, 1) if found == section_id)
    return next(places, Place())


def _other_words(section: Node, question: str) -> str:
    """The words of the question that the section, or else its heading, lacks."""
    heading = " ".join(section.metadata["heading_path"])
    for where, text in (("A sentence in it", f"{heading}\n{section.text}"), ("A heading", heading)):
        known = stop_terms() | text_terms(text)
        if absent := [word for word in re.findall(r"\w+", question) if {*content_terms(word)} - known]:
            return f"{where} with “{'”, “'.join(absent[:4])}”."
    return "A section of its own: it says more than the question asks."
