"""Settings of the environment, and the parts of them that the pipeline takes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from athena.settings import Settings
from pipeline.errors import ConfigurationError
from pipeline.given_files import check_given
from pipeline.options import Options

Part = TypeVar("Part", bound=Options)


def load_settings(**given: Any) -> Settings:
    """The settings of the environment and `.env`, with those given on top; raises `ConfigurationError`."""
    try:
        _check_env_file()
        return _without_nul(Settings(**given))
    except UnicodeDecodeError as error:
        raise ConfigurationError(
            f"Cannot read '.env': not UTF-8 (byte 0x{error.object[error.start]:02X} at {error.start:,}).",
            "Save it as UTF-8.",
        ) from error
    except OSError as error:
        raise ConfigurationError(
            f"Cannot read '.env': {error.strerror or error}.", "Make it readable, or start elsewhere."
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(["ATHENA", *map(str, first["loc"])]).upper()
        raise ConfigurationError(
            f"{name} cannot be {first['input']!r:.80}: {first['msg'][0].lower()}{first['msg'][1:]}.",
            "Correct it in the environment, in .env or on the command line.",
        ) from error


def _check_env_file() -> None:
    """Raise `OSError` where `.env` is there and cannot be read to its end."""
    with suppress(FileNotFoundError):
        check_given(Path(str(Settings.model_config["env_file"])))


def _without_nul(settings: Settings) -> Settings:
    """The settings; raises where a path has a character that none can have."""
    for name, value in settings:
        if isinstance(value, Path) and "\0" in str(value):
            raise ConfigurationError(
                f"ATHENA_{name.upper()} has a NUL character in it.", "Name a path without one."
            )
    return settings


def part(settings: Settings, kind: type[Part], **given: Any) -> Part:
    """The options of one kind as the settings have them, with those given on top."""
    return kind(**settings.model_dump(include=set(kind.model_fields)) | given)
