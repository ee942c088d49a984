"""Where sentences end, by the Punkt model for English in `punkt.json`.

The model is ours to read, not nltk's: nltk refuses files that an installer hard-linked (uv does) and folders
that it was not told of.
"""

from __future__ import annotations

import functools
import json
import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

ABBREVIATIONS = frozenset(
    {
        *("al", "approx", "ca", "cf", "ch", "chap", "def", "dept", "dr", "e.g", "eg", "eq", "eqs", "est"),
        *("etc", "ex", "fig", "figs", "i.e", "ie", "incl", "jr", "max", "min", "misc", "mr", "mrs", "ms"),
        *("no", "nos", "p.s", "par", "pp", "prof", "ref", "refs", "resp", "rev", "sec", "st", "vs", "viz"),
        "vol",
    }
)
"""Words whose full stop ends no sentence by itself, beside those that the model was trained on."""
WINDOW = 20_000
"""Characters looked at in one go: nltk gives up on a text that takes it five seconds."""
LEAST_PROSE = 2_000
"""Characters in which a stop at every fourth says that they are no prose: Punkt takes 10 µs for each."""
MAX_CLOSING = 10
"""How many quotes and brackets may close a sentence behind its full stop."""
CACHED_DECISIONS = 65_536
CACHED_CHARACTERS = 64

_CLOSING = "\"')]}\u2018\u2019\u201c\u201d\xab\xbb"
_LOWER_CASE = re.compile(r"\s+[a-z]")
_CANDIDATE = re.compile(r"[.?!](?:\W|_)")
_LAST_SPACE = re.compile(r"\s(?=\S*\Z)")
_BACKTICKS = re.compile(r"`+")
_MARKUP = re.compile(
    r"(?P<target>\]\([^()\s]*(?:\s+\"[^\"\n]*\")?\))"
    r"|(?P<tag><[A-Za-z/!?][^<>]*>)"
    r"|(?P<attributes>\{:[^{}\n]*\})"
    r"|(?P<emphasis>\*+|_+)"
)
_HAS_MARKUP = re.compile(r"[*_<`]|\]\(|\{:")


class SentenceSplitter:
    """Cuts prose into sentences; emphasis, code, links and tags are looked through."""

    def __init__(self, abbreviations: Iterable[str] = ABBREVIATIONS) -> None:
        model = _load_model()
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
            if _may_be_prose(window):
                spans = list(self._tokenizer.span_tokenize(window))
            ends.extend(start + end for _, end in spans[:-1] if _is_boundary(window, end))
            ends.append(stop)
            start = stop
        return ends


def _may_be_prose(text: str) -> bool:
    return len(text) < LEAST_PROSE or 4 * sum(1 for _ in _CANDIDATE.finditer(text)) < len(text)


def _is_boundary(text: str, end: int) -> bool:
    """Whether to believe Punkt: not within a word, nor at the `!` of `the "Stop!" button`."""
    if end >= len(text) or not text[end].isspace():
        return False
    tail = text[max(0, end - MAX_CLOSING) : end].rstrip(_CLOSING)
    return not (tail.endswith(("!", "?")) and _LOWER_CASE.match(text, end))


def mask_markup(text: str) -> str:
    """`text`, of the same length, with inline markup replaced by what reads like plain text.

    Code becomes one word. What closes (emphasis, a link's target) becomes a bracket, which Punkt keeps
    with the sentence it ends; what opens becomes a space.
    """
    if not _HAS_MARKUP.search(text):
        return text
    if "`" in text:
        text = _mask_code(text)
    return _MARKUP.sub(_masked, text)


def _masked(match: re.Match[str]) -> str:
    length = len(match[0])
    if match["tag"]:
        is_link = "://" in match[0] or "@" in match[0]
        return ("X" if is_link else " ") * length
    if match["emphasis"]:
        before = match.string[match.start() - 1 : match.start()]
        after = match.string[match.end() : match.end() + 1]
        if not before or before.isspace():
            return " " * length
        return match[0] if before.isalnum() and after.isalnum() else ")" * length
    return ")" * length


def _mask_code(text: str) -> str:
    """Replace each code span by a word: a run of backticks, up to the next run of that length."""
    runs = [match.span() for match in _BACKTICKS.finditer(text)]
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for start, end in runs:
        by_length[end - start].append(start)
    pieces, position = [], 0
    for start, end in runs:
        if start < position:
            continue
        closers = by_length[end - start]
        closer = bisect_right(closers, start)
        if closer < len(closers):
            stop = closers[closer] + end - start
            pieces += [text[position:start], "X" * (stop - start)]
            position = stop
    return "".join([*pieces, text[position:]])


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


def _load_model() -> PunktParameters:
    trained = json.loads(Path(__file__).with_name("punkt.json").read_text(encoding="utf-8"))
    model = PunktParameters()
    model.abbrev_types = set(trained["abbrev_types"])
    model.sent_starters = set(trained["sent_starters"])
    model.collocations = set(map(tuple, trained["collocations"]))
    model.ortho_context = defaultdict(int, trained["ortho_context"])
    return model
