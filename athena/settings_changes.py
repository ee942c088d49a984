"""Change settings while Athena runs: check them, try them, keep them in `settings.json`, and use them."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from athena.loading import KEY, KEY_SERVER, read_choices, with_choices, write_choices
from athena.models import Given, build_models
from athena.settings import Settings
from pipeline.answering.persona import load_persona
from pipeline.errors import ConfigurationError, ModelError
from pipeline.models.llm import require_model_name
from pipeline.options import is_server_address
from pipeline.redaction import without_password

if TYPE_CHECKING:
    from athena.assistant import Athena

Changes = Mapping[str, Any]
"""New values by the settings' names; None takes a choice back."""

CHOOSE_OTHERWISE = "Choose another value, or reset it."
ADDRESSES = {"ollama_url": "http://localhost:11434", "openai_base_url": "http://localhost:8000/v1"}
"""The settings that are servers' addresses, each with an example."""
WORD = "Answer with the one word: ready"
WORD_TIMEOUT_S = 60.0  # a model may have to be loaded first

_one_at_a_time = threading.Lock()  # a change reads the file, and writes it


def drafted(settings: Settings, changes: Changes) -> Settings:
    """Return the settings with some choices changed, and checked; raise `ConfigurationError`."""
    return _checked(settings, _choices_after(settings, changes))


def change(athena: Athena, changes: Changes) -> Settings:
    """Write changed choices to the data folder, and use them from the next question on.

    Raises `ConfigurationError`, also where the data folder cannot be written; then nothing has changed.
    """
    with _one_at_a_time:
        choices = _choices_after(athena.settings, changes)
        settings = _checked(athena.settings, choices)
        write_choices(settings.data_dir, choices)
        athena.use(settings)
    return settings


def _choices_after(settings: Settings, changes: Changes) -> dict[str, Any]:
    """Return the choices after a change; a key that was chosen for one server is dropped for another."""
    for name, value in changes.items():
        require_workable(name, value)
    before = read_choices(settings.data_dir)
    choices = {**before, **changes}
    if KEY not in changes and choices.get(KEY_SERVER) != before.get(KEY_SERVER):
        choices.pop(KEY, None)
    return {name: value for name, value in choices.items() if value is not None}


def _checked(settings: Settings, choices: Mapping[str, Any]) -> Settings:
    made = with_choices(settings, choices, fix=CHOOSE_OTHERWISE)
    require_model_name(made.llm)
    load_persona(made.persona)
    return made


def require_workable(name: str, value: object) -> None:
    """Raise `ConfigurationError` for a new value that could never work; no server is asked."""
    if name == "llm" and value:
        require_model_name(str(value))
    if name in ADDRESSES and value and not is_server_address(str(value)):
        raise ConfigurationError(
            f"ATHENA_{name.upper()} cannot be '{without_password(str(value))}': that is no address.",
            f"Give it with its scheme, as {ADDRESSES[name]} is.",
        )


def try_connection(settings: Settings) -> str:
    """Ask the language model for one word; return its name and how soon it answered, or raise why not.

    A list of the server's models would not show that the key is right.
    """
    llm, choice = build_models(settings, Given()).language_model()
    if llm is None:
        raise ModelError(choice.detail, choice.fix)
    from pipeline.models.generation import complete

    begun = time.monotonic()
    said = complete(llm, WORD, timeout_s=WORD_TIMEOUT_S, stop=threading.Event())
    if not said.strip():
        raise ModelError(f"{choice.name} answered nothing.", "Choose another model.")
    return f"{choice.name} answers, {choice.detail}, in {time.monotonic() - begun:.1f} s."
