"""What every command does alike: open Athena with the flags on top, fail clearly, print."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from pydantic_core import to_jsonable_python

from athena.cli.terminal import Terminal
from pipeline.errors import AthenaError
from pipeline.redaction import redacted
from pipeline.words import harmless_json

if TYPE_CHECKING:
    from athena import Athena, Settings

out = Terminal(highlight=False, soft_wrap=True)
err = Terminal(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def opened(data_dir: Path | None, **flags: Any) -> Iterator[Athena]:
    """An open Athena with the flags on top of the settings; its errors end the command clearly."""
    from athena import open_athena

    with failing_clearly():
        athena = open_athena(settings_with(data_dir, **flags))
        try:
            yield athena
        finally:
            athena.close()


@contextmanager
def failing_clearly() -> Iterator[None]:
    """Ends the command with a message and exit code 1 on an Athena error, with 130 on Ctrl-C."""
    try:
        yield
    except AthenaError as error:
        say_error(error)
        raise typer.Exit(1) from error
    except KeyboardInterrupt as error:
        err.print("Stopped.", style="dim")
        raise typer.Exit(130) from error


def settings_with(data_dir: Path | None, **flags: Any) -> Settings:
    """The settings with the flags that were given; `--hyde` and `--no-hyde` are on and off."""
    from athena import load_settings

    given = {name: flag for name, flag in {"data_dir": data_dir, **flags}.items() if flag is not None}
    if "hyde" in given:
        given["hyde"] = "on" if given["hyde"] else "off"
    if given.pop("rerank", True) is False:
        given["cross_encoder"] = "none"
    return load_settings(**given)


def check_private(private: bool, conversation: str | None) -> None:
    """Refuse to go on privately with a conversation that is stored."""
    if private and conversation:
        raise typer.BadParameter("a private conversation is a new one: leave out --conversation or --private")


def show(as_json: bool, shape: object, text: Callable[[], Any]) -> None:
    """Print the result: one line of JSON, or text for people."""
    if as_json:
        print_json(shape)
    else:
        out.print(text())


def flush() -> None:
    """Let what was printed be seen, although the command goes on."""
    sys.stdout.flush()


def print_json(shape: object) -> None:
    """Print a model, a dataclass, or plain data as one line of JSON, without secrets."""
    line = redacted(json.dumps(to_jsonable_python(shape, serialize_unknown=True), ensure_ascii=False))
    sys.stdout.write(harmless_json(line) + "\n")


def say_error(error: Exception) -> None:
    """Print an error's message, in red."""
    err.print(redacted(f"{error}"), style="red", markup=False)
