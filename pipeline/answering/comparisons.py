"""Compare: the best quotes of both sides under a heading each; a sentence that has both goes first."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pipeline.analysis import analyse
from pipeline.answer import Citation, Passage, Retrieval, Unit, Verdict
from pipeline.answering.quotes import Quote, choose_quotes, quote_of
from pipeline.answering.replies import Arranged, block_quote, quote_citations, quote_units, where
from pipeline.answering.section_blocks import ends_with_colon
from pipeline.asking.kinds import Sides, sides_of
from pipeline.finding.passages import passage_leaves
from pipeline.models.base import Encoder
from pipeline.nodes import Node
from pipeline.stores.base import DocumentStore
from pipeline.terms import content_terms, share

QUOTES_A_SIDE = 2
READ_PASSAGES = 3  # of each side, for one that names it
NAMED = 0.5  # share of a side's own words that one of them must have

COMPARING = re.compile(r"\b(unlike|whereas|while|than|differ\w*|instead|but|however|rather)\b", re.IGNORECASE)
MISSING = "The documents do not seem to say anything about “{side}”."

Search = Callable[[str], Retrieval]


@dataclass(frozen=True, slots=True)
class Side:
    """One of two things: how the question calls it, whether it was found, and the quotes of it alone."""

    name: str
    found: bool
    quotes: tuple[Quote, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides, and what the documents say of both in one place."""

    both: tuple[Quote, ...]
    sides: tuple[Side, Side]

    @property
    def missing(self) -> tuple[str, ...]:
        """The sides that the documents do not have."""
        return tuple(side.name for side in self.sides if not side.found)

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """All quotes in the order in which they are shown."""
        return (*self.both, *self.sides[0].quotes, *self.sides[1].quotes)


def compare(
    sides: Sides, retrieval: Retrieval, *, search: Search, store: DocumentStore, encoder: Encoder
) -> Comparison:
    """Both sides with up to two quotes each, every one searched for by itself.

    `retrieval` is what the whole question found: a sentence that has the words of both sides is looked for
    in its passages, too.
    """
    found = [search(name) for name in sides]
    one, two = (
        _of_side(name, part, store=store, encoder=encoder) for name, part in zip(sides, found, strict=True)
    )
    shared = tuple(quote for quote in one if _is_of_both(quote, two, sides))
    if not shared and one and two:
        shared = _with_both(sides, (retrieval, *found), store)
    first = _own(one, shared)
    repeated = tuple(quote for quote in two if any(_is_same(quote, other) for other in first))
    second = _own(two, (*shared, *repeated)) or _own(two, shared)
    return Comparison(shared[:1], (Side(sides.one, bool(one), first), Side(sides.two, bool(two), second)))


def compared(
    retrieval: Retrieval,
    *,
    search: Search,
    store: DocumentStore,
    encoder: Encoder,
    file_hashes: Mapping[str, str],
) -> Arranged | None:
    """The comparison that a question asks for as an answer; None where neither side is in the documents."""
    sides = sides_of(retrieval.question)
    if sides is None:
        return None
    found = compare(sides, retrieval, search=search, store=store, encoder=encoder)
    if len(found.missing) == len(found.sides):
        return None
    verdict: Verdict = "closest" if found.missing else "answered"
    citations = quote_citations(found.quotes, file_hashes)
    units = tuple(replace(unit, folded=False) for unit in quote_units(found.quotes))
    return Arranged(comparison_text(found, citations, units), found.quotes, citations, units, verdict)


def comparison_text(comparison: Comparison, citations: Sequence[Citation], units: Sequence[Unit]) -> str:
    """The comparison as Markdown; its quotes have the citations' markers and the units' leads, in order."""
    quotes = (
        f"*{where(cited)}*\n\n{block_quote(cited, unit)}"
        for cited, unit in zip(citations, units, strict=True)
    )
    parts: list[str] = [next(quotes) for _ in comparison.both]
    for side in comparison.sides:
        if not side.found:
            parts.append(MISSING.format(side=side.name))
        elif side.quotes:
            parts.append(f"**{side.name}**")
            parts += [next(quotes) for _ in side.quotes]
    return "\n\n".join(parts)


def _of_side(name: str, retrieval: Retrieval, *, store: DocumentStore, encoder: Encoder) -> list[Quote]:
    """Its best quotes, one more than is shown: what both sides have in common is shown above them."""
    if not _is_found(name, retrieval):
        return []
    return choose_quotes(retrieval, store=store, encoder=encoder, limit=QUOTES_A_SIDE + 1)


def _own(quotes: Sequence[Quote], both: Sequence[Quote]) -> tuple[Quote, ...]:
    """A side's own quotes, as many as are shown."""
    own = [quote for quote in quotes if not any(map(quote.overlaps, both))]
    return tuple(own[:QUOTES_A_SIDE])


def _is_of_both(quote: Quote, others: Sequence[Quote], sides: Sides) -> bool:
    """Whether the other side has it, too, and it names both: rows of one table may be of one side each."""
    if not any(map(quote.overlaps, others)):
        return False
    one, two = (set(content_terms(side)) for side in sides)
    words = set(analyse(quote.shown))
    return all(not own or own & words for own in (one - two, two - one))


def _is_same(one: Quote, two: Quote) -> bool:
    return one.overlaps(two) and (one.start, one.end) == (two.start, two.end)


def _is_found(name: str, retrieval: Retrieval) -> bool:
    """True where the first passages have enough of the side's words; all, where the verdict is no."""
    terms = content_terms(name)
    enough = NAMED if retrieval.answerability.answerable else 1.0
    return any(share(terms, _words(passage)) >= enough for passage in retrieval.passages[:READ_PASSAGES])


def _with_both(sides: Sides, found: Sequence[Retrieval], store: DocumentStore) -> tuple[Quote, ...]:
    """The sentences of the first passages that have all words of both sides, comparing ones first."""
    one, two = (set(content_terms(side)) for side in sides)
    if not one - two or not two - one:
        return ()
    passages = {p.section.node_id: p for part in found for p in part.passages[:READ_PASSAGES]}
    leaves = passage_leaves([*passages.values()], store=store)
    quotes = [
        quote_of(passage, [leaf], score=passage.score)
        for section_id, passage in passages.items()
        for leaf in leaves.get(section_id, ())
        if _is_sentence(leaf) and one | two <= set(analyse(leaf.text))
    ]
    return tuple(sorted(quotes, key=lambda quote: (COMPARING.search(quote.text) is None, -quote.score)))


def _is_sentence(leaf: Node) -> bool:
    """True for what says something: no row, no code, no introduction of what follows."""
    return leaf.metadata["kind"] in ("prose", "list_item") and not ends_with_colon(leaf.text)


def _words(passage: Passage) -> set[str]:
    return {*analyse(passage.section.text), *analyse(" ".join(passage.section.metadata["heading_path"]))}
