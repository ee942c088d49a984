"""Files that a setting or an argument names: read whole, but never without end."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

SETTINGS_BYTES = 1_000_000
"""Of a file that somebody wrote by hand: a persona, `.env`, certificates, a script."""
DATA_BYTES = 1_000_000_000
"""Of a file that a program wrote: an export, a data set."""


def check_given(path: Path, *, most_bytes: int = SETTINGS_BYTES) -> None:
    """Raise `OSError` for what is larger or no regular file: a pipe may never end, nor a device."""
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    if status.st_size > most_bytes:
        raise OSError(errno.EFBIG, f"it has more than {most_bytes:,} bytes", str(path))


def read_given(path: Path, *, most_bytes: int = SETTINGS_BYTES, encoding: str = "utf-8") -> str:
    """Return the text of a regular file, its lines ended as Python ends them.

    Raises:
        OSError: as `check_given`, whose `strerror` says what is wrong; or it cannot be read.
        UnicodeDecodeError: it is in another encoding.
    """
    check_given(path, most_bytes=most_bytes)
    with path.open(encoding=encoding) as file:
        return file.read(most_bytes)
