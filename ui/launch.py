"""How Streamlit is started: the same options whether from the repository or from an installed package."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from athena.settings import Settings
from ui.ports import require_free, url_of

OPTIONS_FILE = Path(__file__).with_name("streamlit.toml")


def streamlit_options(settings: Settings) -> dict[str, Any]:
    """Every option by its dotted name, those of the settings (address, port, upload size) included."""
    options = dict(_flatten(tomllib.loads(OPTIONS_FILE.read_text(encoding="utf-8"))))
    options["server.address"] = settings.host
    options["server.port"] = settings.port
    options["server.maxUploadSize"] = max(1, round(settings.max_upload_mb))
    return options


def serve(settings: Settings, *, say: Callable[[str], None], ingest: bool = False) -> None:
    """Serve the app until it is interrupted, whatever the working folder; `say` is told its address.

    With `ingest` the corpus is indexed meanwhile.

    Raises:
        ConfigurationError: the port is taken, or cannot be listened on.
    """
    require_free(settings.host, settings.port)
    import streamlit

    from ui.serving import APP_FILE, serving
    from ui.shared import process

    process.use_settings(settings)
    app = streamlit.App(APP_FILE, **serving(settings, ingest=ingest))
    say(f"Athena is at {url_of(settings.host, settings.port)} (Ctrl-C ends it)")
    app.run(config=streamlit_options(settings))


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
