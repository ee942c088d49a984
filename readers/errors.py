"""What reading raises on purpose: `ReaderError`, and `FetchStopped` where somebody asked for the end."""

from __future__ import annotations


class ReaderError(Exception):
    """A file or web page cannot be read, or may not be: `str(error)` is fit to be shown to a user.

    It carries the source, the reason and what to do. What finds files gives it back, unraised, for a file
    that is left out.
    """

    def __init__(self, source: str, *, reason: str, fix: str) -> None:
        super().__init__(f"Cannot read {source!r}: {reason}. {fix}")
        # A name that is not UTF-8 holds surrogates, which no terminal, log or database takes.
        self.source = source.encode("utf-8", "backslashreplace").decode("utf-8")
        self.reason = reason
        self.fix = fix


class FetchStopped(ReaderError):
    """Somebody asked to stop while the web page was fetched."""
