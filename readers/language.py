"""The language of a document, and the ends of its sentences.

Enough common English words make a page English, else `py3langid` decides. Sentences end by Punkt in the
languages of `TRAINED`, by Unicode's rules in all others. To add a language, add its ISO 639-1 code and the
name of its model to `_TRAINED`, and its stemmer to `pipeline/analysis.py`. The trained models come with
llama-index. This module reads them itself, because nltk refuses hard-linked files, which uv installs.
"""

from __future__ import annotations

import functools
import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

from readers.dialects import FILL, code_spans

Cut = Callable[[str], Sequence[int]]
"""Takes a text; returns the end offsets of its pieces, ascending. The last, the text's length, may repeat."""
_TRAINED = """
cs:czech da:danish de:german el:greek en:english es:spanish et:estonian fi:finnish fr:french it:italian
ml:malayalam nb:norwegian nl:dutch no:norwegian pl:polish pt:portuguese ru:russian sl:slovene sv:swedish
tr:turkish"""
TRAINED = dict(pair.split(":") for pair in _TRAINED.split())
"""Maps ISO 639-1 codes to the names of the trained models."""
_ABBREVIATIONS = """
al approx ca cf ch chap def dept dr e.g eg eq eqs est etc ex fig figs i.e ie incl jr max min misc mr mrs ms
no nos p.s par pp prof ref refs resp rev sec st vs viz vol"""
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
"""English abbreviations whose full stop ends no sentence by itself, in addition to the trained model's."""
LONGEST = 20_000  # characters that Punkt reads: nltk gives up on a text after five seconds

CHARACTERS, LETTERS = 60_000, 8_000  # characters of a text, and then of its prose, that are read
FEWEST = 20  # letters; the language of a shorter text in Latin script would be a guess
SURE = 0.99  # least probability; a wrong language has it in 1 % of 20-letter passages of 17 languages
SHARE = 0.2  # above this share of letters, other scripts decide; English pages have up to .15, Chinese .4
ENGLISH = frozenset({"the", "and", "this", "that", "with", "from", "are", "you", "which"})
ENGLISH_SHARE = 0.04  # least share of a page's words; 1,470 pages in eleven other languages have up to .026
_FOREIGN = re.compile("[\u0370-\u1cff\u1f00-\u1fff\u3040-\ud7ff\uf900-\ufdff]{2,}")
"""Words in other scripts than Latin; a single letter does not count, as it may be a mathematical symbol."""
_NO_PROSE = re.compile(
    r"\A---\n(?:.*\n)*?---\n"  # front matter
    r"|^[ ]*(?P<fence>`{3,}+|~{3,}+).*\n(?:.*\n)*?[ ]*(?P=fence)[ \t]*$"
    r"|`[^`\n]+`|<[^<>\n]{1,300}>|https?://\S+|\]\([^()\n]*\)|\{[^{}\n]{0,200}\}"
    r"|^(?:import|export)\b.*$|[!-~]{60,}"
    r"|\b\w*(?:[_\d]\w*|[./\\@=]\w+)+",  # file names, code
    re.MULTILINE,
)
_CLOSES = r"\"')\]}\u2019\u201d\xbb"
_GOES_ON = re.compile(rf"(?<=[!?])[{_CLOSES}\u2018\u201c\xab]*(?=\s+[a-z])")
"""Closing marks after `!` or `?` that end no sentence, as in `the "Stop!" button`."""
_CANDIDATE = re.compile(r"[.?!](?:\W|_)")
_UNICODE_END = re.compile(
    rf"[。．｡！？]+[{_CLOSES}」』）】〉》〕］]*\s*"
    rf"|(?<![.?!…।॥؟۔])[.?!…।॥؟۔]++[{_CLOSES}]*+\s++(?=[^a-z\s])"
    r"|(?<=[\u0e00-\u0e7f])[ \n]+(?=[\u0e00-\u0e7f])|\Z"
)
"""Based on UAX #29: full-width stops need no blank after them; in Thai, a blank ends a sentence."""
_MARKUP = re.compile(rf"\]\([^()\s]*(?:\s+\"[^\"\n]*\")?\)|<[A-Za-z/!?][^<>]*>|{FILL}+|\*+|_+")
_HAS_MARKUP = re.compile(rf"[*_<`{FILL}]|\]\(")


def detect(text: str) -> str:
    """Return the ISO 639-1 code of a page's language; "" for little text, or if unsure (Latin script)."""
    prose = _NO_PROSE.sub(" ", text[:CHARACTERS])[:LETTERS]
    letters, words = sum(map(str.isalpha, prose)), _FOREIGN.findall(prose)
    is_latin = sum(map(len, words)) <= SHARE * letters
    if is_latin:
        words = re.findall(r"[^\W\d_]+", prose) if letters >= FEWEST else []
        if sum(word.lower() in ENGLISH for word in words) >= ENGLISH_SHARE * len(words):
            return "en" if words else ""
    import py3langid  # its model takes half a second to load

    ranked = py3langid.rank(" ".join(dict.fromkeys(words)))  # a word that a table repeats counts once
    (best, most), *others = [(code, score) for code, score in ranked if len(code) == 2]
    is_sure = 1 / (1 + sum(math.exp(score - most) for _, score in others)) >= SURE
    return str(best) if is_sure or not is_latin else ""


@functools.cache
def sentence_ends(language: str) -> Cut:
    """Return the function that finds sentence ends in a language (an ISO 639-1 code; "" means English)."""
    language = language or "en"
    if language not in TRAINED:
        return unicode_ends
    model = _load_model(TRAINED[language])
    model.abbrev_types |= ABBREVIATIONS if language == "en" else set()
    return functools.partial(_punkt_ends, PunktSentenceTokenizer(model))


def unicode_ends(text: str) -> Sequence[int]:
    """Return the end offsets of sentences by Unicode's rules, for languages without a trained model."""
    return array("q", (found.end() for found in _UNICODE_END.finditer(mask_markup(text))))


def _punkt_ends(tokenizer: PunktSentenceTokenizer, text: str) -> Sequence[int]:
    """Return sentence ends by Punkt, with markup masked; by Unicode's rules if `text` exceeds `LONGEST`."""
    if not _CANDIDATE.search(text):
        return [len(text)]
    if len(text) > LONGEST:
        return unicode_ends(text)
    masked = mask_markup(text)
    found = [end for _, end in tokenizer.span_tokenize(masked)][:-1]
    within = {mark.end() for mark in _GOES_ON.finditer(masked)}
    return [*(end for end in found if masked[end].isspace() and end not in within), len(text)]


def mask_markup(text: str) -> str:
    """Return `text`, at the same length, with plain characters in place of inline markup.

    Code becomes one word. Closing marks (of emphasis, of a link's target) become brackets, which Punkt keeps
    with the sentence before them; opening marks become spaces.
    """
    if not _HAS_MARKUP.search(text):
        return text
    pieces, position = [], 0
    for start, end in code_spans(text) if "`" in text else ():
        pieces += [text[position:start], "X" * (end - start)]
        position = end
    return _MARKUP.sub(_masked, "".join([*pieces, text[position:]]))


def _masked(match: re.Match[str]) -> str:
    """Return plain characters for one mark, as many as it has; a mark after a blank opens, others close."""
    is_address = match[0].startswith("<") and ("://" in match[0] or "@" in match[0])
    opens = match.start() == 0 or match.string[match.start() - 1].isspace()
    return ("X" if is_address else " " if opens else ")") * len(match[0])


def _load_model(name: str) -> PunktParameters:
    """Load a trained model of nltk's `punkt_tab`; raise `ModuleNotFoundError` without llama-index-core."""
    package = find_spec("llama_index.core")
    if package is None or not package.origin:
        raise ModuleNotFoundError("Cannot find sentence ends without llama-index-core: install it with pip.")
    folder = Path(package.origin).parent / "_static" / "nltk_cache" / "tokenizers" / "punkt_tab" / name

    def rows(table: str) -> list[list[str]]:
        lines = (folder / table).read_text(encoding="utf-8").splitlines()
        return [line.split("\t") for line in lines if line]

    model = PunktParameters()
    model.abbrev_types = {row[0] for row in rows("abbrev_types.txt")}
    model.sent_starters = {row[0] for row in rows("sent_starters.txt")}
    model.collocations = {(row[0], row[1]) for row in rows("collocations.tab")}
    model.ortho_context = Counter({row[0]: int(row[1]) for row in rows("ortho_context.tab")})
    return model
