"""Every knob: its type, default, unit and one line on what it does. Values only, no behaviour.

Each is also an environment variable `ATHENA_<NAME>` and a line in `.env`; flags of the command line win.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt
from pydantic_settings import BaseSettings, SettingsConfigDict

GARBAGE_THRESHOLD = 50_000
"""New objects between two searches for garbage. At Python's 700 these take a tenth of all imports, and of a
process that serves 20 users 8 % of the time, up to .26 s at once."""

SWITCH_INTERVAL_S = 0.001
"""How long a thread that computes keeps Python to itself while others wait for it, in a process that serves.
A search changes threads some twenty times, and at Python's .005 waits at each for whoever computes."""

MANUALS = Path(__file__).parents[1] / "docs_corpus"
Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[float, Field(ge=0)]


class Settings(BaseSettings):
    """All settings of one process; frozen."""

    model_config = SettingsConfigDict(env_prefix="ATHENA_", env_file=".env", extra="ignore", frozen=True)

    # Where things are
    data_dir: Path = Field(Path(".athena"), description="folder of the index, conversations and uploads")
    corpus: Path = Field(MANUALS, description="the Markdown folder that `make run` indexes")
    model_cache: Path | None = Field(None, description="folder of converted models; default: user cache")

    # The server store
    store: Literal["embedded", "server"] = Field(
        "embedded", description="embedded (files in the data folder) or server (MongoDB and Weaviate)"
    )
    mongodb_url: str = Field(
        "mongodb://127.0.0.1:27017", description="where MongoDB answers; user, TLS and more in it", repr=False
    )
    mongodb_database: str = Field("athena", description="name of the database in MongoDB")
    weaviate_url: str = Field("http://127.0.0.1:8080", description="where Weaviate answers; https for TLS")
    weaviate_grpc_host: str = Field("", description="host of Weaviate's gRPC port; default: that of its URL")
    weaviate_grpc_port: PositiveInt = Field(50051, description="Weaviate's gRPC port")
    weaviate_api_key: str = Field("", description="key of Weaviate, where it wants one", repr=False)
    weaviate_ca_file: Path | None = Field(
        None, description="PEM file of the authority that signed Weaviate's certificate, if it is your own"
    )
    weaviate_prefix: str = Field("Athena", description="how the names of Weaviate's collections begin")

    # Reading
    max_file_mb: PositiveFloat = Field(10.0, description="largest Markdown file that is read, MB")
    max_upload_files: PositiveInt = Field(2000, description="most files in one uploaded zip")
    max_upload_mb: PositiveFloat = Field(100.0, description="most that an uploaded zip may unpack to, MB")

    # Models
    embedding_model: str = Field(
        "auto", description="auto (bundled), a sentence-transformers name, ollama/NAME or openai/NAME"
    )
    embedding_threads: NonNegativeInt = Field(0, description="embedding sessions; 0 = one a core")
    cross_encoder: str = Field(
        "cross-encoder/ms-marco-MiniLM-L-6-v2",
        description="a sentence-transformers CrossEncoder name or folder; none switches it off",
    )
    llm: str = Field("auto", description="auto, none, ollama/NAME or openai/NAME")
    ollama_url: str = Field("http://127.0.0.1:11434", description="where Ollama answers")
    openai_api_key: str = Field("", description="key of OpenAI or of a compatible server", repr=False)
    openai_base_url: str = Field("", description="base URL of an OpenAI-compatible server")
    context_window: PositiveInt = Field(8192, description="tokens of prompt and answer (Ollama's num_ctx)")
    max_answer_tokens: PositiveInt = Field(1024, description="longest generated answer, tokens")
    temperature: Annotated[float, Field(ge=0, le=2)] = Field(0.1, description="sampling temperature")
    connect_timeout_s: PositiveFloat = Field(3.0, description="seconds to reach a model's server")
    request_timeout_s: PositiveFloat = Field(120.0, description="seconds without a token before giving up")

    # Retrieving
    hyde: Literal["auto", "on", "off"] = Field(
        "auto", description="hypothetical answer as part of the dense query; auto = when a model is connected"
    )
    hyde_timeout_s: PositiveFloat = Field(20.0, description="seconds given to the hypothesis")
    hyde_lexical: bool = Field(False, description="add the hypothesis to the lexical query, too")
    alpha: Share = Field(0.5, description="0 = BM25 only, 1 = dense only")
    candidates: PositiveInt = Field(100, description="length of each of the four lists")
    bm25_section_share: Share = Field(
        0.75, description="sections' share of the BM25 half; sentences' the rest"
    )
    dense_section_share: Share = Field(
        0.375, description="sections' share of the dense half; sentences have the rest"
    )
    simple_ratio_thresh: Share = Field(
        0.5, description="share of a section's sentences that must be found to merge them into the section"
    )
    rerank: bool = Field(True, description="rerank with the cross-encoder where one is available")
    rerank_top_n: PositiveInt = Field(20, description="passages that the cross-encoder scores")
    rerank_weight: Share = Field(0.5, description="share of the cross-encoder in the combined score")
    top_k: PositiveInt = Field(8, description="most passages that an answer may rest on")
    context_tokens: PositiveInt = Field(2500, description="token budget of the passages in the prompt")
    answerable_threshold: Share | None = Field(
        None, description="probability below which Athena abstains; default: the calibrated one"
    )

    # Chatting
    history_tokens: PositiveInt = Field(2000, description="token budget of the conversation in the prompt")
    quotes: PositiveInt = Field(5, description="most sentences quoted when no model is connected")
    persona: Path | None = Field(None, description="TOML file with name, greeting, tone and system header")

    # Watching
    phoenix_url: str = Field("", description="where Phoenix answers; empty: no traces")

    # Serving
    host: str = Field("127.0.0.1", description="address that the app listens on")
    port: PositiveInt = Field(8501, description="port that the app listens on")
