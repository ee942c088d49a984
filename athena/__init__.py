"""What a program imports: `from athena import load_settings, open_athena`."""

from __future__ import annotations

from athena.assistant import Athena, open_athena
from athena.loading import load_settings
from athena.settings import Settings

__all__ = ["Athena", "Settings", "load_settings", "open_athena"]
