"""The persona that answers: name, greeting, tone and system header, read from a file for each corpus."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.errors import ConfigurationError


class Persona(BaseModel):
    """A persona as its TOML file defines it; all keys are optional."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field("Athena", min_length=1, description="what the assistant is called")
    greeting: str = Field(
        "Every answer cites the exact sentence that it rests on.",
        description="the one sentence of a first visit",
    )
    tone: str = Field(
        "Be calm and brief. Put what to do first, then why.", description="how answers should sound"
    )
    system_header: str = Field(
        "You answer questions from the documentation that is given to you.",
        description="how the system prompt begins",
    )
    memories: tuple[str, ...] = Field((), description="static memory: identity, goals, rules, environment")
    suggestions: tuple[str, ...] = Field((), description="first questions to click; default: from headings")


def load_persona(path: Path | None) -> Persona:
    """Return the persona in a TOML file; for None, the default one. Raises `ConfigurationError`."""
    if path is None:
        return Persona()
    try:
        return Persona.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"ATHENA_PERSONA: '{path}', key '{'.'.join(map(str, first['loc']))}': {first['msg']}."
        raise ConfigurationError(problem, f"Known keys: {', '.join(Persona.model_fields)}.") from error
    except (OSError, ValueError, RecursionError) as error:  # ValueError: bad TOML or UTF-8
        problem = f"ATHENA_PERSONA: '{path}' cannot be read: {error}."
        raise ConfigurationError(problem, "Correct the file, or the path.") from error
