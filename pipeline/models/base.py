"""Base classes of embedding models and cross-encoders, and the record of why a model was chosen."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from pipeline.errors import ModelError
from pipeline.models.onnx import open_tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]
Scores: TypeAlias = "NDArray[np.float32]"

LONGEST_USUAL_TOKEN = 16  # characters
USUAL_TOKENS, MOST_TOKENS = 256, 512  # of a text: if a model names no limit; the highest used
CACHED_QUERIES = 64  # the same question is embedded for memory and index

SENTENCE = "Represent this sentence for searching relevant passages: "
PREFIXES = (  # pattern in a model's name, prefix of queries, prefix of passages; the first match counts
    (r"\be5-(?!.*instruct)", "query: ", "passage: "),
    (r"nomic-embed-text", "search_query: ", "search_document: "),
    (r"embeddinggemma", "task: search result | query: ", "title: none | text: "),
    (r"arctic-embed(2|.*v2)", "query: ", ""),
    (r"arctic-embed|mxbai-embed|\bbge-(small|base|large)(?!-zh)", SENTENCE, ""),
)
"""The prefixes that models were trained with, as their model cards give them."""


def prefixes(model: str) -> tuple[str, str]:
    """Return the (query, passage) prefixes that a model was trained with; "" for none or unknown ones."""
    return next(((q, p) for name, q, p in PREFIXES if re.search(name, model.lower())), ("", ""))


class Encoder(ABC):
    """An embedding model: texts in, unit vectors out. An unusable vector raises `ModelError`.

    A subclass implements `_rows`.
    """

    languages: frozenset[str] | None = None  # ISO 639-1 codes of its languages; None: any, or unknown
    batch_texts = 64  # most texts in one call of `_rows`
    opening_tokens: int | None = None  # of a section's text, for its vector; None: `max_tokens`
    fingerprint = ""  # differs between versions of a model that share a name; "" if unknown

    def __init__(self, name: str) -> None:
        self.name = name  # as stored in the manifest
        self.encode_query = lru_cache(CACHED_QUERIES)(self.encode_query)  # type: ignore[method-assign]

    @cached_property
    def dimensions(self) -> int:
        """The length of each vector; by default measured by embedding a short text once."""
        return len(self.encode_query("dimensions"))

    @cached_property
    def max_tokens(self) -> int:
        """The most tokens of a text that the model embeds: its own limit if it states one, else 256."""
        return USUAL_TOKENS

    def count_tokens(self, text: str) -> int:
        """Return the number of a text's tokens by the bundled WordPiece tokenizer, without special tokens."""
        return len(open_tokenizer(max_tokens=None).encode(text, add_special_tokens=False).ids)

    def opening(self, text: str) -> str:
        """Return the beginning of a section's text that is embedded: at most `opening_tokens` tokens."""
        most = self.opening_tokens or self.max_tokens
        if len(text) < most:  # a token has at least one character
            return text
        beginning = text[: most * LONGEST_USUAL_TOKEN]
        encoded = open_tokenizer(max_tokens=most).encode(beginning)
        return beginning[: encoded.offsets[-2][1]]  # the last token is [SEP]

    def encode_query(self, text: str) -> Vectors:
        """Embed a question: shape (dimensions,), unit length, read-only. Recent results are cached."""
        vector: Vectors = self._unit(self._rows([text], is_query=True), shape=(1, None))[0]
        vector.flags.writeable = False
        return vector

    def encode_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> Vectors:
        """Embed passages: shape (len(texts), dimensions), unit length; `on_progress` gets the number done."""
        import numpy as np

        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        done = 0
        for batch, rows in self._batches(texts):
            vectors[batch] = self._unit(rows, shape=(len(batch), self.dimensions))
            done += len(batch)
            if on_progress:
                on_progress(done)
        return vectors

    @abstractmethod
    def _rows(self, texts: list[str], *, is_query: bool) -> Any:
        """Embed texts in one call; return one vector per text, in order, of any length above 0."""

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
        """Yield (indexes of the texts, their vectors) for each batch of passages."""
        for start in range(0, len(texts), self.batch_texts):
            batch = list(texts[start : start + self.batch_texts])
            yield list(range(start, start + len(batch))), self._rows(batch, is_query=False)

    def _unit(self, rows: Any, *, shape: tuple[int, int | None]) -> Vectors:
        """Scale vectors to unit length; raise `ModelError` if they are unusable or not of this shape."""
        import numpy as np

        try:
            vectors = np.asarray(rows, dtype=np.float32)
        except (ValueError, TypeError, OverflowError) as error:
            raise self._unusable("vectors that are not numbers, or not of the same length") from error
        if vectors.ndim != 2 or vectors.shape != (shape[0], shape[1] or vectors.shape[1]):
            raise self._unusable(f"numbers of the shape {vectors.shape} instead of {shape}")
        with np.errstate(over="ignore"):  # an infinite length is refused below
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise self._unusable("a vector of zeros, or with numbers that are not finite")
        return np.asarray(vectors / lengths)

    def _unusable(self, found: str) -> ModelError:
        fix = "Check that it is an embedding model, and ingest again."
        return ModelError(f"The embedding model '{self.name}' gave {found}.", fix)


class CrossEncoder(Protocol):
    """A model that scores how well each passage answers a question."""

    @property
    def name(self) -> str:
        """The model's name."""

    def score(self, question: str, passages: Sequence[str]) -> Scores:
        """Return logits, shape (len(passages),), higher is better; users see their `sigmoid`, 0..1."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model chosen for one role, and why; `athena doctor` and the page show it."""

    role: Literal["embedding", "cross-encoder", "language model"]
    name: str  # "" if none was chosen
    provider: str  # "bundled", "ollama", "openai", "sentence-transformers", "given", "none"
    detail: str
    fix: str = ""
    wrong: bool = False  # a setting asks for a model or server that cannot be used
