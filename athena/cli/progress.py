"""Progress bars on a terminal, and what stands in for them in a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    from pipeline.models.base import Pulling

LOGGED_EVERY = 5  # percent of a download, where there is no terminal

Counted = Callable[[str, int, int], None]


@contextmanager
def counter(console: Console, *, quiet: bool) -> Iterator[Counted | None]:
    """Progress bars by name: called with (name, done, total); None without a terminal."""
    if quiet or not console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as bars:
        tasks: dict[str, Any] = {}

        def count(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total)
            bars.update(tasks[name], completed=done, total=total)

        yield count


@contextmanager
def download(console: Console) -> Iterator[Callable[[Pulling], None]]:
    """A bar on a terminal; in a log a line for each new status and every five percent."""
    if not console.is_terminal:
        yield _logged(console)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as bars:
        task = bars.add_task("Asking", total=None)

        def show(pulling: Pulling) -> None:
            bars.update(task, description=pulling.status, completed=pulling.done, total=pulling.total or None)

        yield show


def _logged(console: Console) -> Callable[[Pulling], None]:
    said: tuple[str, int] = ("", 0)

    def say(pulling: Pulling) -> None:
        nonlocal said
        percent = 100 * pulling.done / pulling.total if pulling.total else 0
        now = pulling.status, int(percent) // LOGGED_EVERY
        if now != said:
            said = now
            size = f": {percent:.0f} % of {decimal(pulling.total)}" if pulling.total else ""
            console.print(f"{pulling.status}{size}", markup=False)

    return say
