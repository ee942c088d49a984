"""What corrects something that was said before: "it is Y, not X", "sorry, my bunk is number 6", "no, 6"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC
from functools import lru_cache

from memory.extracting.facts import Saying, attribute, fact
from memory.extracting.objects import VAGUE, names_wrong, normal_object, object_of
from memory.extracting.predicates import statement_data
from memory.extracting.records import Category, Statement

LEAST_WORDS = 3  # of what corrects words that no rule reads
FEW_WORDS = 6  # of an object: more of them are a story

_PRONOUN_IS = re.compile(
    r"(?:(?:it|that|this|he|she|they)(?:['’]s| is| was|['’]re| are)|its|hes|shes|thats|theyre"
    r"|(?:it )?should be)(?: actually| really| now| rather)*,? (?P<object>.+)",
    re.IGNORECASE,
)
_MEANT = re.compile(
    r"(?:make (?:it|that)|i mea?nt?)(?: actually| really| now| rather)*,? (?P<object>.+)", re.IGNORECASE
)
_VALUE = re.compile(
    r"[\w.:/-]*\d[\w:/-]*(?:[.,]\d+)*|(?-i:\b[A-HJ-Z]\b)"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|today|tonight|january|february|march|april|may|june|july"
    r"|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_IS = re.compile(r"(?P<of>[^,;]+?) (?:is|are|was|were) ", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d_]{3,}(?:[’'-][^\W\d_]+)*")
_NO_NAME = re.compile(
    r"(?:thanks?|thx|please|pls|nothing|none|never|nevermind|nvm|stop|wait|what|why|how|where|when|who|which|yes|no|ok"
    r"|okay|help|sorry|problem|idea|way|good|great|more|less|worries|luck|need|doubt|matter|really|maybe|cancel|done"
    r"|bye|again|both|neither|either|other|another|same|different|new|old|wrong|right|correct|true|false|sure|fine)",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\b(?:what|how|why|where|when|which|who|whose|or)\b"
    r"|\b(?:isn['’]?t|aren['’]?t|is|are) (?:it|they|he|she)\W*$"
    r"|(?:^|[,;:.] *|\b(?:and|but|so) )(?:can|could|should|shall|do|does|is|are|help|tell|show)\b",
    re.IGNORECASE,
)
"""Of a question without its mark, which corrects nothing: "sorry, eva starts when", "open or closed"."""
_NO_CORRECTION = re.compile(
    rf"{VAGUE.pattern}|(?:all|enough|fine|wrong|right|ok|okay|it|correct|good|true|false|over|done)\W*$",
    re.IGNORECASE,
)


def correction(text: str, before: Statement | None, *, corrects: bool) -> Saying | None:
    """What a correction says: of what was said `before`, or else of whatever is remembered of the same.

    `corrects` where words before it say so ("sorry, …"); without, "it is Y" and "Y, not X" still do.
    """
    if match := _PRONOUN_IS.fullmatch(text):
        return _of_before(match["object"], before)
    if match := _MEANT.fullmatch(text):
        thing = _meant(before, match["object"]) if before else ""
        return _instead(before, thing, old=before.object) if before and thing else None
    if corrects and before and (thing := _value_like(before, text)):
        return _instead(before, thing, old=before.object)
    if said := _of_what_is_known(text):
        return said
    if corrects and (names_wrong(text) or re.match(r"not\b", text)):
        return _of_before(text, before)
    thing = normal_object(text)
    told = (
        corrects and len(thing.split()) >= LEAST_WORDS and not _ASKS.search(text) and not VAGUE.match(thing)
    )
    return Saying("", "note", thing, Category.GENERAL, only_of_known=True) if told else None


def _of_before(text: str, before: Statement | None) -> Saying | None:
    """What "Y, not X" says of the statement before; without that, only what no longer holds."""
    thing, replaces, denied = object_of(text, keep_date=True, said_at=0.0, zone=UTC)
    if not thing or denied or "," in thing or len(thing.split()) > FEW_WORDS or _NO_CORRECTION.match(thing):
        return None
    if before and (not replaces or _words(replaces) <= _words(before.text)):
        return _instead(before, thing, old=replaces or before.object)
    if not replaces:
        return None
    return Saying("", "", thing, Category.GENERAL, replaces=replaces, only_of_known=True)


def _instead(before: Statement, thing: str, *, old: str) -> Saying:
    """The statement before, with one thing in the place of another."""
    preferences = tuple((key, thing) for key, _ in before.preferences)
    return Saying(
        before.subject, before.predicate, thing, before.category, before.tags, preferences, replaces=old,
        whole=_with(thing, old, before.text),
    )  # fmt: skip


def _meant(before: Statement, text: str) -> str:
    """What "I meant …" puts in the place of the object before: a value like it, or as few words; else ""."""
    thing, replaces, denied = object_of(text, keep_date=True, said_at=0.0, zone=UTC)
    if not thing or denied or _NO_CORRECTION.match(thing) or _ASKS.search(text):
        return ""
    new, old = thing.split(), before.object.split()
    alike = bool(_VALUE.search(thing)) == bool(_VALUE.search(before.object)) and len(new) == len(old) <= 2
    shares = len(new) <= FEW_WORDS // 2 and not _words(thing).isdisjoint(_words(before.object))
    named = bool(replaces) and _words(replaces) <= _words(before.text)
    return _value_like(before, thing) or (thing if alike or shares or named else "")


def _value_like(before: Statement, text: str) -> str:
    """The object that a bare value puts in the place of the one before: "no, 6" after "my bunk is nr 4".

    Numbers, single letters and days stand for as many, an opposite for its other side, where all other words
    were said too; a name for a name. Else "".
    """
    if named := _IS.match(text):  # "bunk is 6": of the same subject
        if not _words(named["of"]) <= _words(before.subject) | {"my", "our", "the"}:
            return ""
        text = text[named.end() :]
    words = normal_object(text).split()
    new, old = (_VALUE.findall(given) for given in (" ".join(words), before.object))
    if new and len(new) == len(old):
        others = {word.casefold() for word in words if not _VALUE.search(word)}
        values = iter(new)
        return _VALUE.sub(lambda _: next(values), before.object) if others <= _words(before.text) else ""
    if other := _other_side(before, words):
        return other
    if not (len(words) == 1 and before.single_valued and _NAME.fullmatch(before.object)):
        return ""
    return words[0] if _is_name_like(before.object, words[0]) else ""


def _is_name_like(old: str, new: str) -> bool:
    """Whether a word is a name as another is written: "no, Bea" after "Ana", and not "wait, fire"."""
    written_alike = (old[0].isupper(), old.isupper()) == (new[0].isupper(), new.isupper())
    return written_alike and _NAME.fullmatch(new) is not None and _NO_NAME.fullmatch(new) is None


def _other_side(before: Statement, words: Sequence[str]) -> str:
    """The object before with its opposite in it: "right pocket" after "in the left pocket"; else ""."""
    for said in before.object.split():
        new = next((word for word in words if opposed(word, said)), "")
        if new and {word.casefold() for word in words if word != new} <= _words(before.text):
            return _with(new, said, before.object)
    return ""


def _words(text: str) -> set[str]:
    return {word.removesuffix("'s") for word in text.casefold().split()}


def _of_what_is_known(text: str) -> Saying | None:
    """A correction that names what it is of: "my bunk is number 6", "the key is in the drawer"."""
    said = attribute(text, asked_for=True) or attribute(f"my {text}", asked_for=False) or fact(text)
    if said is None or not said.subject or said.predicate == "to do":
        return None
    if len(said.object.split()) > FEW_WORDS or _ASKS.search(text):
        return None
    return replace(said, only_of_known=True)


def _with(thing: str, old: str, text: str) -> str:
    """A text with one thing in the place of another; "" where that is not in it."""
    found = re.search(rf"(?<!\w){re.escape(old)}(?!\w)", text, re.IGNORECASE) if old else None
    return f"{text[: found.start()]}{thing}{text[found.end() :]}" if found else ""


_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_ADVERBS = frozenset(
    ("now", "fully", "completely", "still", "always", "again", "currently", "all", "quite", "very")
)
_AFTER = re.compile(
    r"\s+(?:at|in|during|when|while|until|till|by|overnight|all|for|from|since|after|before)\b|\W*$"
)
"""What stands after "on" or "up" where it is a state: elsewhere it is a preposition."""


def opposed(one: str, other: str) -> bool:
    """Whether two objects are opposites: the same words but for one, and that the other side of a pair."""
    first, second = (_content_words(text) for text in (one, other))
    if len(first) != len(second):
        return False
    apart = [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]]
    if len(apart) != 1:
        return False
    sides = _sides().get(apart[0][0], {}), _sides().get(apart[0][1], {})
    return any(sides[1].get(pair, side) != side for pair, side in sides[0].items())


def sides_in(text: str) -> frozenset[str]:
    """The sides of pairs that a text takes, equal for equal ones: "shut" and "closed" are one side."""
    return frozenset(
        f"{pair}:{side}"
        for match in _WORD.finditer(text)
        for pair, side in _sides().get(match[0].casefold(), {}).items()
        if match[0].casefold() not in _prepositions() or _AFTER.match(text, match.end())
    )


def _content_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word not in _ADVERBS]


@lru_cache(maxsize=1)
def _sides() -> Mapping[str, Mapping[int, int]]:
    """Each word's side, by pair: a word such as "free" has a side in several."""
    found: dict[str, dict[int, int]] = {}
    for number, pair in enumerate(statement_data()["opposites"]["pairs"]):
        for side, words in enumerate(pair):
            for word in words:
                found.setdefault(word, {})[number] = side
    return found


@lru_cache(maxsize=1)
def _prepositions() -> frozenset[str]:
    return frozenset(statement_data()["opposites"]["prepositions"])
