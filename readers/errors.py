"""The error that reading raises on purpose."""

from __future__ import annotations


class ReaderError(Exception):
    """A file or folder cannot be read: `str(error)` can be shown to a user.

    It has the source, the reason and what to do. What searches folders returns it for each file that it
    leaves out because of an error, instead of raising it.
    """

    def __init__(self, source: str, *, reason: str, fix: str) -> None:
        super().__init__(f"Cannot read {source!r}: {reason}. {fix}")
        # A name that is not UTF-8 has surrogates, which no terminal, log or database takes.
        self.source = source.encode("utf-8", "backslashreplace").decode("utf-8")
        self.reason = reason
        self.fix = fix
