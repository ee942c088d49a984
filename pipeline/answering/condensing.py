"""Condense: the history and the last message become one question that stands alone.

A language model does it by prompt. Without one, or when it fails, rules do: a message that leans on what was
said before (a pronoun, "what about …", two words) gets the topic in front, any other stays as it is.
Measured by `python -m evals.calibration.condensing`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pipeline.errors import ModelError
from pipeline.messages import Message
from pipeline.terms import content_terms, stop_terms

MAX_TURNS_BACK = 4  # how far back a topic is looked for
SHORT = 2  # content words: fewer than three rarely name a topic of their own
LONGEST_CARRIED = 200  # characters of an earlier message
MAX_CONDENSED = 600  # characters: a longer reply is an answer, not a question

ANTECEDENT = 3  # with as many content words before it, a pronoun refers to the message itself

# Words that point back at what was said, whatever else the message says.
DEMONSTRATIVE = re.compile(
    r"\b(this|these|those|both|either|neither|another|others?|such|former|latter|above|previous|again|"
    r"instead|then|else)\b"
    # "that" as a pronoun, not joining clauses: after a comma, a verb or a preposition, or at the end.
    r"|(?:^|[.,;:?!]|\b(?:and|but|if|when|where|what|why|how|do|does|did|doesn't|is|was|isn't|will|would|"
    r"should|can|could|of|about|with|for|like|from|after|before|by|than|on|in|to|at|fix|mean|causes?))"
    r"\s*that\b|\bthat\W*$",
    re.IGNORECASE,
)
# Words that may also point at something earlier in the same message.
PRONOUN = re.compile(
    r"\b(its?|itself|they|them|theirs?|he|she|him|his|hers?|ones?|there|same)\b", re.IGNORECASE
)
# "Is there a …", "is it safe to …", "the same X as", "such as": they look like pointing and are not.
IDIOM = re.compile(
    r"\b(is|are|was|were|will|would|can|could|has|have|isn't|aren't) there\b(?= \w)"
    r"|\bthere (is|are|was|were|will|can|has|have)\b"
    r"|\b(is|was|isn't) it (an? )?\w+ (to|that|for)\b|\bit is \w+ (to|that)\b"
    r"|\bsame \w+ as\b|\bsuch as\b|\beither \w+ or\b|\bboth \w+ and\b|\bother than\b"
    r"|\bno one\b|\bone \w+",
    re.IGNORECASE,
)
ASKING_ON = re.compile(r"^\W*(if (not|so)|what about|how about|what else|anything else)\b", re.IGNORECASE)
# Openings of follow-ups, but also of long messages that name their own topic.
GOING_ON = re.compile(
    r"^\W*(and|but|or|so|then|also|plus|why|how come|what if|more|details?|really|ok(ay)?|yes|no|"
    r"examples?)\b",
    re.IGNORECASE,
)
# A whole question stands alone with two content words; a fragment such as "the backup sensor" does not.
WHOLE_QUESTION = re.compile(
    r"^\W*(what|who|whose|where|when|why|how|is|are|was|were|do|does|did|has|have) .*\w.*\w", re.IGNORECASE
)
NEW_TOPIC = re.compile(
    r"^\W*(changing|different|another|new|next|unrelated|on another|switching)\b.{0,30}"
    r"\b(subject|topic|question|note)\b\W*",
    re.IGNORECASE,
)
COURTESY = re.compile(
    r"^\W*(thanks?|thank you|thx|great|good|nice|perfect|cool|hello|hi|hey|bye|goodbye|okay|ok)"
    r"( (so|very) much| a lot| you| there)*\W*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Condensed:
    """The question that is searched for, what was carried over from where, and how it was made."""

    question: str
    carried: str = ""
    by: str = "as asked"  # "as asked", "rules", "model"
    problem: str = ""  # why the model's version was not used


def condense(
    history: Sequence[Message],
    message: str,
    *,
    rewrite: Callable[[Sequence[Message], str], str] | None = None,
) -> Condensed:
    """The message as a question that stands alone.

    `rewrite` is a language model's attempt; where it raises `ModelError`, says nothing or answers instead,
    the rules step in and `problem` says why.
    """
    if not history:
        return Condensed(message)
    if rewrite is None:
        return by_rules(history, message)
    try:
        question = _tidy(rewrite(history, message))
    except ModelError as error:
        return replace(by_rules(history, message), problem=str(error))
    if not question:
        return replace(by_rules(history, message), problem="the model's version could not be used")
    return Condensed(question, by="model" if question != message else "as asked")


def by_rules(history: Sequence[Message], message: str) -> Condensed:
    """The message with the topic that it leans on, or as it is."""
    if COURTESY.match(message):
        return Condensed(message)
    switched = NEW_TOPIC.sub("", message)
    if switched != message and switched.strip():
        return Condensed(switched.strip(), by="rules")
    if not leans(message):
        return Condensed(message)
    carried = topic(history, beside=message)
    if not carried:
        return Condensed(message)
    return Condensed(f"{carried}: {message}", carried, by="rules")


def leans(message: str) -> bool:
    """True where a message needs what was said before: it points back, goes on, or is too short."""
    terms = _telling(message)
    if ASKING_ON.search(message) or (terms <= SHORT + 1 and GOING_ON.search(message)):
        return True
    return _points_back(IDIOM.sub(" ", message)) or (
        terms <= (SHORT - 1 if WHOLE_QUESTION.search(message) else SHORT) and not _names_something(message)
    )


def topic(history: Sequence[Message], *, beside: str) -> str:
    """What the conversation is about: the latest question that stands alone, with what followed it.

    A question that leans itself brings the one before it along; one that adds nothing new to the message
    is left out.
    """
    asked = [said.text for said in history if said.role == "user" and not COURTESY.match(said.text)]
    parts: list[str] = []
    known = set(content_terms(beside))
    for text in reversed(asked[-MAX_TURNS_BACK:]):
        new = [term for term in content_terms(text) if term not in known]
        if new:
            parts.insert(0, _shortened(text))
            known.update(new)
        if not leans(text):
            break
    return "; ".join(parts)


def _telling(text: str) -> int:
    """The number of different content words in a text."""
    return len(set(content_terms(text)) - stop_terms())


def _points_back(text: str) -> bool:
    """True for a demonstrative, or a pronoun with too little before it to refer to."""
    if DEMONSTRATIVE.search(text):
        return True
    return any(_telling(text[: found.start()]) < ANTECEDENT for found in PRONOUN.finditer(text))


def _names_something(message: str) -> bool:
    """True for an id, code, a quoted or a capitalised name in mid-sentence: short, but a topic of its own."""
    return bool(
        re.search(r"`[^`]+`|\"[^\"]+\"|\b\w*\d\w*\b|(?<=[a-z,] )[A-Z][A-Za-z0-9-]+|\b[A-Z]{2,}\b", message)
    )


def _shortened(text: str) -> str:
    flat = " ".join(text.split()).rstrip(" ?.!,;:")
    return flat if len(flat) <= LONGEST_CARRIED else flat[:LONGEST_CARRIED].rsplit(" ", 1)[0]


def _tidy(reply: str) -> str:
    """The model's question without quotes and labels; "" where it is an essay instead."""
    lines = [line.strip() for line in reply.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    text = re.sub(r"^(standalone question|question)\s*:\s*", "", lines[-1], flags=re.IGNORECASE).strip(
        "\"'` "
    )
    return text if len(text) <= MAX_CONDENSED and len(lines) <= 3 else ""
