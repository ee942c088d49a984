"""The memory's own answer to a question: valid facts, and turns with their day and speaker.

The text names facts and turns as `[memory ID]`, so that a forgotten one also disappears from stored answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import TYPE_CHECKING

from memory.guard import MASK, reads_as_instruction
from memory.questions import asks, is_personal
from memory.times import date_words, meant_day
from memory.turn_index import FoundTurn
from memory.turn_search import LEAST_COVERAGE, verdict_of
from memory.turns import has_words
from pipeline.analysis import content_terms
from pipeline.answering.recollection import Recalled, Recollection, named

if TYPE_CHECKING:
    from memory.recall import FoundMemory
    from memory.turn_index import Turn
    from memory.turn_search import FoundTurns
    from pipeline.stores.memories import Memory

FACT_TELLS = 0.5  # least cosine of a fact that is shown, unless its words match
MOST_FACTS = 3
MOST_TURNS = 5
RECALLED = 0.2  # least probability of turns that go to a model if the memory does not answer
NEAR = 0.45  # share of the best turn's score that another shown turn needs
ALIKE = 0.55  # share of the best cosine that another shown turn needs
LONGEST = 1_000  # characters of a turn in an answer or a prompt
INTRO = "I remember:"
CLOSEST_INTRO = "Nothing that you told me answers this for certain. The closest:"
MASKED_INTRO = "I do not remember secrets. The conversation in which you told me this one still has it:"


def told(question: str, facts: Sequence[FoundMemory], turns: FoundTurns) -> Recollection:
    """Return the memory's answer: newer turns that may correct the facts, the facts, then other turns.

    A fact with all content words of a personal question, and more, is certain. No answer: `told` is "".
    """
    personal = turns.names_speaker or is_personal(question)
    relevance = max((item.recalled.relevance for item in facts), default=0.0)
    leading = [item.memory for item in facts if item.recalled.relevance >= FACT_TELLS]
    worded = [item.memory for item in facts if personal and has_words(item.memory.text, question)]
    exact = [memory for memory in worded if not has_words(question, memory.text)]
    leading = list({memory.id: memory for memory in (*exact, *leading)}.values())[:MOST_FACTS]
    of_facts = 1.0 if exact else relevance if leading else 0.0
    heard = [item for item in turns.found if not reads_as_instruction(item.turn.text)]
    fit = bool(heard) and (personal or turns.coverage >= LEAST_COVERAGE)
    probability = max(of_facts, turns.probability if fit else 0.0)
    shown = _shown(turns, heard, leading)
    shown.sort(key=lambda item: not _puts_right(item, leading, turns))
    newer = sum(_puts_right(item, leading, turns) for item in shown)
    verdict = verdict_of(probability, personal=personal, uncertain=not leading and turns.side < 0)
    lines = [f"- {named(item.turn.id)}" for item in shown]
    lines[newer:newer] = [f"- {named(it.id)} ({date_words(it.created_at)})" for it in leading]
    found = Recollection(
        turns=tuple(
            Recalled(id=it.turn.id, text=line_of(it.turn), score=it.score, relevance=it.similarity)
            for it in heard
        ),
        verdict="not remembered",
        probability=probability,
        personal=personal,
    )
    if verdict == "not remembered" or not lines:
        is_near = (personal and asks(question)) or turns.probability >= RECALLED
        return found if is_near else replace(found, turns=())
    if shown and not leading and all(MASK in item.turn.text for item in shown):
        opening, verdict = MASKED_INTRO, "closest"
    else:
        opening = CLOSEST_INTRO if verdict == "closest" else INTRO
    return replace(
        found,
        told="\n\n".join([opening, "\n".join(lines)]),
        told_ids=(*(memory.id for memory in leading), *(item.turn.id for item in shown)),
        verdict=verdict,
    )


def _shown(turns: FoundTurns, heard: Sequence[FoundTurn], facts: Iterable[Memory]) -> list[FoundTurn]:
    """Return the turns to show, except sources of `facts`: the best one's later corrections, then the best.

    `heard` are the found turns that do not read as instructions.
    """
    sources = {source.turn_id for memory in facts for source in memory.sources}
    best = max((item.score for item in heard), default=0.0)
    nearest = max((item.similarity for item in heard), default=0.0)
    near = [
        item
        for item in heard
        if item.score >= NEAR * best and (item.turn.speaker or item.similarity >= ALIKE * nearest)
    ]
    lately = [item for item in turns.later if near and not reads_as_instruction(item.turn.text)]
    told = {item.turn.id: item for item in (*lately, *near[:MOST_TURNS])}
    return [item for known, item in told.items() if known not in sources]


def _puts_right(item: FoundTurn, facts: Sequence[Memory], turns: FoundTurns) -> bool:
    """Tell whether a turn is later than all facts and about the same thing, so that it may correct them."""
    terms = {*content_terms(item.turn.text)}
    same = item in turns.later or any(len(terms & {*content_terms(fact.text)}) > 1 for fact in facts)
    return bool(facts) and same and (item.turn.at or 0.0) > max(fact.created_at for fact in facts)


def line_of(turn: Turn) -> str:
    """Return a turn as a line: its day, its speaker, its text, and the date of "yesterday" and the like."""
    text = shorten(turn.text, LONGEST, placeholder=" …")
    said = "you asked" if asks(turn.text) else "you said"
    who = "I answered" if turn.role == "assistant" else turn.speaker or said
    when = ", ".join(filter(None, [date_words(turn.at), who]))
    meant = meant_day(text, turn.at)
    return f"{when}: “{text}”{f' ({meant})' if meant else ''}"
