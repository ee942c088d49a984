"""Models that a program brings along: LlamaIndex's, or objects of its own with a method or two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, runtime_checkable

from pipeline.errors import ConfigurationError, ModelError
from pipeline.models.base import CrossEncoder, Encoder, ModelChoice

if TYPE_CHECKING:
    import numpy as np
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM
    from numpy.typing import NDArray

    GivenModel: TypeAlias = "LLM | OwnModel"
    GivenEmbedding: TypeAlias = "BaseEmbedding | Encoder | OwnEncoder"

MAX_TOKENS = 256  # of a sentence, where a model does not say how much of a text it reads
GIVEN = "given by the program"


@runtime_checkable
class OwnModel(Protocol):
    """A language model of a program's own; a message is {"role": "user", "content": "…"}."""

    def chat(self, messages: list[dict[str, str]], /) -> str:
        """The whole answer."""

    def stream(self, messages: list[dict[str, str]], /) -> Iterator[str]:
        """The answer in pieces."""


@runtime_checkable
class OwnEncoder(Protocol):
    """An embedding model of a program's own; it may have a `name` and `max_tokens`, too."""

    def encode_passages(self, texts: list[str], /) -> Any:
        """A vector a text: rows of numbers, of any length above 0."""

    def encode_query(self, text: str, /) -> Any:
        """The vector of a question."""


@runtime_checkable
class OwnReranker(Protocol):
    """A reranker of a program's own; it may have a `name`, too."""

    def score(self, question: str, passages: list[str], /) -> Any:
        """A number a passage, higher is better; `1 / (1 + exp(-x))` of it is shown to people."""


def language_model_of(given: LLM | OwnModel) -> tuple[LLM, ModelChoice]:
    """The language model that was given, as LlamaIndex's; raises `ConfigurationError` for what is none."""
    from llama_index.core.llms import LLM

    if isinstance(given, LLM):
        name = given.metadata.model_name
        llm = given
    elif isinstance(given, OwnModel):
        name, llm = _name_of(given), _as_llm(given)
    else:
        raise _unusable("llm", given, "an LLM of LlamaIndex's, or an object with `chat` and `stream`")
    if name in ("", "unknown"):
        name = type(given).__name__
    return llm, ModelChoice("language model", name, "given", GIVEN)


def encoder_of(given: BaseEmbedding | Encoder | OwnEncoder) -> tuple[Encoder, ModelChoice]:
    """The embedding model that was given; raises `ConfigurationError` for what is none."""
    encoder: Encoder
    if hasattr(given, "fingerprint") and hasattr(given, "opening"):  # dimensions may be a request
        encoder = cast("Encoder", given)
    elif isinstance(given, OwnEncoder):
        encoder = GivenEncoder(
            given.encode_passages,
            given.encode_query,
            name=_name_of(given),
            max_tokens=getattr(given, "max_tokens", MAX_TOKENS),
        )
    elif hasattr(given, "get_text_embedding_batch"):
        encoder = GivenEncoder(
            given.get_text_embedding_batch,
            given.get_query_embedding,
            name=f"{type(given).__name__}/{given.model_name}",
        )
    else:
        methods = "`encode_passages` and `encode_query`"
        raise _unusable("encoder", given, f"a BaseEmbedding of LlamaIndex's, or an object with {methods}")
    return encoder, ModelChoice("embedding", encoder.name, "given", GIVEN)


def reranker_of(given: OwnReranker) -> tuple[CrossEncoder, ModelChoice]:
    """The reranker that was given; raises `ConfigurationError` for what is none."""
    if not isinstance(given, OwnReranker):
        raise _unusable("reranker", given, "an object with `score`")
    reranker = GivenReranker(given)
    return reranker, ModelChoice("cross-encoder", reranker.name, "given", GIVEN)


class GivenEncoder(Encoder):
    """Any two functions of texts to vectors, as an `Encoder`."""

    max_tokens = MAX_TOKENS

    def __init__(
        self,
        passages: Callable[[list[str]], Any],
        query: Callable[[str], Any],
        *,
        name: str,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        super().__init__(name)
        self.max_tokens = max_tokens
        self._passages = passages
        self._query = query

    def _rows(self, texts: list[str], *, is_query: bool) -> Any:
        prepared = [text or " " for text in texts]
        return [self._query(text) for text in prepared] if is_query else self._passages(prepared)


class GivenReranker:
    """An object with `score` as a `CrossEncoder`: its scores are checked."""

    def __init__(self, given: OwnReranker) -> None:
        self.name = _name_of(given)
        self._given = given

    def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """A score a passage; raises `ModelError` where they are none."""
        import numpy as np

        try:
            scores = np.asarray(self._given.score(question, list(passages)), dtype=np.float32)
        except (ValueError, TypeError, OverflowError) as error:
            raise self._wrong("something that is not numbers") from error
        if scores.shape != (len(passages),) or not np.isfinite(scores).all():
            raise self._wrong(f"an array of the shape {scores.shape}, or no numbers, for {len(passages)}")
        return scores

    def _wrong(self, what: str) -> ModelError:
        return ModelError(f"The reranker '{self.name}' gave {what}.", "It must give a number a passage.")


def _as_llm(own: OwnModel) -> LLM:
    """An object with `chat` and `stream` as a model of LlamaIndex's."""
    from llama_index.core.base.llms.types import (
        ChatMessage,
        ChatResponse,
        ChatResponseGen,
        CompletionResponse,
        CompletionResponseGen,
        LLMMetadata,
    )
    from llama_index.core.llms import CustomLLM

    def as_given(messages: Sequence[ChatMessage]) -> list[dict[str, str]]:
        return [{"role": item.role.value, "content": item.content or ""} for item in messages]

    class GivenLLM(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(is_chat_model=True, model_name=_name_of(own))

        def chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponse:
            return ChatResponse(message=ChatMessage(own.chat(as_given(messages)), role="assistant"))

        def stream_chat(self, messages: Sequence[ChatMessage], **_: Any) -> ChatResponseGen:
            text = ""
            for piece in own.stream(as_given(messages)):
                text += piece
                yield ChatResponse(message=ChatMessage(text, role="assistant"), delta=piece)

        def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:  # noqa: ARG002
            return CompletionResponse(text=own.chat([{"role": "user", "content": prompt}]))

        def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponseGen:  # noqa: ARG002
            for response in self.stream_chat([ChatMessage(prompt)]):
                yield CompletionResponse(text=response.message.content or "", delta=response.delta)

    return GivenLLM()


def _name_of(given: object) -> str:
    name = getattr(given, "name", "")
    return name if isinstance(name, str) and name else type(given).__name__


def _unusable(role: str, given: object, wanted: str) -> ConfigurationError:
    return ConfigurationError(
        f"`{role}` is a '{type(given).__name__}', which is no such model.", f"Give {wanted}."
    )
