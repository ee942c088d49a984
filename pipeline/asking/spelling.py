"""A question's misspelt words, corrected against the words of the documents.

Only a word that nobody would write on purpose is corrected: the documents have no form of it, it is no
everyday English word, and a word of the documents is so near that it is hardly anything else. Ids, codes,
what stands in quotation marks or as code, and names are left as they are. Unsure is left.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from heapq import nlargest
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pipeline.analysis import analyse
from pipeline.asking.language import english_words, language_of, rank
from pipeline.steps.records import Corrected, CorrectStep
from pipeline.terms import STOP_WORDS, stop_terms

if TYPE_CHECKING:
    from pipeline.options import RetrievalOptions
    from pipeline.steps.trace import RunningStep
    from pipeline.stores.base import SentenceIndex

LONGEST = 600  # characters of a question that is corrected: what is longer was pasted
SHORTEST = 4  # letters of a word that is corrected: shorter ones have too many neighbours
SHORTEST_SMALL = 3  # letters of "teh" and "wat", which are only taken for small words: "the" and "what"
EDITS_A_LETTER = 0.25
"""How much of a word may be wrong: one edit of four letters, two of eight. Four of five misspellings are one
edit (Damerau, 1964)."""
MOST_EDITS = 3
CHEAP = 0.5  # a letter doubled or not, two letters swapped, a vowel of a long word wrong or elsewhere
LONG = 7  # letters
OUTER = 1.0  # edits that are added where the first letter differs, rarely the wrong one, or the ending does
TEN_TIMES = 0.5  # edits that a word may be farther if it is ten times as frequent
IN_DOCUMENTS = 0.25  # edits that it may be farther if the documents have it
LEAD = 0.35  # edits by which the best word must be nearer than the next that means something else
COMMON = 60  # of the commonest words, half are small ones in any language
RANKS = 30_522
"""Of English words: the first counts as much as a word that stands in the documents a hundred times, the last
as one that stands there once."""

_WORD = re.compile(r"[(\['‘*]*([^\W\d_]+)[)\]'’*,;:.!?…]*")
_CHUNK = re.compile(r"\S+")
_PAIR = re.compile(r"(?<![\w-])(?=([a-z]{4,}) ([a-z]+)(?![\w-]))", re.IGNORECASE)
_LITERAL = re.compile(r"```.*?(?:```|$)|`[^`]*`|\"[^\"]*\"|“[^”]*”|«[^»]*»", re.DOTALL)
_AMERICAN = re.compile(r"(?<=[a-z]{3})is(?=(?:e[drs]?|ers|ing|ations?)$)")  # "summarise" is "summarize"
_VOWELS = frozenset("aeiouy")
_PREFIXES = (
    "un", "re", "non", "pre", "anti", "multi", "sub", "over", "under", "inter", "micro", "auto", "dis", "mis",
)  # fmt: skip
_ENDINGS = (
    "s", "es", "ed", "er", "ers", "ing", "ings", "able", "ible", "ness", "less", "ful", "ish", "like", "ly",
)  # fmt: skip
_INFORMAL = """
whats hows wheres whos thats theres heres lets dont doesnt didnt cant couldnt wont wouldnt isnt arent
wasnt werent hasnt havent hadnt shouldnt im ive id youre youve theyre theyve weve were its noone pls plz
thx cos cuz gonna wanna gotta kinda dunno til tho thru tonite info config admin asap btw aka etc vs wrt
lang langs summarise summarised
"""
"""Written on purpose, though no dictionary has it."""
_SLIPS = {
    "teh": "the", "hte": "the", "adn": "and", "cna": "can", "hwo": "how", "wat": "what", "wht": "what",
    "wot": "what", "wut": "what", "hwat": "what", "wen": "when", "wich": "which", "wit": "with",
    "hav": "have", "ahve": "have", "coud": "could", "shoud": "should", "woud": "would", "abot": "about",
    "mutch": "much",
}  # fmt: skip
"""Small words as they are typed in a hurry. By rule, too many names are a letter off a small word."""

_SHORT = {"min": "minimum", "max": "maximum", "ppl": "people"}
"""Words that are cut short in a hurry: read in full where the documents have them in full."""
_CUT_SHORT = re.compile(r"(?<![\w/.-])(?<!\d )(?:" + "|".join(_SHORT) + r")(?![\w/.(:-])")


class Words(Protocol):
    """What questions are asked of: the documents, or what was said."""

    def vocabulary(self) -> Mapping[str, int]:
        """How often each word stands there."""

    def lacking(self, terms: Collection[str]) -> frozenset[str]:
        """Those of the terms that are nowhere there."""


class _Candidate(NamedTuple):
    """A word of the documents, or of everyday English, and how far from what was written it is."""

    cost: float  # the edits, less what its frequency is worth
    word: str
    edits: float


def correct(
    step: RunningStep[CorrectStep], index: SentenceIndex, options: RetrievalOptions, *, question: str
) -> str:
    """The question as it is searched for."""
    if not options.spelling:
        step.skip("switched off")
        return question
    words = misspelt(question, index)
    corrected = with_words(question, words)
    short = list(_named_shortly(corrected, index))
    if words or short:
        step.record = replace(step.record, corrected=with_words(corrected, short), words=(*words, *short))
    return step.record.corrected or question


def _named_shortly(question: str, index: SentenceIndex) -> Iterator[Corrected]:
    """Words that the documents abbreviate before the next one, with that: "oxygen (LOX) tank"."""
    pairs = list(_PAIR.finditer(question))
    names = index.abbreviations() if pairs else {}
    for pair in pairs:
        name = names.get((pair[1].lower(), pair[2].lower()))
        if name and name not in question.split() and stop_terms().isdisjoint(analyse(f"{pair[1]} {pair[2]}")):
            yield Corrected(pair.start(1), pair[1], f"{pair[1]} ({name})")


def misspelt(question: str, index: Words) -> list[Corrected]:
    """The words of a question that are to be corrected, in order; raises `StoreError`."""
    found = [*_in_full(question, index), *_wrong(question, index)]
    return sorted({word.start: word for word in found}.values())


def _in_full(question: str, index: Words) -> Iterator[Corrected]:
    """The words that are cut short, in full: "min" is a minimum, though the documents have it in "L/min"."""
    cut = [] if len(question) > LONGEST else list(_CUT_SHORT.finditer(_plain(question)))
    words = index.vocabulary() if cut else {}
    for short in cut:
        full = _SHORT[short[0]]
        if full in words:
            yield Corrected(short.start(), short[0], full)


def _wrong(question: str, index: Words) -> list[Corrected]:
    """The misspelt words."""
    written = list(_correctable(question))
    terms = {place: analyse(word.lower()) for place, word in written}
    lacking = index.lacking({term for found in terms.values() for term in found}) if written else frozenset()
    unknown = [(place, word) for place, word in written if lacking.intersection(terms[place])]
    unknown = [(place, word) for place, word in unknown if word.lower() not in _known_anyway()]
    if not unknown or _is_foreign(question, index):
        return []
    vocabulary = index.vocabulary()
    return [
        Corrected(place, word, _cased(right, word))
        for place, word in unknown
        if word.lower() not in vocabulary and (right := _correction(word.lower(), vocabulary))
    ]


def with_words(question: str, words: Iterable[Corrected]) -> str:
    """The question with the corrected words in it."""
    for start, wrong, right in sorted(words, reverse=True):
        question = question[:start] + right + question[start + len(wrong) :]
    return question


def _correctable(question: str) -> Iterator[tuple[int, str]]:
    """The words that may be misspelt, with their places: no code, ids, paths, quotations, names."""
    if len(question) > LONGEST:
        return
    for number, chunk in enumerate(_CHUNK.finditer(_plain(question))):
        word = _WORD.fullmatch(chunk[0])
        if word and len(word[1]) >= SHORTEST_SMALL and _is_plain(word[1], first=number == 0):
            yield chunk.start() + word.start(1), word[1]


def _plain(question: str) -> str:
    """The question, with blanks for what is quoted or code."""
    return _LITERAL.sub(lambda found: " " * len(found[0]), question)


def _is_plain(word: str, *, first: bool) -> bool:
    """False for a word with capitals, as codes, identifiers and names have; the first one may have one."""
    return word.islower() or (first and word[1:].islower())


@lru_cache(maxsize=1)
def _known_anyway() -> frozenset[str]:
    return frozenset(f"{STOP_WORDS} {_INFORMAL}".split())


def _is_foreign(question: str, index: Words) -> bool:
    """Whether the question is in another language than the documents: none of its words is misspelt then."""
    # "wat is" is Dutch, too: a slip is no sign of another language.
    asked = language_of(re.sub(r"[a-z]+", lambda word: _SLIPS.get(word[0], word[0]), question))
    if asked is None:
        return False
    common = nlargest(COMMON, index.vocabulary().items(), key=itemgetter(1))
    least = common[-1][1] if common else 1
    return language_of(" ".join(f"{word} " * (count // least) for word, count in common)) != asked


# -- one word ---------------------------------------------------------------------------------------------


def _correction(word: str, vocabulary: Mapping[str, int]) -> str:
    """What a word that the documents lack was meant to be; "" where that is not sure."""
    if word in _SLIPS:
        return _SLIPS[word]
    if len(word) < SHORTEST:
        return ""
    if compound := _compound(word, vocabulary):
        return compound
    if rank(word) is not None:
        return ""
    american = _AMERICAN.sub("iz", word)
    if american != word and american in vocabulary:
        return american
    if rank(american) is not None:
        return ""
    near = sorted(_candidates(word, vocabulary, of=(vocabulary, english_words())))
    right = _nearest(word, near, most=CHEAP if _is_derived(word, vocabulary) else MOST_EDITS)
    # What no document has finds nothing, and may be wrong: "login" is no "logan".
    return right if right in vocabulary or right in _known_anyway() else ""


def _compound(word: str, vocabulary: Mapping[str, int]) -> str:
    """The compound that the documents write with a hyphen; "" where they have none."""
    cuts = (f"{word[:cut]}-{word[cut:]}" for cut in range(1, len(word) - 1))
    return max((cut for cut in cuts if cut in vocabulary), key=lambda cut: vocabulary[cut], default="")


def _is_derived(word: str, vocabulary: Mapping[str, int]) -> bool:
    """Whether it is a known word with a prefix or an ending, or two known ones: hardly a mistake."""

    def known(part: str) -> bool:
        return len(part) >= SHORTEST and (rank(part) is not None or part in vocabulary)

    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and (
            known(stem) or known(f"{stem}e") or (stem[-2:-1] == stem[-1:] and known(stem[:-1]))
        ):
            return True
    if any(word.startswith(prefix) and known(word[len(prefix) :]) for prefix in _PREFIXES):
        return True
    return any(known(word[:cut]) and known(word[cut:]) for cut in range(SHORTEST, len(word) - SHORTEST + 1))


def _nearest(word: str, near: Sequence[_Candidate], *, most: float) -> str:
    """Of candidates, best first, the word that was meant, where no other is as near and frequent; "" else.

    `most` is how many edits there may be.
    """
    if not near:
        return ""
    best = near[0]
    if best.edits > most or best.cost > (len(word) - SHORTEST) * EDITS_A_LETTER:
        return ""
    others = [other for other in near[1:] if analyse(other.word) != analyse(best.word)]
    return best.word if not others or others[0].cost - best.cost >= LEAD else ""


def _candidates(
    word: str, vocabulary: Mapping[str, int], *, of: Iterable[Iterable[str]]
) -> Iterator[_Candidate]:
    """Words within reach, of some lists of words."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    reach = min(MOST_EDITS, math.ceil(len(word) * EDITS_A_LETTER))
    for known in of:
        found = process.extract(word, list(known), scorer=OSA.distance, score_cutoff=reach, limit=None)
        for other, distance, _ in found:
            edits = _edits(word, other, distance)
            within = edits <= (len(word) * EDITS_A_LETTER if len(other) >= SHORTEST else CHEAP)
            if within and "-" not in other:
                yield _Candidate(edits - _frequency(vocabulary.get(other, 0), rank(other)), other, edits)


def _frequency(count: int, place: int | None) -> float:
    """How much nearer a word is for being frequent, in edits."""
    in_documents = TEN_TIMES * math.log10(count) if count else 0.0
    in_english = TEN_TIMES * 2 * (1 - place / RANKS) if place is not None else 0.0
    return max(in_documents, in_english) + IN_DOCUMENTS * bool(count)


def _edits(word: str, other: str, distance: float) -> float:
    """The edits between two words at an optimal string alignment `distance`, some of them cheap."""
    from rapidfuzz.distance import OSA

    single, other_single = (re.sub(r"(.)\1", r"\1", text) for text in (word, other))
    doubled = abs((len(word) - len(single)) - (len(other) - len(other_single)))
    edits = min(distance, OSA.distance(single, other_single) + CHEAP * doubled)
    if (distance == 1 and sorted(word) == sorted(other)) or _differs_in_vowels(word, other):
        edits = CHEAP * distance
    begins_otherwise = word[0] != other[0] and sorted(word[:2]) != sorted(other[:2])
    return edits + OUTER * begins_otherwise + OUTER * _has_other_ending(word, other)


def _has_other_ending(word: str, other: str) -> bool:
    """Whether two words differ in their last two letters alone, and in the last, as words of a family do."""
    same_family = other.startswith(word[:-2]) and sorted(word) != sorted(other)
    differs = word[-1] != other[-1] and not _differs_in_vowels(word, other)
    return same_family and differs and not other.startswith(word)


def _differs_in_vowels(word: str, other: str) -> bool:
    """Whether two long words have the same consonants in order: "vehical" is "vehicle"."""
    if len(word) != len(other) or len(word) < LONG:
        return False
    one, two = ([letter for letter in text if letter not in _VOWELS] for text in (word, other))
    return one == two


def _cased(right: str, wrong: str) -> str:
    return right.capitalize() if wrong[0].isupper() else right
