"""Several questions in one message, and what a long message that was pasted asks.

A message is cut into sentences. One that asks is a question of its own, and what is stated before it belongs
to it; greetings and thanks are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.asking.small_talk import small_talk
from pipeline.errors import AthenaError
from pipeline.terms import content_terms, stop_terms

MOST = 3  # questions of a message that are answered
LONG = 600  # characters: a longer message was pasted, and is searched for by what it asks
LAST = 2  # sentences at the end of a long message that are searched for, too
ENOUGH = 1  # content words on either side of an "and", to be a question of its own: "and why?" has none
LONGEST_MESSAGE = 20_000  # characters
TOO_LONG = "The message has {:,} characters; at most {:,} are read."
SHORTEN = "Leave out what the question does not need, and ask again."

_END = re.compile(
    r"(?<=[?!])[)\"'”]*\s+"
    r"|(?<![\s.][a-z])(?<!\bvs)(?<!\be\.g)(?<!\bi\.e)(?<!\betc)(?<!\bapprox)(?<=[\w)\"'”`%])\.\s+(?=\S)"
    r"|\s*(?:;|\n)\s*"
)
_INTERROGATIVE = (
    r"(?:what|whats|who|whos|whom|whose|where|wheres|when|why|which|how|hows|is|are|was|were(?!\s+\w+ing\b)|do|does|did|can"
    r"|could|should|would|will|may|must|has|have)"
)
_ANOTHER = re.compile(
    rf"[,?]?\s+(?:(?:and\s+)?(?:also|plus)[,:]?\s+|and\s+)(?={_INTERROGATIVE}\b)", re.IGNORECASE
)
_OPENING = re.compile(
    rf"^\W*(?:(?:and|also|but|so|then|or|plus|please|pls|ok|hi|hello|hey|again|finally|first|second|secondly)\b\W*)*"
    rf"(?:{_INTERROGATIVE}\b|(?:list|show|tell|explain|describe|compare|define|give|name|summari[sz]e|find)\s)",
    re.IGNORECASE,
)
_LINK = re.compile(r"^\W*(?:(?:and|also|plus|so|then|second(?:ly)?|finally)\b[,\s]*)+", re.IGNORECASE)
_ASKS = re.compile(
    r"\?\W*$|\bwhat (?:now|next|then|to do|(?:do|should|can|must) (?:i|we) do)\W*$|\bnow what\W*$|\bhow\W*$",
    re.IGNORECASE,
)


def questions_in(message: str) -> list[str]:
    """The questions of a message in its own words, in order; the message alone where it asks one thing."""
    if len(message) > LONG:
        return [message]
    found: list[str] = []
    stated: list[str] = []
    for sentence in _pieces(message):
        if small_talk(sentence):
            continue
        stated.append(sentence)
        if not is_question(sentence):
            continue
        if found and _telling(sentence) == 0:  # "And why?" belongs to what was asked before
            found[-1] = _joined([found[-1], *stated])
        else:
            found.append(_LINK.sub("", _joined(stated)))
        stated = []
    if len(found) < 2:
        return [message]
    found[-1] = _joined([found[-1], *stated])
    return found


def _joined(sentences: Sequence[str]) -> str:
    return " ".join(part if part[-1] in ".?!:," else f"{part}." for part in sentences).removesuffix(".")


def too_long(message: str) -> str:
    """What is said of a message that is too long to be read, with the number; "" of any other."""
    return TOO_LONG.format(len(message), LONGEST_MESSAGE) if len(message) > LONGEST_MESSAGE else ""


def check_length(message: str) -> None:
    """Raise `AthenaError` for a message that is too long to be read."""
    if problem := too_long(message):
        raise AthenaError(problem, SHORTEN)


def is_pasted(message: str) -> bool:
    """Whether a message is so long that it is searched for by what it asks."""
    return len(message) > LONG


def asked_in(message: str) -> str:
    """What a long message asks: its last questions and its last sentences, in order; a short one as it is."""
    if not is_pasted(message):
        return message
    sentences = [sentence for sentence in _sentences(message) if not small_talk(sentence)]
    asking = [place for place, sentence in enumerate(sentences) if _ASKS.search(sentence)][-MOST:]
    last = range(max(0, len(sentences) - LAST), len(sentences))
    return _joined([sentences[place][-LONG:] for place in sorted({*asking, *last})])[-LONG:]


def _sentences(message: str) -> list[str]:
    return [part.strip() for part in _END.split(message) if re.search(r"\w", part or "")]


def _pieces(message: str) -> list[str]:
    """Its sentences, one that asks twice as two: "who flies it and how many people can it carry?"."""
    made: list[str] = []
    for sentence in _sentences(message):
        halves = _ANOTHER.split(sentence, maxsplit=1)
        twice = len(halves) > 1 and is_question(halves[0]) and all(_says(half) for half in halves)
        made += halves if twice else [sentence]
    return made


def is_question(sentence: str) -> bool:
    """Whether a sentence asks: by how it begins or ends ("pump is stuck, what now")."""
    return bool(_ASKS.search(sentence) or _OPENING.match(sentence))


def _says(text: str) -> bool:
    """Whether it has words enough to be a question of its own."""
    return _telling(text) >= ENOUGH


def _telling(text: str) -> int:
    return len(set(content_terms(text)) - stop_terms())
