"""Uploads: files and zips of them, each checked before it is kept.

A file that is refused is named with the reason and keeps no other one back; only an upload over the limits,
or of files that are there already, is refused as a whole.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from uuid import uuid4

from pipeline.errors import DiskFull, UploadRefused, UploadTooLarge
from readers.files import FileLimits
from readers.formats import MARKDOWN

FORBIDDEN = re.compile(r"[\x00-\x1f\x7f:\ud800-\udfff]|^ | $|\.$")  # in a part of a name, on any system
LONGEST_PART, LONGEST_NAME, MOST_PARTS = 200, 1_000, 30  # bytes of a part and of a name; parts
MOST_MEMBERS = 100_000  # of a zip: each takes memory before the first is unpacked
LISTED, ENCRYPTED = b"PK\x01\x02", 0x1  # how each entry of a zip's list begins; a flag of a member
DAMAGES = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, RuntimeError,
           ValueError, OverflowError, MemoryError)  # fmt: skip
"""What `zipfile` and the decompressors behind it raise for damaged archives."""


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """One file as the browser sent it."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """The most files and bytes of an upload, the largest file, and the endings of files that are kept."""

    max_files: int
    max_total_bytes: int
    of_a_file: FileLimits
    suffixes: frozenset[str] = frozenset(MARKDOWN.suffixes)


@dataclass(frozen=True, slots=True)
class Accepted:
    """The paths kept, those ignored for their ending, and a message for each file that was refused."""

    paths: tuple[str, ...]
    ignored: tuple[str, ...]
    refused: tuple[str, ...] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)


def accept(
    files: Sequence[UploadedFile], folder: Path, *, limits: UploadLimits, replace: bool = False
) -> Accepted:
    """Write the documents of uploaded files and zips into `folder`, without those that are refused.

    Raises `UploadRefused` where none is left, the upload is over a limit, or a file is there already (unless
    `replace`), and `DiskFull`.
    """
    accepted = inspect(files, limits=limits)
    if not accepted.paths:
        problem = " ".join(["The upload has no file that can be kept.", *accepted.refused[:1]])
        raise UploadRefused(problem, f"Upload {', '.join(sorted(limits.suffixes))} files, or a zip of them.")
    if not replace and (taken := collisions(accepted.paths, folder)):
        problem = f"Uploaded before: {', '.join(taken)}."
        raise UploadRefused(problem, "Choose to replace, or rename the files.")
    present = {path.casefold(): path for path in uploaded(folder)}
    for path, content in accepted.contents.items():
        _write(folder / present.get(path.casefold(), path), content, beside=folder.parent)
    return accepted


def inspect(files: Sequence[UploadedFile], *, limits: UploadLimits) -> Accepted:
    """The files that `accept` would keep, in memory; raises `UploadTooLarge`."""
    contents, ignored, refused = dict[str, bytes](), list[str](), list[str]()
    taken, size = set[str](), 0  # names without case, those of folders with a slash
    for written, read in (entry for file in files for entry in _entries(file, refused.append)):
        try:
            name = name_of(written)
            if any(part.startswith(".") or part == "__MACOSX" for part in name.split("/")):
                continue
            if PurePosixPath(name).suffix.lower() not in limits.suffixes:
                ignored.append(name)
                continue
            folded = name.casefold()
            above = {parent.as_posix() for parent in PurePosixPath(folded).parents}
            if taken & {folded, f"{folded}/", *above}:
                problem = f"'{name}' is in the upload twice (whatever the case of letters), or also a folder."
                raise UploadRefused(problem, "Rename one of them.")
            content = read(most := limits.of_a_file.of(name))
            if len(content) > most:
                fix = "Divide the file, or raise ATHENA_MAX_FILE_MB."
                raise UploadRefused(f"'{name}' is larger than {most / 1e6:g} MB.", fix)
        except UploadRefused as error:
            refused.append(str(error))
            continue
        size += len(content)
        if size > limits.max_total_bytes or len(contents) >= limits.max_files:
            limit = f"{limits.max_files:,} files or {limits.max_total_bytes / 1e6:g} MB"
            fix = "Upload it in parts."
            raise UploadTooLarge(f"The upload has more than {limit}.", fix)
        contents[name] = content
        taken |= {folded, *(f"{parent}/" for parent in above)}
    return Accepted(tuple(sorted(contents)), tuple(ignored), tuple(refused), contents)


def _entries(
    file: UploadedFile, refuse: Callable[[str], None]
) -> Iterator[tuple[str, Callable[[int], bytes]]]:
    """The name of each file of an upload, and what reads its first bytes; a bad archive is refused."""
    if not file.name.lower().endswith(".zip"):
        yield PurePosixPath(file.name.replace("\\", "/")).name, lambda _: file.content
        return
    try:
        if file.content.count(LISTED) > MOST_MEMBERS:
            raise ValueError(f"it has more than {MOST_MEMBERS:,} files")
        archive = zipfile.ZipFile(io.BytesIO(file.content))
    except DAMAGES as error:
        problem = f"'{_shown(file.name)}' is not a zip that can be read: {_shown(str(error)).rstrip('.')}."
        refuse(f"{problem} Pack the documents again, alone.")
        return
    for member in archive.infolist():
        if not member.is_dir():
            yield member.filename, partial(_unpack, archive, member)


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> bytes:
    """The bytes of a file in a zip, of a larger one at least one too many; raises `UploadRefused`."""
    name, kind = f"'{_shown(member.filename)}' in the zip", stat.S_IFMT(member.external_attr >> 16)
    if member.flag_bits & ENCRYPTED or kind not in (0, stat.S_IFREG):
        problem = f"{name} is encrypted, a link, or no plain file."
        raise UploadRefused(problem, "Pack plain files without a password.")
    try:
        with archive.open(member) as stream:
            return stream.read(most + 1)
    except DAMAGES as error:
        problem = f"{name} cannot be unpacked: {_shown(str(error)).rstrip('.')}."
        raise UploadRefused(problem, "Pack it again, without a special method.") from error


def name_of(written: str) -> str:
    """A relative path with forward slashes that stays in any folder; raises `UploadRefused`."""
    name, shown = written.replace("\\", "/"), _shown(written)
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or re.match("[A-Za-z]:", name) or ".." in parts:
        raise UploadRefused(f"'{shown}' leads out of its folder.", "Pack files by plain relative names.")
    if not parts or any(map(FORBIDDEN.search, parts)):
        raise UploadRefused(f"{shown!r} is not a usable file name.", "Rename the file.")
    longest, whole = max(len(part.encode()) for part in parts), len("/".join(parts).encode())
    if longest > LONGEST_PART or whole > LONGEST_NAME or len(parts) > MOST_PARTS:
        raise UploadRefused(f"'{shown}' is too long or too deep a name.", "Shorten the name.")
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
            problem = f"Cannot write '{target.name}': the disk is full."
            raise DiskFull(problem, "Free some space and try again.") from error
        raise UploadRefused(problem, "Shorten or change its name, or let its folder be written.") from error


@contextmanager
def put_back(path: str, folder: Path) -> Iterator[None]:
    """Restore the file at `path`, or its absence, where the block raises."""
    former = (folder / path).read_bytes() if path in uploaded(folder) else None
    try:
        yield
    except BaseException:
        remove(path, folder)
        if former is not None:
            _write(folder / path, former, beside=folder.parent)
        raise


def collisions(paths: Iterable[str], folder: Path) -> list[str]:
    """Which of these are in the folder already, whatever the case of their letters."""
    present = {path.casefold() for path in uploaded(folder)}
    return [path for path in paths if path.casefold() in present]


def uploaded(folder: Path) -> list[str]:
    """The files in the uploads' folder, as relative paths, sorted."""
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path.relative_to(folder).as_posix() for path in found)


def remove(path: str, folder: Path) -> bool:
    """Delete one uploaded file and the folders that it leaves empty; False where there is no such file."""
    if path not in uploaded(folder):
        return False
    (folder / path).unlink()
    for parent in (folder / path).parents:
        if parent == folder or any(parent.iterdir()):
            break
        parent.rmdir()
    return True


def _shown(text: str) -> str:
    """A text of somebody else's for a message: no lone surrogates, not endless."""
    return text[:4_096].encode("utf-8", "backslashreplace").decode()
