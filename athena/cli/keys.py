"""`athena keys`: API keys for other programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from athena.cli.options import AsJson, DataDir
from athena.cli.running import opened, show
from pipeline.errors import ConfigurationError

if TYPE_CHECKING:
    from pipeline.stores.keys import Key

app = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)
SHOWN_ONCE = "It is shown this once. Send it as the header `Authorization: Bearer KEY`."


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="The key's name.")],
    user: Annotated[str | None, typer.Option(help="Whose conversations and memories it is for.")] = None,
    may: Annotated[
        str, typer.Option(help="Rights with commas: read, remember, write.")
    ] = "read,remember,write",
    days: Annotated[float | None, typer.Option(min=0, help="Days until it expires; without, never.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a key, and print it."""
    from pipeline.stores.keys import new_key

    rights = [right.strip() for right in may.split(",") if right.strip()]
    if not name.strip() or not rights:
        raise typer.BadParameter("a key needs a name and at least one right: read, remember or write.")
    with opened(data_dir) as athena:
        key, secret = new_key(name.strip(), user=user or athena.settings.user, rights=rights, days=days)
        athena.keys.add(key)
    show(as_json, key_shape(key) | {"key": secret}, lambda: f"{secret}\n{SHOWN_ONCE}")


@app.command("list")
def list_(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the keys; their secrets are not stored."""
    with opened(data_dir) as athena:
        keys = athena.keys.list()
    lines = [_line(key) for key in keys] or ["There is no key. Make one with `athena keys add NAME`."]
    show(as_json, [key_shape(key) for key in keys], lambda: "\n".join(lines))


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(help="Its name or id.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Delete a key: it opens nothing from now on."""
    with opened(data_dir) as athena:
        if not athena.keys.revoke(name):
            raise ConfigurationError(f"There is no key '{name}'.", "See `athena keys list`.")
    show(as_json, {"revoked": name}, lambda: f"'{name}' is revoked.")


def key_shape(key: Key) -> dict[str, Any]:
    """Return a key as JSON, without salt and hash; times in ISO 8601, UTC."""
    from memory.times import iso

    kept = {name: value for name, value in asdict(key).items() if name not in ("salt", "hash")}
    return kept | {"created_at": iso(key.created_at), "expires_at": iso(key.expires_at)}


def _line(key: Key) -> str:
    until = f"until {key_shape(key)['expires_at']}" if key.expires_at else "for good"
    return f"{key.name}: {key.user} may {', '.join(key.rights)}, {until} ({key.id})"
