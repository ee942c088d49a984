"""The mission as the settings have it: whether it is offered, where games are saved, and who answers."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import mission
from athena.settings import MANUALS, Settings

if TYPE_CHECKING:
    from pipeline.answering.persona import Persona

MISSION_PERSONA = Path(mission.__file__).with_name("persona.toml")


def has_mission(settings: Settings) -> bool:
    """Return whether the corpus is the ship's manuals, or a copy of them."""
    first_pages = [folder / "index.md" for folder in (settings.corpus, MANUALS)]
    with suppress(OSError, UnicodeDecodeError):
        return len({page.read_text(encoding="utf-8") for page in first_pages}) == 1
    return False


def mission_folder(settings: Settings) -> Path:
    """Return the folder of saved games and of the progress over levels."""
    return settings.data_dir / "mission"


def mission_persona() -> Persona:
    """Return the persona that answers aboard; raise `ConfigurationError` where its file is damaged."""
    from pipeline.answering.persona import load_persona

    return load_persona(MISSION_PERSONA)
