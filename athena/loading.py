"""Load the settings from flags, the environment, `.env` and `settings.json`, in this order of precedence.

`settings.json` in the data folder has the choices of the Settings page; only the file's owner may read it.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_settings import DotEnvSettingsSource

from athena.settings import Settings
from pipeline.errors import ConfigurationError
from pipeline.options import Options
from pipeline.redaction import SECRET_NAME, hide, redacted, without_password

Kind = TypeVar("Kind", bound=Options)

FILE_NAME = "settings.json"
CHANGEABLE = ("llm", "ollama_url", "openai_base_url", "openai_api_key", "hyde", "persona", "memory")
"""The settings that the page can change; other names in the file are ignored."""
KEY, KEY_SERVER = "openai_api_key", "openai_base_url"
OLLAMA_KEY, OLLAMA_SERVER = "OLLAMA_API_KEY", "ollama_url"

NEAR = 0.8  # least similarity (0..1) of an unknown name to the setting that was probably meant
CORRECT_IT = "Correct it in the environment, in .env or on the command line."


def load_settings(**flags: Any) -> Settings:
    """Return the settings; `flags` have precedence over all other sources.

    Raises:
        ConfigurationError: a value is invalid, a file is unreadable, a flag unknown or a variable misspelt.
    """
    for name in flags:
        if name not in Settings.model_fields:
            raise ConfigurationError(
                f"There is no setting '{name:.80}'.{_meant(name, '')}", "docs/settings.md lists all."
            )
    for variable in sorted(_variables()):
        prefix, _, name = variable.lower().partition("_")
        known = name in Settings.model_fields or name.startswith("test_")
        if prefix == "athena" and not known and (meant := _meant(name, "ATHENA_")):  # else another program's
            raise ConfigurationError(f"There is no setting {variable.upper():.80}.{meant}", CORRECT_IT)
    settings = _validated(flags, fix=CORRECT_IT)
    settings._fixed = frozenset(settings.model_fields_set)
    choices = read_choices(settings.data_dir)
    return with_choices(settings, choices) if choices else settings


def with_choices(settings: Settings, choices: Mapping[str, Any], *, fix: str = "") -> Settings:
    """Return the settings with these choices of the Settings page instead of all earlier choices.

    Values of flags, the environment and `.env` stay. Raises `ConfigurationError`, with `fix` as its advice.
    """
    free = changeable(settings)
    kept = {name: getattr(settings, name) for name in settings.fixed}
    chosen = {name: value for name, value in choices.items() if name in free}
    made = _validated(kept | chosen, fix=fix or f"Correct or delete it in '{settings.data_dir / FILE_NAME}'.")
    made._fixed = settings.fixed
    return made


def changeable(settings: Settings) -> frozenset[str]:
    """Return the settings that the Settings page may change: no flag, variable or `.env` sets them.

    If one of these sets an API key, the page may not change the address of the server that gets the key.
    """
    fixed = {*settings.fixed}
    if KEY in fixed:
        fixed.add(KEY_SERVER)
    if os.environ.get(OLLAMA_KEY):
        fixed.add(OLLAMA_SERVER)
    return frozenset(CHANGEABLE) - fixed


def options_of(settings: Settings, kind: type[Kind], **changes: Any) -> Kind:
    """Return options of the class `kind` with the values of the settings; `changes` override these."""
    return kind(**settings.model_dump(include=set(kind.model_fields)) | changes)


def drafted(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    """Return the settings with changed choices; None removes a choice. Nothing is written or put to use.

    Raises `ConfigurationError` for an invalid value, a wrong model name or an unusable persona file.
    """
    from pipeline.answering.persona import load_persona
    from pipeline.models.llm import require_model_name

    choices, fix = choices_after(settings, changes), "Choose another value, or reset it."
    made = with_choices(settings, choices, fix=fix)
    require_model_name(made.llm)
    load_persona(made.persona)
    return made


# -- sources ------------------------------------------------------------------------------------------------


def _variables() -> set[str]:
    """Return the names of all variables in the environment and `.env`; raises `ConfigurationError`."""
    try:
        return {*os.environ, *DotEnvSettingsSource(Settings).env_vars}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"Cannot read '.env': {error}.", "Make it readable, as UTF-8.") from error


def _validated(values: Mapping[str, Any], *, fix: str) -> Settings:
    """Return validated settings; `values` override the environment. Raises `ConfigurationError`."""
    try:
        settings = Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(["ATHENA", *map(str, first["loc"])]).upper()
        entered = "this" if SECRET_NAME.search(name) else without_password(repr(first["input"]))
        reason = redacted(f"{first['msg'][0].lower()}{first['msg'][1:]}")
        raise ConfigurationError(f"{name} cannot be {entered:.80}: {reason}.", fix) from error
    hide(dict(settings))
    return settings


def _meant(name: str, prefix: str) -> str:
    """Return a sentence that asks whether the most similar setting was meant; "" if none is similar."""
    near = get_close_matches(name.lower(), Settings.model_fields, n=1, cutoff=NEAR)
    return f" Did you mean '{prefix}{near[0].upper() if prefix else near[0]}'?" if near else ""


# -- settings.json ------------------------------------------------------------------------------------------


def read_choices(data_dir: Path) -> dict[str, Any]:
    """Return the stored choices by setting name, {} without a file; raises `ConfigurationError`."""
    path = data_dir / FILE_NAME
    try:
        values = json.loads(path.read_text(encoding="utf-8-sig"))["values"].items()
        return {name: value for name, value in values if name in CHANGEABLE}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        problem = f"Cannot read '{path}' as the Settings page writes it."
        raise ConfigurationError(problem, "Correct it, or delete it and choose again.") from error


def choices_after(settings: Settings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored choices with the changes; a new `openai_base_url` without a new key drops the key."""
    before = read_choices(settings.data_dir)
    choices = {**before, **changes}
    if KEY not in changes and choices.get(KEY_SERVER) != before.get(KEY_SERVER):
        choices.pop(KEY, None)
    return {name: value for name, value in choices.items() if value is not None}


def write_choices(data_dir: Path, values: Mapping[str, Any]) -> None:
    """Replace all stored choices by `values`; raises `ConfigurationError` if the file cannot be written."""
    path = data_dir / FILE_NAME
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        handle, written = tempfile.mkstemp(dir=data_dir, prefix=f".{FILE_NAME}-")  # only its owner may read
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"values": dict(values)}, file, ensure_ascii=False, indent=1)
                file.flush()
                os.fsync(handle)
            Path(written).replace(path)
        except OSError:
            Path(written).unlink(missing_ok=True)
            raise
    except OSError as error:
        problem = f"Cannot write '{path}': {error.strerror or error}."
        fix = "Make the data folder writable, or set ATHENA_DATA_DIR to one that is."
        raise ConfigurationError(problem, fix) from error
