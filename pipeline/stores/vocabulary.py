"""The words of what is indexed, with how often each is written: made once for each state of an index."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping

Vocabulary = Mapping[str, int]

_WORDS = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
"""What is joined by hyphens is one word, so that `warmup` can be told to mean `warm-up`."""


def count_words(texts: Iterable[str]) -> Vocabulary:
    """How often each word without digits is written, in lower case; a compound also as its parts.

    Half a second for ten megabytes of text.
    """
    written: Counter[str] = Counter()
    for text in texts:
        written.update(_WORDS.findall(text.lower()))
    counts = Counter({word: count for word, count in written.items() if word.replace("-", "").isalpha()})
    for compound in [word for word in counts if "-" in word]:
        for part in compound.split("-"):
            counts[part] += counts[compound]
    return counts


class KeptVocabulary:
    """The vocabulary of one state of an index; safe to use from several threads, of which one makes it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._state: Hashable = None
        self._words: Vocabulary = {}

    def of(self, state: Hashable, read: Callable[[], Iterable[str]]) -> Vocabulary:
        """The words of `state`, counted in the texts that `read` returns unless they are known."""
        with self._lock:
            if self._state != state:
                self._words, self._state = count_words(read()), state
            return self._words
