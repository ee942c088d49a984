"""Every option of the pipeline, with its default and unit.

A field with a description is also a setting of the same name: `athena/settings.py` inherits these models. The
options are apart from the code that uses them, so that reading the settings imports none of that code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://127.0.0.1:11434"
NO_BUDGET = 10**9  # tokens: no limit; passages are then not counted
DEFAULT_USER = "local"

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(gt=0, le=1_000_000_000)]  # a larger number could overflow, and is never needed
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Port = Annotated[int, Field(gt=0, le=65_535)]
Price = Annotated[float, Field(ge=0, le=1_000_000)]  # of 1,000 tokens, in any currency


def is_server_address(url: str) -> bool:
    """Return whether `url` is an http or https URL with a host and, if given, a valid port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an unclosed bracket, or a port that is no number or too large
        return False


def _key(text: str) -> str:
    """Return an API key without surrounding blanks; raise if an HTTP header cannot carry it."""
    key = text.strip()
    if not (key.isascii() and key.isprintable()):
        raise PydanticCustomError("key", "It has a character that no key has; copy it once more")
    return key


Key = Annotated[str, AfterValidator(_key)]


class Options(BaseModel):
    """Base of all options: frozen and checked; an unknown name raises `ValidationError`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def but(self, **changes: Any) -> Self:
        """Return a copy with these options changed; raise `ValidationError` for a wrong name or value."""
        return type(self)(**dict(self) | changes)

    def with_kept(self, kept: Mapping[str, Any]) -> Self:
        """Return a copy with the values that an answer was stored with; unknown names are ignored."""
        return self.but(**{name: kept[name] for name in dict(self) if name in kept})


class ServerOptions(Options):
    """Addresses of MongoDB and Weaviate; MongoDB's URL includes its TLS options, user and password."""

    mongodb_url: str = Field(
        "mongodb://127.0.0.1:27017", description="where MongoDB answers; user, TLS and more in it", repr=False
    )
    mongodb_database: str = Field("athena", description="name of the database in MongoDB")
    weaviate_url: str = Field(
        "http://127.0.0.1:8080", description="where Weaviate answers; https for TLS", repr=False
    )
    weaviate_grpc_port: Port = Field(50051, description="Weaviate's gRPC port")
    weaviate_api_key: Key = Field("", description="key of Weaviate, where it wants one", repr=False)
    weaviate_replicas: Count = Field(
        1, description="servers of Weaviate's cluster that keep a copy of everything"
    )
    weaviate_quantizer: Literal["none", "rq", "bq"] = Field(
        "none", description="vectors in Weaviate's memory: none (32 bits a number), rq (8) or bq (1)"
    )


class ModelServerOptions(Options):
    """Addresses of the model servers, and how long they may send nothing."""

    ollama_url: str = Field(OLLAMA_URL, description="where Ollama answers", repr=False)
    openai_api_key: Key = Field("", description="key of OpenAI or of a compatible server", repr=False)
    openai_base_url: str = Field("", description="base URL of an OpenAI-compatible server", repr=False)
    request_timeout_s: Seconds = Field(120.0, description="seconds without a token before giving up")

    @property
    def openai_url(self) -> str:
        """The base URL of the compatible server if one is set, else OpenAI's; without a final slash."""
        return (self.openai_base_url or OPENAI_URL).rstrip("/")


class GenerationOptions(Options):
    """Limits on the tokens that a language model reads and writes."""

    context_window: Count = Field(8192, description="tokens of prompt and answer (Ollama's num_ctx)")
    max_answer_tokens: Count = Field(1024, description="longest generated answer, tokens")
    think: bool = Field(False, description="let Ollama's models think first; thoughts are shown apart")


class LanguageModelOptions(GenerationOptions, ModelServerOptions):
    """All options of a language model except its name."""

    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0  # the same question gets the same answer


class PriceOptions(Options):
    """Prices of a language model's tokens. Without prices the cost of an answer is unknown (None), not 0."""

    price_in: Price = Field(0.0, description="price of 1,000 tokens that the language model reads")
    price_out: Price = Field(0.0, description="price of 1,000 tokens that the language model writes")

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the cost of these tokens, in the prices' currency; None if it is 0, as without prices."""
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1000 or None


class SearchOptions(Options):
    """The options of a search that are also settings."""

    alpha: Share = Field(0.5, description="0 = BM25 only, 1 = dense only")
    top_k: Count = Field(8, description="most passages that an answer may rest on")
    context_tokens: Count = Field(2500, description="token budget of the passages in the prompt")


class RetrievalOptions(SearchOptions):
    """Every option of one search: how lists are searched, fused, merged, reranked and cut."""

    hyde: bool = False  # in a chat: also search with a hypothetical answer that the model writes
    candidates: Count = 100  # length of each list of sections; lists of sentences are twice as long
    merge_up: bool = True  # replace the sections found by their parent section
    rerank: bool = True  # with the cross-encoder, if one is available
    paths: str | tuple[str, ...] | None = None  # search only in sources that match one of these globs


class ChatOptions(GenerationOptions):
    """Limits of a chat: tokens of history, number of quotes, and seconds for an answer."""

    history_tokens: Count = 2000  # most tokens of earlier messages in the prompt
    quotes: Count = 8  # most passages quoted without a model, including folded ones
    answer_timeout_s: Seconds = 900.0  # longest time for one answer
