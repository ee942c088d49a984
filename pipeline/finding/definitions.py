"""Sentences that say what something is: "MALFUNC means …", "The control system, in short ECS, …"."""

from __future__ import annotations

import re

from pipeline.terms import content_terms

DEFINING = re.compile(
    r"\b(?:is|are|means|refers to|stands for|consists of|describes|defines|denotes)\b|:", re.IGNORECASE
)
NAMED = re.compile(
    r"(?:,\s*(?:in short|short|abbreviated|called|known as)|\bcalled|\bknown as)\s+[*_`\"“]*(?P<name>[\w-]+)"
    r"|\([*_`]*(?P<short>[A-Z][\w-]*)[*_`]*\)"
)
"""A name that is given to what a sentence begins with."""
_WHAT = re.compile(
    r"\A(?:(?:is|are) (?:an?|the|one|any|what|how|where|\w+[’']s)\b|means|refers to|stands for|denotes"
    r"|defines|:)",
    re.IGNORECASE,
)
"""What a sentence goes on with that says what its subject is, not what is done with it."""
ARTICLE = re.compile(r"\A\W*(?:an?|the)\b", re.IGNORECASE)
SUBJECT_WORDS = 6  # a longer subject is not the name of a thing
OPENING_WORDS = 12  # of a sentence, in which it says what it is about
MOST_OF_IT = 0.5
WHOLE = 2.0


def defines(text: str, terms: frozenset[str]) -> float:
    """The share of the terms in a short subject before "is" or "means", 0..1; half or more counts.

    "The alarm" is not what C-112 means. It is `WHOLE` where the subject is nothing else and the sentence says
    what it is, or where this name is given in its first words ("…, in short ECS, …").
    """
    if not terms:
        return 0.0
    if _is_named(text, terms):
        return WHOLE
    found = DEFINING.search(text)
    if not found or len(text[: found.start()].split()) > SUBJECT_WORDS:
        return 0.0
    subject = set(content_terms(ARTICLE.sub("", text[: found.start()])))
    share = len(terms & subject) / len(terms)
    if subject == terms and _WHAT.match(" ".join(text[found.start() :].split())):
        return WHOLE
    return share if share >= MOST_OF_IT else 0.0


def _is_named(text: str, terms: frozenset[str]) -> bool:
    opening = " ".join(text.split()[:OPENING_WORDS])
    return any(terms == set(content_terms(one["name"] or one["short"])) for one in NAMED.finditer(opening))
