"""The analyser of all stores: the terms of a text for BM25, and the text of a node that is embedded.

Every store indexes these terms as they are, split at blanks, so that all stores find the same.
To add a language: one of Snowball's needs a row in `SNOWBALL`; the characters of a script without blanks
between words belong in `_DENSE`.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import Stemmer

from pipeline.words import table
from readers.dialects import display, title_key

if TYPE_CHECKING:
    from pipeline.nodes import Node

ANALYSER_VERSION = 7
"""Increase it whenever the terms of a node change: embedded stores then rebuild their BM25 indexes.
Servers store the terms: increase `pipeline.stores.base.FORMAT`, too."""

EMBEDDING_RECIPE = 5
"""Increase it whenever the embedded text of a node changes, or the way that a model's output becomes a
vector: indexes with another recipe are embedded again."""

MAX_TERM_CHARACTERS = 64  # longer terms are noise (URLs), and are cut off
EMBEDDED_HEADINGS = 2  # innermost headings that are embedded after the title
EMBEDDED_CHARACTERS = 300  # the last ones of the heading path, the first ones of a table's header
MOST_SYMBOLS = 3  # of a name that is made of symbols
LONGEST_TITLE = 200  # characters; a longer question is not compared with titles
PATH_SEPARATOR = " > "

SNOWBALL = {
    "ar": "arabic", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "eu": "basque", "ca": "catalan", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""The name of Snowball's stemmer by ISO 639-1 code; words of other languages are not stemmed."""
_ELIDING = frozenset({"ca", "fr", "it"})

_DENSE = re.compile(
    r"[\u0e00-\u0e7f\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
"""Thai, Japanese, Chinese and Korean: blanks do not, or not always, separate their words."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*(?:[-_.][^\W_]+)*(?:['’]s(?!\w))?")
_PART = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_HUMP = re.compile(r"(?<=[a-z][a-z])(?=[A-Z][a-z])")  # in retryCount; not in mRNA
_ELISION = re.compile(r"(?:[a-z]{1,2}|qu|all|dell|nell|sull)['’]")
_CODE = re.compile(r"([a-z]{1,4})-?([0-9]{2,4})(?:['’]?s)?")
_SPACED_CODE = re.compile(r"([A-Z](?<![\w.'’-].)[A-Z]{0,3}+) ([0-9]{2,4}+)(?![\w'’-]|\.\w)")
"""`C 105`: only in capitals, because `in 2024` is no code. A pattern that begins with a letter is fast."""
_VERSION = re.compile(r"v(\d[\d.]*)")
SYMBOLS = re.compile(r"[-$&|=!<>:?%^~+*/]{2,}[\w-]*|\$_")
_OPTION = re.compile(r"--[^\W\d_][\w-]*")
_NAMED = re.compile(r"\d|^\W+_?$")  # digits, or symbols alone
_MAYBE = re.compile(rf"\d|[^\0-\x7f]|{SYMBOLS.pattern}")  # every text with a name has one of these
_LONG_CODE = re.compile(r"[a-z]+\d{3,}|0x[\da-f]+")  # KB5034441, 0x80070005
SECTION_REFERENCE = re.compile(
    r"(?i)(?:§ ?|\b(?:section|chapter|article|abschnitt|kapitel|artikel|chapitre|secci[oó]n|cap[ií]tulo) )"
    r"(\d{1,9}(?:\.\d{1,9})*)"
)
_NUMBER = re.compile(r"(\d{1,9})[.:)]*(?: |$)")  # that a heading begins with
_DOUBLED = frozenset({"&&", "||", "??", "==", "===", "<<", ">>", "::", "$$"})
"""Names that repeat one symbol; other repeated symbols are rules or underlines in Markdown, not names."""
_BOUNDS = frozenset(" \t\r\n`'\"(),;|[]")
_CACHED_WORDS = 65_536  # about 15 MB
_CACHED_TEXTS = 16_384  # the terms of so many sentences take 15 MB
_STEMMING = threading.Lock()  # two threads must not use one of PyStemmer's objects at the same time


def analyse(text: str, language: str = "en") -> list[str]:
    """Return the terms of a text: in lower case, normalised (NFKC), and stemmed in the language.

    Compounds are split (`tank-valve` → tank, valv). Compounds with a digit (ids, versions, dates) are also
    kept whole (`LN2-T1` → ln2, t1, ln2-t1; `v3.5` → 3, 5, 3.5), and so are words in camel case
    (`retryCount` → retrycount, retri, count). Long options and names made of symbols are terms, too, and come
    before the words (`--top-k` → --top-k, top, k; `$?` → $?). `C105`, `C 105` and `C-105s` are analysed as
    `C-105`. Scripts without blanks between words become overlapping pairs of characters (`所有権` → 所有,
    有権).
    """
    if text.isascii():
        return _words(text, language)
    text = unicodedata.normalize("NFKC", text)
    terms: list[str] = []
    position = 0
    for run in _DENSE.finditer(text):
        pairs = [run[0][at : at + 2] for at in range(len(run[0]) - 1)]
        terms += [*_words(text[position : run.start()], language), *(pairs or [run[0]])]
        position = run.end()
    terms += _words(text[position:], language)
    return terms


def analyse_query(question: str, languages: Sequence[str] = ("en",)) -> list[str]:
    """Return the terms of a question for an index with documents in these languages.

    Each word is stemmed in every language. One more term, `=` and the question's `title_key`, finds the page
    whose title has the same letters and digits; questions longer than `LONGEST_TITLE` do not get it.
    """
    terms = analyse(question, *languages[:1])
    for language in languages[1:]:
        terms += {term: None for term in analyse(question, language) if term not in terms}
    key = title_key(question) if len(question) <= LONGEST_TITLE else ""
    return [*terms, f"={key}"] if key else terms


def lexical_terms(text: str, metadata: Mapping[str, Any]) -> str:
    """Return a node's terms, separated by blanks: headings, aliases, keywords, table header and text.

    A section also has a term for each name that its headings begin with (`#e-112`). A page's first section
    also has a term for the page's title and for each alias: `=` and its `title_key`.
    """
    language = metadata.get("language", "en")
    aliases: Sequence[str] = metadata.get("aliases", ())
    names = " ".join([*metadata.get("heading_path", ()), *aliases])
    terms = [*_analysed(names, language), *_analysed(metadata.get("keywords", ""), language)]
    terms += _analysed(display(metadata.get("header", "")), language)
    terms += analyse(display(metadata.get("shown", text)) or text, language)
    if "order" in metadata:
        terms += {f"#{name}": None for name in sorted(opening_names(metadata["heading_path"]))}
    if metadata.get("order") == 0:
        terms += {f"={title_key(name)}": None for name in (metadata.get("title", ""), *aliases)}
    return " ".join(terms)


def embedding_text(node: Node) -> str:
    """Return the text that is embedded for a node: title, innermost headings, table header, own text."""
    metadata = node.metadata
    path = list(metadata.get("heading_path", ()))
    headings = PATH_SEPARATOR.join(path[:1] + path[1:][-EMBEDDED_HEADINGS:])[-EMBEDDED_CHARACTERS:]
    header = display(metadata.get("header", ""))[:EMBEDDED_CHARACTERS]
    text = display(metadata.get("shown", node.text)) or node.text
    return (f"{headings}: " if headings else "") + (f"{header}\n" if header else "") + text


def _words(text: str, language: str) -> list[str]:
    """Return the terms of a text with blanks between its words: first options and symbols, then words."""
    words = _WORD.findall(_SPACED_CODE.sub(r"\1-\2", text))
    return [*_symbols(text), *chain.from_iterable(map(_terms, words, repeat(language)))]


def _symbols(text: str) -> Iterator[str]:
    """Yield long options, and names of 2 or 3 symbols between `_BOUNDS`; no rules and no emphasis."""
    for found in SYMBOLS.finditer(text):
        name, start, end = found[0], found.start(), found.end()
        before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
        differ = len({*name}) > 1 and not {*name} <= {*"?!"}
        if _OPTION.fullmatch(name):
            if not before.isalnum():
                yield name.lower()[:MAX_TERM_CHARACTERS]
        elif len(name) <= MOST_SYMBOLS and (differ or name in _DOUBLED) and {before, after} <= _BOUNDS:
            yield name


@lru_cache(maxsize=1024)
def _analysed(text: str, language: str) -> tuple[str, ...]:
    """Return the terms of a text; cached for texts that many nodes share: heading paths, table headers."""
    return tuple(analyse(text, language))


@lru_cache(maxsize=_CACHED_WORDS)
def _terms(word: str, language: str) -> tuple[str, ...]:
    """Return the terms of one word."""
    humped = [found for part in _PART.findall(word) if len(found := _HUMP.split(part)) > 1]
    word = word.lower()
    if language in _ELIDING:
        word = _ELISION.sub("", word, count=1)
    if version := _VERSION.fullmatch(word):
        word = version[1]
    if code := _CODE.fullmatch(word):
        word = f"{code[1]}-{code[2]}"
    parts = _PART.findall(word)
    terms = tuple(_stem(part, language)[:MAX_TERM_CHARACTERS] for part in parts)
    if len(parts) > 1 and any(map(str.isdigit, word)):
        terms += (word[:MAX_TERM_CHARACTERS],)
    return terms + tuple(_stem(hump.lower(), language) for hump in chain.from_iterable(humped))


def _stem(word: str, language: str) -> str:
    """Return the stem of a word; the word itself in a language without a stemmer."""
    if language not in SNOWBALL:
        return word
    with _STEMMING:
        return str(_stemmer(language).stemWord(word.replace("’", "'")))


@lru_cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(SNOWBALL[language])


@lru_cache(maxsize=1)
def stop_terms() -> frozenset[str]:
    """Return the terms of the stop words in `stop_words.tsv`."""
    return frozenset(term for (words,) in table(__file__, "stop_words.tsv") for term in analyse(words))


def content_terms(text: str, language: str = "en") -> tuple[str, ...]:
    """Return a text's distinct terms without stop words, ordered as in `analyse`; all if none are left."""
    terms = tuple(dict.fromkeys(analyse(text, language)))
    return tuple(term for term in terms if term not in stop_terms()) or terms


def share(wanted: Collection[str], present: Collection[str]) -> float:
    """Return the share of the wanted terms that are present, 0..1; 0 if none are wanted."""
    return sum(term in present for term in wanted) / len(wanted) if wanted else 0.0


@lru_cache(maxsize=_CACHED_TEXTS)
def text_terms(text: str, language: str = "en") -> frozenset[str]:
    """Return the distinct terms of a text; cached, because indexed texts are analysed again and again."""
    return frozenset(analyse(text, language))


@lru_cache(maxsize=4096)
def names(text: str) -> frozenset[str]:
    """Return the versions, dates, ids, options and symbols in a text: 2.2.1, 2024-01-06, C-112, --top-k."""
    terms = text_terms(text, "en") if _MAYBE.search(text) else ()
    found = (
        term
        for term in terms
        if (_LONG_CODE.fullmatch(term) if term.isalnum() else term.startswith("--") or _NAMED.search(term))
    )
    return frozenset(re.sub(r"^v(?=\d)", "", term) for term in found)


def asked_names(question: str) -> frozenset[str]:
    """Return the names in a question and its section numbers: "section 7" has "§7", which is no term."""
    numbers = (f"§{number}" for number in SECTION_REFERENCE.findall(question) if number.isdigit())
    return names(question).union(numbers)


@lru_cache(maxsize=4096)
def heading_names(heading: str) -> frozenset[str]:
    """Return the names in a heading, and the number that it begins with: "7. Belts" has "§7"."""
    number = _NUMBER.match(heading)
    return asked_names(heading) | ({f"§{number[1]}"} if number else set())


def opening_names(headings: Sequence[str]) -> frozenset[str]:
    """Return the names in the first word of each heading, or in a "section 7" that it begins with."""
    first = [SECTION_REFERENCE.match(heading) or re.match(r"\S*", heading) for heading in headings]
    return frozenset(name for found in first if found for name in heading_names(found[0]))


def leaf_terms(leaf: Node) -> frozenset[str]:
    """Return the terms of a sentence and of its table's header."""
    language = leaf.metadata.get("language", "en")
    return text_terms(leaf.text, language) | text_terms(leaf.metadata.get("header", ""), language)
