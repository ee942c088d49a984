"""Tracing, where the settings name a server that takes traces."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from pipeline.errors import ConfigurationError

if TYPE_CHECKING:
    from pipeline.steps.tracing import TurnTracer


def open_tracer(url: str) -> TurnTracer | None:
    """Return what exports each turn to the server at a URL; None without a URL."""
    return _tracing().TurnTracer(url) if url else None


def check_tracing(url: str) -> str:
    """Return that the server at a URL takes traces; raises `ConfigurationError` where it does not."""
    return str(_tracing().check_tracing(url))


def _tracing() -> ModuleType:
    try:
        import pipeline.steps.tracing as tracing
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"ATHENA_PHOENIX_URL needs the package '{error.name}', which is not installed.",
            "Install the extra: `pip install 'athena-docs[tracing]'`, or leave the setting empty.",
        ) from error
    return tracing
