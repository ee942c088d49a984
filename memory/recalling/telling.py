"""What the memory tells of a question: the facts that hold now, else what was said, with days and speakers.

Whatever is told stands in the text as `[memory ID]`, also a turn, so that forgetting reaches it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memory.reading.asking import asks
from memory.reading.entities import entity_words, is_given_name
from memory.reading.guard import reads_as_instruction
from memory.reading.intervals import Interval, first_interval
from memory.recalling.turn_index import FoundTurn, asks_alone, cut, date_words
from memory.recalling.turn_search import is_of_talk, may_answer, verdict_of
from memory.times import begun, local
from pipeline.answering.recollection import Recalled, named

if TYPE_CHECKING:
    from memory.recalling.recall import FoundMemory
    from memory.recalling.turn_index import Turn
    from memory.recalling.turn_search import FoundTurns
    from pipeline.steps.records import MemoryVerdict
    from pipeline.stores.memories import Memory, Relation

FACT_TELLS = 0.5  # relevance of a fact that answers; below, turns come first
MOST_FACTS = 3
MOST_TURNS = 5
MOST_RELATIONS = 5
RECALLED = 0.2  # probability of turns that come to mind although they are not told
NEAR = 0.45  # share of the best turn's score: what has less is another matter
ALIKE = 0.55  # share of the best cosine that a message of the user's own has to have
LONGEST = 600  # characters of a turn that is told whole; of a longer one, its nearest piece
INTRO = "I remember:"
CLOSEST_INTRO = "Nothing that you told me answers this for certain. The closest:"
_PIECE = re.compile(r"(?P<turn>.+)-p(?P<piece>\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is told, and whether it answers."""

    text: str = ""
    shown: tuple[str, ...] = ()  # the ids of the facts and turns in the text
    turns: tuple[Recalled, ...] = ()  # those found that do not read like an instruction, told or not
    verdict: MemoryVerdict = "not remembered"
    probability: float = 0.0
    personal: bool = False  # the question is about the user, or somebody whom they spoke of
    asked: bool = False  # it is what the user asked once, in words that tell something, too


def told(
    question: str,
    facts: Sequence[FoundMemory],
    turns: FoundTurns,
    *,
    personal: bool,
    named: bool = False,
    exact: Sequence[Memory] = (),
    relations: Sequence[Relation] = (),
) -> Told:
    """The facts that are `exact`, or relevant enough, the turns that they do not come from, and relations.

    What is not told may still come to mind: of a question about the user always, of any other from
    `RECALLED` on.
    `personal` where the question is about the user, `named` where it has a name that was said.
    """
    leading = [item.memory for item in facts if item.relevance >= FACT_TELLS]
    leading = list({memory.id: memory for memory in (*exact, *leading)}.values())[:MOST_FACTS]
    of_facts = max((item.relevance for item in facts), default=0.0)
    heard = [item for item in turns.found if not reads_as_instruction(item.turn.text)]
    nearest = max(turns.found, key=lambda item: item.similarity, default=None)
    is_order = nearest is not None and nearest not in heard  # the nearest turn is one: it answers nothing
    of_turns = turns.probability if turns.fit(personal=personal or named) and not is_order else 0.0
    probability = 1.0 if exact else max(of_turns, of_facts if leading else 0.0)
    telling = [item for item in heard if may_answer(question, item.turn)]
    shown = _shown(turns, telling, leading)
    uncertain = not leading and (turns.of_another or _is_of_another(question, shown))
    verdict = verdict_of(probability, personal=personal, uncertain=uncertain)
    of_facts_told = (_dated_line(memory.id, begun(memory)) for memory in leading)
    lines = list(dict.fromkeys((*of_facts_told, *(line for item in shown for line in _turn_lines(item)))))
    found = Told(
        turns=tuple(_recalled(item) for item in heard if item.turn.speaker or item in telling),
        probability=probability,
        personal=personal,
    )
    if verdict == "not remembered" or not lines:
        is_near = (personal and asks(question)) or turns.probability >= RECALLED
        return found if is_near and not is_order else replace(found, turns=())
    said = (*(memory.id for memory in leading), *(item.turn.id for item in shown))
    more = [item for item in relations if item.memory_id not in said and item.turn_id not in said]
    lines += [_dated_line(item.id, item.at) for item in more[:MOST_RELATIONS]]
    opening = CLOSEST_INTRO if verdict == "closest" else INTRO
    return replace(
        found,
        text="\n\n".join([opening, "\n".join(lines)]),
        shown=said,
        verdict=verdict,
        asked=not leading and asks(shown[0].turn.text) and not is_of_talk(question),
    )


def _is_of_another(question: str, shown: Sequence[FoundTurn]) -> bool:
    """Whether a user asks about themselves what the first turn says of somebody whom they do not name."""
    relative = entity_words()["relative"]
    of_me = re.compile(rf"\b(?:i|we|me|us|im|ive|id|(?:my|our)(?! (?:{relative})))\b", re.IGNORECASE)
    if not shown or not of_me.search(question) or of_me.search(shown[0].turn.text):
        return False
    asked, said = (set(re.findall(r"\w+", text.casefold())) for text in (question, shown[0].turn.text))
    return any(is_given_name(word) or re.fullmatch(relative, word) for word in said - asked)


def _shown(turns: FoundTurns, telling: Sequence[FoundTurn], facts: Iterable[Memory]) -> list[FoundTurn]:
    """The turns that are told: what was said last about the same as the best one, then the nearest.

    `telling` are the found ones that neither only ask nor read like an instruction. What the assistant
    answered is told where nothing is nearer.
    """
    sources = {source.turn_id for memory in facts for source in memory.sources}
    may_be_told = [item for item in telling if item.turn.role == "user" or item is turns.found[0]]
    best = max((item.score for item in may_be_told), default=0.0)
    nearest = max((item.similarity for item in may_be_told), default=0.0)
    near = [
        item
        for item in may_be_told
        if item.score >= NEAR * best
        and (item.turn.speaker or item.similarity >= ALIKE * nearest)
        and item.turn.id not in sources
    ]
    later = (item for item in (turns.later if near else ()) if item.turn.id not in sources)
    lately = [item for item in later if not (reads_as_instruction(item.turn.text) or asks_alone(item.turn))]
    return list({item.turn.id: item for item in (*lately, *near[:MOST_TURNS])}.values())


def _recalled(item: FoundTurn) -> Recalled:
    """A turn as it goes into a prompt."""
    text = line_of(item.turn, item.piece)
    return Recalled(id=item.turn.id, text=text, score=item.score, relevance=item.similarity)


def _dated_line(known: str, at: float | None) -> str:
    return f"- {named(known)}" + (f" ({date_words(at)})" if at else "")


def _turn_lines(item: FoundTurn) -> list[str]:
    """A turn, and before it what corrected it."""
    piece = item.piece if len(item.turn.text) > LONGEST else None
    names = [item.corrected_by.id] if item.corrected_by else []
    names.append(item.turn.id if piece is None else f"{item.turn.id}-p{piece}")
    return [f"- {named(name)}" for name in names]


def line_of(turn: Turn, piece: int | None = None) -> str:
    """A turn with its day, its speaker, and the day that its words mean where they count from their own."""
    pieces = () if piece is None else cut(turn.text)
    text = " ".join((pieces[piece] if piece is not None and piece < len(pieces) else turn.text).split())
    who = "I answered" if turn.role == "assistant" else turn.speaker or "you said"
    when = ", ".join(filter(None, [date_words(turn.at), who]))
    meant = meant_day(text, turn.at)
    return f"{when}: “{text}”{f' ({meant})' if meant else ''}"


def turn_named(name: str) -> tuple[str, int | None]:
    """The turn that a stored text names, and the piece of it."""
    match = _PIECE.fullmatch(name)
    return (match["turn"], int(match["piece"])) if match else (name, None)


# -- days -----------------------------------------------------------------------------------------------

_RELATIVE = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|this|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|in \w+ (?:days?|weeks?|months?|years?))\b",
    re.IGNORECASE,
)


def meant_day(text: str, at: float | None) -> str:
    """What "yesterday" or "last week" of a text that was said then means: "yesterday: Sunday 7 May 2023"."""
    if at is None:
        return ""
    lowered = text.lower()
    found = first_interval(lowered, local(at))
    if found is None or len(lowered) != len(text) or not _RELATIVE.search(text[found[0] : found[1]]):
        return ""
    start, end, interval = found
    return f"{text[start:end]}: {_interval_words(interval)}"


def _interval_words(interval: Interval) -> str:
    """A day, a week, a month, a year, or the days from and to."""
    begin, end = interval
    days = round((end - begin) / timedelta(days=1))
    if days <= 1:
        return date_words(begin.timestamp())
    if days == 7:
        return f"the week of {_day(begin)}"
    if 28 <= days <= 31 and begin.day == 1:
        return f"{begin:%B %Y}"
    if 365 <= days <= 366:
        return f"{begin.year}"
    return f"{_day(begin)} to {_day(end - timedelta(days=1))}"


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"
