"""Start the app: Streamlit's options, the check of the port, and the API without the pages."""

from __future__ import annotations

import errno
import json
import socket
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from athena.reading import MAX_UPLOAD_MB
from athena.settings import Settings
from pipeline.answering.persona import load_persona
from pipeline.errors import ConfigurationError
from pipeline.models.llm import require_model_name

NO_PAGE = "The chat in the browser needs Streamlit, which is not installed."
INSTALL_PAGE = "Install it with: pip install 'athena-docs[page]'"
LAST_WORDS_S = 5  # that running requests may take to end when the API is stopped
EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 (only compared with)
OPTIONS_FILE = Path(__file__).with_name("streamlit.toml")


def streamlit_options(settings: Settings) -> dict[str, Any]:
    """Return Streamlit's options by dotted name, from `streamlit.toml` and `settings`."""
    options = dict(_flatten(tomllib.loads(OPTIONS_FILE.read_text(encoding="utf-8"))))
    options["server.address"] = settings.host
    options["server.port"] = settings.port
    options["server.maxUploadSize"] = MAX_UPLOAD_MB
    if settings.user_header:
        from ui.shared.process import PROXY_USER

        options["server.trustedUserHeaders"] = json.dumps({settings.user_header: PROXY_USER})
    return options


def serve(settings: Settings, *, say: Callable[[str], None], ingest: bool = False, page: bool = True) -> None:
    """Serve the app until it is interrupted; call `say` with its address.

    With `ingest`, the corpus is indexed in the background. Without `page`, only the API is served: it starts
    after the indexing, and `say` also gets a message for each file that could not be read.

    Raises:
        ConfigurationError: the port is taken, or cannot be listened on; `llm` names no model; Streamlit is
            not installed; without `page`, the API is off or the persona cannot be read.
    """
    require_model_name(settings.llm)
    require_free(settings.host, settings.port)
    if not page:
        serve_doors(settings, say=say, ingest=ingest)
        return
    try:
        import streamlit
    except ModuleNotFoundError as error:
        raise ConfigurationError(NO_PAGE, INSTALL_PAGE) from error

    from ui.serving import APP_FILE, serving
    from ui.shared import process

    process.use_settings(settings)
    app = streamlit.App(APP_FILE, **serving(settings, ingest=ingest))
    say(f"Athena is at {url_of(settings.host, settings.port)} (Ctrl-C ends it)")
    app.run(config=streamlit_options(settings))


def serve_doors(settings: Settings, *, say: Callable[[str], None], ingest: bool) -> None:
    """Serve the API without the pages and Streamlit; raise `ConfigurationError` if the API is off."""
    if settings.doors == "none":
        raise ConfigurationError(
            "Without its page there is nothing to serve: the API is off.",
            "Set ATHENA_DOORS to api, mcp or all.",
        )
    load_persona(settings.persona)  # fail now if it cannot be read, not at each question
    from athena import open_athena
    from doors import open_api

    with closing(open_athena(settings)) as athena:
        app = open_api(settings, lambda: athena, page=False)
        import uvicorn  # of the same extra as the API

        if ingest:
            for problem in athena.ingest([settings.corpus]).problems:
                say(f"Not indexed: {problem}")
        athena.warm_up(serving=True)
        say(f"Athena's API is at {url_of(settings.host, settings.port)} (Ctrl-C ends it)")
        uvicorn.run(app, host=settings.host, port=settings.port, log_level="warning", server_header=False,
                    timeout_graceful_shutdown=LAST_WORDS_S)  # fmt: skip


def require_free(host: str, port: int) -> None:
    """Raise `ConfigurationError` if the app cannot listen at this address."""
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            problem = f"Port {port} is in use."
            fix = f"Athena may be running already: open {url_of(host, port)}. Or choose another --port."
        else:
            problem = f"Cannot listen on {host}:{port}: {error.strerror or error}."
            fix = "Choose another --host or --port."
        raise ConfigurationError(problem, fix) from error


def url_of(host: str, port: int) -> str:
    """Return the URL for a browser on this machine; if the app listens on every address, a loopback one."""
    name = EVERY_ADDRESS.get(host, host)
    if ":" in name:
        name = f"[{name}]"
    return f"http://{name}:{port}"


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
