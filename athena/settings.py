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

from memory.options import MemoryOptions
from pipeline.options import (
    DEFAULT_USER,
    ChatOptions,
    Count,
    EncoderOptions,
    GraphOptions,
    LanguageModelOptions,
    Port,
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


MANUALS = Path(__file__).parents[1] / "docs_corpus"


class Settings(
    ServerOptions,
    GraphOptions,
    EncoderOptions,
    LanguageModelOptions,
    SearchOptions,
    ChatOptions,
    MemoryOptions,
    BaseSettings,
):
    """All settings of one process; frozen."""

    model_config = SettingsConfigDict(env_prefix="ATHENA_", env_file=".env", extra="ignore", frozen=True)

    # Where things are
    data_dir: Path = Field(Path(".athena"), description="folder of the index, conversations and uploads")
    corpus: Path = Field(MANUALS, description="the Markdown folder that `make run` indexes")
    model_cache: Path | None = Field(None, description="folder of converted models; default: user cache")
    store: Literal["embedded", "server"] = Field(
        "embedded", description="embedded (files in the data folder) or server (MongoDB and Weaviate)"
    )

    # Reading
    formats: Annotated[str, AfterValidator(_formats)] = Field(
        "md",
        description="what is read of folders, with commas: md, txt, html, rst, ipynb, pdf, docx, or all",
    )
    max_file_mb: Megabytes = Field(10.0, description="largest file of text that is read, MB")
    max_converted_mb: Megabytes = Field(50.0, description="largest file of other formats, MB")
    convert_timeout_s: Seconds = Field(60.0, description="seconds that converting a file may take")
    fetch_local: bool = Field(
        False, description="fetch web pages from addresses of this machine and its network, too"
    )
    max_upload_files: Count = Field(2000, description="most files in one uploaded zip")
    max_upload_mb: Megabytes = Field(100.0, description="most that an uploaded zip may unpack to, MB")

    # Models
    embedding_model: str = Field(
        "auto", description="auto (bundled), a sentence-transformers name, ollama/NAME or openai/NAME"
    )
    cross_encoder: str = Field(
        "cross-encoder/ms-marco-MiniLM-L-6-v2",
        description="a sentence-transformers CrossEncoder name or folder; none switches it off",
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

    # Serving
    host: str = Field("127.0.0.1", description="address that the app listens on")
    port: Port = Field(8501, description="port that the app listens on")
    allowed_hosts: str = Field(
        "", description="names that the app answers to besides loopback and its own address, with commas"
    )
