"""Uploads: each file is checked before it is stored; a refused file does not stop the others."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from uuid import uuid4

from pipeline.errors import DiskFull, UploadRefused
from readers.formats import FORMATS

# Not allowed in a part of a path, as some system refuses it.
UNUSABLE = re.compile(r"[\x00-\x1f\x7f:\\\ud800-\udfff]|^\.\.$|^ | $|\.$")
LONGEST_NAME = 1_000  # characters, with its folders; the file system refuses long parts of it


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """One file as the browser sent it."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Accepted:
    """The paths that were kept, and a message for each file that was refused."""

    paths: tuple[str, ...]
    refused: tuple[str, ...] = ()


def accept(files: Sequence[UploadedFile], folder: Path, *, max_bytes: int) -> Accepted:
    """Write the uploaded files that can be read here into `folder`, and return what was kept.

    A file may have up to `max_bytes`. It replaces an earlier upload with the same name, in upper or lower
    case. Raises `UploadRefused` if no file is kept, and `DiskFull`.
    """
    suffixes = {suffix for known in FORMATS if known.installed for suffix in known.suffixes}
    present = {path.casefold(): path for path in uploaded(folder)}
    kept, refused = dict[str, str](), list[str]()  # kept names without case
    for file in files:
        try:
            name = name_of(file.name)
            is_hidden = any(part.startswith(".") for part in name.split("/"))
            if is_hidden or PurePosixPath(name).suffix.lower() not in suffixes:
                raise UploadRefused(f"'{name}' is left out: it is hidden, or has no format that can be read.")
            if name.casefold() in kept:
                raise UploadRefused(f"'{name}' is in the upload twice.", "Rename one of them.")
            if len(file.content) > max_bytes:
                fix = "Split the file, or raise ATHENA_MAX_FILE_MB."
                raise UploadRefused(f"'{name}' is larger than {max_bytes / 1e6:g} MB.", fix)
            _write(folder / present.get(name.casefold(), name), file.content, beside=folder.parent)
            kept[name.casefold()] = name
        except UploadRefused as error:
            refused.append(str(error))
    if not kept:
        problem = " ".join(["The upload has no file that can be kept.", *refused[:1]])
        raise UploadRefused(problem, f"Upload {', '.join(sorted(suffixes))} files.")
    return Accepted(tuple(sorted(kept.values())), tuple(refused))


def name_of(written: str) -> str:
    """Return `written` with forward slashes; raises `UploadRefused` unless it stays below its folder."""
    name = written.replace("\\", "/")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or name.startswith("/") or len(name) > LONGEST_NAME or any(map(UNUSABLE.search, parts)):
        raise UploadRefused(f"{written[:LONGEST_NAME]!r} is not a usable file name.", "Rename the file.")
    return "/".join(parts)


def _write(target: Path, content: bytes, *, beside: Path) -> None:
    """Write a file atomically, by way of the folder `beside`; raises `UploadRefused` or `DiskFull`."""
    temporary = beside / f".upload-{uuid4()}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        problem = f"Cannot write '{target.name}': {error.strerror or type(error).__name__}."
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(problem, "Free some space and try again.") from error
        raise UploadRefused(problem, "Rename the file, or make its folder writable.") from error


@contextmanager
def put_back(path: str, folder: Path) -> Iterator[None]:
    """Restore the file at `path`, or its absence, if the block raises."""
    former = (folder / path).read_bytes() if path in uploaded(folder) else None
    try:
        yield
    except BaseException:
        remove(path, folder)
        if former is not None:
            _write(folder / path, former, beside=folder.parent)
        raise


def uploaded(folder: Path) -> list[str]:
    """Return the relative paths of the files in the uploads' folder, sorted."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path.relative_to(folder).as_posix() for path in found)


def remove(path: str, folder: Path) -> bool:
    """Delete one uploaded file; return False if there is no such file."""
    if path not in uploaded(folder):
        return False
    (folder / path).unlink()
    return True
