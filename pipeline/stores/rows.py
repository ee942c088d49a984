"""The protocol `Rows`: how each backend keeps conversations, turns, memories and API keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Literal, Protocol, Self, TypedDict, Unpack, get_args

from pipeline.errors import StoreError

Kind = Literal["conversation", "turn", "memory", "memory_user", "api_key"]
KINDS: tuple[Kind, ...] = get_args(Kind)

ATTEMPTS = 50
"""How often `update` tries while other processes change the same row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One record; its `id` is unique among the records of its kind."""

    id: str
    user: str = ""
    group: str = ""  # of a turn, its conversation; of a memory's row, its kind
    at: float = 0.0  # lists are ordered by it, highest first
    version: int = 1  # compared by `swap`; 1 or higher
    text: str = ""  # in lower case; `Where.text` is searched in it
    head: str = ""  # JSON that lists need
    embedding: bytes = b""
    embedded_by: str = ""  # the embedding model
    body: str = ""  # JSON that lists do not need


class Where(TypedDict, total=False):
    """Conditions on rows; None is no condition."""

    ids: Collection[str] | None
    user: str | None
    groups: Collection[str] | None
    text: str  # occurs in the row's text


class Rows(Protocol):
    """The rows of one store; safe to use from several threads and processes."""

    def select(
        self, kind: Kind, *, limit: int | None = None, whole: bool = False, **where: Unpack[Where]
    ) -> list[Row]:
        """Return the rows that fulfil all conditions, ordered by `at` and id, highest first.

        `body` is "" unless `whole` is true.
        """

    def swap(self, kind: Kind, row: Row, *, expected: int) -> bool:
        """Write a row if the stored one has the version `expected`, or if none is stored and `expected` is 0.

        Return True if it was written; otherwise write nothing and return False.
        """

    def put(self, kind: Kind, rows: Sequence[Row] = (), *, removed: Collection[str] = ()) -> None:
        """Delete the rows with the ids `removed` and write others, replacing stored rows with the same ids.

        If this process is killed meanwhile, SQLite undoes both, and MongoDB completes the command with both.
        """

    def transaction(self, *, erase: bool = False) -> AbstractContextManager[Self]:
        """Make all changes in the block or none, if the backend can; use the returned rows in the block.

        With `erase`, no file of the embedded store has a byte of the deleted rows afterwards; raises
        `ErasureIncomplete` if another process still reads such bytes. The server store ignores `erase`.
        """


def other_format(place: str, found: int, read: int) -> StoreError:
    """Return the error for records in a format that this version does not read."""
    return StoreError(
        f"Cannot read {place}: it has format {found}, this version of Athena reads {read}.",
        "Index again in a new folder (--data-dir) or database (ATHENA_MONGODB_DATABASE). `athena memory "
        "export` of the version that made it and `athena memory import` of this one take memories along.",
    )


def find(rows: Rows, kind: Kind, id_: str) -> Row | None:
    """Return a whole row by its id; None if it is not stored."""
    return next(iter(rows.select(kind, ids=[id_], whole=True)), None)


def update(rows: Rows, kind: Kind, id_: str, change: Callable[[Row | None], Row]) -> Row:
    """Store the row that `change` makes from the stored one (None if there is none), and return it.

    `change` is called again if another process has written the row meanwhile; raises `StoreError` after
    `ATTEMPTS` calls. A new row's version is the time in µs, so that no version of a deleted row is reused.
    """
    for _ in range(ATTEMPTS):
        old = find(rows, kind, id_)
        version = old.version + 1 if old else time.time_ns() // 1000
        new = replace(change(old), version=version)
        if rows.swap(kind, new, expected=old.version if old else 0):
            return new
    raise StoreError(f"Other processes keep changing '{id_}'.", "Try again.")
