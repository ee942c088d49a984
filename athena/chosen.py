"""What was chosen on the Settings page: a file in the data folder that only its owner may read.

Flags, the environment and `.env` win over it, and it over the defaults. Every command reads it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.errors import ConfigurationError
from pipeline.given_files import read_given

FILE_NAME = "settings.json"
VERSION = 1
CHANGEABLE = (
    "llm",
    "ollama_url",
    "openai_base_url",
    "openai_api_key",
    "rerank",
    "quotes",
    "hyde",
    "persona",
    "memory",
)
"""The settings that can be chosen there; what else stands in the file is not read."""

Chosen = Mapping[str, Any]


def chosen_file(data_dir: Path) -> Path:
    """Where the choices of a data folder are kept."""
    return data_dir / FILE_NAME


def read_chosen(data_dir: Path) -> Chosen:
    """The choices by the settings' names, empty where none was made; raises `ConfigurationError`."""
    path = chosen_file(data_dir)
    try:
        kept = json.loads(read_given(path, encoding="utf-8-sig"))
        version, values = kept["version"], kept["values"]
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigurationError(
            f"Cannot read '{path}': {error.strerror or error}.", "Make it readable for the user of Athena."
        ) from error
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise _damaged(path) from error
    if not isinstance(version, int) or not isinstance(values, dict):
        raise _damaged(path)
    if version > VERSION:
        raise ConfigurationError(
            f"Cannot read '{path}': it has format {version}, this program knows up to {VERSION}.",
            "Update Athena, or delete the file and choose again.",
        )
    return {name: values[name] for name in CHANGEABLE if name in values}


def write_chosen(data_dir: Path, values: Chosen) -> None:
    """Keep these choices in the place of all others; raises `ConfigurationError` where that cannot be."""
    path = chosen_file(data_dir)
    text = json.dumps({"version": VERSION, "values": dict(values)}, ensure_ascii=False, indent=1) + "\n"
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        _replace(path, text)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write '{path}': {error.strerror or error}.",
            "Make the data folder writable, or set ATHENA_DATA_DIR to one that is.",
        ) from error


def can_be_written(data_dir: Path) -> bool:
    """Whether choices can be kept there."""
    existing = next(folder for folder in (data_dir, *data_dir.absolute().parents) if folder.exists())
    return os.access(existing, os.W_OK)


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all, for its owner alone (as `mkstemp` makes it)."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _damaged(path: Path) -> ConfigurationError:
    return ConfigurationError(
        f"Cannot read '{path}': it is not as the Settings page writes it.",
        "Correct it, or delete it and choose again.",
    )
