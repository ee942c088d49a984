"""The one analyser: a text's terms for the lexical index, and which parts of a node are indexed and embedded.

Every backend indexes these terms as they are (split at blanks), so that all of them find the same.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

import Stemmer

from readers.dialects import display

if TYPE_CHECKING:
    from pipeline.nodes import Node

ANALYSER_VERSION = 2
"""Rises with every change of what `analyse` returns: lexical indexes of another version are rebuilt."""

EMBEDDING_RECIPE = 3
"""Rises with every change of what is embedded of a node, or of how a model's output becomes its vector.

Indexes of another recipe are embedded again. Today: `embedding_text` below (without marks since 2, long
headings cut since 3), of a section as much of it as `Encoder.opening` says (128 tokens of the bundled
model), of a sentence all; the mean over tokens."""

MAX_TERM_CHARACTERS = 64  # longer ones are noise (base64, URLs): cut
EMBEDDED_HEADINGS = 2  # the innermost headings that go into an embedding
EMBEDDED_CHARACTERS = 300  # of these headings, the last; of a table's header, the first
OPENING_CHARACTERS = (
    20_000  # of a section, in which its marks are looked for: more than any model reads of it
)
PATH_SEPARATOR = " > "

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*(?:[-_.][^\W_]+)*(?:['’]s(?!\w))?")
_PART = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_LONG_INITIALS = re.compile(r"\b[A-Z](?:\.[A-Z]){3,}\b\.?(?=\W|$)")  # not U.S., which models know
_FEWEST_SMALL_INITIALS = 4  # fewer may be a file's name (`a.b.c`) or an attribute (`x.y`)
_CODE = re.compile(r"([a-z]{1,4})-?([0-9]{2,4})(?:['’]?s)?")
_SPACED_CODE = re.compile(r"\b(?<![.'’-])([A-Z]{1,4}+) ([0-9]{2,4}+)(?![\w'’-]|\.\w)")
"""`C 105`: in capitals alone, because `in 2024` is none."""
_CACHED_WORDS = 65_536  # about 15 MB


def analyse(text: str) -> list[str]:
    """The terms of a text, in order: lower case, compatible forms unified (NFKC), English stems.

    A compound is taken apart (`tank-valve` → tank, valv; `--top-k` → top, k); one with a digit in it, as
    ids, versions and decimals have, is kept whole, too (`ECS-LN2-T1` → ecs, ln2, t1, ecs-ln2-t1).
    Initials are one word (`S.P.A.C.E.` → space); `C105`, `C 105` and `C-105s` are analysed as `C-105`.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return list(chain.from_iterable(map(_terms, _WORD.findall(_SPACED_CODE.sub(r"\1-\2", text)))))


def embedding_question(question: str) -> str:
    """A question as it is embedded: initials as the one word that they stand for (`S.P.A.C.E.` → SPACE).

    An embedding model reads them as letters, and takes the question for one about nothing.
    """
    return _LONG_INITIALS.sub(lambda found: found[0].replace(".", ""), question)


def lexical_text(node: Node) -> str:
    """The parts of a node that are indexed: heading path, table header and text in one field, analysed."""
    return lexical_terms(node.text, node.metadata)


def lexical_terms(text: str, metadata: Mapping[str, Any]) -> str:
    """The terms of a node's parts, separated by blanks."""
    headings, header = _analysed(" ".join(metadata.get("heading_path", ()))), _analysed(_header(metadata))
    return " ".join(headings + header + tuple(analyse(_seen(text, metadata))))


def embedding_text(node: Node) -> str:
    """The parts of a node that are embedded: its innermost headings, then its table's header and its text."""
    metadata = node.metadata
    headings = PATH_SEPARATOR.join(list(metadata.get("heading_path", ()))[-EMBEDDED_HEADINGS:])
    headings = headings[-EMBEDDED_CHARACTERS:]
    header = _header(metadata)[:EMBEDDED_CHARACTERS]
    text = _seen(node.text, metadata)
    return (f"{headings}: " if headings else "") + (f"{header}\n" if header else "") + text


def _seen(text: str, metadata: Mapping[str, Any]) -> str:
    """A node's text as its readers see it; never nothing at all."""
    shown = metadata.get("shown", text)
    return display(shown if "kind" in metadata else shown[:OPENING_CHARACTERS]) or text


def _header(metadata: Mapping[str, Any]) -> str:
    return display(metadata.get("header", ""))


@lru_cache(maxsize=1024)
def _analysed(text: str) -> tuple[str, ...]:
    """The terms of a text that many nodes share: a heading path, a table's header."""
    return tuple(analyse(text))


@lru_cache(maxsize=_CACHED_WORDS)
def _terms(word: str) -> tuple[str, ...]:
    if _INITIALS.fullmatch(word) and (word.isupper() or len(word) >= 2 * _FEWEST_SMALL_INITIALS - 1):
        word = word.replace(".", "")
    word = word.lower()
    if code := _CODE.fullmatch(word):
        word = f"{code[1]}-{code[2]}"
    parts = _PART.findall(word)
    terms = tuple(_stem(part)[:MAX_TERM_CHARACTERS] for part in parts)
    if len(parts) > 1 and any(character.isdigit() for character in word):
        terms += (word[:MAX_TERM_CHARACTERS],)
    return terms


class _ThreadStemmer(threading.local):
    """A stemmer a thread: PyStemmer's objects must not be shared."""

    def __init__(self) -> None:
        self.stemmer = Stemmer.Stemmer("english")


_thread = _ThreadStemmer()


def _stem(word: str) -> str:
    return str(_thread.stemmer.stemWord(word.replace("’", "'")))
