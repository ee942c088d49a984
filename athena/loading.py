"""Settings of flags, the environment, `.env` and the Settings page, and the parts that the pipeline takes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_settings import DotEnvSettingsSource

from athena.chosen import CHANGEABLE, chosen_file, read_chosen
from athena.settings import Settings
from pipeline.errors import ConfigurationError
from pipeline.given_files import check_given
from pipeline.options import Options
from pipeline.redaction import SECRET_NAME, hide, redacted, without_password

Part = TypeVar("Part", bound=Options)

NEAR = 0.8  # of two names: a letter or two are wrong
SETTINGS_LIST = "The README lists all settings."
CORRECT_IT = "Correct it in the environment, in .env or on the command line."
KEY, KEYS_SERVER = "openai_api_key", "openai_base_url"
OLLAMA_KEY, OLLAMA_KEYS_SERVER = "OLLAMA_API_KEY", "ollama_url"


def load_settings(**given: Any) -> Settings:
    """The settings of the environment and `.env`, with those given on top and the page's choices below.

    Raises `ConfigurationError`, also for a name that is no setting's.
    """
    for name in given:
        if name not in Settings.model_fields:
            raise ConfigurationError(f"There is no setting '{name:.80}'.{_meant(name)}", SETTINGS_LIST)
    _refuse_slips()
    settings = _without_nul(_made(given, CORRECT_IT))
    chosen = read_chosen(settings.data_dir)
    return with_chosen(settings, chosen) if chosen else settings


def with_chosen(settings: Settings, chosen: Mapping[str, Any], *, fix: str = "") -> Settings:
    """The settings with these choices of the Settings page, and no others, wherever nothing else is set.

    What flags, the environment and `.env` set stays, and stays `model_fields_set`. A key that they set is
    sent to no server but the one that they name. Raises `ConfigurationError`, with another `fix` on request.
    """
    free = {name: value for name, value in chosen.items() if name in changeable(settings)}
    defaults = {name: Settings.model_fields[name].default for name in changeable(settings)}
    fix = fix or f"Correct or delete it in '{chosen_file(settings.data_dir)}'."
    made = _without_nul(_made(dict(settings) | defaults | free, fix))
    return Settings.model_construct(_fields_set=set(set_outside(settings)), **dict(made))


def changeable(settings: Settings) -> frozenset[str]:
    """The settings that the page may change: those that neither flags nor environment nor `.env` set.

    Nor the address of a server for which they set a key: Ollama's client sends its own to any address.
    """
    fixed = set_outside(settings)
    of_keys = {KEYS_SERVER} if KEY in fixed else set()
    if os.environ.get(OLLAMA_KEY):
        of_keys.add(OLLAMA_KEYS_SERVER)
    return frozenset(CHANGEABLE) - fixed - of_keys


def set_outside(settings: Settings) -> frozenset[str]:
    """What flags, the environment and `.env` set; a line that they leave empty sets nothing."""
    return frozenset(name for name in settings.model_fields_set if getattr(settings, name) != "")


def _made(given: Mapping[str, Any], fix: str) -> Settings:
    try:
        _check_env_file()
        settings = Settings(**given)
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
        entered = "this" if SECRET_NAME.search(name) else without_password(repr(first["input"]))
        reason = redacted(f"{first['msg'][0].lower()}{first['msg'][1:]}")
        raise ConfigurationError(f"{name} cannot be {entered:.80}: {reason}.", fix) from error
    hide(dict(settings))
    return settings


def _refuse_slips() -> None:
    """Raise where a variable of the environment or of `.env` looks like a setting's name, and is none.

    Others that begin alike are somebody else's business: scripts, tests and containers have some, too.
    """
    try:
        _check_env_file()
        names = {*os.environ, *DotEnvSettingsSource(Settings).env_vars}
    except (OSError, UnicodeDecodeError):  # said where the settings are made
        names = {*os.environ}
    for variable in sorted(names):
        prefix, _, name = variable.lower().partition("_")
        if prefix != "athena" or name.startswith("test_") or name in Settings.model_fields:
            continue
        if meant := _meant(name, prefix="ATHENA_"):
            raise ConfigurationError(f"There is no setting {variable.upper():.80}.{meant}", CORRECT_IT)


def _meant(name: str, *, prefix: str = "") -> str:
    """The setting that was probably meant, as a question; "" where none is near."""
    near = get_close_matches(name.lower(), Settings.model_fields, n=1, cutoff=NEAR)
    if not near:
        return ""
    return f" Did you mean {prefix}{near[0].upper()}?" if prefix else f" Did you mean '{near[0]}'?"


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
