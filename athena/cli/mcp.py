"""`athena mcp`: the documents and the memory for MCP clients, over standard input and output."""

from __future__ import annotations

from typing import Annotated

import typer

from athena.cli.options import DataDir, Llm, User
from athena.cli.running import failing_clearly, settings_with
from pipeline.errors import ConfigurationError


def mcp(
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print what clients want in their settings.")
    ] = False,
    user: User = None,
    llm: Llm = None,
    data_dir: DataDir = None,
) -> None:
    """Serve MCP over standard input and output."""
    with failing_clearly():
        settings = settings_with(data_dir, user=user, llm=llm)
        if print_config:
            from doors.mcp.client_settings import for_clients

            typer.echo(for_clients(settings))
            return
        try:
            from doors.mcp.stdio import serve
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                "MCP needs an extra.", "Install it: `pip install 'athena-docs[doors]'`."
            ) from error
        serve(settings)
