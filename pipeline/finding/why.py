"""Why not this page? The ranks of one section in a search, and the step that dropped it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from pipeline.answer import Answer, Retrieval
from pipeline.errors import UnknownDocument
from pipeline.nodes import Node
from pipeline.steps.records import (
    KEPT_RANKS,
    FuseStep,
    HydeStep,
    LinksStep,
    MergeStep,
    MergeUpStep,
    RerankStep,
    SearchStep,
    SelectStep,
    Step,
    step_of,
)
from pipeline.stores.base import SectionStore
from pipeline.stores.globs import as_scope, matches, written
from pipeline.terms import content_terms, stop_terms, text_terms

if TYPE_CHECKING:
    from pipeline.options import RetrievalOptions
    from pipeline.retrieve import HybridSearch

NOT_INDEXED = "not indexed"
CONTENTS = "contents"
IS_CONTENTS = "It was found, but its page is a table of contents, which answers nothing by itself."
MOST_WORDS = 4
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
    remedy: str = ""  # what of the document, or which setting, would have brought it


class StandIn(NamedTuple):
    """The passage that a section is in: itself, a parent, or what a link brought."""

    section_id: str
    how: str = ""


@dataclass(frozen=True, slots=True)
class Places:
    """Where one section stood from step to step; `final` is its rank among those selected."""

    lists: Mapping[str, Place]
    fused: Place
    reranked: Place
    final: int | None
    stand_in: StandIn


def why(retrieval: Retrieval, *, sections: SectionStore, source: str, heading: str) -> Why:
    """Follow the section named `heading` in `source` through a search whose steps kept all ranks."""
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
    return _follow(section, retrieval.steps)


def why_answered(
    answer: Answer,
    *,
    hybrid_search: HybridSearch,
    options: RetrievalOptions,
    source: str,
    heading: str,
) -> Why:
    """The same for a stored answer, by a new search with its options and its hypothesis.

    Where that search ranks other sections than the answer's did, the index has changed; it says so.
    """
    retrieval = hybrid_search.search(
        answer.condensed_question or answer.question,
        options=options,
        hypothesis=step_of(answer.steps, HydeStep).hypothesis,
        ranks=None,
        beside=step_of(answer.steps, SearchStep).other_wording,
    )
    found = why(retrieval, sections=hybrid_search.store.sections, source=source, heading=heading)
    then, now = _first_ranks(answer.steps), _first_ranks(retrieval.steps)
    if then and then != now:
        return replace(found, explanation=f"{found.explanation} {CHANGED}")
    return found


def _first_ranks(steps: Sequence[Step]) -> list[str]:
    return [item.id for item in step_of(steps, FuseStep).ranking[:KEPT_RANKS]]


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


def _follow(section: Node, steps: Sequence[Step]) -> Why:
    search, fuse = step_of(steps, SearchStep), step_of(steps, FuseStep)
    rerank, select = step_of(steps, RerankStep), step_of(steps, SelectStep)
    stand_in = _stand_in(section.node_id, steps)
    places = Places(
        lists={
            name: _place(((hit.section_id, hit.score) for hit in hits), section)
            for name, hits in search.lists.items()
        },
        fused=_place(((item.id, item.score) for item in fuse.ranking), section),
        reranked=_place(((item.section_id, item.score) for item in rerank.after), section),
        final=next((n for n, i in enumerate(select.selected, start=1) if i == stand_in.section_id), None),
        stand_in=stand_in,
    )
    dropped_by, explanation = _verdict(section, places, search, select)
    fetched = {item.section_id for item in step_of(steps, MergeStep).sections}
    if dropped_by == "merge" and section.node_id in fetched:
        dropped_by, explanation = CONTENTS, IS_CONTENTS
    return Why(
        source=section.metadata["source"],
        heading_path=tuple(section.metadata["heading_path"]),
        indexed=True,
        dropped_by=dropped_by,
        explanation=explanation,
        lists=places.lists,
        fused=places.fused,
        reranked=places.reranked,
        final_rank=places.final,
        remedy=_remedy(dropped_by, section, places, search),
    )


def _stand_in(section_id: str, steps: Sequence[Step]) -> StandIn:
    """What stands for a section after links were followed and parents were merged."""
    found = StandIn(section_id)
    for led in step_of(steps, LinksStep).led:
        if section_id in (led.section_id, *led.members):
            found = StandIn(led.section_id, f", because another passage names it as '{led.name}'")
    for parent in step_of(steps, MergeUpStep).parents:
        if section_id in parent.members:
            found = StandIn(parent.section_id, f", as a part of '{' > '.join(parent.heading_path)}'")
    return found


def _place(ranking: Iterable[tuple[str, float]], section: Node) -> Place:
    """The first place of a section in a ranking of section ids and scores."""
    for rank, (section_id, score) in enumerate(ranking, start=1):
        if section_id == section.node_id:
            return Place(rank, float(score))
    return Place()


def _verdict(section: Node, places: Places, search: SearchStep, select: SelectStep) -> tuple[str, str]:
    if places.final is not None:
        return "", f"It was selected, in place {places.final}{places.stand_in.how}."
    if all(place.rank is None for place in places.lists.values()):
        return "search", _not_found(section.metadata["source"], search)
    if places.fused.rank is None:
        return "fuse", "It was found only by lists whose weight is 0."
    place = f"It was in place {places.fused.rank} of the fusion"
    reason = next(
        (item.why for item in select.dropped if item.section_id == places.stand_in.section_id), None
    )
    if reason is None:
        return "merge", f"{place}, further down than passages are fetched."
    if places.reranked.rank is not None and places.fused.rank <= select.top_k < places.reranked.rank:
        return "rerank", f"{place}, but in place {places.reranked.rank} after reranking: {reason}."
    return "select", f"{place}, but was left out: {reason}."


def _remedy(dropped_by: str, section: Node, places: Places, search: SearchStep) -> str:
    """What would have brought a section that was dropped; "" for one that was not."""
    rank = places.reranked.rank or places.fused.rank
    match dropped_by:
        case "":
            return ""
        case "search" if search.paths and not matches(section.metadata["source"], search.paths):
            return "A wider choice of documents."
        case "fuse":
            return "A weight of more than 0 for the lists that found it: alpha, and the sections' shares."
        case "rerank":
            return f"The search without the reranker, or at least {rank} passages (top_k)."
        case "select":
            return f"At least {rank} passages (top_k), or more tokens for them (context_tokens)."
        case _ if dropped_by == CONTENTS:
            return "A question that names the contents or chapters."
        case _:
            return _other_words(section, search.text)


def _other_words(section: Node, question: str) -> str:
    """Which words of the question the section, or its heading, should have; else what it says too much."""
    words = {term: word for word in re.findall(r"\w+", question) for term in content_terms(word)}
    asked = [word for term, word in words.items() if term not in stop_terms()]
    text = text_terms(section.text)
    heading = text_terms(" ".join(section.metadata["heading_path"]))
    absent = [word for word in asked if not text & set(content_terms(word))]
    unnamed = [word for word in asked if not heading & set(content_terms(word))]
    if absent:
        return f"A sentence in it with {_listed(absent)}, or a heading, which counts for more."
    if unnamed:
        return f"A heading with {_listed(unnamed)}: its text has all the words, its heading does not."
    return "A document, or a section, of its own: it says more than what was asked."


def _listed(words: Sequence[str]) -> str:
    quoted = [f"“{word}”" for word in words[:MOST_WORDS]]
    return f"the word{'s' if len(quoted) > 1 else ''} {' and '.join(quoted)}"


def _not_found(source: str, searched: SearchStep) -> str:
    if searched.paths and not matches(source, searched.paths):
        return (
            f"Only sources that match '{' or '.join(map(written, as_scope(searched.paths)))}' were searched."
        )
    return f"None of the four lists has it among its candidates ({searched.candidates} sections each)."
