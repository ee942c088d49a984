"""Sections in, sentences out: sentences, list items, table rows and code, with exact offsets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import PurePosixPath

from readers.blocks import Block, Kind
from readers.commonmark import parse_blocks, without_quote_marks
from readers.dialects import FILL, is_seen, mask
from readers.levels import Leaf, Section, Sentence, build_sentences
from readers.punkt import ABBREVIATIONS, Ends, ends_in, splitter
from readers.split import CELLS, CLAUSES, LINES, WORDS, Cut, Span, TokenLimit, divide

DEFAULT_MAX_TOKENS = 254
"""MiniLM's 256, less its two special tokens."""
FREE_LEAVES = 20_000
"""Leaves of a file that may be as short as they like; a vector alone has 768 bytes."""
JOINED_CHARACTERS = 400
"""Short leaves after them are joined into leaves of at most so many characters."""

_LONG_MARK = re.compile(rf"{FILL}{{200,}}")
"""Hidden data: a leaf on each side of it."""
_BLANKS = "".join(filter(str.isspace, map(chr, range(0x3001)))) + FILL


class SentenceCutter:
    """Cuts sections into leaves; `text == source[start_char_idx:end_char_idx]` for each.

    A sentence of a paragraph, a paragraph of a list item, a table row and the inside of a code block are
    leaves; a longer text than `max_tokens` is divided. All text is in exactly one leaf but for markup between
    leaves: bullets, fences, rules, quote marks, and marks that readers do not see, such as tags. Marks within
    a sentence stay in its text, and are blanks or fillers in its `shown`. An ordered item's number is part of
    its leaf. A table's header row is a leaf, and in the metadata (`header`) of the rows below it.

    After the `FREE_LEAVES` of a file, short leaves are joined with their neighbours.
    """

    def __init__(
        self,
        count_tokens: Callable[[str], int],
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        abbreviations: frozenset[str] = ABBREVIATIONS,
    ) -> None:
        self._abbreviations = abbreviations
        self._limit = TokenLimit(lambda text: count_tokens(text.replace(FILL, "")), max_tokens)

    def cut(self, section: Section) -> list[Sentence]:
        """The sentences of a section, in order."""
        section = section if section.blocks is not None else _parsed(section)
        return build_sentences(section, list(self._leaves(section)))

    def cut_all(self, sections: Iterable[Section]) -> list[Sentence]:
        """The sentences of a file's sections, in order."""
        sentences: list[Sentence] = []
        for section in sections:
            leaves = self._leaves(section)
            few = islice(leaves, max(0, FREE_LEAVES - len(sentences)))
            sentences += build_sentences(section, [*few, *self._joined(leaves, section.text)])
        return sentences

    def _joined(self, leaves: Iterable[Leaf], text: str) -> Iterator[Leaf]:
        """The leaves of a text, short ones with their neighbours; none longer than the limit for all."""
        for group in _groups(leaves, JOINED_CHARACTERS):
            if len(group) == 1 or self._limit.allows(text[group[0].start : group[-1].end]):
                yield replace(group[0], end=group[-1].end)
            else:  # no token is shorter than a character
                for part in _groups(group, self._limit.max_tokens):
                    yield replace(part[0], end=part[-1].end)

    def _leaves(self, section: Section) -> Iterator[Leaf]:
        """The leaves, with offsets in the section's own text."""
        language = str(section.metadata.get("language", ""))
        english = language in ("", "en")
        ends = splitter("en", self._abbreviations).ends if english else ends_in(language)
        cuts = _cuts(ends)
        shown = section.metadata.get("shown", section.text)
        for block in _blocks(section):
            piece = shown[block.start : block.end]
            for start, end in _parts(piece, ends if block.kind is Kind.PROSE else None):
                for first, last in divide(piece[start:end], limit=self._limit, cuts=cuts[block.kind]):
                    span = _trimmed(piece, start + first, start + last)
                    if span:
                        yield Leaf(block.kind, block.start + span[0], block.start + span[1], block.header)


def _cuts(ends: Ends) -> dict[Kind, tuple[Cut, ...]]:
    """Where a block of each kind may be divided, the coarsest cuts first."""
    return {
        Kind.PROSE: (CLAUSES, WORDS),
        Kind.LIST_ITEM: (ends, CLAUSES, WORDS),
        Kind.TABLE_ROW: (CELLS, ends, CLAUSES, WORDS),
        Kind.CODE: (LINES, CLAUSES, WORDS),
    }


def _parts(piece: str, ends: Ends | None) -> Iterator[Span]:
    """The sentences of a block, or all of it; hidden data divides it, too."""
    position = 0
    marks = [found.span() for found in _LONG_MARK.finditer(piece)] if FILL in piece else []
    for first, last in [*marks, (len(piece), len(piece))]:
        bounds = [0, *ends(piece[position:first])] if ends else [0, first - position]
        yield from ((position + start, position + end) for start, end in pairwise(bounds))
        position = last


def _trimmed(piece: str, start: int, end: int) -> Span | None:
    """The span without blanks and fillers around it; None where nothing is left for readers."""
    if not is_seen(piece[start:end]):
        return None
    left = piece[start:end].lstrip(_BLANKS)
    return end - len(left), end - len(left) + len(left.rstrip(_BLANKS))


def _groups(leaves: Iterable[Leaf], most: int) -> Iterator[list[Leaf]]:
    """Leaves in groups of up to `most` characters in all, at least one."""
    group: list[Leaf] = []
    for leaf in leaves:
        if group and leaf.end - group[0].start > most:
            yield group
            group = []
        group.append(leaf)
    if group:
        yield group


def _blocks(section: Section) -> Iterator[Block]:
    """The blocks of a section, by offsets in its text."""
    offset, length = section.start_char_idx, len(section.text)
    for block in section.blocks or ():  # cut where Python, unlike Markdown, trims what it calls whitespace
        yield replace(block, start=max(0, block.start - offset), end=min(length, block.end - offset))


def _parsed(section: Section) -> Section:
    """A section that was made elsewhere, parsed; a heading in its text is a paragraph of it."""
    suffix = PurePosixPath(section.metadata.get("source", "")).suffix.lower()
    masked = section.metadata.get("shown") or mask(section.text, suffix=suffix)
    items = parse_blocks(masked, text=section.text, indented_code=suffix != ".mdx")
    offset = section.start_char_idx
    blocks = tuple(
        replace(item, start=item.start + offset, end=item.end + offset)
        if isinstance(item, Block)
        else Block(Kind.PROSE, item.start + offset, item.end + offset)
        for item in items
    )
    shown = without_quote_marks(masked, items)
    return replace(section, blocks=blocks, metadata={**section.metadata, "shown": shown})
