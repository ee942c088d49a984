"""Where turns are traced: Phoenix, if the settings say where it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.errors import ConfigurationError

if TYPE_CHECKING:
    from pipeline.steps.phoenix import PhoenixTracer


def open_tracer(url: str) -> PhoenixTracer | None:
    """What sends each turn to the Phoenix at a URL; None without one."""
    if not url:
        return None
    _require_tracing()
    from pipeline.steps.phoenix import PhoenixTracer

    return PhoenixTracer(url)


def check_tracing(url: str) -> str:
    """What the Phoenix at a URL says of itself; raises `ConfigurationError`."""
    _require_tracing()
    from pipeline.steps.phoenix import check_phoenix

    return check_phoenix(url)


def _require_tracing() -> None:
    try:
        import openinference.semconv.trace  # noqa: F401
        import opentelemetry.exporter.otlp.proto.http.trace_exporter
        import opentelemetry.sdk.trace.export  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"ATHENA_PHOENIX_URL needs the package '{error.name}', which is not installed.",
            "Install the extra: `pip install 'athena-docs[tracing]'`, or leave the setting empty.",
        ) from error
