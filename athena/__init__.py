"""What a program imports: `from athena import load_settings, open_athena`."""

from __future__ import annotations

from athena.assembly import Athena, load_settings, open_athena
from athena.settings import Settings

__all__ = ["Athena", "Settings", "load_settings", "open_athena"]
