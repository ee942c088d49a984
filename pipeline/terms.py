"""Content words: the terms of a text that say what it is about."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from pipeline.analysis import analyse

if TYPE_CHECKING:
    from pipeline.nodes import Node

KEPT_TEXTS = 16_384  # the terms of so many sentences take 15 MB

# Words that questions and statements share whatever they are about; stemmed like the text itself.
STOP_WORDS = """
a about after again all also am an and any are as at be because been before being both but by can cannot
could describe did do does doing don down each either else even every explain few find for from further get
give go got had has have having he help her here hers him his how i if in into is isn it its itself just know
let like ll look may me mean might more most much must my need no nor not now of off ok on once one only or
other our out over own please possible problem re s same say see shall she should show shows so some still
such t tell than thank thanks that the their them then there these they thing this those through to too under
until up us use used using ve very want was way we well were what when where whether which while who whom
whose why will with would yes you your
anyone anything everyone everything noone somehow someone something
arent cant couldnt didnt doesnt dont hadnt hasnt havent hows im isnt ive lets shouldnt thats theres theyre
wasnt werent whats wheres whos wont wouldnt youre
"""


@lru_cache(maxsize=1)
def stop_terms() -> frozenset[str]:
    """The stop words as the analyser leaves them."""
    return frozenset(analyse(STOP_WORDS))


def content_terms(text: str, language: str = "en") -> tuple[str, ...]:
    """The different terms of a text without stop words, in order; all its terms where nothing is left."""
    terms = tuple(dict.fromkeys(analyse(text, language)))
    return tuple(term for term in terms if term not in stop_terms()) or terms


def share(wanted: Collection[str], present: Collection[str]) -> float:
    """The share of the wanted terms that are present, 0..1; 0 where none is wanted."""
    return sum(term in present for term in wanted) / len(wanted) if wanted else 0.0


@lru_cache(maxsize=KEPT_TEXTS)
def text_terms(text: str, language: str = "en") -> frozenset[str]:
    """The different terms of a text, cached: those of an index are read again and again."""
    return frozenset(analyse(text, language))


def leaf_terms(leaf: Node) -> frozenset[str]:
    """The terms of a sentence and of its table's header."""
    language = leaf.metadata.get("language", "en")
    return text_terms(leaf.text, language) | text_terms(leaf.metadata.get("header", ""), language)
