"""The error that reading raises on purpose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(eq=False)
class ReaderError(Exception):
    """A file or folder cannot be read; the text of the error can be shown to a user.

    A search of folders returns it for each file that it leaves out because of an error.
    """

    source: str
    reason: str
    fix: str

    def __post_init__(self) -> None:
        """Replace the surrogates of a name that is not UTF-8: no terminal, log or database takes them."""
        self.source = self.source.encode("utf-8", "backslashreplace").decode("utf-8")

    def __str__(self) -> str:
        """Return the whole message."""
        return f"Cannot read {self.source!r}: {self.reason}. {self.fix}"
