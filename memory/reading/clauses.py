"""A user's message in clauses that may state something: without questions, suppositions, quotes and code.

Every clause has its place in the message, so that what is remembered points at the exact words. It is spelt
out and told in the present without a denial, so that one rule reads all ways to say it: "I dont live in Oslo
any more" is "I live in Oslo", which is over; "we're moving to Bonn in June" is "we moved to Bonn", planned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from memory.reading import as_typed, filled, rules_of

_MOST_LEADS = 8  # "please remember that actually …"
_END_OF_A_REQUEST = 120  # characters at the end of a sentence, in which it stands
_OF_USER = re.compile(r"(?:I|we)\b", re.IGNORECASE)
_SHOUTED = re.compile(r"\b(?:NOT|NEVER|NO LONGER|CANNOT|[A-Z]+N['’]?T)\b")


@dataclass(frozen=True, slots=True)
class Clause:
    """Some words of a message, and what the words around them say of them."""

    text: str  # with "I" for "i", and where it is left out; a small letter where only the sentence begins
    start: int
    end: int
    asked_for: bool = False
    corrects: bool = False
    asks: bool = False  # its sentence asks something as well


def clauses_of(message: str, *, asked_for: bool = False) -> Iterator[Clause]:
    """The clauses of a message in order; `asked_for` where all of it is asked to be remembered."""
    said = speech()["not_said"].sub(lambda match: re.sub(r"[^\n]", " ", match[0]), message)
    for match in speech()["sentence"].finditer(said):
        asks = speech()["also_asks"].search(match[0]) is not None
        sentence = Clause(match[0], match.start(), match.end(), asked_for=asked_for, asks=asks)
        yield from _of_sentence(sentence)


def asked_after(text: str) -> int | None:
    """Where a request to remember what stands before it begins: "my boss is Tom, remember that".

    None in a question or a supposition, for "I cannot remember that", and for "the pump is off, remember".
    """
    match = speech()["remember_after"].search(text, max(0, len(text) - _END_OF_A_REQUEST))
    if match is None or "?" in text or speech()["tells_of_remembering"].search(text, 0, match.start()):
        return None
    said = without_leads(Clause(text[: match.start()], 0, match.start())).text
    sure = match["what"] or match["kept"] or said[:4] != "the "
    return match.start() if speech()["stated"].match(said) and sure else None


def _of_sentence(sentence: Clause) -> Iterator[Clause]:
    """The clauses of one sentence."""
    patterns = speech()
    if sentence.text.rstrip().endswith("?") and not patterns["requested"].match(sentence.text.strip()):
        question = patterns["then_asks"].search(sentence.text)
        if question is None:
            return
        sentence = replace(_cut(sentence, 0, question.start()), asks=True)
    clause = _cut(sentence, len(sentence.text) - len(re.sub(r"^\W+", "", sentence.text)))
    if end := asked_after(clause.text):
        clause = replace(_cut(clause, 0, end), asked_for=True)
    clause = without_leads(clause)
    if clause.asked_for or not patterns["no_statement"].match(clause.text):
        yield from _split(clause)


def without_leads(clause: Clause) -> Clause:
    """A clause without what leads in to it, which says whether it corrects and whether it is asked for."""
    for _ in range(_MOST_LEADS):
        lead = speech()["lead"].match(clause.text)
        if not lead or not lead[0]:
            break
        clause = replace(
            _cut(clause, lead.end()),
            corrects=clause.corrects or lead.lastgroup == "corrects",
            asked_for=clause.asked_for or lead.lastgroup == "remember",
        )
    return clause


def _split(clause: Clause) -> Iterator[Clause]:
    """The clause, in parts where another one begins; only a part that supposes nothing.

    A part without a subject is the user's where the one before is: whose it is otherwise is not told.
    """
    start = 0
    of_user, goes_on, supposes = True, False, False
    for end, after, same in (*sorted(_cuts(clause)), (len(clause.text), 0, False)):
        part = replace(_cut(clause, start, end), corrects=clause.corrects and not start)
        part = _trimmed(without_leads(part) if start else part)
        supposes = supposes or speech()["no_statement"].match(part.text) is not None
        text = with_subject(part.text, goes_on=goes_on)
        of_user = of_user if goes_on else _OF_USER.match(text) is not None
        if part.text and (part.asked_for or not supposes) and (of_user or not goes_on):
            yield replace(part, text=text)
        start, goes_on = after, same


def _cuts(clause: Clause) -> Iterator[tuple[int, int, bool]]:
    """Where a part ends and the next one begins, and whether that has the same subject."""
    for kind in ("next", "same_subject", "another_fact", "then_asks"):
        for match in speech()[kind].finditer(clause.text):
            states = kind != "another_fact" or speech()["says"].search(clause.text, 0, match.start())
            if states and not (kind == "then_asks" and clause.asked_for):
                yield *match.span(), kind == "same_subject"


def _trimmed(clause: Clause) -> Clause:
    """Without blanks and marks around it, its first word as within a sentence."""
    start = len(clause.text) - len(clause.text.lstrip(" \t\n,;:-–—"))
    text = speech()["please"].sub("", clause.text).strip(" \t\n,;:-–—").rstrip(' .!?,;:"”')
    begin = clause.start + start
    end = begin + len(text)
    if speech()["function_word"].match(text):
        text = text[0].lower() + text[1:]
    return replace(clause, text=re.sub(r"^i\b", "I", text), start=begin, end=end)


def _cut(clause: Clause, start: int, end: int | None = None) -> Clause:
    """The characters of a clause from `start` up to `end`."""
    text = clause.text[start:end]
    return replace(clause, text=text, start=clause.start + start, end=clause.start + start + len(text))


@lru_cache(maxsize=1)
def speech() -> dict[str, re.Pattern[str]]:
    """What surrounds statements: patterns that match at the beginning of a clause."""
    rows = rules_of("statements")["speech"]
    return {name: re.compile(as_typed(filled(row, rows)), re.IGNORECASE) for name, row in rows.items()}


# -- how it is said --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stance:
    """A clause in the present and without a denial, and what it said beside that."""

    text: str
    ends: bool = False  # it was so and is no longer
    over: bool = False  # the same in so many words: "no longer", "stopped", and not by its tense
    negated: bool = False  # it is not so
    planned: bool = False  # it is to be so


def spelt_out(text: str) -> str:
    """With what hurried writers leave out."""
    text = _SHOUTED.sub(lambda match: match[0].lower(), text)
    for pattern, right in _spelt():
        text = pattern.sub(right, text)
    return text


def with_subject(text: str, *, goes_on: bool = False) -> str:
    """A clause with the "I" that is left out in a hurry, "sold the car", or after "and"."""
    words = rules_of("statements")["stance"]
    if start := re.match(words["no_subject"], text, re.IGNORECASE):
        verb = start["begin"].casefold().split()[-1]
        is_ = start["not"] or verb in words["planned"] or verb in ("working", "living", "with", "longer")
        return f"I {'am ' if is_ else ''}{text[0].lower()}{text[1:]}"
    return f"I {text}" if goes_on and not _OF_USER.match(text) else text


def stance_of(text: str) -> Stance:
    """The stance of a clause that is spelt out."""
    stance = Stance(text)
    for kinds, pattern, instead in _changes():
        changed, count = pattern.subn(instead, stance.text, count=1)
        if count:
            stance = replace(stance, text=changed.strip(), **dict.fromkeys(kinds.split(), True))
    return stance


@lru_cache(maxsize=1)
def _spelt() -> tuple[tuple[re.Pattern[str], str], ...]:
    rows = rules_of("statements")["stance"]["spelt"]
    return tuple((re.compile(pattern, re.IGNORECASE), right) for pattern, right in rows)


@lru_cache(maxsize=1)
def _changes() -> tuple[tuple[str, re.Pattern[str], str], ...]:
    """What each way to say it says, and what is left without it; in order."""
    words = rules_of("statements")["stance"]
    rows = [
        *words["changes"],
        *(["planned", rf"\b(?:am|is|are) {verb}\b", past] for verb, past in words["planned"].items()),
    ]
    return tuple((kinds, re.compile(pattern), instead) for kinds, pattern, instead in rows)
