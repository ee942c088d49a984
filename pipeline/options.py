"""Every option of the pipeline, with its default and unit.

A field with a description is a setting of the same name: `athena/settings.py` inherits the models that have
them. They stand apart from the code that uses them, so that reading the settings imports none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://127.0.0.1:11434"
NO_BUDGET = 10**9  # tokens, where passages are not measured
DEFAULT_USER = "local"

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(gt=0, le=1_000_000_000)]  # more means nothing, and overflows somewhere
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Port = Annotated[int, Field(gt=0, le=65_535)]
Price = Annotated[float, Field(ge=0, le=1_000_000)]  # of 1,000 tokens, in any currency


def is_server_address(url: str) -> bool:
    """Whether something can be the address of a server that speaks HTTP."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half a bracket, a port that is not a number, or too large
        return False


def _key(text: str) -> str:
    """A key without blanks around it; raises where no header of HTTP can carry it."""
    key = text.strip()
    if not (key.isascii() and key.isprintable()):
        raise PydanticCustomError("key", "It has a character that no key has; copy it once more")
    return key


Key = Annotated[str, AfterValidator(_key)]


class Options(BaseModel):
    """Frozen values; an unknown name is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def but(self, **changes: Any) -> Self:
        """The same options with some changed, and checked."""
        return type(self)(**dict(self) | changes)

    def with_kept(self, kept: Mapping[str, Any]) -> Self:
        """Return these options with the values stored with an answer; unknown names are ignored."""
        return self.but(**{name: kept[name] for name in dict(self) if name in kept})


class ServerOptions(Options):
    """Where MongoDB and Weaviate are; TLS and authentication of MongoDB are part of its URL."""

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
    """Where the servers of models are, and how long they may be silent."""

    ollama_url: str = Field(OLLAMA_URL, description="where Ollama answers", repr=False)
    openai_api_key: Key = Field("", description="key of OpenAI or of a compatible server", repr=False)
    openai_base_url: str = Field("", description="base URL of an OpenAI-compatible server", repr=False)
    request_timeout_s: Seconds = Field(120.0, description="seconds without a token before giving up")

    @property
    def openai_url(self) -> str:
        """The base URL of OpenAI, or of the compatible server that is set."""
        return (self.openai_base_url or OPENAI_URL).rstrip("/")


class GenerationOptions(Options):
    """How much a language model reads and writes."""

    context_window: Count = Field(8192, description="tokens of prompt and answer (Ollama's num_ctx)")
    max_answer_tokens: Count = Field(1024, description="longest generated answer, tokens")
    think: bool = Field(False, description="let Ollama's models think first; thoughts are shown apart")


class LanguageModelOptions(GenerationOptions, ModelServerOptions):
    """Options of language models, besides the name."""

    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0  # the same question gets the same answer


class PriceOptions(Options):
    """Prices of a language model's tokens. Without them an answer has no cost, which is not a cost of 0."""

    price_in: Price = Field(0.0, description="price of 1,000 tokens that the language model reads")
    price_out: Price = Field(0.0, description="price of 1,000 tokens that the language model writes")

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the cost of a model's tokens; None without prices."""
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1000 or None


class SearchOptions(Options):
    """The options of a search that are settings, too."""

    alpha: Share = Field(0.5, description="0 = BM25 only, 1 = dense only")
    top_k: Count = Field(8, description="most passages that an answer may rest on")
    context_tokens: Count = Field(2500, description="token budget of the passages in the prompt")


class RetrievalOptions(SearchOptions):
    """Every option of one search: how lists are searched, fused, merged, reranked and cut."""

    hyde: bool = False  # of a chat: search with a hypothetical answer, too, which the model writes
    candidates: Count = 100  # length of lists of sections; of sentences twice that
    merge_up: bool = True  # put a parent in the place of its sections that were found
    rerank: bool = True  # with the cross-encoder, where one is available
    paths: str | tuple[str, ...] | None = None  # search only in sources that match one of these globs


class ChatOptions(GenerationOptions):
    """How long the parts of a conversation's prompt, the answer, and the quotes without a model may be."""

    history_tokens: Count = 2000  # of the conversation in the prompt
    quotes: Count = 8  # most passages quoted without a model, folded ones among them
    answer_timeout_s: Seconds = 900.0  # for a whole answer
