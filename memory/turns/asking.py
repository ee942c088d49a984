"""What a question says about the turns that answer it: whose, when, and in which words."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from pipeline.terms import content_terms

_WHEN = re.compile(
    r"\b(?:when|how long|since when|(?:what|which) (?:date|day|week|month|year|time))\b", re.IGNORECASE
)
_TO_ASSISTANT = re.compile(r"\byou(?:r|rs)?\b", re.IGNORECASE)
_THIRD_PERSON = (
    (re.compile(r"\b(?:his|her|their)\b", re.IGNORECASE), "my"),
    (re.compile(r"\b(?:he|she)\b", re.IGNORECASE), "I"),
    (re.compile(r"\b(?:him|himself|herself)\b", re.IGNORECASE), "me"),
)


@dataclass(frozen=True, slots=True)
class Asking:
    """A question as it is searched for."""

    terms: tuple[str, ...]  # for BM25: content words, without the names of speakers
    wording: str  # to be embedded: as the speaker himself would ask it
    speaker: str  # the one whom it names; "" for none or several
    when: bool  # whether it asks for a time
    of_assistant: bool  # whether it asks what the assistant said


def read_question(question: str, *, speakers: Collection[str]) -> Asking:
    """What a question asks for.

    Speakers call each other by name and say "I" of themselves: a name in the question finds the turns that
    address him. So it is taken out of the terms, and is "I" in the wording.
    """
    named = [name for name in sorted(speakers) if re.search(rf"\b{re.escape(name)}\b", question)]
    return Asking(
        terms=content_terms(_without(question, named)),
        wording=_first_person(question, named),
        speaker=named[0] if len(named) == 1 else "",
        when=bool(_WHEN.search(question)),
        of_assistant=bool(_TO_ASSISTANT.search(question)),
    )


def _without(question: str, names: Collection[str]) -> str:
    for name in names:
        question = re.sub(rf"\b{re.escape(name)}\b(?:['’]s?\b)?", "", question)
    return question


def _first_person(question: str, names: Collection[str]) -> str:
    for name in names:
        question = re.sub(rf"\b{re.escape(name)}['’]s?(?=\s)", "my", question)
        question = re.sub(rf"\b{re.escape(name)}\b", "I", question)
    if names:
        for pattern, word in _THIRD_PERSON:
            question = pattern.sub(word, question)
    return question
