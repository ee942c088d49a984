"""What is told before the first level and after the last."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from mission.errors import LevelError
from mission.schema import FileRow

STORY_FILE = Path(__file__).parent / "story.toml"


class Story(FileRow):
    """Prologue and epilogue, a line a paragraph."""

    prologue: str
    epilogue: str

    @property
    def beginning(self) -> list[str]:
        """The paragraphs before the first level."""
        return self.prologue.strip().splitlines()

    @property
    def end(self) -> list[str]:
        """The paragraphs after the last level."""
        return self.epilogue.strip().splitlines()


@cache
def the_story() -> Story:
    """The story of the mission. Raises LevelError where its file cannot be read."""
    try:
        return Story.model_validate(tomllib.loads(STORY_FILE.read_text(encoding="utf-8")))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise LevelError(
            f"Cannot read the story '{STORY_FILE.name}': {error}", "Restore or correct the file."
        ) from error
