"""Small deterministic stand-ins at the boundaries, shared by all tests. Append only."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from memory.turn_index import Spoken, Turn


class FakeEncoder:
    """Bags of words as unit vectors: texts that share words are near each other. Records what it embeds."""

    max_tokens = 256
    languages: frozenset[str] | None = None

    def __init__(
        self, *, name: str = "fake-encoder", dimensions: int = 32, batch: int = 64, fingerprint: str = ""
    ) -> None:
        self.name = name
        self.fingerprint = fingerprint
        self.dimensions = dimensions
        self.batch = batch
        self.calls: list[list[str]] = []
        self._words: dict[str, NDArray[np.float32]] = {}

    @property
    def texts(self) -> list[str]:
        """All passages embedded so far."""
        return [text for call in self.calls for text in call]

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def opening(self, text: str) -> str:
        return text

    def encode_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        self.calls.append(list(texts))
        matrix = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            matrix[row] = self.encode_query(text)
            if on_progress and ((row + 1) % self.batch == 0 or row + 1 == len(texts)):
                on_progress(row + 1)
        return matrix

    def encode_query(self, text: str) -> NDArray[np.float32]:
        words = re.findall(r"\w+", text.lower()) or [""]
        total = np.sum([self._word(word) for word in words], axis=0)
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    def _word(self, word: str) -> NDArray[np.float32]:
        if word not in self._words:
            digest = hashlib.sha256(f"{self.name}/{word}".encode()).digest()
            random = np.random.default_rng(int.from_bytes(digest[:8], "big"))
            self._words[word] = random.standard_normal(self.dimensions).astype(np.float32)
        return self._words[word]


class FakeCrossEncoder:
    """Gives the logits it was made with, or those that a function gives a passage. Records what it reads."""

    def __init__(
        self,
        logits: Sequence[float] | Callable[[str], float] | Exception,
        *,
        name: str = "fake-cross-encoder",
    ) -> None:
        self.name = name
        self.logits = logits
        self.calls: list[tuple[str, list[str]]] = []

    def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append((question, list(passages)))
        if isinstance(self.logits, Exception):
            raise self.logits
        logits = [self.logits(text) for text in passages] if callable(self.logits) else self.logits
        return np.array(logits, dtype=np.float32)


def spoken(turns: Sequence[Turn], *, embed: Callable[[Sequence[str]], NDArray[np.float32]]) -> list[Spoken]:
    """The turns as the memory indexes them."""
    return [*map(Spoken, turns, embed([turn.text for turn in turns]))]
