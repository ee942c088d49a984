"""Why not this page? The ranks of one section in a search, and the step that dropped it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pipeline.answer import Answer, Retrieval
from pipeline.errors import UnknownDocument
from pipeline.nodes import Node
from pipeline.steps.records import (
    KEPT_RANKS,
    FuseStep,
    HydeStep,
    MergeUpStep,
    RerankStep,
    SearchStep,
    SelectStep,
    Step,
    step_of,
)  # fmt: skip
from pipeline.stores.base import SectionStore
from pipeline.stores.globs import matches
from pipeline.terms import content_terms, stop_terms, text_terms

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
    remedy: str = ""  # a change of the document, the question or a setting that would have brought it


def why(retrieval: Retrieval, *, sections: SectionStore, source: str, heading: str) -> Why:
    """Follow the section `heading` ("Tank", "ECS > Tank") through a search that kept all ranks."""
    try:
        document = sections.document(source)
    except UnknownDocument as error:
        return Why(source, (), False, NOT_INDEXED, str(error))
    wanted = heading.strip().casefold()
    for section in document.sections:
        path = section.metadata["heading_path"]
        if wanted in (" > ".join(path).casefold(), "".join(path[-1:]).casefold()):
            return _followed(section, retrieval.steps)
    names = ", ".join(repr(node.metadata["heading_path"][-1]) for node in document.sections[:8])
    text = f"'{source}' is indexed, but no section in it is called '{heading}'. It has {names or 'none'}."
    return Why(source, (), False, NOT_INDEXED, text)


def why_answered(
    answer: Answer, *, hybrid_search: HybridSearch, options: RetrievalOptions, source: str, heading: str
) -> Why:
    """The same for a stored answer, by a new search with its options and its hypothesis.

    Where that search ranks other sections than the answer's did, the explanation says that the index changed.
    """
    retrieval = hybrid_search.search(
        answer.condensed_question or answer.question,
        options=options,
        hypothesis=step_of(answer.steps, HydeStep).hypothesis,
        ranks=None,
        alternative=step_of(answer.steps, SearchStep).alternative_query,
    )
    found = why(retrieval, sections=hybrid_search.store.sections, source=source, heading=heading)
    then, now = (step_of(steps, FuseStep).ranking[:KEPT_RANKS] for steps in (answer.steps, retrieval.steps))
    changed = then and [item.id for item in then] != [item.id for item in now]
    return replace(found, explanation=f"{found.explanation} {CHANGED}") if changed else found


def _followed(section: Node, steps: Sequence[Step]) -> Why:
    """The section's places from step to step, and the first step after which it is missing."""
    search, fuse, select = step_of(steps, SearchStep), step_of(steps, FuseStep), step_of(steps, SelectStep)
    rerank, parents = step_of(steps, RerankStep), step_of(steps, MergeUpStep).parents
    own, source = section.node_id, section.metadata["source"]
    shown = next((parent.section_id for parent in parents if own in parent.members), own)
    lists = {
        name: _place([(hit.section_id, hit.score) for hit in hits], own)
        for name, hits in search.lists.items()
    }
    fused = _place([(item.id, item.score) for item in fuse.ranking], own)
    reranked = _place([(item.section_id, item.score) for item in rerank.after], own)
    final = _place([(section_id, 0.0) for section_id in select.selected], shown).rank
    reason = next((item.why for item in select.dropped if item.section_id == shown), "")
    rank, remedy = reranked.rank or fused.rank, _other_words(section, search.text)
    if final is not None:
        dropped_by, text, remedy = "", f"It was selected, in place {final}", ""
        text += ", as a part of its parent." if shown in {p.section_id for p in parents} else "."
    elif all(place.rank is None for place in lists.values()):
        dropped_by, text = (
            "search",
            f"None of the four lists has it among its {search.candidates} candidates.",
        )
        if search.paths and not matches(source, search.paths):
            text, remedy = "Only other documents were searched.", "A wider choice of documents."
    elif fused.rank is None:
        dropped_by, text = "fuse", "It was found only by lists whose weight is 0."
        remedy = "A weight of more than 0 for the lists that found it: alpha, and the sections' shares."
    elif not reason:
        dropped_by, text = "merge", f"It was in place {fused.rank} of the fusion; fewer passages are fetched."
    elif reranked.rank and fused.rank <= select.top_k < reranked.rank:
        dropped_by, text = "rerank", f"The reranker put it from place {fused.rank} to {rank}: {reason}."
        remedy = f"The search without the reranker, or at least {rank} passages (top_k)."
    else:
        dropped_by, text = "select", f"It was in place {rank}, but was left out: {reason}."
        remedy = f"At least {rank} passages (top_k), or more tokens for them (context_tokens)."
    path = tuple(section.metadata["heading_path"])
    return Why(source, path, True, dropped_by, text, lists, fused, reranked, final, remedy)


def _place(ranking: Iterable[tuple[str, float]], section_id: str) -> Place:
    """The first place of a section in a ranking of section ids and scores."""
    places = (Place(n, score) for n, (found, score) in enumerate(ranking, start=1) if found == section_id)
    return next(places, Place())


def _other_words(section: Node, question: str) -> str:
    """The words of the question that the section, or else its heading, lacks."""
    words = re.findall(r"\w+", question)
    heading = " ".join(section.metadata["heading_path"])
    for where, text in (("A sentence in it", f"{heading}\n{section.text}"), ("A heading", heading)):
        absent = [word for word in words if {*content_terms(word)} - stop_terms() - text_terms(text)]
        if absent:
            return f"{where} with “{'”, “'.join(absent[:4])}”."
    return "A section of its own: it says more than the question asks."
