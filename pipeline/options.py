"""Every option of the pipeline, with its default, unit and one line on what it does.

`athena/settings.py` is composed of these models: each field is a setting of the same name there. They stand
together, apart from the code that uses them, so that reading the settings imports none of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter
from pydantic_core import PydanticCustomError

OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://127.0.0.1:11434"
DEFAULT_USER = "local"

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(gt=0, le=1_000_000_000)]  # more means nothing, and overflows somewhere
CountOrNone = Annotated[int, Field(ge=0, le=1_000_000_000)]
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
        """The same options with those that an answer kept; names of other versions are left out."""
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
    weaviate_grpc_host: str = Field("", description="host of Weaviate's gRPC port; default: that of its URL")
    weaviate_grpc_port: Port = Field(50051, description="Weaviate's gRPC port")
    weaviate_api_key: Key = Field("", description="key of Weaviate, where it wants one", repr=False)
    weaviate_prefix: str = Field("Athena", description="how the names of Weaviate's collections begin")
    weaviate_replicas: Count = Field(
        1, description="servers of Weaviate's cluster that keep a copy of everything"
    )
    weaviate_shards: CountOrNone = Field(
        0, description="parts of each collection in Weaviate; 0 = one a server of its cluster"
    )
    weaviate_quantizer: Literal["none", "rq", "bq"] = Field(
        "none", description="vectors in Weaviate's memory: none (32 bits a number), rq (8) or bq (1)"
    )


class ModelServerOptions(Options):
    """Where the servers of models are, and how long they may take."""

    ollama_url: str = Field(OLLAMA_URL, description="where Ollama answers", repr=False)
    openai_api_key: Key = Field("", description="key of OpenAI or of a compatible server", repr=False)
    openai_base_url: str = Field("", description="base URL of an OpenAI-compatible server", repr=False)
    connect_timeout_s: Seconds = Field(3.0, description="seconds to reach a model's server")
    request_timeout_s: Seconds = Field(120.0, description="seconds without a token before giving up")

    @property
    def openai_url(self) -> str:
        """The base URL of OpenAI, or of the compatible server that is set."""
        return (self.openai_base_url or OPENAI_URL).rstrip("/")


class EncoderOptions(ModelServerOptions):
    """What an embedding model may need besides its name."""

    embedding_threads: Annotated[int, Field(ge=0, le=1024)] = Field(
        0, description="embedding sessions; 0 = one a core"
    )


class GenerationOptions(Options):
    """How much a language model reads and writes."""

    context_window: Count = Field(8192, description="tokens of prompt and answer (Ollama's num_ctx)")
    max_answer_tokens: Count = Field(1024, description="longest generated answer, tokens")
    answer_timeout_s: Seconds = Field(900.0, description="seconds that a whole answer may take")


class LanguageModelOptions(GenerationOptions, ModelServerOptions):
    """What a language model may need besides its name."""

    temperature: Annotated[float, Field(ge=0, le=2)] = Field(0.1, description="sampling temperature")
    think: bool = Field(False, description="let Ollama's models think first; thoughts are shown apart")


def _price_table(text: str) -> str:
    """The table as it is; raises where it is none."""
    for row in filter(str.strip, text.split(";")):
        try:
            _, price_in, price_out = row.split()
            TypeAdapter(tuple[Price, Price]).validate_python((price_in, price_out))
        except ValueError as error:
            raise PydanticCustomError(
                "prices", "'{row}' is no model with its two prices", {"row": row.strip()}
            ) from error
    return text


class PriceOptions(Options):
    """What a language model costs; where no price is set, there is no cost, which is not a cost of 0."""

    price_in: Price | None = Field(None, description="price of 1,000 tokens that a language model reads")
    price_out: Price | None = Field(None, description="price of 1,000 tokens that a language model writes")
    prices: Annotated[str, AfterValidator(_price_table)] = Field(
        "", description="other prices by model: `NAME IN OUT; NAME IN OUT`, as of `openai/gpt-5 0.00125 0.01`"
    )

    def cost(self, model: str, tokens_in: int, tokens_out: int) -> float | None:
        """The cost of some tokens of a model, by its full name; None where one of its prices is not set."""
        price_in, price_out = self.price_in, self.price_out
        for row in filter(str.strip, self.prices.split(";")):
            name, *of_model = row.split()
            if name == model:
                price_in, price_out = map(float, of_model)
        if price_in is None or price_out is None:
            return None
        return (tokens_in * price_in + tokens_out * price_out) / 1000


class SearchOptions(Options):
    """The options of a search that a user may set."""

    alpha: Share = Field(0.5, description="0 = BM25 only, 1 = dense only")
    candidates: Count = Field(100, description="length of lists of sections; of sentences twice that")
    spelling: bool = Field(True, description="correct words that the documents have in another spelling")
    merge_up: bool = Field(True, description="put a parent in the place of its sections that were found")
    rerank: bool = Field(True, description="rerank with the cross-encoder where one is available")
    top_k: Count = Field(8, description="most passages that an answer may rest on")
    context_tokens: Count = Field(2500, description="token budget of the passages in the prompt")


class RetrievalOptions(SearchOptions):
    """Every option of one search; the settings' `hyde` has a third value, auto."""

    hyde: bool = Field(False, description="search with a hypothetical answer, where a model writes one")
    paths: str | tuple[str, ...] | None = Field(
        None, description="search only in sources that match this glob, or one of several"
    )


class ChatOptions(GenerationOptions):
    """How long the parts of a conversation's prompt, and the quotes without a model, may be."""

    history_tokens: Count = Field(2000, description="token budget of the conversation in the prompt")
    quotes: Count = Field(
        8, description="most passages quoted when no model is connected, folded ones among them"
    )
