"""Uploads: files and zips of them, each checked before it is kept.

A file that is refused is named with the reason, and the others are kept. An upload is refused as a whole only
if it is over the limits. A file takes the place of one that was uploaded before under its name.
"""

from __future__ import annotations

import errno
import io
import lzma
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from uuid import uuid4

from pipeline.errors import DiskFull, UploadRefused, UploadTooLarge
from readers.formats import MARKDOWN, limit_of

# In a part of a name, on any system.
UNUSABLE = re.compile(r"[\x00-\x1f\x7f:\\\ud800-\udfff]|^\.\.$|^ | $|\.$")
LONGEST_NAME = 1_000  # characters, with its folders; the file system refuses long parts of it
MOST_MEMBERS, LISTED = 100_000, b"PK\x01\x02"  # of a zip: each takes memory; how it begins in the zip's list
DAMAGES = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, RuntimeError,
           ValueError, OverflowError, MemoryError)  # fmt: skip
"""The errors of `zipfile` and of the decompressors for damaged or encrypted archives."""


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """One file as the browser sent it."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """The most files and bytes of an upload, the largest file of text, and the endings that are kept."""

    max_files: int
    max_total_bytes: int
    max_file_bytes: int
    suffixes: frozenset[str] = frozenset(MARKDOWN.suffixes)


@dataclass(frozen=True, slots=True)
class Accepted:
    """The paths kept, those ignored for their ending, and a message for each file that was refused."""

    paths: tuple[str, ...]
    ignored: tuple[str, ...]
    refused: tuple[str, ...] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)


def accept(files: Sequence[UploadedFile], folder: Path, *, limits: UploadLimits) -> Accepted:
    """Write the documents of uploaded files and zips into `folder`, and return what was kept.

    Raises `UploadRefused` if nothing is kept, `UploadTooLarge` and `DiskFull`.
    """
    found = inspect(files, limits=limits)
    present = {path.casefold(): path for path in uploaded(folder)}
    refused, kept = list(found.refused), []
    for path in found.paths:
        try:
            _write(folder / present.get(path.casefold(), path), found.contents[path], beside=folder.parent)
            kept.append(path)
        except UploadRefused as error:
            refused.append(str(error))
    if not kept:
        problem = " ".join(["The upload has no file that can be kept.", *refused[:1]])
        raise UploadRefused(problem, f"Upload {', '.join(sorted(limits.suffixes))} files, or a zip of them.")
    return Accepted(tuple(kept), found.ignored, tuple(refused), found.contents)


def inspect(files: Sequence[UploadedFile], *, limits: UploadLimits) -> Accepted:
    """Return the files that `accept` would keep, in memory; raises `UploadTooLarge`."""
    contents, ignored, refused = dict[str, bytes](), list[str](), list[str]()
    size, taken = 0, set[str]()  # names without case
    for written, read in (entry for file in files for entry in _entries(file, refused)):
        try:
            name = name_of(written)
            if any(part.startswith(".") or part == "__MACOSX" for part in name.split("/")):
                continue
            if PurePosixPath(name).suffix.lower() not in limits.suffixes:
                ignored.append(name)
                continue
            if name.casefold() in taken:
                raise UploadRefused(f"'{name}' is in the upload twice.", "Rename one of them.")
            content = read(most := limit_of(name, limits.max_file_bytes))
            if len(content) > most:
                fix = "Divide the file, or raise ATHENA_MAX_FILE_MB."
                raise UploadRefused(f"'{name}' is larger than {most / 1e6:g} MB.", fix)
        except UploadRefused as error:
            refused.append(str(error))
            continue
        contents[name], size = content, size + len(content)
        taken.add(name.casefold())
        if size > limits.max_total_bytes or len(contents) > limits.max_files:
            limit = f"{limits.max_files:,} files or {limits.max_total_bytes / 1e6:g} MB"
            raise UploadTooLarge(f"The upload has more than {limit}.", "Upload it in parts.")
    return Accepted(tuple(sorted(contents)), tuple(ignored), tuple(refused), contents)


def _entries(file: UploadedFile, refused: list[str]) -> Iterator[tuple[str, Callable[[int], bytes]]]:
    """Yield each file's name, and a function that reads its first bytes; a bad archive is refused."""
    if not file.name.lower().endswith(".zip"):
        yield file.name, lambda _: file.content
        return
    try:
        if file.content.count(LISTED) > MOST_MEMBERS:
            raise ValueError(f"it has more than {MOST_MEMBERS:,} files")
        archive = zipfile.ZipFile(io.BytesIO(file.content))
    except DAMAGES as error:
        refused.append(f"{file.name!r} is not a zip that can be read ({error}). Pack the documents again.")
        return
    for member in archive.infolist():
        if not member.is_dir():
            yield member.filename, partial(_unpack, archive, member)


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """Return the first `most` bytes of a file in a zip, and one more of a larger one."""
    name = f"{member.filename!r} in the zip"
    if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
        raise UploadRefused(f"{name} is a link, or no plain file.", "Pack plain files.")
    try:
        with archive.open(member) as stream:
            return stream.read(most + 1)
    except DAMAGES as error:
        fix = "Pack it again, without a password or a special method."
        raise UploadRefused(f"{name} cannot be unpacked ({error}).", fix) from error


def name_of(written: str) -> str:
    """Return a relative path with forward slashes that stays in any folder; raises `UploadRefused`."""
    name = written.replace("\\", "/")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if not parts or name.startswith("/") or len(name) > LONGEST_NAME or any(map(UNUSABLE.search, parts)):
        raise UploadRefused(f"{written[:LONGEST_NAME]!r} is not a usable file name.", "Rename the file.")
    return "/".join(parts)


def _write(target: Path, content: bytes, *, beside: Path) -> None:
    """Write a file in one step of the file system; raises `UploadRefused` or `DiskFull`."""
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
        raise UploadRefused(problem, "Change its name, or let its folder be written.") from error


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
    """Delete one uploaded file and the folders that it leaves empty; False if there is no such file."""
    if path not in uploaded(folder):
        return False
    (folder / path).unlink()
    for parent in (folder / path).parents:
        if parent == folder or any(parent.iterdir()):
            break
        parent.rmdir()
    return True
