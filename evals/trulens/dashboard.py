"""`athena eval dashboard`: TruLens' pages over a database of recorded answers."""

from __future__ import annotations

from pathlib import Path

from evals.trulens.database import database_url, not_installed

OPTIONS: dict[str, bool | str | int] = {
    "server.headless": True,
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "viewer",
    "global.disableWidgetStateDuplicationWarning": True,
}


def serve_dashboard(database: str, *, host: str, port: int) -> None:
    """Serve the dashboard until it is interrupted; raises `ConfigurationError` where TruLens is missing.

    Not by TruLens' own command: that waits for a line which Streamlit prints only where it listens on all
    addresses, and without it gives up.
    """
    try:
        import trulens.dashboard as dashboard
    except ModuleNotFoundError as error:
        raise not_installed(error) from error
    from streamlit import config
    from streamlit.web import bootstrap

    page = str(Path(str(dashboard.__file__)).with_name("main.py"))
    # The address to show is given, or Streamlit asks the internet for one.
    given = OPTIONS | {"server.address": host, "server.port": port, "browser.serverAddress": host}
    options = {name.replace(".", "_"): value for name, value in given.items()}
    config._main_script_path = page
    bootstrap.load_config_options(options)
    bootstrap.run(page, False, ["--database-url", database_url(database)], options)
