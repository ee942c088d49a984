"""Functions of every command: open Athena with the flags, end with a clear error, and print."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic_core import to_jsonable_python
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from pipeline.errors import AthenaError
from pipeline.redaction import redacted
from pipeline.words import harmless, harmless_json

if TYPE_CHECKING:
    from athena import Athena, Settings

LONGEST = 160  # characters of a text in a table; `--json` has all of them

DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Folder of the index and conversations.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Conversation = Annotated[str | None, typer.Option(help="Go on with this conversation, by id.")]
PathGlobs = Annotated[
    list[str] | None,
    typer.Option("--path", help="Search only sources that match this glob; repeat it to add globs."),
]
Alpha = Annotated[float | None, typer.Option(min=0, max=1, help="0 = BM25 only, 1 = dense only.")]
Hyde = Annotated[bool | None, typer.Option("--hyde/--no-hyde", help="Search with a hypothetical answer")]
Rerank = Annotated[bool | None, typer.Option("--rerank/--no-rerank", help="Rerank with the cross-encoder.")]
Llm = Annotated[str | None, typer.Option("--llm", help="auto, none, ollama/NAME or openai/NAME.")]
User = Annotated[
    str | None, typer.Option("--user", help="Whose conversations and memories; a name, no protection.")
]
Private = Annotated[
    bool, typer.Option("--private", help="Keep nothing: no conversation, no memory, no trace.")
]


class Terminal(Console):
    """A console that prints visible symbols for control characters in documents, names and answers.

    It breaks lines between words on a terminal, and not at all elsewhere.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(highlight=False, **given)
        self.soft_wrap = not self.is_terminal

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments to write, with control characters replaced in texts."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=harmless(segment.text))


out, err = Terminal(), Terminal(stderr=True)

Counted = Callable[[str, int, int], None]  # name, done, total


@contextmanager
def opened(data_dir: Path | None, **flags: Any) -> Iterator[Athena]:
    """Yield Athena; the flags override the settings. An `AthenaError` ends the command with a message."""
    from athena import open_athena

    with failing_clearly(), open_athena(settings_with(data_dir, **flags)) as athena:
        yield athena


@contextmanager
def failing_clearly() -> Iterator[None]:
    """End the command with a message and exit code 1 on an Athena error, with 130 on Ctrl-C."""
    try:
        yield
    except AthenaError as error:
        say_error(error)
        raise typer.Exit(1) from error
    except KeyboardInterrupt as error:
        err.print("Stopped.", style="dim")
        raise typer.Exit(130) from error


def settings_with(data_dir: Path | None, **flags: Any) -> Settings:
    """Return the settings with the flags that are not None; the flags `hyde` and `rerank` are booleans."""
    from athena import load_settings

    given = {name: flag for name, flag in {"data_dir": data_dir, **flags}.items() if flag is not None}
    if "hyde" in given:
        given["hyde"] = "on" if given["hyde"] else "off"
    if given.pop("rerank", True) is False:
        given["cross_encoder"] = "none"
    return load_settings(**given)


def require_words(text: str, purpose: str) -> None:
    """Raise `typer.BadParameter` for a text without a letter or a digit."""
    if not any(map(str.isalnum, text)):
        raise typer.BadParameter(f"there is nothing to {purpose} in it.")


def show(as_json: bool, shape: object, text: Callable[[], RenderableType]) -> None:
    """Print the result at once: one line of JSON, or text for people."""
    if as_json:
        print_json(shape)
    else:
        out.print(text())
    sys.stdout.flush()


def print_json(shape: object) -> None:
    """Print a model, a dataclass, or plain data as one line of JSON, without secrets."""
    line = redacted(json.dumps(to_jsonable_python(shape, serialize_unknown=True), ensure_ascii=False))
    sys.stdout.write(harmless_json(line) + "\n")


def say_error(error: Exception) -> None:
    """Print an error's message, in red."""
    err.print(redacted(f"{error}"), style="red", markup=False)


@contextmanager
def counter(console: Console, *, quiet: bool) -> Iterator[Counted]:
    """Yield a function that draws a progress bar per name; it draws none if `quiet` or without a terminal."""
    if quiet or not console.is_terminal:
        yield lambda _name, _done, _total: None
        return
    from rich.progress import Progress  # takes a while to import

    with Progress(console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def count(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name)
            bars.update(tasks[name], completed=done, total=total)

        yield count


def listed(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    """Return a table with a row for each mapping and only these columns; texts are cut to `LONGEST`."""
    table = Table(box=box.SIMPLE, padding=(0, 0, 0, 1))
    for name in columns:
        numbers = all(isinstance(row.get(name), int | float | None) for row in rows)
        table.add_column(name.replace("_", " "), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(row.get(name))) for name in columns))
    return table


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "✓", False: "", None: "-"}[value]
    if isinstance(value, int | float):
        return f"{round(value, 3):,}"
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1].rstrip()}…"
