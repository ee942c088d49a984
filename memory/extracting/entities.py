"""What a text names: ids, code, people, places, parts; by the patterns and lists of `entities.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

from memory.extracting.records import Entity, EntityKind
from memory.extracting.shown import Shown, shown

_TITLE_WORD = re.compile(r"[A-Z0-9][\w’'-]*|(?:a|an|and|at|by|for|from|in|of|on|or|the|to|vs|with)")
_NAME_OF_CODE = re.compile(
    r"(?:[#@$&]|--?)?[A-Za-z_\[][\w!?.:#@\[\]-]*"  # a name, an attribute
    r"(?:<[^`]*>)?(?:::\w+)*(?:\([^()`]*\))?[!?]?"  # with types and arguments
)
_PATH_IN_CODE = re.compile(r"(?:~|\.{0,2})/\S*\w\S*|\S*\w/\S*|[\w.-]*\w\.(?P<extension>\w+)")
_CALLED_A_FOLDER = re.compile(r"[*_]? {1,2}(?:directory|folder|file|subdirectory)\b")
_MID_SENTENCE = re.compile(r"[\w,;)][\s*_]+$")
_ABBREVIATION = re.compile(r"\(([A-Z][A-Za-z0-9]{1,7})(?:s|,[^()]{0,40})?\)")
_LONGEST_NAME = 6  # words of what an abbreviation stands for

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Rules:
    patterns: tuple[tuple[EntityKind, re.Pattern[str]], ...]
    extensions: re.Pattern[str]
    never: frozenset[str]
    no_person: frozenset[str]
    product: re.Pattern[str]


def entities_in(text: str) -> tuple[Entity, ...]:
    """The entities of a text in order, one for each mention; `text` is Markdown or plain."""
    return entities_of(shown(text))


def entities_of(view: Shown) -> tuple[Entity, ...]:
    """The entities of a text that is known as its readers see it."""
    taken: list[Entity] = []
    for entity in _candidates(view):
        if entity.name and not any(entity.start < other.end and other.start < entity.end for other in taken):
            taken.append(entity)
    return tuple(_with_aliases(view.text, sorted(taken, key=lambda entity: entity.start)))


def _candidates(view: Shown) -> Iterator[Entity]:
    """What may be an entity, the surest first."""
    yield from _abbreviated(view.text)
    yield from _code(view)
    prose = _without(view.text, view.code)
    is_title = _is_title(view.text)
    for kind, pattern in rules().patterns:
        within_code = kind in (EntityKind.ID, EntityKind.TERM)
        for match in pattern.finditer(view.text if within_code else prose):
            entity = _entity(view.text, match.span(match.lastindex or 0), kind)
            if not _is_none(entity, is_title):
                yield entity
    yield from _emphasised(view)


def _is_none(entity: Entity, is_title: bool) -> bool:
    name, kind = entity.name, entity.kind
    if name in rules().never:
        return True
    if kind is EntityKind.PERSON:
        others = rules().no_person
        return is_title or any(word in others or rules().product.fullmatch(word) for word in name.split())
    return is_title and kind in (EntityKind.ORGANISATION, EntityKind.PLACE) and " " in name


def _entity(text: str, place: Place, kind: EntityKind) -> Entity:
    start, end = place
    return Entity(" ".join(text[start:end].split()), normalised(text[start:end]), kind, start, end)


def _is_title(text: str) -> bool:
    """A heading, in which capitals name nobody: "Key Differences"."""
    words = re.findall(r"[^\W_][\w’'-]*", text)
    capitals = sum(word[0].isupper() for word in words)
    ends = text.rstrip()[-1:] in {".", "!", "?", ";"}
    return not ends and capitals > 1 and all(_TITLE_WORD.fullmatch(word) for word in words)


# -- code ----------------------------------------------------------------------------------------------


def _code(view: Shown) -> Iterator[Entity]:
    """Names between backticks: of one word, or a type with its parameters."""
    for start, end in view.code:
        name = view.text[start:end]
        if (path := _PATH_IN_CODE.fullmatch(name)) and _is_path(path):
            yield _entity(view.text, (start, end), EntityKind.PATH)
        elif sum(map(str.isalnum, name)) < 2 or not _NAME_OF_CODE.fullmatch(name):
            continue
        elif not any(pattern.fullmatch(name) for kind, pattern in rules().patterns if kind is EntityKind.ID):
            call = name.find("(")
            yield _entity(view.text, (start, start + call if call > 0 else end), EntityKind.CODE)


def _is_path(match: re.Match[str]) -> bool:
    extension = match["extension"]
    return extension is None or bool(rules().extensions.fullmatch(extension))


def _without(text: str, spans: Sequence[Place]) -> str:
    characters = list(text)
    for start, end in spans:
        characters[start:end] = "`" * (end - start)
    return "".join(characters)


def _emphasised(view: Shown) -> Iterator[Entity]:
    """Names of ships and works in italics, and of folders."""
    for start, end in view.emphasised:
        name = view.text[start:end]
        if _CALLED_A_FOLDER.match(view.text, end):
            yield _entity(view.text, (start, end), EntityKind.PATH)
        elif re.fullmatch(r"[A-Z][a-z]+(?: [A-Z0-9][a-z0-9]*)*", name) and _MID_SENTENCE.search(
            view.text, 0, start
        ):
            yield _entity(view.text, (start, end), EntityKind.PRODUCT)


# -- abbreviations -------------------------------------------------------------------------------------


def _abbreviated(text: str) -> Iterator[Entity]:
    """Both sides of "Carbon Dioxide Removal Assembly (CDRA)"."""
    for match in _ABBREVIATION.finditer(text):
        if full := _stands_for(text[: match.start()], match[1]):
            yield _entity(text, full, EntityKind.TERM)
            yield _entity(text, match.span(1), EntityKind.TERM)


def _stands_for(before: str, short: str) -> Place | None:
    """The last words before an abbreviation that begin with its first letter and have all others in order."""
    words = list(re.finditer(r"[^\W_][\w-]*", before))[-_LONGEST_NAME:]
    for word in reversed(words):
        full = before[word.start() :]
        if re.search(r"[.;:,()]", full):
            return None
        if full[0].lower() == short[0].lower() and _has_letters(full.lower(), short.lower()):
            return word.start(), len(before.rstrip())
    return None


def _has_letters(full: str, short: str) -> bool:
    place = 0
    for letter in short:
        place = full.find(letter, place) + 1
        if not place:
            return False
    return len(full) > len(short) + 2


def _with_aliases(text: str, entities: Sequence[Entity]) -> Iterator[Entity]:
    """The entities, those of an abbreviation in brackets with each other's names."""
    for place, entity in enumerate(entities):
        after = entities[place + 1] if place + 1 < len(entities) else None
        before = entities[place - 1] if place else None
        if after and after.kind is EntityKind.TERM and text[entity.end : after.start].strip() == "(":
            yield replace(entity, aliases=(after.normalised,))
        elif before and entity.kind is EntityKind.TERM and text[before.end : entity.start].strip() == "(":
            yield replace(entity, aliases=(before.normalised,))
        else:
            yield entity


# -- rules ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _data() -> Mapping[str, Any]:
    return tomllib.loads((files("memory.extracting") / "entities.toml").read_text(encoding="utf-8"))


def entity_words() -> Mapping[str, str]:
    """Lists of words as alternatives of a pattern: given names, roles, parts."""
    words: Mapping[str, str] = _data()["words"]
    return words


@lru_cache(maxsize=1)
def rules() -> _Rules:
    """The rules of `entities.toml`, read once."""
    data = _data()
    words = entity_words()
    patterns: list[tuple[EntityKind, re.Pattern[str]]] = []
    named = [
        (
            EntityKind(kind),
            re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, names), key=len)[::-1])})\b(?!-)"),
        )
        for kind, names in data["names"].items()
    ]
    for kind, lines in data["patterns"].items():
        if kind == EntityKind.PERSON:
            patterns += named  # a place that is known wins over a person who is guessed
        for line in lines:
            for word, alternatives in words.items():
                line = line.replace(f"{{{word}}}", f"(?:{alternatives})")
            patterns.append((EntityKind(kind), re.compile(line)))
    never = data["never"]
    return _Rules(
        tuple(patterns),
        re.compile(words["extension"]),
        frozenset(never["entity"]),
        frozenset(never["person"]),
        re.compile(words["product"]),
    )


_MARKS = re.compile(r"[`*]|(?<!\w)_|_(?!\w)|[\"“”„«»]|<!--.*?-->")
_ARTICLE = re.compile(r"(?:the|an?|my|your|our|their|his|her|its|this|that|these|those) (?=\S)")
_SPACED_CODE = re.compile(r"[A-Z]{1,4} \d{2,4}")
_CODE = re.compile(r"([a-z]{1,4})-?(\d{2,4})")
_CALL = re.compile(r"(?<=\w)\([^()]*\)$")
_POSSESSIVE = re.compile(r"['’]s$")
_NUMERALS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
    )
}


@lru_cache(maxsize=4096)
def normalised(name: str) -> str:
    """The name in small letters without marks and article, its ids and last numeral in one form.

    "C105" and "C 105" become "c-105", "the Fan one" becomes "fan 1", "`parse()`" becomes "parse".
    """
    name = " ".join(_MARKS.sub("", name).split()).strip(" ,;:.!?")
    if _SPACED_CODE.fullmatch(name):
        name = name.replace(" ", "-")
    name = _POSSESSIVE.sub("", _CALL.sub("", name)).casefold().replace("’", "'")
    name = _ARTICLE.sub("", name, count=1) if _ARTICLE.match(name) else name
    if code := _CODE.fullmatch(name):
        return f"{code[1]}-{code[2]}"
    first, _, last = name.rpartition(" ")
    return f"{first} {_NUMERALS.get(last, last)}" if first else name
