"""How Streamlit is started: the same options whether from the repository or from an installed package."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from athena.settings import Settings
from ui.ports import require_free

OPTIONS_FILE = Path(__file__).with_name("streamlit.toml")
APP_FILE = Path(__file__).parent / "entry" / "app.py"


def streamlit_options(settings: Settings) -> dict[str, Any]:
    """Every option by its dotted name, those of the settings (address, port, upload size) included."""
    options = dict(_flatten(tomllib.loads(OPTIONS_FILE.read_text(encoding="utf-8"))))
    options["server.address"] = settings.host
    options["server.port"] = settings.port
    options["server.maxUploadSize"] = max(1, round(settings.max_upload_mb))
    options["server.enableStaticServing"] = True  # tells another Athena that this is one
    return options


def serve(settings: Settings) -> None:
    """Serve the app until it is interrupted, whatever the working folder.

    Through Streamlit's own starter and not its command line, which takes no lists (font sizes).

    Raises:
        ConfigurationError: the port is taken, or cannot be listened on.
    """
    require_free(settings.host, settings.port)
    from streamlit import config
    from streamlit.web import bootstrap

    from ui.shared import process

    process.use_settings(settings)
    options = {name.replace(".", "_"): value for name, value in streamlit_options(settings).items()}
    config._main_script_path = str(APP_FILE)
    bootstrap.load_config_options(options)
    bootstrap.run(str(APP_FILE), False, [], options)


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
