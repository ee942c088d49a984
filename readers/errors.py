"""Every error that reading raises on purpose.

ReaderError                 the root: carries the source, the reason and what to do
├── UnreadableFile          the operating system does not give the file's bytes
│   ├── MissingFile         nothing has that name
│   └── FileTooLarge        over the size limit
├── BinaryFile              named like Markdown, but NUL bytes say it is not text
├── NotUtf8                 text in another encoding
├── EmptyFile               nothing but whitespace
├── Unconvertible           of another format than Markdown, and not to be converted
├── PageRefused             a web page that cannot be fetched, or may not
├── FetchStopped            a web page that somebody does not wait for any longer
└── SourceCollision         two files that would have the same name in the index
"""

from __future__ import annotations


class ReaderError(Exception):
    """The root, and what has no kind of its own: `str(error)` is fit to be shown to a user.

    What finds files gives it back, unraised, for a file that is left out.
    """

    def __init__(self, source: str, *, reason: str, fix: str) -> None:
        super().__init__(f"Cannot read {source!r}: {reason}. {fix}")
        # A name that is not UTF-8 holds surrogates, which no terminal, log or database takes.
        self.source = source.encode("utf-8", "backslashreplace").decode("utf-8")
        self.reason = reason
        self.fix = fix


class UnreadableFile(ReaderError):
    """The operating system does not give the file's bytes."""


class MissingFile(UnreadableFile):
    """Nothing has that name."""


class FileTooLarge(UnreadableFile):
    """The file is over the size limit."""


class BinaryFile(ReaderError):
    """The file is named like Markdown but holds NUL bytes."""


class NotUtf8(ReaderError):
    """The file's text is in another encoding."""


class EmptyFile(ReaderError):
    """The file holds nothing but whitespace."""


class Unconvertible(ReaderError):
    """The file is of another format than Markdown, and cannot be converted."""


class PageRefused(ReaderError):
    """The web page cannot be fetched, or may not be."""


class FetchStopped(ReaderError):
    """Somebody asked to stop while the web page was fetched."""


class SourceCollision(ReaderError):
    """Two files would have the same name in the index."""
