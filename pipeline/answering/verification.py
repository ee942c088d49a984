"""Verification: does the cited span say what the sentence of the answer says?

Two checks together: how close both texts are (embedding and shared words), and, by rule, which exact facts
of the sentence the span lacks. `docs/decisions/citation-verification.md` says how the threshold was found;
`python -m evals.calibration.verification` finds it again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from pipeline.analysis import analyse
from pipeline.answer import Citation, Support
from pipeline.answering.citations import Piece, without_markers
from pipeline.answering.facts import facts_of, missing_numbers
from pipeline.answering.recent_vectors import passage_vectors
from pipeline.models.base import Encoder
from pipeline.terms import content_terms

THRESHOLD = 0.4
CLOSENESS, COVERAGE = 0.6, 0.4  # shares of the score
RETELLING = 0.6  # a sentence with this share of a span's words retells it, and a lone "not" inverts it
CLAUSE_END = re.compile(r"[;:\n]|[.!?](?=\s|$)|,(?= (?:but|and|or|so|then)\b)")
# Sentences that say nothing about the documents: they need no citation.
UNSTATED = re.compile(
    r"^\W*(here (is|are)|the following|follow these|in summary|to summari[sz]e|let me know|please|"
    r"if you (need|have|want)|i (do not|don't|cannot|could not)|"
    r"the (documents|manuals|sources|documentation) (do|does) not)",
    re.IGNORECASE,
)
FEWEST_WORDS = 4  # a shorter line is a label, not a statement


def verify(
    text: str, pieces: Sequence[Piece], citations: Sequence[Citation], *, encoder: Encoder
) -> tuple[Support, ...]:
    """Check every sentence of an answer against the spans that it cites."""
    by_marker = {citation.marker: citation for citation in citations}
    stated = [
        (piece, [by_marker[number] for number in piece.numbers if number in by_marker])
        for piece in pieces
        if piece.numbers or states_something(text[piece.start : piece.end])
    ]
    _embed_together([_compared(text, piece, cited) for piece, cited in stated if cited], encoder)
    return tuple(_checked(text, piece, cited, encoder) for piece, cited in stated)


def states_something(sentence: str) -> bool:
    """False for headings, questions, labels, code and phrases that only introduce."""
    plain = without_markers(sentence).strip()
    if plain.endswith(("?", ":")) or plain.startswith(("#", "```", "~~~", "|--", "---")):
        return False
    return len(plain.split()) >= FEWEST_WORDS and not UNSTATED.search(plain)


def support_score(sentence: str, spans: str, *, encoder: Encoder) -> float:
    """How much the spans say what the sentence says, 0..1: closeness of meaning and shared words."""
    closeness, coverage = support_signals(sentence, spans, encoder=encoder)
    return CLOSENESS * closeness + COVERAGE * coverage


def support_signals(sentence: str, spans: str, *, encoder: Encoder) -> tuple[float, float]:
    """The cosine of both texts, and the share of the sentence's content words in the spans; both 0..1."""
    terms = content_terms(sentence)
    present = set(analyse(spans))
    coverage = sum(term in present for term in terms) / len(terms) if terms else 1.0
    vectors = passage_vectors([sentence, spans], encoder=encoder)
    return max(0.0, float(np.dot(vectors[0], vectors[1]))), coverage


def missing_facts(sentence: str, quotes: Sequence[str], *, around: str = "") -> tuple[str, ...]:
    """Numbers, ids, commands and the negation that the sentence has and the quotes lack.

    `around` goes with the quotes: their headings, the header of their table.
    """
    stated, given = facts_of(sentence), facts_of("\n".join([*quotes, around]))
    flat = " ".join("\n".join([*quotes, around]).casefold().split())
    missing = [
        *missing_numbers(stated, given),
        *sorted(name.upper() for name in stated.identifiers if not _stands_in(name, flat)),
        *sorted(command for command in stated.commands if not _stands_in(command, flat)),
    ]
    if any(_inverts(clause, other) for clause in _clauses([sentence]) for other in _clauses(quotes)):
        missing.append("not" if stated.negated else "the passage's “not”")
    return tuple(dict.fromkeys(missing))


def _compared(text: str, piece: Piece, cited: Sequence[Citation]) -> tuple[str, str]:
    """The sentence without its markers, and what it cites in one text."""
    sentence = without_markers(text[piece.start : piece.end])
    return sentence, "\n".join(citation.quote for citation in cited)


def _embed_together(compared: Sequence[tuple[str, str]], encoder: Encoder) -> None:
    """Embed all texts that will be compared in one call: texts of one length, and one request to a server."""
    passage_vectors([text for pair in compared for text in pair], encoder=encoder)


def _checked(text: str, piece: Piece, cited: Sequence[Citation], encoder: Encoder) -> Support:
    if not cited:
        return Support(piece.start, piece.end, (), supported=False, score=0.0)
    sentence, spans = _compared(text, piece, cited)
    quotes = [citation.quote for citation in cited]
    around = "\n".join([*(" ".join(citation.heading_path) for citation in cited), *map(_table_header, cited)])
    score = support_score(sentence, spans, encoder=encoder)
    missing = missing_facts(sentence, quotes, around=around)
    markers = tuple(citation.marker for citation in cited)
    return Support(piece.start, piece.end, markers, score >= THRESHOLD and not missing, score, missing)


def _stands_in(name: str, text: str) -> bool:
    """True where the text has the name by itself, not as part of another (P-1 in P-10)."""
    return bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


def _table_header(citation: Citation) -> str:
    """The header row above a cited table row; "" where the quote is not of a table."""
    if "|" not in citation.quote:
        return ""
    before = citation.section_text[: citation.start - citation.section_start]
    rows = before[before.rfind("\n\n") + 1 :].strip().splitlines()
    return rows[0] if rows else ""


def _clauses(texts: Sequence[str]) -> list[str]:
    """The parts of texts that a "not" can belong to: one in another part of a span inverts nothing."""
    return [clause for text in texts for clause in CLAUSE_END.split(text) if clause.strip()]


def _inverts(clause: str, other: str) -> bool:
    return facts_of(clause).negated != facts_of(other).negated and _retells(clause, other)


def _retells(sentence: str, quote: str) -> bool:
    one, two = set(content_terms(sentence)), set(content_terms(quote))
    return bool(one and two) and len(one & two) >= RETELLING * max(len(one), len(two))
