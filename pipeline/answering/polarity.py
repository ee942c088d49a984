"""Words that turn a statement round: a "not", or a word for the opposite."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.analysis import analyse
from pipeline.terms import content_terms, stop_terms
from pipeline.words import table

REACH = 4  # content words after a "not" that it may belong to
ALIKE = 0.45  # share of the words of the shorter of two clauses that are about the same
SIDE = 4  # content words before and after an opposite that show what it is said of
WORD = re.compile(r"[\w'’#.-]*\w")

NEGATION = re.compile(
    r"\b(not|no|never|none|nothing|nobody|neither|nor|without(?= \w+ing)|cannot|unable|impossible|except"
    r"|\w+n['’]t)\b",
    re.IGNORECASE,
)
# These have a "no" or "not", and say nothing of the contrary.
NO_NEGATION = re.compile(
    r"\b(?:no|not) (?:more|less|fewer|later|earlier|higher|lower|larger|smaller|greater) than\b"
    r"|\bnot (?:to )?exceed\b|^\W*no,|\bnot (?:only|just|necessarily)\b|\bno\.(?= ?\d)|\bno matter\b"
    r"|\bif not\b|\bwhether or not\b",
    re.IGNORECASE,
)
CONDITION = re.compile(r"\b((?:if|when|where|unless|once|until|because|since)\b[^,;.]*),", re.IGNORECASE)
WITHOUT_IT = re.compile(r"\bwithout\b(?! \w+ing\b)", re.IGNORECASE)  # of things it says little
IN_MANY_WORDS = re.compile(
    r"\b(?:rather than|instead of|fail(?:s|ed)? to|refuse[sd]? to|far from|free of)\b", re.IGNORECASE
)
CLAUSE_END = re.compile(r"[;:]|[.!?](?=\s|$)|,(?= (?:but|and|or|so|then|which|while|whereas|although)\b)")
PREFIXES = ("un", "in", "im", "dis", "non", "de", "mis", "ir")
LEAST_STEM = 4  # characters that a prefix must leave


def _pairs() -> dict[str, frozenset[str]]:
    """Each word's opposites, as the analyser leaves them."""
    known: dict[str, set[str]] = {}
    for pair in table(__file__, "opposites.tsv"):
        (first, *_), (second, *_) = map(analyse, pair)
        known.setdefault(first, set()).add(second)
        known.setdefault(second, set()).add(first)
    return {word: frozenset(others) for word, others in known.items()}


_OPPOSITE = _pairs()


def negations(text: str) -> int:
    """How many times a text says "not", "no", "never" and the like."""
    return len(NEGATION.findall(_plainly(text)))


def _plainly(text: str) -> str:
    """With a "not" wherever one is meant, and none where it is not."""
    in_one_line = CONDITION.sub(r"; \1;", " ".join(text.split()))  # a "not" in it is not said to be so
    return WITHOUT_IT.sub(" ", IN_MANY_WORDS.sub(" not ", NO_NEGATION.sub(" ", in_one_line)))


@dataclass(frozen=True, slots=True)
class Polarity:
    """The content terms of a text that stand within the reach of a "not", and those that do not."""

    plain: frozenset[str]
    negated: frozenset[str]

    @property
    def only_plain(self) -> frozenset[str]:
        """Those that no "not" reaches anywhere."""
        return self.plain - self.negated

    @property
    def only_negated(self) -> frozenset[str]:
        """Those that a "not" reaches everywhere."""
        return self.negated - self.plain


def polarity_of(text: str) -> Polarity:
    """What is said to be, and what is said not to be: a "not" reaches the next words of its clause."""
    plain: set[str] = set()
    negated: set[str] = set()
    for clause in CLAUSE_END.split(_plainly(text)):
        left = 0
        for word in WORD.findall(clause):
            if NEGATION.fullmatch(word) or word.casefold() == "without":
                left = 0 if left == REACH else REACH  # "cannot … without": twice is not
                continue
            for term in content_terms(word):
                if term in stop_terms():
                    continue
                (negated if left else plain).add(term)
            left = max(0, left - (not _is_stop(word)))
    return Polarity(frozenset(plain), frozenset(negated))


def inverted(sentence: str, spans: Sequence[str]) -> tuple[str, ...]:
    """The "not" that either the sentence or the spans have; best span first.

    A term must be said to be in one and not to be in the other, and never the other way. Where both have a
    "not", too many reworded sentences would be found: "no antenna work will help" for "work will not help".
    """
    here = negations(sentence)
    if not spans or bool(here) == bool(negations(spans[0])):
        return ()
    ours, theirs = polarity_of(sentence), polarity_of("; ".join(spans))
    if _unsaid(ours.plain, theirs.negated) or _unsaid(theirs.plain, ours.negated):
        return ()
    turned = ours.only_plain & theirs.only_negated or ours.only_negated & theirs.only_plain
    denied, said = (sentence, spans) if here else ("; ".join(spans), [sentence])
    if not any(_is_about(clause, said, turned) for clause in CLAUSE_END.split(_plainly(denied))):
        return ()
    return ("not" if here else "the passage's “not”",)


def _is_about(denial: str, said: Sequence[str], turned: frozenset[str]) -> bool:
    """True for a clause with a "not" that has half of its words in common with one that was said."""
    ours = set(content_terms(denial))
    if not NEGATION.search(denial) or not turned & ours:
        return False
    others = [set(content_terms(clause)) for text in said for clause in CLAUSE_END.split(_plainly(text))]
    return any(len(ours & other) >= ALIKE * min(len(ours), len(other)) for other in others if turned & other)


def _unsaid(plain: frozenset[str], negated: frozenset[str]) -> bool:
    """True where a prefix says in one what "not" says in the other: unarmed, not armed."""
    return any(prefix + term in plain for prefix in PREFIXES for term in negated)


def _is_stop(word: str) -> bool:
    return all(term in stop_terms() for term in analyse(word))


def opposites(sentence: str, spans: Sequence[str], *, elsewhere: Iterable[frozenset[str]] = ()) -> list[str]:
    """Words of the sentence that no span has, with an opposite that a span has beside the same words.

    Not those that other sentences, here as their terms, have together with most of these words.
    """
    ours = _words(sentence)
    others_terms = list(elsewhere)
    theirs = [_words(span) for span in spans]
    there = {term for words in theirs for term in words}
    found = []
    for index, term in enumerate(ours):
        if term in there:
            continue
        others = _opposites_of(term) & there
        beside = {near for other in others for words in theirs for near in _beside(other, words)}
        around = set(_around(index, ours))
        known = any(term in terms and 2 * len(around & terms) >= len(around) for terms in others_terms)
        if around & beside and not known and not (_opposites_of(term) & set(ours)):
            found.append(_as_written(term, sentence))
    return list(dict.fromkeys(found))


def _beside(term: str, words: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(words):
        if word == term:
            yield from _around(index, words)


def _around(index: int, words: Sequence[str]) -> Iterator[str]:
    yield from words[max(0, index - SIDE) : index]
    yield from words[index + 1 : index + SIDE + 1]


def _as_written(term: str, sentence: str) -> str:
    return next((word for word in WORD.findall(sentence) if term in analyse(word)), term)


def _opposites_of(term: str) -> frozenset[str]:
    with_prefix = {prefix + term for prefix in PREFIXES if len(term) >= LEAST_STEM}
    without = {
        term.removeprefix(prefix)
        for prefix in PREFIXES
        if term.startswith(prefix) and len(term) >= len(prefix) + LEAST_STEM
    }
    return _OPPOSITE.get(term, frozenset()) | with_prefix | without


def _words(text: str) -> list[str]:
    """The terms of a text in order, without those that stand anywhere."""
    return [term for term in analyse(text) if term not in stop_terms() or term in _OPPOSITE]
