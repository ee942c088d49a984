"""Content words: the terms of a text that say what it is about."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from pipeline.analysis import analyse
from pipeline.words import table

if TYPE_CHECKING:
    from pipeline.nodes import Node

KEPT_TEXTS = 16_384  # the terms of so many sentences take 15 MB


@lru_cache(maxsize=1)
def stop_terms() -> frozenset[str]:
    """Return the stop words of `stop_words.tsv` as the analyser leaves them."""
    return frozenset(term for (words,) in table(__file__, "stop_words.tsv") for term in analyse(words))


def content_terms(text: str, language: str = "en") -> tuple[str, ...]:
    """Return a text's distinct terms without stop words, in order; all its terms if none are left."""
    terms = tuple(dict.fromkeys(analyse(text, language)))
    return tuple(term for term in terms if term not in stop_terms()) or terms


def share(wanted: Collection[str], present: Collection[str]) -> float:
    """Return the share of the wanted terms that are present, 0..1; 0 if none are wanted."""
    return sum(term in present for term in wanted) / len(wanted) if wanted else 0.0


@lru_cache(maxsize=KEPT_TEXTS)
def text_terms(text: str, language: str = "en") -> frozenset[str]:
    """The different terms of a text, cached: those of an index are read again and again."""
    return frozenset(analyse(text, language))


def leaf_terms(leaf: Node) -> frozenset[str]:
    """The terms of a sentence and of its table's header."""
    language = leaf.metadata.get("language", "en")
    return text_terms(leaf.text, language) | text_terms(leaf.metadata.get("header", ""), language)
