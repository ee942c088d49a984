"""`athena serve`, `athena mcp`, and `athena keys`: the API keys of other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from athena.cli.running import (
    AsJson,
    DataDir,
    Llm,
    User,
    failing_clearly,
    listed,
    opened,
    out,
    settings_with,
    show,
)
from athena.shapes import KeyOut
from pipeline.errors import ConfigurationError, extra_for

if TYPE_CHECKING:
    from pipeline.stores.keys import Key

keys = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)
COLUMNS = ("name", "user", "rights", "expires_at")
SHOWN_ONCE = "The key is shown only now. Send it as the header `Authorization: Bearer KEY`."


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on; default: loopback.")] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port to listen on.")] = None,
    ingest: Annotated[
        bool, typer.Option("--ingest", help="Also index the corpus; the pages show the progress.")
    ] = False,
    page: Annotated[
        bool, typer.Option("--page/--no-page", help="Serve the chat, or only the APIs of ATHENA_DOORS.")
    ] = True,
    data_dir: DataDir = None,
) -> None:
    """Serve the chat for browsers (the Streamlit app), and the APIs that ATHENA_DOORS names."""
    from ui.launch import serve as serve_app

    with failing_clearly():
        settings = settings_with(data_dir, host=host, port=port)
        serve_app(settings, say=out.print, ingest=ingest, page=page)


def mcp(user: User = None, llm: Llm = None, data_dir: DataDir = None) -> None:
    """Serve MCP over standard input and output."""
    with failing_clearly():
        settings = settings_with(data_dir, user=user, llm=llm)
        with extra_for("MCP", "doors"):
            from doors.mcp_server import serve_stdio
        serve_stdio(settings)


@keys.command()
def add(
    name: Annotated[str, typer.Argument(help="The key's name.")],
    user: Annotated[str | None, typer.Option(help="The user whose data the key opens.")] = None,
    may: Annotated[
        str, typer.Option(help="Comma-separated rights: read, remember, write.")
    ] = "read,remember,write",
    days: Annotated[float | None, typer.Option(min=0, help="Days until it expires; default: never.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a key, and print it."""
    rights = [right.strip() for right in may.split(",") if right.strip()]
    if not name.strip() or not rights:
        raise typer.BadParameter("a key needs a name and at least one right: read, remember or write.")
    with opened(data_dir) as athena:
        owner = user or athena.settings.user
        key, secret = athena.keys.add(name.strip(), user=owner, rights=rights, days=days)
    show(as_json, key_shape(key) | {"key": secret}, lambda: f"{secret}\n{SHOWN_ONCE}")


@keys.command("list")
def list_(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the keys; their secrets are not stored."""
    with opened(data_dir) as athena:
        known = athena.keys.list()
    shapes = [key_shape(key) for key in known]
    rows = [shape | {"rights": ", ".join(shape["rights"])} for shape in shapes]
    text = "There is no key. Make one with `athena keys add NAME`."
    show(as_json, shapes, lambda: listed(rows, COLUMNS) if rows else text)


@keys.command()
def revoke(
    name: Annotated[str, typer.Argument(help="Its name.")], data_dir: DataDir = None, as_json: AsJson = False
) -> None:
    """Delete a key: requests with it are refused from now on."""
    with opened(data_dir) as athena:
        if not athena.keys.revoke(name):
            raise ConfigurationError(f"There is no key '{name}'.", "See `athena keys list`.")
    show(as_json, {"revoked": name}, lambda: f"'{name}' is revoked.")


def key_shape(key: Key) -> dict[str, Any]:
    """Return a key as JSON, without its hash."""
    return KeyOut.model_validate(key).model_dump(mode="json")
