"""Where sentences end: Punkt for the languages that have a trained model, Unicode's rules for the others.

English is `punkt.json`. The other models come with llama-index; they are read here and not by nltk, which
refuses files that an installer hard-linked (uv does) and folders that it was not told of.
"""

from __future__ import annotations

import functools
import json
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

from readers.dialects import FILL, code_spans

ABBREVIATIONS = frozenset(
    {
        *("al", "approx", "ca", "cf", "ch", "chap", "def", "dept", "dr", "e.g", "eg", "eq", "eqs", "est"),
        *("etc", "ex", "fig", "figs", "i.e", "ie", "incl", "jr", "max", "min", "misc", "mr", "mrs", "ms"),
        *("no", "nos", "p.s", "par", "pp", "prof", "ref", "refs", "resp", "rev", "sec", "st", "vs", "viz"),
        "vol",
    }
)
"""English words whose full stop ends no sentence by itself, in addition to those of the trained model."""
_TRAINED = """
cs:czech da:danish de:german el:greek es:spanish et:estonian fi:finnish fr:french it:italian ml:malayalam
nb:norwegian nl:dutch no:norwegian pl:polish pt:portuguese ru:russian sl:slovene sv:swedish tr:turkish
"""
TRAINED = dict(pair.split(":") for pair in _TRAINED.split())
"""Languages with a trained model besides English, by ISO 639-1 code."""
WINDOW = 20_000
"""Characters looked at in one go: nltk gives up on a text that takes it five seconds."""
LEAST_PROSE = 2_000
"""From so many characters on, a text with a stop at every fourth is no prose: Punkt takes 10 µs for each."""
MAX_CLOSING = 10
"""How many quotes and brackets may close a sentence behind its full stop."""
CACHED_DECISIONS = 65_536
CACHED_CHARACTERS = 64

Ends = Callable[[str], Sequence[int]]
"""From a text to the offset of each sentence's end, rising; the last one is the text's."""

_CLOSING = "\"')]}\u2018\u2019\u201c\u201d\xab\xbb"
_CLOSES = r"\"')\]}\u2019\u201d\xbb"
_LOWER_CASE = re.compile(r"\s+[a-z]")
_CANDIDATE = re.compile(r"[.?!](?:\W|_)")
_LAST_SPACE = re.compile(r"\s(?=\S*\Z)")
_UNICODE_END = re.compile(
    rf"[。．｡！？]+[{_CLOSES}」』）】〉》〕］]*\s*"
    rf"|[.?!…।॥؟۔]+[{_CLOSES}]*\s+(?=[^a-z\s])"
    r"|(?<=[\u0e00-\u0e7f])[ \n]+(?=[\u0e00-\u0e7f])"
)
"""After UAX #29: full-width stops need no blank; in Thai, a blank ends a sentence."""
_MARKUP = re.compile(
    r"(?P<target>\]\([^()\s]*(?:\s+\"[^\"\n]*\")?\))"
    rf"|(?P<mark><[A-Za-z/!?][^<>]*>|{FILL}+)"
    r"|(?P<emphasis>\*+|_+)"
)
_HAS_MARKUP = re.compile(rf"[*_<`{FILL}]|\]\(")


def ends_in(language: str) -> Ends:
    """The function that finds the ends of sentences in a language, by its ISO 639-1 code ("" is English)."""
    if language in ("", "en") or language in TRAINED:
        return splitter(language or "en", ABBREVIATIONS).ends
    return unicode_ends


def unicode_ends(text: str) -> Sequence[int]:
    """The ends of sentences by Unicode's rules, for languages without a model."""
    ends = array("q", (found.end() for found in _UNICODE_END.finditer(mask_markup(text))))
    if not ends or ends[-1] != len(text):
        ends.append(len(text))
    return ends


@functools.cache
def splitter(language: str, abbreviations: frozenset[str]) -> SentenceSplitter:
    """The splitter of a language with a trained model; `abbreviations` are added in English."""
    return SentenceSplitter(abbreviations if language == "en" else (), language=language)


class SentenceSplitter:
    """Cuts prose into sentences by Punkt; emphasis, code, links and masks are looked through."""

    def __init__(self, abbreviations: Iterable[str] = ABBREVIATIONS, *, language: str = "en") -> None:
        model = _load_model(language)
        model.abbrev_types |= {word.lower().rstrip(".") for word in abbreviations}
        self._tokenizer = _Tokenizer(model)

    def ends(self, text: str) -> Sequence[int]:
        """The offset of each sentence's end, rising; the last one is the text's."""
        if not _CANDIDATE.search(text):
            return [len(text)]
        ends = array("q")
        masked = mask_markup(text)
        start = 0
        while start < len(text):
            stop = _window_end(masked, start)
            window = masked[start:stop]
            spans: list[tuple[int, int]] = []
            if len(window) < LEAST_PROSE or 4 * sum(1 for _ in _CANDIDATE.finditer(window)) < len(window):
                spans = list(self._tokenizer.span_tokenize(window))
            ends.extend(start + end for _, end in spans[:-1] if _is_boundary(window, end))
            ends.append(stop)
            start = stop
        return ends


def _is_boundary(text: str, end: int) -> bool:
    """Whether to believe Punkt: not within a word, nor at the `!` of `the "Stop!" button`."""
    if end >= len(text) or not text[end].isspace():
        return False
    tail = text[max(0, end - MAX_CLOSING) : end].rstrip(_CLOSING)
    return not (tail.endswith(("!", "?")) and _LOWER_CASE.match(text, end))


def mask_markup(text: str) -> str:
    """`text`, of the same length, with inline markup replaced by characters of plain text.

    Code becomes one word. Marks that close (of emphasis, of a link's target) become a bracket, which Punkt
    keeps with the sentence that it ends; marks that open become a space.
    """
    if not _HAS_MARKUP.search(text):
        return text
    pieces, position = [], 0
    for start, end in code_spans(text) if "`" in text else ():
        pieces += [text[position:start], "X" * (end - start)]
        position = end
    return _MARKUP.sub(_masked, "".join([*pieces, text[position:]]))


def _masked(match: re.Match[str]) -> str:
    length = len(match[0])
    before = match.string[match.start() - 1 : match.start()]
    after = match.string[match.end() : match.end() + 1]
    if match["mark"]:
        is_link = "://" in match[0] or "@" in match[0]
        within = before.isalnum() and after.isalnum()
        return ("X" if is_link or within else " ") * length
    if match["emphasis"]:
        if not before or before.isspace():
            return " " * length
        return match[0] if before.isalnum() and after.isalnum() else ")" * length
    return ")" * length


def _window_end(text: str, start: int) -> int:
    if len(text) - start <= WINDOW:
        return len(text)
    space = _LAST_SPACE.search(text, start + WINDOW // 2, start + WINDOW)
    return space.end() if space else start + WINDOW


class _Tokenizer(PunktSentenceTokenizer):  # type: ignore[misc]
    """Punkt, remembering its decisions: the same few words surround most full stops."""

    def __init__(self, model: PunktParameters) -> None:
        super().__init__(model)
        self._decide = functools.lru_cache(maxsize=CACHED_DECISIONS)(super().text_contains_sentbreak)

    def text_contains_sentbreak(self, text: str) -> bool:
        """Whether a sentence ends within `text`, the words around a full stop."""
        if len(text) > CACHED_CHARACTERS:
            return bool(super().text_contains_sentbreak(text))
        return bool(self._decide(text))


def _load_model(language: str) -> PunktParameters:
    model = PunktParameters()
    if language == "en":
        trained = json.loads(Path(__file__).with_name("punkt.json").read_text(encoding="utf-8"))
    else:
        trained = _read_tables(TRAINED[language])
    model.abbrev_types = set(trained["abbrev_types"])
    model.sent_starters = set(trained["sent_starters"])
    model.collocations = set(map(tuple, trained["collocations"]))
    model.ortho_context = defaultdict(int, trained["ortho_context"])
    return model


def _read_tables(language: str) -> dict[str, object]:
    """A model of nltk's `punkt_tab`, which llama-index carries."""
    package = find_spec("llama_index.core")
    if package is None or not package.origin:
        raise ModuleNotFoundError("Sentences of other languages need llama-index-core: pip install it again.")
    tables = Path(package.origin).parent / "_static" / "nltk_cache" / "tokenizers" / "punkt_tab" / language

    def rows(name: str) -> list[list[str]]:
        lines = (tables / name).read_text(encoding="utf-8").splitlines()
        return [line.split("\t") for line in lines if line]

    return {
        "abbrev_types": [row[0] for row in rows("abbrev_types.txt")],
        "sent_starters": [row[0] for row in rows("sent_starters.txt")],
        "collocations": rows("collocations.tab"),
        "ortho_context": {row[0]: int(row[1]) for row in rows("ortho_context.tab")},
    }
