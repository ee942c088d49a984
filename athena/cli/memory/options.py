"""What the commands of `athena memory` take alike, and the memory that they open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from athena.cli.running import opened

if TYPE_CHECKING:
    from memory.recalling.user_turns import Which
    from memory.user_memory import UserMemory

MemoryId = Annotated[str, typer.Argument(metavar="ID", help="A memory's id, or its first 8 letters.")]
AsOf = Annotated[str | None, typer.Option("--as-of", metavar="DATE", help="What was true then.")]
KnownAt = Annotated[str | None, typer.Option("--known-at", metavar="DATE", help="What was known then.")]
History = Annotated[bool, typer.Option("--history", help="Also what is over.")]


Since = Annotated[str | None, typer.Option("--from", metavar="DATE", help="What was said from then on.")]
Until = Annotated[str | None, typer.Option("--to", metavar="DATE", help="What was said until then.")]
Speaker = Annotated[
    str, typer.Option("--speaker", metavar="WHO", help="you, assistant, or a name that messages begin with.")
]
Limit = Annotated[int, typer.Option(min=1, help="Most lines to show.")]


@contextmanager
def memory_of(user: str | None, data_dir: Path | None, **flags: Any) -> Iterator[UserMemory]:
    """The memory of a user; its errors end the command clearly."""
    with opened(data_dir, user=user, **flags) as athena:
        yield athena.memory


def moments(as_of: str | None, known_at: str | None) -> dict[str, Any]:
    """The two times as `UserMemory` takes them; raises `AthenaError` for what is not a date."""
    from memory.times import read_date

    return {
        "as_of": None if as_of is None else read_date(as_of, name="--as-of"),
        "known_at": None if known_at is None else read_date(known_at, name="--known-at"),
    }


def which_of(since: str | None, until: str | None, speaker: str) -> Which:
    """What of what was said is looked at; raises `AthenaError` for what is not a date."""
    from memory.recalling.user_turns import Which
    from memory.times import read_date

    begun = None if since is None else read_date(since, name="--from", begin=True)
    ended = None if until is None else read_date(until, name="--to")
    return Which(since=begun, until=ended, speaker=speaker)


def some(text: str, what: str) -> None:
    """Refuse a text without a letter or a digit."""
    if not any(map(str.isalnum, text)):
        raise typer.BadParameter(f"there is nothing to {what} in it.")
