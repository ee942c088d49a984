"""Questions as they are typed in a hurry: lower case, slips of the fingers, keywords alone, a plea."""

from __future__ import annotations

import re
from random import Random

LITTLE_WORDS = re.compile(
    r"(an?|the|of|to|i[nst]|on|at|for|from|by|with|and|or|are|was|were|be|do|does|did|can|could|should|would|will|"
    r"i|you|we|my|your|our|its|this|that|there|how|what|why|when|where|which|who|if|so)",
    re.IGNORECASE,
)
"""What a question of keywords leaves out; "not" and "no" stay, as they turn its meaning."""

PLEAS = (
    "not working what now", "what now", "what do i do", "help", "broken", "is dead what now", "how to fix",
    "fix", "why",
)  # fmt: skip
LOWER_CASE, KEYWORDS, NO_MARK = 0.29, 0.16, 0.05  # shares of the questions
PLEA = 0.2  # of the problems
SLIP = 0.2
TOPIC_BEFORE = 0.12
SHORTEST_WITH_SLIP = 5  # letters


def hurried(question: str, random: Random, *, problem: bool = False, before: str = "") -> str:
    """The question as somebody else might type it, or as it is.

    `before` is an earlier question of the same conversation, which some stand behind: what is asked is the
    last one.
    """
    how = random.random()
    if how < KEYWORDS:
        question = keywords(question).lower()
    elif how < KEYWORDS + LOWER_CASE:
        question = question.lower().rstrip("?")
    elif how < KEYWORDS + LOWER_CASE + NO_MARK:
        question = question.rstrip("?")
    if problem and random.random() < PLEA:
        question = f"{question.lower().rstrip('.?!')} {random.choice(PLEAS)}"
    if random.random() < SLIP:
        question = _with_slip(question, random)
    if before and random.random() < TOPIC_BEFORE:
        question = f"{before} {question}"
    return question


def keywords(question: str) -> str:
    """The question without its little words; whole where fewer than two would be left."""
    words = [word for word in re.findall(r"[\w.'/:-]+", question) if not LITTLE_WORDS.fullmatch(word)]
    return " ".join(words) if len(words) > 1 else question


def mistyped(word: str, random: Random) -> str:
    """A word with two letters swapped, one left out or one twice; never its first or last."""
    place = random.randrange(1, len(word) - 1)
    how = random.random()
    if how < 0.4 and place + 2 < len(word):
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    if how < 0.75:
        return word[:place] + word[place + 1 :]
    return word[:place] + word[place] + word[place:]


def _with_slip(question: str, random: Random) -> str:
    words = question.split()
    long = [place for place, word in enumerate(words) if len(word) >= SHORTEST_WITH_SLIP and word.isalpha()]
    for place in random.sample(long, min(len(long), 1 if random.random() < 0.75 else 2)):
        words[place] = mistyped(words[place], random)
    return " ".join(words)
