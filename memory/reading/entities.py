"""What a text names: ids, code, people, places, parts; by the patterns and lists of `entities.toml`."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from memory.reading import filled, rules_of
from memory.reading.intervals import NUMERALS
from memory.reading.records import USER, Entity, EntityKind

_NAME_OF_CODE = re.compile(
    r"(?:[#@$&]|--?)?[A-Za-z_\[][\w!?.:#@\[\]-]*"  # a name, an attribute
    r"(?:<[^`]*>)?(?:::\w+)*(?:\([^()`]*\))?[!?]?"  # with types and arguments
)

_IN_CODE = (EntityKind.PATH, EntityKind.ID)

Place = tuple[int, int]


def is_given_name(word: str) -> bool:
    """Whether a word is one of the given names that are known, in whatever case."""
    return word.casefold() in _given_names()


def entities_in(text: str) -> tuple[Entity, ...]:
    """The entities of a text in order, one for each mention; `text` is Markdown or plain."""
    return entities_of(shown(text))


def entities_of(view: Shown) -> tuple[Entity, ...]:
    """The entities of a text that is known as its readers see it."""
    taken: list[Entity] = []
    free = bytearray(b"1" * len(view.text))
    for entity in _candidates(view):
        if entity.name and b"0" not in free[entity.start : entity.end]:
            free[entity.start : entity.end] = b"0" * (entity.end - entity.start)
            taken.append(entity)
    return tuple(sorted(taken, key=lambda entity: entity.start))


def _candidates(view: Shown) -> Iterator[Entity]:
    """What may be an entity, the surest first."""
    yield from _code(view)
    prose = list(view.text)
    for start, end in view.code:
        prose[start:end] = "`" * (end - start)
    for kind, pattern in patterns():
        within_code = kind in (EntityKind.ID, EntityKind.TERM)
        for match in pattern.finditer(view.text if within_code else "".join(prose)):
            entity = _entity(view.text, match.span(match.lastindex or 0), kind)
            if not _is_none(entity):
                yield entity


def _code(view: Shown) -> Iterator[Entity]:
    """Names between backticks: of one word, or a type with its parameters."""
    for start, end in view.code:
        name = view.text[start:end]
        kinds = (kind for kind, pattern in patterns() if kind in _IN_CODE and pattern.fullmatch(name))
        kind = next(kinds, EntityKind.CODE)
        if kind is not EntityKind.CODE or _NAME_OF_CODE.fullmatch(name):
            call = name.find("(")
            yield _entity(view.text, (start, start + call if call > 0 else end), kind)


def _is_none(entity: Entity) -> bool:
    """Whether it is written like a name, and is none."""
    never, product = rules_of("entities")["never"], entity_words()["product"]
    words = entity.name.split() if entity.kind is EntityKind.PERSON else ()
    no_person = any(word in never["person"] or re.fullmatch(product, word, re.I) for word in words)
    return no_person or entity.name in never["entity"]


def _entity(text: str, place: Place, kind: EntityKind) -> Entity:
    start, end = place
    return Entity(" ".join(text[start:end].split()), normalised(text[start:end]), kind, start, end)


# -- rules ---------------------------------------------------------------------------------------------


def entity_words() -> Mapping[str, str]:
    """Lists of words as alternatives of a pattern: given names, roles, parts."""
    words: Mapping[str, str] = rules_of("entities")["words"]
    return words


@lru_cache(maxsize=1)
def patterns() -> tuple[tuple[EntityKind, re.Pattern[str]], ...]:
    """The patterns of `entities.toml`, with the kinds of what they find."""
    data = rules_of("entities")
    words = {name: f"(?:{alternatives})" for name, alternatives in entity_words().items()}
    found: list[tuple[EntityKind, re.Pattern[str]]] = []
    named = [
        (
            EntityKind(kind),
            re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, names), key=len)[::-1])})\b(?!-)"),
        )
        for kind, names in data["names"].items()
    ]
    for kind, lines in data["patterns"].items():
        if kind == EntityKind.PERSON:
            found += named  # a place that is known wins over a person who is guessed
        found += [(EntityKind(kind), re.compile(filled(line, words))) for line in lines]
    return tuple(found)


_SMALL = re.compile(r"(?<![\w/.@`-])[a-z]{3,}(?![\w/@`(]|\.\w)")
_MARKS = re.compile(r"[`*]|(?<!\w)_|_(?!\w)|[\"“”„«»]|<!--(?:(?!<!--).)*?-->")
_ARTICLE = re.compile(r"^(?i:the|an?|my|your|our|their|his|her|its|this|that|these|those) (?=\S)")
_CODE = re.compile(r"([A-Za-z]{1,4}(?=-|\d)|[A-Z]{1,4}(?= ))[- ]?(\d{2,4})")
_CALL = re.compile(r"(?<=\w)\([^()]*\)$")
_POSSESSIVE = re.compile(r"['’]s$")


def bare_name(name: str) -> str:
    """A name without what its bearer is to somebody: "my brother Karl" and "colleague Karl" are Karl."""
    relative = entity_words()["relative"]
    return re.sub(rf"^(?i:(?:(?:my|our|his|her|their) )?(?:{relative}) )(?=[A-Z][a-z])", "", name)


def relatives_in(text: str) -> Iterator[tuple[str, str]]:
    """Those whom a text names, and what they are to the user: "karl" is "user's brother"."""
    words = entity_words()
    relative = rf"\b(?i:(?:my|our) (?P<thing>{words['relative']}|child|kid|baby))\b"
    for match in re.finditer(rf"{relative},? (?!{words['people']}\b)(?P<name>[A-Z][a-z]+)\b", text):
        yield normalised(match["name"]), f"{USER}'s {match['thing'].casefold()}"


def with_names(text: str, people: Collection[str] = ()) -> str:
    """A message with capitals where a hurried writer leaves them out: in names that are known."""
    words = rules_of("entities")["names_and_words"]["given_name"]
    known = _given_names().difference(words) | {name.casefold() for name in people}
    text = re.sub(r"(?<=\s)n(?=\s)", "&", text)
    return _SMALL.sub(lambda match: match[0].capitalize() if match[0] in known else match[0], text)


@lru_cache(maxsize=1)
def _given_names() -> frozenset[str]:
    return frozenset(entity_words()["given_name"].casefold().split("|"))


@lru_cache(maxsize=4096)
def normalised(name: str) -> str:
    """The name in small letters without marks and article, its ids and last numeral in one form.

    "C105" and "C 105" become "c-105", "the Fan one" becomes "fan 1", "`parse()`" becomes "parse".
    """
    name = bare_name(" ".join(_MARKS.sub("", name).split()).strip(" ,;:.!?"))
    name = _ARTICLE.sub("", _POSSESSIVE.sub("", _CALL.sub("", name)).replace("’", "'"), count=1)
    if code := _CODE.fullmatch(name):
        return f"{code[1]}-{code[2]}".casefold()
    first, _, last = name.casefold().rpartition(" ")
    return f"{first} {NUMERALS.get(last, last)}" if first else last


LONGEST = 20_000  # characters that are looked at: a message or a section; what follows names nothing

_CODE_SPAN = re.compile(r"(?<![`\\])(`{1,2})(?!`)([^`\n]+(?:\n[^`\n]+)*)\1(?!`)")
_BLOCK = re.compile(  # code, tables and headings
    r"^ {0,3}(```++|~~~++)[^\n]*+\n.*?(?:^ {0,3}\1[^\n]*|\Z)|^[ \t]*(?:\||#{1,6} )[^\n]*",
    re.MULTILINE | re.DOTALL,
)
_MARKUP = re.compile(
    r"(?<=\])(?:\[[^\]\n]*\]|\([^()\n]*+(?:\([^()\n]*+\)[^()\n]*+)?\))"  # where a link leads
    r"|^ {0,3}\[[^\]\n]+\]:[^\n]*"
    r"|<!--(?:(?!<!--).)*?-->|</?[A-Za-z][^<>\n]*>"
    r"|\b[a-z][a-z+]{1,9}://\S+"
    r"|^[ \t]*(?:>[ \t]?|[-*+][ \t]+|\d{1,3}[.)][ \t]+)+"  # quoted lines, items
    r"|(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)|[\[\]]",
    re.MULTILINE | re.DOTALL,
)
_PARAGRAPH = re.compile(r"\n(?=[ \t]*(?:\n|[-*+][ \t]|\d{1,3}[.)][ \t]))")


@dataclass(frozen=True, slots=True)
class Shown:
    """A text with marks, tables, headings and fenced code overwritten, and where code stands in it."""

    text: str  # with a line for each paragraph; backticks stay
    code: tuple[Place, ...]  # what stands between backticks


def shown(text: str) -> Shown:
    """What readers see of the sentences of a Markdown or plain text."""
    prose = _BLOCK.sub(_blank, text[:LONGEST])
    code = tuple(match.span(2) for match in _CODE_SPAN.finditer(prose))
    begin = {match.start() for match in _PARAGRAPH.finditer(prose)}
    characters = list(_MARKUP.sub(_blank, prose))
    for start, end in code:  # "*" and "<" are no marks there
        characters[start:end] = prose[start:end]
    for place, character in enumerate(characters):
        if character == "\n" and place not in begin:
            characters[place] = " "
    return Shown("".join(characters), code)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])
