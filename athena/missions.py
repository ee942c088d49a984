"""What the settings mean for the mission: whether there is one, where its games lie, and who answers."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from athena.settings import MANUALS, Settings
from pipeline.given_files import read_given

if TYPE_CHECKING:
    from pipeline.answering.persona import Persona

MISSION_PERSONA = Path(__file__).parents[1] / "mission" / "persona.toml"
TELEMETRY = "What the ship's console shows at this moment:"


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
