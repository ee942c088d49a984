"""What comes next: what follows in the document upon what an answer has shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pipeline.answer import Answer, Citation
from pipeline.answering.quotes import Quote, opening_quote
from pipeline.answering.section_blocks import end_of
from pipeline.errors import UnknownDocument
from pipeline.nodes import Node, StoredNode
from pipeline.stores.base import DocumentStore

FAILED = re.compile(
    r"\bif\b|\bfail|\bnot\b|\bno longer\b|\bstill\b|\botherwise\b|\bliving with\b|\bbackup\b", re.IGNORECASE
)
"""Headings of what is done where the first thing did not help."""
EXAMPLE = re.compile(r"\bexamples?\b", re.IGNORECASE)


def what_follows(said: Sequence[Answer], *, store: DocumentStore, failed: bool) -> list[Quote]:
    """The rest of the section that the last answer is about, and the next one under the same heading.

    Where what it says has `failed`, the next one that is about that. Nothing of it was shown in answers on
    the same topic; [] where nothing follows, or the document is gone.
    """
    shown = [cited for answer in said for cited in _seen(answer)]
    begun = _leading(said[-1], steps=failed)
    if begun is None:
        return []
    try:
        sections = store.sections.document(begun.source).sections
    except UnknownDocument:
        return []
    place = next((at for at, section in enumerate(sections) if section.node_id == begun.section_id), None)
    if place is None:
        return []
    following = list(_beside(sections, place))
    if failed:
        following.sort(key=lambda section: not FAILED.search(_path(section)[-1]))
    rest = _unshown(sections[place], shown, store)
    others = (quote for section in following if (quote := _unshown(section, shown, store)))
    return [quote for quote in (rest, next(others, None)) if quote]


def examples(quotes: Sequence[Quote]) -> list[Quote]:
    """The first quote that is an example: code, or what stands under such a heading."""
    return [quote for quote in quotes if quote.kind == "code" or EXAMPLE.search(_path(quote.best)[-1])][:1]


def is_shown(quote: Quote, said: Sequence[Answer]) -> bool:
    """Whether answers have shown any of a quote."""
    source = quote.passage.section.metadata["source"]
    return any(
        cited.source == source and cited.start < quote.end and quote.start < cited.end
        for answer in said
        for cited in _seen(answer)
    )


def _seen(answer: Answer) -> list[Citation]:
    """The citations that a reader saw without a click."""
    folded = {unit.marker for unit in answer.units if unit.folded}
    return [cited for cited in answer.citations if cited.marker not in folded]


def _leading(last: Answer, *, steps: bool) -> Citation | None:
    """What an answer, or that to the last of its questions, shows first; rather `steps`, where it has any."""
    answer = last.each[-1]
    seen = _seen(answer)
    kinds = {unit.marker: unit.kind for unit in answer.units}
    done = [cited for cited in seen if steps and kinds.get(cited.marker) == "steps"]
    return next(iter([*done, *seen]), None)


def _beside(sections: Sequence[StoredNode], place: int) -> Iterator[StoredNode]:
    """The sections after one, as long as they stand below it or under the same heading."""
    path = _path(sections[place])
    for section in sections[place + 1 :]:
        other = _path(section)
        if other[: len(path)] != path and (len(path) < 2 or other[: len(path) - 1] != path[:-1]):
            return
        yield section


def _path(section: Node) -> tuple[str, ...]:
    return tuple(section.metadata["heading_path"]) or ("",)


def _unshown(section: StoredNode, shown: Sequence[Citation], store: DocumentStore) -> Quote | None:
    """As much of a section as a quote may have, after what was shown of it."""
    source = section.metadata["source"]
    ends = (cited.end for cited in shown if cited.source == source and cited.start < end_of(section))
    return opening_quote(section, store=store, after=max(ends, default=0))
