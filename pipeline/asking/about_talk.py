"""Messages about the conversation itself: what was asked, the same more simply, an example, what is next.

Rules for English tell them where nothing else is said; what rules cannot do is said to need a language model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

LONGEST = 120  # characters
MOST_LISTED = 20  # questions


class AboutTalk(StrEnum):
    """What a message wants of the conversation; its value says that in words."""

    ASKED = "what was asked before"
    SIMPLER = "the same in simpler words"
    SHORTER = "the same in fewer words"
    TRANSLATED = "the same in another language"
    EXAMPLE = "an example"
    IF_FAILS = "what to do if that fails"
    NEXT = "what comes next"


NEED_A_MODEL = (AboutTalk.SIMPLER, AboutTalk.SHORTER, AboutTalk.TRANSLATED)
GO_ON = (AboutTalk.IF_FAILS, AboutTalk.NEXT, AboutTalk.EXAMPLE)

_LANGUAGE = (
    r"(?:another|a different|other|my|plain)? ?(?:language|english|german|french|spanish|italian|portuguese"
    r"|dutch|swedish|danish|norwegian|polish|czech|finnish|russian|ukrainian|greek|turkish|arabic|hebrew|hindi|chinese|"
    r"japanese|korean|deutsch|fran[cç]ais|espa[nñ]ol|italiano)"
)
_IT = r"(?: (?:that|this|it|everything|the (?:last )?answer))?(?: to me)?(?: again)?"
_SAY = r"(?:explain|say|put|describe|repeat|tell me|rephrase|reword|write|answer|give)"
_NOT = r"(?:does(?: not|n t|nt)|did(?: not|n t|nt)|is not|isn t|won t)"  # as "doesn't" is without its mark
_PLEASE = frozenset(("please", "pls", "plz", "bitte"))
_BEGIN = r"(?:(?:and|but|so|ok|can you|could you|would you|can i get|i want|i need|now) )*"
_PATTERNS: tuple[tuple[AboutTalk, str], ...] = (
    (
        AboutTalk.ASKED,
        r"(?:what|which questions?)(?: things?)? (?:did|have|had) i (?:just |already )?ask(?:ed)?(?: you)?"
        r"(?: so far| before| earlier| first| last| until now| already| today| just now)*"
        r"|what (?:was|were|is|are) my (?:last|first|previous|earlier|other)? ?questions?(?: again| before)?"
        r"|(?:list|show)(?: me)?(?: all)?(?: of)? (?:my|the)(?: earlier| previous)? questions"
        r"(?: (?:i|that i) asked(?: you)?(?: so far)?)?",
    ),
    (
        AboutTalk.SIMPLER,
        rf"{_SAY}{_IT} ?(?:a bit |much |more )*(?:simply|simpler|easier|easily|in simpler?(?: words| terms)?"
        r"|in (?:plain|easy)(?: english| words| terms)?|like (?:i am|im|i m) (?:five|5|a child)"
        r"|for (?:a )?beginners?"
        r"|to a child)"
        r"|(?:make|say) (?:it|that|this) (?:simpler|easier)|simpler|eli5|in simpler?(?: words| terms)"
        r"|i (?:do not|don t|dont|didn t|did not) (?:understand|get)(?: (?:it|that|this|a word))?",
    ),
    (
        AboutTalk.SHORTER,
        rf"{_SAY}{_IT} ?(?:in short|briefly|shorter|in (?:one|a|two) (?:sentences?|words?|lines?|few words)"
        r"|in fewer words|more briefly)"
        r"|(?:make|say|keep) (?:it|that|this) (?:short|shorter|brief)"
        r"|shorter|tl ?dr|in short|briefly|too long"
        r"|(?:summari[sz]e|shorten|sum up) (?:it|that|this|the answer)(?: for me)?",
    ),
    (
        AboutTalk.TRANSLATED,
        rf"(?:translate|{_SAY}){_IT} ?(?:(?:in|into|to) {_LANGUAGE})|in {_LANGUAGE}|auf deutsch",
    ),
    (
        AboutTalk.EXAMPLE,
        r"(?:show|give|have|is there|are there|any|do you have)?(?: me| us)? ?(?:an?|some|one|another)?"
        r" ?(?:for )?examples?(?: (?:of|for) (?:that|this|it))?",
    ),
    (
        AboutTalk.IF_FAILS,
        r"(?:what |and |but |so |then )*(?:what )?if (?:that|this|it)(?: also| still)?"
        rf" (?:fails?|failed|{_NOT} (?:work|help|do it|fix it|enough))(?: (?:too|either|as well))?"
        r"(?: what(?: then| now)?)?"
        rf"|(?:that|this|it) {_NOT} (?:work|help)(?: either)?(?: what now)?"
        rf"|(?:tried|did) that(?: already)?(?: (?:and )?(?:it )?{_NOT} (?:work|help))?",
    ),
    (
        AboutTalk.NEXT,
        r"(?:and )?(?:then|then what|what then|what next|whats next|what s next|what is next|next step"
        r"|the next step|what comes (?:next|after(?: that)?)|what do i do (?:next|then|after that)"
        r"|what now|now what|go on"
        r"|after that|and after that|what is the next step|done what now|more|tell me more|continue)",
    ),
)
_COMPILED = tuple((kind, re.compile(rf"{_BEGIN}(?:{pattern}){_IT}")) for kind, pattern in _PATTERNS)


def about_talk(message: str) -> AboutTalk | None:
    """What a message wants of the conversation; None where it says anything else."""
    if len(message) > LONGEST:
        return None
    words = " ".join(word for word in re.findall(r"[^\W_]+", message.lower()) if word not in _PLEASE)
    return next((kind for kind, pattern in _COMPILED if pattern.fullmatch(words)), None)


def asked_before(questions: Sequence[str]) -> str:
    """The questions of a conversation as Markdown, the last ones of many."""
    if not questions:
        return "You have asked nothing before in this conversation."
    shown = [" ".join(question.split()) for question in questions[-MOST_LISTED:]]
    first = len(questions) - len(shown) + 1
    lines = [f"{number}. {question}" for number, question in enumerate(shown, start=first)]
    return "\n".join(["In this conversation you asked:", "", *lines])


def needs_a_model(kind: AboutTalk, connect: str) -> str:
    """The reply to what only a language model can do; `connect` says how to have one."""
    text = f"To say {kind} takes a language model; without one, the documents are quoted word for word."
    return f"{text} {connect}".strip()
