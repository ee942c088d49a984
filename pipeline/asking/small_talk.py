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
from pipeline.words import counted

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

_ABOUT = r"(documents?|manuals?|docs|files?|sources?|books?|guides?|pages?)"
_PHRASES: dict[SmallTalk, str] = {
    SmallTalk.DOCUMENTS: rf"""
        what (all )?do you know( about)?
        (what|which) ({_ABOUT}|topics?|subjects?|information|data|knowledge) (do|can|did) you
            [ ](have|know|cover|read|use|search|answer|index)( about| on)?
        (what|which) {_ABOUT} (are|is|have been|do you have) (there|indexed|available|loaded|here)
        what (is|are|s) (your sources?|your documents?|indexed|in the index|in your index|here)
        (list|show)( me)?( all)?( of)? your {_ABOUT}
        what (is|are|s) your (knowledge|sources?|data) (about|of|based on)
        (what|which) (kinds? |sorts? )?(of )?documents? (do|can) you (have|know|read)
        how many {_ABOUT} (do you (have|know)|are (there|indexed))
        what do (the|these|your) {_ABOUT} (cover|contain)
        what (is|are|s) (the|this|these|your) {_ABOUT} about
        (what|which) (documents?|manuals?) are in here
        what (is|s) in (here|there|(your|the) (documents?|manuals?|docs|index|database))
        tell (me|us) (about )?what you know
        ((can|could) you )?((give|show) me |i (want|need) )?(an? |the )?(short |brief |quick )?
            (overview|summary|outline)[ ](of|over|about|on)
            [ ](everything|it all|(all )?(of )?(the |these |your )?({_ABOUT}|documentation))
        ((can|could|would) you )?(summarise|summarize|sum up)
            [ ](everything|it all|(all )?(of )?(the |these |your )?({_ABOUT}|documentation))
    """,
    SmallTalk.ABILITIES: r"""
        what (all )?(can|could) you do( for (me|us))?
        (what|how) (can|could|do) you help( me| us)?( with)?
        what (can|could|should|may|do) (i|we) ask( you)?( about)?
        what (can|could) you (tell|answer|explain|show)( me| us)?
        what (sort of |kind of |kinds of )?questions (can|do) (you|i) (answer|ask)( you)?
        (how (do|can|should) (i|we) )(use|work with|talk to) (this|you|it|this (app|tool|page|chat|assistant))
        how (does|do) (this|you|it|this (app|tool|page|chat|assistant)) work
        what (are|is) (you|this) (good )?for
        (can|could|would|will) you help( me| us)?
        (i|we) need( some| your)? help
        help( me| us)?( out)?
        (please )?(give|show) (me )?(some |an |a few )?(examples?|example questions?)
        what do you do
        what are your (abilities|features|capabilities|functions)
        how (do|can) i (start|begin|get started)
        get started
        what (are you|is this) (able to do|capable of)
        (can|may) i ask( you)? (something|a question|questions)
        how (do|can|should) i ask( you)?( a)?( questions?)?
        what can (i|we|this|one) do here
        what (can|does) this( (app|tool|page|chat|assistant))? do
        (tell|show) (me|us) what you (can )?do
    """,
    SmallTalk.IDENTITY: r"""
        (who|what) (exactly )?(are|r) (you|u)
        who is (this|there)
        what (is|s) this( (app|tool|page|chat|assistant|thing))?
        (is )?(anyone|anybody|somebody) (there|here)
        what (is|s) your name
        whats your name
        what are you called
        who am i (talking|speaking|chatting) (to|with)
        are you (an? )?(robot|bot|ai|human|person|machine|real|chatbot|computer|assistant|program|chatgpt)
        are you (there|here|awake|online|alive|ready)
        (introduce|describe) yourself
        tell (me|us) (something |more )?about yourself
        who (made|built|created|wrote) you
    """,
    SmallTalk.FAREWELL: r"""
        (bye )?bye
        good ?bye
        see (you|ya|u)( later| soon| tomorrow| around)?
        (talk to you |catch you )?later
        cya
        good ?night
        (that|this) (is|s|was|will be) (all|it|everything)( for (now|today))?
        thats (all|it|everything)( for (now|today))?
        have a (very )?(nice|good|great) (day|one|evening|weekend|night|time)
        take care
        farewell
        until (next time|tomorrow|later)
        tschüss
        au revoir
        adios
        auf wiedersehen
    """,
    SmallTalk.THANKS: r"""
        (many |no |big |huge )?(thanks|thank (you|u)|thx|thanx|tnx|tysm|ty)
            ( so much| very much| a lot| a bunch| a million| a ton| again| indeed)*
            ( for (all )?(the|your|that|this)( (kind|quick|great|good))?
            ( (help|answers?|reply|time|info|information|explanation|support))?)?
            ( for helping( me)?)?
        cheers
        (much |very much )?appreciated
        (i )?(really |very much )?appreciate (it|that|your help)
        (danke|vielen dank|danke schön|merci|merci beaucoup|gracias|muchas gracias|grazie)
        (obrigado|obrigada|tack|dank je)
    """,
    SmallTalk.GREETING: r"""
        (hello|helo|hallo|hi|hey|hiya|howdy|greetings|yo|ahoy)( there)?
        (hola|bonjour|ciao|salut|moin|servus|namaste)
        (a )?good (morning|evening|afternoon|day)
        how (are|r) (you|u|things)( doing| going)?( today)?
        how (is|s) it going
        hows it going
        how do you do
        what (is|s) up
        whats up
        wassup
        sup
        (i have a|one|just a|a)? ?(quick )?question
        are you (ok|well|fine)
        (nice|good|great|pleased|glad) to (meet|see) you
        guten (tag|morgen|abend)
        (buenos dias|buon giorno|god dag)
        it (is|s) me( again)?
    """,
    SmallTalk.APPROVAL: r"""
        (ok|okay|okey|kk|k|okidoki)( then)?
        (very |really |so |pretty |quite )*
            (great|perfect|cool|nice|good|fine|awesome|amazing|excellent|brilliant|wonderful|lovely|super|fantastic
            |helpful|useful|clear|neat|impressive|interesting)
        (good|great|nice) (job|work|one|answer|stuff|to know)
        well done
        (i )?(got it|see|understand|understood|get it|know)
        (all? ?right|alrighty|right|indeed|exactly)
        (that |this |it |now (that |it )?)?(makes|made) (perfect |much |more |a lot of )?sense
        (that )?(sounds|looks) (good|great|right|fine)
        (that|this|it|which)( (was|is|s|has|really|all|very|so|quite|just|exactly|what))*
            [ ](helps?|helped|helpful|great|good|perfect|nice|useful|fine|clear|right|enough|i needed
            |awesome|cool|wonderful|works?|worked|fixed|solved)( me)?( a lot)?( now)?
        you (are|re) (very |so |really )?(great|good|helpful|awesome|amazing|welcome|the best|nice|cool|right)
        i (really )?(love|like) (you|it|this|that)
        no (problem|worries)
        never ?mind
        forget (about )?it
        (i am |i m |im )?sorry
        (lol|haha|hehe|wow|yay|hurray|oh|ah|hm|hmm|aha)
    """,
}
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
    text = f"{' '.join(_PHRASES.values())} {_TAIL}"
    words = re.findall(r"[^\W_]+", text) + re.findall(r"[^\W_]+(?=\w\?)", text)
    joined = [first + second for first, second in re.findall(r"(\w+)\??\)? \?(\w+)", text)]
    return frozenset([*words, *joined, "alright"])


@lru_cache(maxsize=8)
def _phrases(name: str) -> tuple[tuple[SmallTalk | None, re.Pattern[str]], ...]:
    """Each phrase with its kind; None is the kind of what may stand beside any of them."""
    phrases: list[tuple[SmallTalk | None, str]] = [
        (kind, phrase) for kind, lines in _PHRASES.items() for phrase in _lines(lines)
    ]
    beside = f"{_TAIL}|{re.escape(name)}" if name else _TAIL
    return tuple((kind, re.compile(rf"(?:{phrase})(?!\S)")) for kind, phrase in [*phrases, (None, beside)])


def _lines(text: str) -> list[str]:
    """One pattern a line; a line that is indented further goes on with the one before."""
    lines: list[str] = []
    indent = min(len(line) - len(line.lstrip()) for line in text.splitlines() if line.strip())
    for line in filter(str.strip, text.splitlines()):
        if len(line) - len(line.lstrip()) > indent:
            lines[-1] += line.strip()
        else:
            lines.append(line.strip())
    return lines


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
