"""Every setting: its type, default, unit, and one line on what it does.

Each can be set as an environment variable `ATHENA_<NAME>` or a line in `.env`. The options of the pipeline
and the memory are inherited from their pydantic classes, so that no option is defined twice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

import pipeline
from memory.options import MemorySettings
from pipeline.options import (
    DEFAULT_USER,
    GenerationOptions,
    ModelServerOptions,
    Port,
    PriceOptions,
    SearchOptions,
    ServerOptions,
    is_server_address,
)

MANUALS = Path(pipeline.__file__).parents[1] / "docs_corpus"


class Settings(
    ServerOptions,
    ModelServerOptions,
    GenerationOptions,
    PriceOptions,
    SearchOptions,
    MemorySettings,
    BaseSettings,
):
    """All settings of one process; frozen."""

    model_config = SettingsConfigDict(
        env_prefix="ATHENA_",
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        allow_inf_nan=False,
    )

    # Where things are
    data_dir: Path = Field(Path(".athena"), description="folder of the index, conversations and uploads")
    corpus: Path = Field(MANUALS, description="the Markdown folder that `make run` indexes")
    store: Literal["embedded", "server"] = Field(
        "embedded", description="embedded (files in the data folder) or server (MongoDB and Weaviate)"
    )

    # Reading
    formats: Literal["md", "all"] = Field(
        "md", description="what is read of folders: md (Markdown), or all formats"
    )
    max_file_mb: Annotated[float, Field(gt=0, le=1_000_000)] = Field(
        10.0, description="largest file that is read, MB"
    )
    language: Annotated[str, Field(pattern="^([a-z]{2})?$")] = Field(
        "", description="ISO 639-1 code of documents that state none; empty: each document's is detected"
    )

    # Models
    embedding_model: str = Field(
        "auto", description="auto (bundled), a sentence-transformers name, ollama/NAME or openai/NAME"
    )
    cross_encoder: str = Field(
        "auto", description="auto (bundled), a sentence-transformers CrossEncoder name or folder; none = off"
    )
    llm: str = Field("auto", description="auto, none, ollama/NAME or openai/NAME")

    # Retrieving
    hyde: Literal["off", "on"] = Field(
        "off", description="the model writes a hypothetical answer to search with, which takes another call"
    )

    # Chatting
    user: str = Field(
        DEFAULT_USER, min_length=1, description="whose conversations and memories; a name, no protection"
    )
    persona: Path | None = Field(None, description="TOML file with name, greeting, tone and system header")
    phoenix_url: str = Field("", description="where Phoenix answers; empty: no traces", repr=False)

    # The agent
    mcp_servers: Path | None = Field(
        None, description="JSON file of MCP servers whose tools the agent may call"
    )

    # Serving
    host: str = Field("127.0.0.1", description="address that the app listens on")
    port: Port = Field(8501, description="port that the app listens on")
    allowed_hosts: str = Field(
        "", description="names that the app answers to besides loopback and its own address, with commas"
    )
    user_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]*$")] = Field(
        "", description="header by which a proxy names the page's user; empty: all are the user `local`"
    )
    doors: Literal["none", "api", "mcp", "all"] = Field(
        "none", description="what other programs may use: api (HTTP and OpenAI's protocol), mcp, all or none"
    )

    @field_validator("ollama_url", "openai_base_url")
    @classmethod
    def _address(cls, url: str) -> str:
        """Return the URL; raise `PydanticCustomError` if it cannot be a server's address."""
        if url and not is_server_address(url):
            raise PydanticCustomError("address", "It is not an address like http://localhost:8000/v1")
        return url

    _fixed: frozenset[str] | None = PrivateAttr(None)

    @property
    def fixed(self) -> frozenset[str]:
        """The settings that flags, the environment or `.env` set: the Settings page cannot change them."""
        return frozenset(self.model_fields_set) if self._fixed is None else self._fixed
