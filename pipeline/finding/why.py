"""Why not this page? The step of a search that dropped one section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.analysis import PATH_SEPARATOR
from pipeline.answer import Retrieval
from pipeline.errors import UnknownDocument
from pipeline.nodes import Node
from pipeline.steps.records import Step, data_of
from pipeline.stores.base import DocumentStore
from pipeline.stores.globs import matches

NOT_INDEXED = "not indexed"


@dataclass(frozen=True, slots=True)
class Why:
    """Why a search did or did not select one section.

    `dropped_by` is the step that dropped it, `NOT_INDEXED`, or "" if the section was selected.
    """

    source: str
    heading_path: tuple[str, ...]
    dropped_by: str
    explanation: str


def why(retrieval: Retrieval, *, store: DocumentStore, source: str, heading: str) -> Why:
    """Return which step dropped the section `heading` ("Tank", "ECS > Tank"); the search kept all ranks."""
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


def _followed(section: Node, steps: Sequence[Step]) -> Why:
    """Return the first step after which the section is missing, with its ranks in words."""
    search, select = data_of(steps, "search"), data_of(steps, "select")
    own, metadata = section.node_id, section.metadata
    parents = data_of(steps, "merge_up").get("parents", ())
    shown = next((parent["section_id"] for parent in parents if own in parent["members"]), own)
    reason = next((item["why"] for item in select["dropped"] if item["section_id"] == shown), "")
    fused = _rank(own, [item["id"] for item in data_of(steps, "fuse").get("ranking", ())])
    if shown in select["selected"]:
        dropped_by, text = "", f"It was selected, in place {_rank(shown, select['selected'])}."
    elif search["paths"] and not matches(metadata["source"], search["paths"]):
        dropped_by, text = "search", "Only other documents were searched."
    elif not fused:
        text = f"None of the four lists has it among its {search['candidates']} candidates."
        dropped_by = "search"
    elif not reason:
        dropped_by, text = "merge", f"It was in place {fused} after fusion, and was not fetched."
    else:
        after = [item["section_id"] for item in data_of(steps, "rerank").get("after", ())]
        rank = _rank(own, after) or fused
        dropped_by = "rerank" if fused <= select["top_k"] < rank else "select"
        text = f"It was in place {fused} after fusion, {rank} after reranking, and was left out: {reason}."
    return Why(metadata["source"], tuple(metadata["heading_path"]), dropped_by, text)


def _rank(section_id: str, ranking: Sequence[str]) -> int:
    """Return a section's place in a ranking, from 1; 0 if it is missing."""
    return ranking.index(section_id) + 1 if section_id in ranking else 0
