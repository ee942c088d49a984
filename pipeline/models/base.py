"""What the pipeline asks of models, beyond LlamaIndex's own interfaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Scores: TypeAlias = "NDArray[np.float32]"


class Encoder(Protocol):
    """Texts in, unit vectors out."""

    @property
    def name(self) -> str:
        """The model's name as the manifest keeps it."""

    @property
    def fingerprint(self) -> str:
        """What tells its file from another of the same name; "" if finding out would be slow or a request."""

    @property
    def dimensions(self) -> int:
        """The length of each vector."""

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text are read; the rest is cut off."""

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, without the model's own special ones."""

    def opening(self, text: str) -> str:
        """What of a section's text is embedded: as much of its beginning as the model is good at."""

    def encode_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        """Embed passages: shape (len(texts), dimensions), unit length; `on_progress` gets the number done."""

    def encode_query(self, text: str) -> NDArray[np.float32]:
        """Embed a question: shape (dimensions,), unit length."""


class CrossEncoder(Protocol):
    """Scores how well a passage answers a question."""

    @property
    def name(self) -> str:
        """The model's name."""

    def score(self, question: str, passages: Sequence[str]) -> Scores:
        """Logits, shape (len(passages),), higher is better; `sigmoid` of it is shown to people."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What `auto` found for one role and why: shown by `athena doctor` and on the page."""

    role: Literal["embedding", "cross-encoder", "language model"]
    name: str  # "" when there is none
    provider: str  # "bundled", "ollama", "openai", "sentence-transformers", "none"
    detail: str
    fix: str = ""
    wrong: bool = False  # a setting names a server, and that does not answer


@dataclass(frozen=True, slots=True)
class Pulling:
    """How far a download is: what is being done, and the bytes of all parts that are known so far."""

    status: str
    done: int
    total: int
