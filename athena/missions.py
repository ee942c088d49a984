"""What the settings mean for the mission: whether there is one, where its games lie, and who answers."""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import mission
from athena.settings import MANUALS, Settings
from pipeline.given_files import read_given

if TYPE_CHECKING:
    from athena.models import Models
    from mission.radio import Ground
    from pipeline.answering.persona import Persona

log = logging.getLogger(__name__)

MISSION_PERSONA = Path(mission.__file__).with_name("persona.toml")
TELEMETRY = "What the ship's console shows at this moment:"
GROUND_TIMEOUT_S = 20.0
GROUND = """You are mission control, call sign Harbour, on the radio with the one person aboard a spacecraft.

They said: {message}
Your card for this says: {ruled}

Tell them what the card says, in at most two short sentences, calm and warm, as one speaks on the radio.
Answer what they said. Name no part, code, command or number that is not above. No call signs, no greeting."""


def has_mission(settings: Settings) -> bool:
    """Whether the corpus is the ship's manuals, or a copy of them: another one has no mission."""
    first_pages = [folder / "index.md" for folder in (settings.corpus, MANUALS)]
    with suppress(OSError, UnicodeDecodeError):
        return len({read_given(page) for page in first_pages}) == 1
    return False


def mission_folder(settings: Settings) -> Path:
    """Where saved games and the progress over levels are kept."""
    return settings.data_dir / "mission"


def mission_persona(telemetry: str = "") -> Persona:
    """Who answers aboard the ship, told what the console shows; raises `ConfigurationError`."""
    from pipeline.answering.persona import load_persona

    persona = load_persona(MISSION_PERSONA)
    if not telemetry:
        return persona
    header = f"{persona.system_header}\n\n{TELEMETRY}\n{telemetry}"
    return persona.model_copy(update={"system_header": header})


def ground_control(models: Models, model: str | None = None) -> Ground:
    """Harbour's words by a language model, of a name or the settings'; "" where there is none or it fails."""

    def speak(message: str, ruled: str) -> str:
        from pipeline.errors import AthenaError
        from pipeline.models.generation import complete

        try:
            llm, _ = models.language_model(model)
            if llm is None:
                return ""
            return complete(llm, GROUND.format(message=message, ruled=ruled), timeout_s=GROUND_TIMEOUT_S)
        except AthenaError as error:
            log.warning("the ground answers by its rules: %s", error)
            return ""

    return speak
