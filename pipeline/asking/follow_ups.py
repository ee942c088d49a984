"""Follow-ups: the history and the last message become one question that stands alone.

A language model does it by prompt. Without one, or when it fails, rules do, in English: a message that points
back ("does that help?") or goes on ("and the backup?", "what about …") gets the topic in front. Any other is
searched for as it stands and with the topic; what they find decides which of both leads.
`docs/decisions/condensing.md` says what was measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipeline.analysis import analyse
from pipeline.asking.questions import asked_in, is_question
from pipeline.asking.small_talk import small_talk
from pipeline.errors import ModelError
from pipeline.finding.fusion import AlternativeQuery
from pipeline.messages import Message
from pipeline.terms import content_terms, share, stop_terms

if TYPE_CHECKING:
    from pipeline.answer import Retrieval

FROM_MEMORY = "(From what was said before.)"
"""What prompts have of an answer of the memory: it stands in them where it is recalled, and goes with it."""

FEW = 2  # content words: too few to say what "the other" or "both" is about
FOLLOWING = 3  # content words of a message that goes on: with more it names its own topic
ANTECEDENT = 3  # with as many content words before it, a pronoun refers to the message itself

# Words that point back at what was said, or at what the message itself has said before them.
DEMONSTRATIVE = re.compile(
    r"\b(this|these|those|former|latter|previous)\b"
    # "that" as a pronoun, not joining clauses: after a comma, a verb or a preposition, or at the end.
    r"|(?:^|[.,;:?!]|\b(?:and|but|if|when|where|what|why|how|do|does|did|doesn't|is|was|isn't|will|would|"
    r"should|can|could|of|about|with|for|like|from|after|before|by|than|on|in|to|at|fix|mean|causes?))"
    r"\s*that\b|\bthat\W*$",
    re.IGNORECASE,
)
# Words that tell one thing from another: they point back where little else is said.
OTHER = re.compile(
    r"\b(both|either|neither|another|others?|such|above|again|instead|then|else)\b", re.IGNORECASE
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
    r"^\W*(and|but|or|so|then|also|plus|how come|what if|more|details?|really|ok(ay)?|yes|no|"
    r"examples?)\b",
    re.IGNORECASE,
)
NEW_TOPIC = re.compile(
    r"^\W*(changing|different|another|new|next|unrelated|on another|switching)\b.{0,30}"
    r"\b(subject|topic|question|note)\b\W*",
    re.IGNORECASE,
)


def leans(message: str) -> bool:
    """True where a message needs what was said before, by its form: it points back or goes on."""
    if _telling(message) <= FOLLOWING and (ASKING_ON.search(message) or GOING_ON.search(message)):
        return True
    if not says_something(message):
        return True
    return _points_back(IDIOM.sub(" ", message))


def says_something(message: str) -> bool:
    """False for a message of small words alone: "why?", "and then what?"."""
    return _telling(message) > 0


def _telling(text: str) -> int:
    """The number of different content words in a text."""
    return len(set(content_terms(text)) - stop_terms())


def _points_back(text: str) -> bool:
    """True for a demonstrative or a pronoun with too little before it to refer to."""
    if OTHER.search(text) and _telling(text) <= FEW:
        return True
    pointing = [*DEMONSTRATIVE.finditer(text), *PRONOUN.finditer(text)]
    return any(not _has_antecedent(text[: found.start()]) for found in pointing)


def _has_antecedent(before: str) -> bool:
    """True where what comes before a pronoun says enough for it to refer to; less in an earlier clause."""
    return _telling(before) >= (ANTECEDENT - 1 if re.search(r"[,.;:]\s", before) else ANTECEDENT)


_RIGHT = re.compile(
    r"\W*(?:so+r+y|sr+y|no|nope|oops|wait|actually|i mea?nt?|make (?:it|that))\W+(?:(?:number|nr)\W+)?"
    r"(?P<right>[\w-]*\d[\w-]*)\W*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[\w-]*\d[\w-]*")
LONGEST_RIGHT = 60  # characters of what only puts a number right: the pattern goes back and forth over them

MAX_TURNS_BACK = 4  # how far back a topic is looked for
LONGEST_CARRIED = 200  # characters of an earlier message
MAX_CONDENSED = 600  # characters: a longer reply is an answer, not a question

BY_ITSELF = 0.4  # share of a message's own words beside those with the topic
COVERED = 0.5  # of a message's content words, in the first section found with the topic
OF_TOPIC = 0.3  # share of the wording with the topic beside a message that does not lean
LEAD = 0.1
"""How much more probable an answer must be with the topic, for a message that does not lean."""


@dataclass(frozen=True, slots=True)
class Condensed:
    """The question that is searched for, what was carried over from where, and how it was made.

    `alternative` is another wording that is searched for with it. `other` is the message with its topic,
    which is searched for as well where its form does not tell whether it needs one.
    """

    question: str
    carried: str = ""
    by: str = "as asked"  # "as asked", "rules", "model"
    problem: str = ""  # why the model's version was not used
    alternative: AlternativeQuery | None = None
    other: Condensed | None = None


def topic_leads(alone: Retrieval, with_topic: Retrieval) -> bool:
    """Whether the topic belongs to a message: what is found with it answers better, and has its words."""
    if with_topic.answerability.probability <= alone.answerability.probability + LEAD:
        return False
    found = [passage.section for passage in with_topic.passages[:1]]
    words = {term for node in found for term in analyse(f"{node.text} {node.metadata['heading_path']}")}
    return share(content_terms(alone.question), words) >= COVERED


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
    """The message with the topic that it leans on, or as it is; then its other reading, if there is one."""
    if small_talk(message):
        return Condensed(message)
    said = [item.text for item in history if item.role == "user"]
    if said and (right := _put_right(said[-1], message)):
        return Condensed(right, by="rules")
    switched = NEW_TOPIC.sub("", message)
    if switched != message and switched.strip():
        return Condensed(switched.strip(), by="rules")
    carried = topic(without_memory(history), beside=message)
    if not carried:
        return Condensed(message)
    # "Why?" by itself finds whatever has a "why" in it.
    alternative = AlternativeQuery(message, BY_ITSELF) if says_something(message) else None
    with_topic = Condensed(f"{carried}: {message}", carried, by="rules", alternative=alternative)
    if leans(message):
        return with_topic
    return Condensed(message, alternative=AlternativeQuery(with_topic.question, OF_TOPIC), other=with_topic)


def for_memory(history: Sequence[Message], message: str) -> str:
    """The message with the topic, where it points back at what the memory answered; else "".

    One that goes on with words of its own ("what about the pilot") has left that.
    """
    answered_by_memory = bool(history) and history[-1].text == FROM_MEMORY
    if not answered_by_memory or (says_something(message) and not _points_back(IDIOM.sub(" ", message))):
        return ""
    carried = topic(history, beside=message)
    return f"{carried}: {message}" if carried else ""


def without_memory(history: Sequence[Message]) -> list[Message]:
    """The history without what the memory answered: that is no topic of the documents."""
    answers = [*history[1:], Message("user", "")]
    return [
        said
        for said, answer in zip(history, answers, strict=True)
        if FROM_MEMORY not in (said.text, answer.text)
    ]


def _put_right(said: str, message: str) -> str:
    """A question with the number that the next message puts right: "sorry, 2"; "" where it has no such."""
    match = _RIGHT.fullmatch(message) if len(message) <= LONGEST_RIGHT else None
    numbers = list(_NUMBER.finditer(said)) if match else []
    if match is None or len(numbers) != 1 or not is_question(said):
        return ""
    old, right = numbers[0], match["right"]
    if right.isdigit():  # "P-AIR-03", then "04"
        right = re.sub(r"\d+(?=\D*$)", right, old[0])
    return f"{said[: old.start()]}{right}{said[old.end() :]}"


def topic(history: Sequence[Message], *, beside: str) -> str:
    """What the conversation is about: the latest question that stands alone, with what followed it.

    A question that leans itself, or says little, brings the one before it along; one that adds nothing new to
    the message is left out.
    """
    parts: list[str] = []
    known = set(content_terms(beside))
    for text in reversed(_asked(history)[-MAX_TURNS_BACK:]):
        new = [term for term in content_terms(text) if term not in known]
        if new:
            parts.insert(0, _shortened(text))
            known.update(new)
        if not leans(text) and _telling(text) >= FEW:
            break
    return "; ".join(parts)


def _asked(history: Sequence[Message]) -> list[str]:
    """What the user asked, without greetings and thanks."""
    said = [message.text for message in history if message.role == "user"]
    asked: list[str] = []
    for text in said:
        if asked and (right := _put_right(asked[-1], text)):
            asked[-1] = right
        elif not small_talk(text):
            asked.append(text)
    return [asked_in(text) for text in asked]


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
