"""Every setting: its type, default, unit and one line on what it does. Values only, no behaviour.

Each is also an environment variable `ATHENA_<NAME>` and a line in `.env`; flags of the command line win.
The pipeline's options are inherited from the models that it takes them as, so that none is written twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

import pipeline
from memory.options import MemoryOptions
from pipeline.options import (
    DEFAULT_USER,
    ChatOptions,
    Count,
    EncoderOptions,
    LanguageModelOptions,
    Port,
    PriceOptions,
    SearchOptions,
    Seconds,
    ServerOptions,
    Share,
)
from readers.formats import formats_named

Megabytes = Annotated[float, Field(gt=0, le=1_000_000)]


def _formats(setting: str) -> str:
    """The setting as it is; raises where it names no format."""
    try:
        formats_named(setting)
    except ValueError as error:
        raise PydanticCustomError("formats", "{reason}", {"reason": str(error)}) from error
    return setting


MANUALS = Path(pipeline.__file__).parents[1] / "docs_corpus"


class Settings(
    ServerOptions,
    EncoderOptions,
    LanguageModelOptions,
    PriceOptions,
    SearchOptions,
    ChatOptions,
    MemoryOptions,
    BaseSettings,
):
    """All settings of one process; frozen."""

    model_config = SettingsConfigDict(
        env_prefix="ATHENA_", env_file=".env", extra="ignore", frozen=True, allow_inf_nan=False
    )

    # Where things are
    data_dir: Path = Field(Path(".athena"), description="folder of the index, conversations and uploads")
    corpus: Path = Field(MANUALS, description="the Markdown folder that `make run` indexes")
    store: Literal["embedded", "server"] = Field(
        "embedded", description="embedded (files in the data folder) or server (MongoDB and Weaviate)"
    )

    # Reading
    formats: Annotated[str, AfterValidator(_formats)] = Field(
        "md",
        description="what is read of folders: md, txt, ipynb, html, rst, pdf, docx, pptx, xlsx, epub, or all",
    )
    language: str = Field(
        "auto",
        pattern=r"^(auto|[a-z]{2})$",
        description="language of the documents: an ISO 639-1 code, or auto, which detects it",
    )
    max_file_mb: Megabytes = Field(10.0, description="largest file of text that is read, MB")
    max_converted_mb: Megabytes = Field(50.0, description="largest file of other formats, MB")
    convert_timeout_s: Seconds = Field(60.0, description="seconds that converting a file may take")
    max_upload_files: Count = Field(2000, description="most files in one uploaded zip")
    max_upload_mb: Megabytes = Field(100.0, description="most that an uploaded zip may unpack to, MB")

    # Models
    embedding_model: str = Field(
        "auto", description="auto (bundled), a sentence-transformers name, ollama/NAME or openai/NAME"
    )
    cross_encoder: str = Field(
        "auto",
        description="auto (bundled), a sentence-transformers CrossEncoder name or folder; none = off",
    )
    llm: str = Field("auto", description="auto, none, ollama/NAME or openai/NAME")

    # Retrieving
    hyde: Literal["auto", "on", "off"] = Field(
        "auto", description="hypothetical answer as part of the dense query; auto = when a model is connected"
    )
    hyde_timeout_s: Seconds = Field(20.0, description="seconds given to the hypothesis")
    answerable_threshold: Share | None = Field(
        None, description="probability below which Athena abstains; default: the calibrated one"
    )

    # Chatting and watching
    user: str = Field(
        DEFAULT_USER, min_length=1, description="whose conversations and memories; a name, no protection"
    )
    persona: Path | None = Field(None, description="TOML file with name, greeting, tone and system header")
    phoenix_url: str = Field("", description="where Phoenix answers; empty: no traces", repr=False)

    # The agent
    tools: str = Field(
        "",
        description="functions that the agent may call, module:function,…; =reads after one that only reads",
    )
    mcp_servers: Path | None = Field(
        None, description="JSON file of MCP servers whose tools the agent may call"
    )
    agent_steps: Count = Field(8, description="most calls of tools for an answer")
    agent_tokens: Count = Field(4000, description="most tokens of their results that the model reads")
    agent_timeout_s: Seconds = Field(60.0, description="seconds that an agent's run may take")

    # Serving
    watch: bool = Field(
        False, description="while it serves, index what changes in the corpus, if one is set, and the uploads"
    )
    host: str = Field("127.0.0.1", description="address that the app listens on")
    port: Port = Field(8501, description="port that the app listens on")
    allowed_hosts: str = Field(
        "", description="names that the app answers to besides loopback and its own address, with commas"
    )
    user_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]*$")] = Field(
        "", description="header by which a proxy names the page's user; empty: the page has a switch"
    )
    doors: Literal["none", "api", "mcp", "all"] = Field(
        "none", description="what other programs may use: api (HTTP and OpenAI's protocol), mcp, all or none"
    )
    doors_a_minute: Count = Field(60, description="requests a minute that a key may make")
    doors_at_once: Count = Field(4, description="requests of a key that are answered at once")
    doors_max_mb: Megabytes = Field(1.0, description="largest body of a request, MB")
    doors_patience_s: Seconds = Field(20.0, description="seconds that a client may take to send a request")
