"""The one analyser: a text's terms for the lexical index, and which parts of a node are indexed and embedded.

Every backend indexes these terms as they are (split at blanks), so that all of them find the same.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

import Stemmer

if TYPE_CHECKING:
    from pipeline.nodes import Node

ANALYSER_VERSION = 1
"""Rises with every change of what `analyse` returns: lexical indexes of another version are rebuilt."""

EMBEDDING_RECIPE = 1
"""Rises with every change of what is embedded of a node, or of how a model's output becomes its vector.

Indexes of another recipe are embedded again. Today: `embedding_text` below, of a section as much of it as
`Encoder.opening` says (128 tokens of the bundled model), of a sentence all; the mean over tokens."""

MAX_TERM_CHARACTERS = 64  # longer ones are noise (base64, URLs): cut
EMBEDDED_HEADINGS = 2  # the innermost headings that go into an embedding
PATH_SEPARATOR = " > "

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*(?:[-_.][^\W_]+)*")
_PART = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CACHED_WORDS = 65_536  # about 15 MB


def analyse(text: str) -> list[str]:
    """The terms of a text, in order: lower case, compatible forms unified (NFKC), English stems.

    A compound is taken apart (`tank-valve` → tank, valv; `--top-k` → top, k); one with a digit in it, as
    ids, versions and decimals have, is kept whole, too (`ECS-LN2-T1` → ecs, ln2, t1, ecs-ln2-t1).
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return list(chain.from_iterable(map(_terms, _WORD.findall(text.lower()))))


def lexical_text(node: Node) -> str:
    """The parts of a node that are indexed: heading path, table header and text in one field, analysed."""
    metadata = node.metadata
    return lexical_terms(node.text, metadata.get("heading_path", ()), metadata.get("header", ""))


def lexical_terms(text: str, heading_path: Sequence[str], header: str = "") -> str:
    """The terms of a node's parts, separated by blanks."""
    return " ".join(_analysed(" ".join(heading_path)) + _analysed(header) + tuple(analyse(text)))


def embedding_text(node: Node) -> str:
    """The parts of a node that are embedded: its innermost headings, then its table's header and its text."""
    metadata = node.metadata
    headings = PATH_SEPARATOR.join(list(metadata.get("heading_path", ()))[-EMBEDDED_HEADINGS:])
    header = metadata.get("header", "")
    return (f"{headings}: " if headings else "") + (f"{header}\n" if header else "") + node.text


@lru_cache(maxsize=1024)
def _analysed(text: str) -> tuple[str, ...]:
    """The terms of a text that many nodes share: a heading path, a table's header."""
    return tuple(analyse(text))


@lru_cache(maxsize=_CACHED_WORDS)
def _terms(word: str) -> tuple[str, ...]:
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
