"""A user's message in clauses that may state something: without questions, suppositions, quotes and code.

Every clause has its place in the message, so that what is remembered points at the exact words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from memory.reading import as_typed, rules_of

_NOT_SAID = re.compile(
    r"^ {0,3}(```++|~~~++)[^\n]*+\n.*?(?:^ {0,3}\1[^\n]*|\Z)"  # code
    r"|^[ \t]*>[^\n]*"  # a quote of somebody's lines
    r"|[\"“](?=(?:i|my|we|our|remember|you|always|please|call)\b)[^\"”\n]*[\"”]",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"(?:[^.!?;\n]|[.!?;](?=[^\s\"”'])|(?<=\bDr)\.|(?<=\bMr)\.|(?<=\bMs)\.|(?<=\bMrs)\.|(?<=\bSt)\.)+[.!?]*"
)
_QUESTION = (
    r"(?:how|what|why|where|when|which|who|can|could|should|do|does|did|is|are|am)"
    r"\s+(?:i|we|you|it|the|my|to|do|does|did|is|are|am|can|could|should|now)\b"
)
ALSO_ASKS = re.compile(rf"(?:^|[.!;,\n]|\b(?:and|but|so)\b)\s*{_QUESTION}", re.IGNORECASE)
"""A question without its mark: the documents answer it, whatever else the message says."""
_MOST_LEADS = 8  # "please remember that actually …"
_END_OF_A_REQUEST = 120  # characters at the end of a sentence, in which it stands
PLEASE = re.compile(
    r"(?:[\s,]+(?:please|pls|plz|ok|okay|thanks|thank you|thx|btw|sorry|sory|sry))+[\s.!?]*$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Clause:
    """Some words of a message, and what the words around them say of them."""

    text: str  # with "I" for "i" and a small letter where only the sentence begins
    start: int
    end: int
    asked_for: bool = False
    corrects: bool = False
    asks: bool = False  # its sentence asks something as well
    goes_on: bool = False  # has the subject of the clause before


def clauses_of(message: str, *, asked_for: bool = False) -> Iterator[Clause]:
    """The clauses of a message in order; `asked_for` where all of it is asked to be remembered."""
    said = _NOT_SAID.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), message)
    for match in _SENTENCE.finditer(said):
        asks = ALSO_ASKS.search(match[0]) is not None
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
    return (
        match.start()
        if speech()["stated"].match(said) and (match["what"] or match["kept"] or said[:4] != "the ")
        else None
    )


def _of_sentence(sentence: Clause) -> Iterator[Clause]:
    """The clauses of one sentence."""
    patterns = speech()
    if sentence.text.rstrip().endswith("?") and not patterns["requested"].match(sentence.text.strip()):
        question = speech()["then_asks"].search(sentence.text)
        if question is None:
            return
        stop = question.start()
        sentence = replace(sentence, text=sentence.text[:stop], end=sentence.start + stop, asks=True)
    clause = _after(sentence, len(sentence.text) - len(re.sub(r"^\W+", "", sentence.text)))
    if cut := asked_after(clause.text):
        clause = replace(clause, text=clause.text[:cut], end=clause.start + cut, asked_for=True)
    clause = without_leads(clause)
    if clause.asked_for or not patterns["no_statement"].match(clause.text):
        yield from _split(clause)


def without_leads(clause: Clause) -> Clause:
    """A clause without what leads in to it, which says whether it corrects and whether it is asked for."""
    for _ in range(_MOST_LEADS):
        found = ((name, speech()[name].match(clause.text)) for name in ("corrects", "remember", "lead_in"))
        name, lead = next(((name, match) for name, match in found if match and match.end()), ("", None))
        if lead is None:
            break
        nothing = not speech()["announced"].search(lead[0]) and speech()["no_fact"].match(
            clause.text, lead.end()
        )
        asks = name == "remember" and not nothing
        clause = replace(
            _after(clause, lead.end()),
            corrects=clause.corrects or name == "corrects",
            asked_for=clause.asked_for or asks,
        )
    return clause


def _split(clause: Clause) -> Iterator[Clause]:
    """The clause, in parts where another one begins; only a part that supposes nothing."""
    start = 0
    goes_on = supposes = False
    cuts = sorted(
        [(match.span(), False) for match in speech()["next"].finditer(clause.text)]
        + [(match.span(), True) for match in speech()["same_subject"].finditer(clause.text)]
        + [
            (match.span(), False)
            for match in speech()["another_fact"].finditer(clause.text)
            if speech()["says"].search(clause.text, 0, match.start())
        ]
        + [
            (match.span(), False)
            for match in speech()["then_asks"].finditer(clause.text)
            if not clause.asked_for
        ]
    )
    for (end, after), same in [*cuts, ((len(clause.text), len(clause.text)), False)]:
        part = replace(
            clause,
            text=clause.text[start:end],
            start=clause.start + start,
            end=clause.start + end,
            goes_on=goes_on,
            corrects=clause.corrects and not start,
        )
        part = _trimmed(without_leads(part) if start else part)
        supposes = supposes or speech()["no_statement"].match(part.text) is not None
        if part.text and (part.asked_for or not supposes):
            yield part
        start, goes_on = after, same


def _trimmed(clause: Clause) -> Clause:
    """Without blanks and marks around it, its first word as within a sentence."""
    text = clause.text
    start = len(text) - len(text.lstrip(" \t\n,;:-–—"))
    text = PLEASE.sub("", text)
    text = text.strip(" \t\n,;:-–—").rstrip(' .!?,;:"”')
    begin = clause.start + start
    end = begin + len(text)
    if speech()["function_word"].match(text):
        text = text[0].lower() + text[1:]
    if re.match(r"i\b", text):
        text = f"I{text[1:]}"
    return replace(clause, text=text, start=begin, end=end)


def _after(clause: Clause, cut: int) -> Clause:
    """A clause without the characters before `cut`."""
    return replace(clause, text=clause.text[cut:], start=clause.start + cut)


@lru_cache(maxsize=1)
def speech() -> dict[str, re.Pattern[str]]:
    """What surrounds statements: patterns that match at the beginning of a clause."""
    rows = rules_of("statements")["speech"]
    return {name: re.compile(as_typed(pattern), re.IGNORECASE) for name, pattern in rows.items()}
