"""Access for other programs: HTTP, OpenAI's protocol and MCP."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pipeline.errors import extra_for

if TYPE_CHECKING:
    from fastapi import FastAPI

    from athena import Athena, Settings

PATHS = ("/api/", "/v1/", "/mcp", "/health")
"""Prefixes of the URL paths that the API answers."""


def open_api(settings: Settings, athena: Callable[[], Athena], *, page: bool) -> FastAPI:
    """Return the app of the APIs that ATHENA_DOORS names; `athena` returns the process's Athena.

    Raises `ConfigurationError` if the extra is missing, or if other machines could use the API without a key.
    """
    with extra_for(f"ATHENA_DOORS={settings.doors}", "doors"):
        from doors.app import make_app
    return make_app(settings, athena, page=page)
