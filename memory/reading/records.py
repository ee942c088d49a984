"""What is found in a text, as plain records. Every `start` and `end` counts code points of that text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

USER = "user"  # as a subject


class EntityKind(StrEnum):
    """What an entity is."""

    ID = "id"  # W-202, GNC-IMU-1, E0382
    VERSION = "version"
    PATH = "path"
    CODE = "code"  # a function, a type, a command, a setting
    PLACE = "place"
    PERSON = "person"
    ORGANISATION = "organisation"
    PRODUCT = "product"
    PART = "part"  # a thing with a name of common words: the cabin fan, fan 1
    TERM = "term"  # a word that the text defines or shortens


@dataclass(frozen=True, slots=True)
class Entity:
    """One mention of something that has a name."""

    name: str  # as the text has it, without marks
    normalised: str  # equal for equal things: "fan one" and "Fan 1" are both "fan 1"
    kind: EntityKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation that a text states between two things."""

    subject: str  # as the text has it, without article and marks
    label: str  # one of those in relations.toml: "causes", "part of" …; "not …" where that does not hold
    object: str
    start: int  # of the words that state it, both ends included
    end: int


class Category(StrEnum):
    """What a statement is about."""

    PREFERENCE = "preference"
    WORK = "work"
    PERSONAL = "personal"
    GENERAL = "general"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing that a user said and that is worth keeping.

    `subject` is `user` for the user, `user's dog` for what belongs to the user, else a normalised name.
    `predicate` is normalised (`home`, `likes`); "" in what does not say of what: a correction ("not zsh,
    but fish"), whose `replaces` has the object that no longer holds, and an end ("sold the car").
    """

    subject: str = ""
    predicate: str = ""
    object: str = ""
    category: Category = Category.GENERAL
    text: str = ""  # its words, or what it says by itself where they lean on what was said before
    start: int = 0  # of its words in the message
    end: int = 0
    valid_at: float = 0.0  # epoch seconds: since when it is true; when it was said, unless it says otherwise
    invalid_at: float | None = None  # until when it is true; None = it still is
    importance: int = 5  # 1 to 10
    importance_why: str = ""
    negated: bool = False  # "I do not like X": is false
    ends: bool = False  # it was true and is no longer
    planned: bool = False  # it is to be true; negated, too: what was planned is not to be
    corrects: bool = False  # it says that something said before is wrong
    replaces: str = ""  # the object that it says is wrong, where it names it
    instead_of: str = ""  # the subject that it was wrongly said of: "my sister, not me"
    role: str = ""  # what a subject with a name is to the user: "user's brother"
    only_of_known: bool = False  # a correction, which counts only where the same is remembered otherwise
    asked_for: bool = False  # "remember that …"
    trusted: bool = True  # False: it reads like an instruction, and must never act as one
    said_at: float = 0.0  # when it was said; 0 where that is not known


class Command(StrEnum):
    """What a message asks of the memory."""

    REMEMBER = "remember"  # the query is what to remember
    KNOWN = "known"  # what do you know about me? "" or a topic
    SAID = "said"  # what did I say about …?
    FORGET = "forget"  # the query is what to search for; "" means what was last said
    FORGET_ALL = "forget_all"


@dataclass(frozen=True, slots=True)
class MemoryCommand:
    """One request to the memory."""

    kind: Command
    query: str = ""
    start: int = 0  # of the query in the message
    end: int = 0


class SecretKind(StrEnum):
    """What must not be kept."""

    PRIVATE_KEY = "private key"
    KEY = "key"
    TOKEN = "token"  # noqa: S105 (a name)
    PASSWORD = "password"  # noqa: S105
    CARD = "card number"
    ACCOUNT = "account number"


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands; never what it is."""

    kind: SecretKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Validity:
    """When something is true: from `valid_at`, up to and without `invalid_at` (None = open), epoch seconds.

    `start` and `end` are where the text names the time; both None where it names none.
    """

    valid_at: float
    invalid_at: float | None = None
    start: int | None = None
    end: int | None = None
