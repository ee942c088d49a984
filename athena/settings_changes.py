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
from pipeline.errors import ModelError
from pipeline.models.llm import require_model_name

if TYPE_CHECKING:
    from athena.assistant import Athena

Changes = Mapping[str, Any]
"""New values by the settings' names; None takes a choice back."""

CHOOSE_OTHERWISE = "Choose another value, or reset it."
WORD = "Answer with the one word: ready"
WORD_TIMEOUT_S = 60.0  # a model may have to be loaded first

_one_at_a_time = threading.Lock()  # a change reads the file, and writes it


def change(athena: Athena, changes: Changes) -> Settings:
    """Write changed choices to the data folder, and use them from the next question on.

    Raises `ConfigurationError`, also where the data folder cannot be written; then nothing has changed.
    """
    with _one_at_a_time:
        choices = _choices_after(athena.settings, changes)
        settings = drafted(athena.settings, changes)
        write_choices(settings.data_dir, choices)
        athena.use(settings)
    return settings


def _choices_after(settings: Settings, changes: Changes) -> dict[str, Any]:
    """Return the choices after a change; a key that was chosen for one server is dropped for another."""
    before = read_choices(settings.data_dir)
    choices = {**before, **changes}
    if KEY not in changes and choices.get(KEY_SERVER) != before.get(KEY_SERVER):
        choices.pop(KEY, None)
    return {name: value for name, value in choices.items() if value is not None}


def drafted(settings: Settings, changes: Changes) -> Settings:
    """Return the settings with some choices changed, and checked; raise `ConfigurationError`."""
    made = with_choices(settings, _choices_after(settings, changes), fix=CHOOSE_OTHERWISE)
    require_model_name(made.llm)
    load_persona(made.persona)
    return made


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
