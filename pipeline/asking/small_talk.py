"""Greetings, thanks, "what can you do?": messages that ask nothing of the documents, and what is replied.

A message is small talk only where every word of it belongs to such a phrase, by rules: "hello, the fan
stopped" is a question. The phrases are English, with the commonest greetings and thanks of a few other
languages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from pipeline.asking.suggestions import QUESTIONS, own_title, suggested_questions
from pipeline.words import counted, table

if TYPE_CHECKING:
    from pipeline.answering.persona import Persona
    from pipeline.stores.base import DocumentInfo, DocumentStore


class SmallTalk(StrEnum):
    """What a message without a question is; of several, the first counts."""

    DOCUMENTS = "documents"  # what do you know?
    ABILITIES = "abilities"  # what can you do?
    IDENTITY = "identity"  # who are you?
    FAREWELL = "farewell"
    THANKS = "thanks"
    GREETING = "greeting"
    APPROVAL = "approval"  # ok, great, got it
    NOTHING = "nothing"  # blank, or no letter in it


LONGEST = 120  # characters of small talk; nobody greets at greater length

_PHRASES = tuple((SmallTalk(kind), phrase) for kind, phrase in table(__file__, "small_talk.tsv"))
_TAIL = (
    "there|all|everyone|everybody|folks|guys|team|friend|mate|again|assistant|bot|computer|sir|madam|dear|"
    "please|pls|plz|today|exactly|really|anyway|so far|a lot|very much|(and|but|so|well)(?= )"
)
_MARKED = re.compile(r"[\d`_/\\<>=@#{}|]|--|::")
"""What stands in code, ids, commands and paths: a message with it is about something."""
_THUMBS = re.compile("[\N{THUMBS UP SIGN}\N{OK HAND SIGN}\N{CLAPPING HANDS SIGN}\N{WHITE HEAVY CHECK MARK}]")

TITLES = 8  # that are named; of more, those of the longest documents
_BRIEF = {
    SmallTalk.THANKS: "You are welcome. Ask on whenever you like.",
    SmallTalk.FAREWELL: "Goodbye. What was said stays in this conversation.",
    SmallTalk.APPROVAL: "Good. What else do you need to know?",
}
_OPENING = {
    SmallTalk.GREETING: "Hello, {name} here. {greeting}",
    SmallTalk.IDENTITY: "I am {name}. {greeting}",
    SmallTalk.ABILITIES: "I find what the documents say, and quote it with its place. {greeting}",
    SmallTalk.DOCUMENTS: "I know what is written in the documents that are indexed here, and nothing else.",
    SmallTalk.NOTHING: "That is not a question yet. {greeting}",
}


def small_talk(message: str, *, name: str = "Athena", follows: bool = False) -> SmallTalk | None:
    """What kind of small talk a message is; None where there is anything else in it.

    `name` is what the assistant is called, which may stand in any greeting. Where it `follows` an answer,
    "how does it work?" is about what was said.
    """
    if not any(character.isalnum() for character in message):
        return SmallTalk.APPROVAL if _THUMBS.search(message) else SmallTalk.NOTHING
    words = _plain(message)
    points_back = follows and not {"it", "this"}.isdisjoint(words.split())
    if len(message) > LONGEST or _MARKED.search(message) or not _may_be(words, _plain(name)):
        return None
    kinds: set[SmallTalk | None] = set()
    while words:
        found = [
            (match.end(), kind) for kind, phrase in _phrases(_plain(name)) if (match := phrase.match(words))
        ]
        if not found:
            return None
        end, kind = max(found, key=lambda item: item[0])
        kinds.add(kind)
        words = words[end:].lstrip()
    kind = next((kind for kind in SmallTalk if kind in kinds), None)
    return None if points_back and kind in (SmallTalk.ABILITIES, SmallTalk.IDENTITY) else kind


def _plain(message: str) -> str:
    """The words in lower case, a blank between them; letters that are drawn out once ("heyyy")."""
    words = " ".join(re.findall(r"[^\W_]+", message.lower().replace("’", "'")))
    return re.sub(r"([^\W\d_])\1{2,}", r"\1", words)


def _may_be(words: str, name: str) -> bool:
    """False where a word is of no phrase: most questions are told by that, without the patterns."""
    return _vocabulary().issuperset(set(words.split()) - set(name.split()))


@lru_cache(maxsize=1)
def _vocabulary() -> frozenset[str]:
    """Every word of every phrase, and words that are written as one or as two."""
    text = f"{' '.join(phrase for _, phrase in _PHRASES)} {_TAIL}"
    words = re.findall(r"[^\W_]+", text) + re.findall(r"[^\W_]+(?=\w\?)", text)
    joined = [first + second for first, second in re.findall(r"(\w+)\??\)? \?(\w+)", text)]
    return frozenset([*words, *joined, "alright"])


@lru_cache(maxsize=8)
def _phrases(name: str) -> tuple[tuple[SmallTalk | None, re.Pattern[str]], ...]:
    """Each phrase with its kind; None is the kind of what may stand beside any of them."""
    beside = f"{_TAIL}|{re.escape(name)}" if name else _TAIL
    return tuple((kind, re.compile(rf"(?:{phrase})(?!\S)")) for kind, phrase in [*_PHRASES, (None, beside)])


def reply_to(kind: SmallTalk, *, persona: Persona, store: DocumentStore) -> str:
    """The reply to small talk, as Markdown; raises `StoreError`."""
    if kind in _BRIEF:
        return _BRIEF[kind]
    documents = store.sections.documents()
    questions = persona.suggestions[:QUESTIONS] or suggested_questions(documents, store.sections)
    parts = [
        _OPENING[kind].format(name=persona.name, greeting=persona.greeting).strip(),
        _indexed(documents),
        "\n".join(["You could ask:", "", *(f"- {question}" for question in questions)]) if questions else "",
    ]
    return "\n\n".join(filter(None, parts))


def _indexed(documents: Sequence[DocumentInfo]) -> str:
    if not documents:
        return "Nothing is indexed yet."
    longest = sorted(documents, key=lambda info: (-info.sections, info.source))
    titles = [title for title in dict.fromkeys(map(own_title, longest)) if title]
    named = ", ".join(titles[:TITLES])
    more = len(documents) - len(titles[:TITLES])
    rest = f" and {more:,} more" if named and more else ""
    counts = (
        f"{counted(len(documents), 'document')} with {counted(sum(d.sections for d in documents), 'section')}"
    )
    return f"Indexed: {counts}{f': {named}{rest}' if named else ''}."
