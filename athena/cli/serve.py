"""`athena serve`: the chat in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from athena.cli.options import DataDir
from athena.cli.running import failing_clearly, out, settings_with


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; loopback unless told.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port to listen on.")] = None,
    ingest: Annotated[
        bool, typer.Option("--ingest", help="Index the corpus meanwhile; the pages show how far it is.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Index the corpus again whenever its files change.")
    ] = False,
    page: Annotated[
        bool, typer.Option("--page/--no-page", help="The chat, or the doors alone (ATHENA_DOORS).")
    ] = True,
    data_dir: DataDir = None,
) -> None:
    """Open the chat in a browser: runs the Streamlit app, and the doors that ATHENA_DOORS opens."""
    from ui.launch import serve as serve_app

    with failing_clearly():
        settings = settings_with(data_dir, host=host, port=port)
        serve_app(settings, say=out.print, ingest=ingest, watch=watch, page=page)
