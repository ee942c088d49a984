"""Uploads: files and zips of them, each file checked by rules before it is kept.

Everything is written into a temporary folder beside the uploads first, and what has passed is moved over. A
file that is refused, within a zip or beside one, is named with the reason and keeps no other one back; only
what goes beyond the limits of an upload, or is there already, refuses all of it.
"""

from __future__ import annotations

import errno
import lzma
import re
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath

from pipeline.errors import AthenaError, DiskFull, UploadRefused, UploadTooLarge
from readers.files import FileLimits
from readers.formats import MARKDOWN, is_text

CHUNK = 64 * 1024
MEGABYTE = 1_000_000
DRIVE = re.compile(r"^[A-Za-z]:")
FORBIDDEN = re.compile(r"[\x00-\x1f\x7f:\ud800-\udfff]")  # control characters, NTFS' streams, no UTF-8
LONGEST_PART = 200  # bytes; file systems take 255, some encrypted ones 143
LONGEST_NAME = 1_000  # bytes; a path may have 4,096 on Linux, with the folder before it
MOST_PARTS = 30
LONGEST_SHOWN = 4_096  # characters
MOST_MEMBERS = 100_000  # of a zip, documents or not: each takes memory before the first is unpacked
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
IGNORED_FOLDERS = frozenset({"__MACOSX"})
ENCRYPTED = 0x1
LISTED = b"PK\x01\x02"  # how a zip's list of members begins each
# What Python's zipfile and the decompressors behind it raise for damaged archives; bz2 raises OSError.
DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    NotImplementedError,  # a method that this Python does not know
    RuntimeError,  # a password
    ValueError,
    OverflowError,
    MemoryError,  # LZMA takes the memory that the archive asks for
)


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """One file as the browser sent it."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """What an upload may not exceed, bytes and counts, and how the names of files end that are kept."""

    max_files: int
    max_total_bytes: int
    of_a_file: FileLimits
    suffixes: frozenset[str] = frozenset(MARKDOWN.suffixes)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What was kept, relative to the uploads' folder, and what was left out because its name ends otherwise.

    `refused` has a message for each file that was refused, with its name, the reason and what to do.
    """

    paths: tuple[str, ...]
    ignored: tuple[str, ...]
    refused: tuple[str, ...] = ()


def accept(
    files: Sequence[UploadedFile], folder: Path, *, limits: UploadLimits, replace: bool = False
) -> Accepted:
    """Keep the documents of some uploaded files and zips in a folder, but for the files that are refused.

    Raises `UploadRefused` where nothing is left to keep, the upload is over a limit, or a file is there
    already (unless `replace`), and `DiskFull` where there is no room for it.
    """
    with _staging(folder) as staging:
        accepted = _stage(files, staging, limits)
        if not accepted.paths:
            raise UploadRefused(
                " ".join(["The upload has no file that can be kept.", *accepted.refused[:1]]),
                f"Upload {', '.join(sorted(limits.suffixes))} files, or a zip of them.",
            )
        taken = collisions(accepted.paths, folder)
        if taken and not replace:
            raise UploadRefused(
                f"Uploaded before: {', '.join(taken)}.", "Choose to replace, or rename the files."
            )
        _move(accepted.paths, staging, folder)
    return accepted


def inspect(files: Sequence[UploadedFile], folder: Path, *, limits: UploadLimits) -> Accepted:
    """What `accept` would keep, by the same rules, without keeping it."""
    with _staging(folder) as staging:
        return _stage(files, staging, limits)


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """A temporary folder beside the uploads."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = tempfile.TemporaryDirectory(dir=folder.parent, prefix=".upload-")
    except OSError as error:
        raise _unwritable(str(folder), error) from error
    with temporary as name:
        yield Path(name)


@contextmanager
def put_back(path: str, folder: Path) -> Iterator[None]:
    """Put the file of that name back as it was, or its absence, where the block raises."""
    target = folder / PurePosixPath(path)
    with _staging(folder) as staging:
        former = staging / "former"
        try:
            if path in uploaded(folder):
                shutil.copy2(target, former)
        except OSError as error:
            raise _unwritable(path, error) from error
        try:
            yield
        except BaseException:
            if former.exists():
                former.replace(target)
            else:
                remove(path, folder)
            raise


def collisions(paths: Iterable[str], folder: Path) -> list[str]:
    """Which of these are in the folder already, whatever the case of their letters."""
    present = {path.casefold() for path in uploaded(folder)}
    return [path for path in paths if path.casefold() in present]


def uploaded(folder: Path) -> list[str]:
    """The files in the uploads' folder, as relative paths, in a stable order."""
    if not folder.is_dir():
        return []
    found = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path.relative_to(folder).as_posix() for path in found)


def remove(path: str, folder: Path) -> bool:
    """Delete one uploaded file, and folders that it leaves empty; False where there is none of that name."""
    target = folder / PurePosixPath(path)
    if path not in uploaded(folder):
        return False
    target.unlink()
    for parent in target.parents:
        if parent == folder or any(parent.iterdir()):
            break
        parent.rmdir()
    return True


def _stage(files: Sequence[UploadedFile], folder: Path, limits: UploadLimits) -> Accepted:
    staging = _Staging(folder, limits)
    for file in files:
        staging.add(file)
    return Accepted(tuple(sorted(staging.kept)), tuple(staging.ignored), tuple(staging.refused))


class _Staging:
    """What of an upload has passed so far, in a temporary folder."""

    def __init__(self, folder: Path, limits: UploadLimits) -> None:
        self.kept: list[str] = []
        self.ignored: list[str] = []
        self.refused: list[str] = []
        self._folder = folder
        self._limits = limits
        self._files = 0
        self._bytes = 0
        self._names: set[str] = set()

    def add(self, file: UploadedFile) -> None:
        """Add a file, or what is in a zip."""
        with self._noting_refusals():
            if file.name.lower().endswith(".zip"):
                self._unpack(file)
                return
            name = _safe_name(PurePosixPath(file.name.replace("\\", "/")).name, file.name)
            if _ends(name, self._limits.suffixes):
                self._write(name, _chunks(file.content))
            else:
                self.ignored.append(name)

    @contextmanager
    def _noting_refusals(self) -> Iterator[None]:
        """Keep the message of a refused file, and go on; a limit of the whole upload ends it."""
        try:
            yield
        except UploadTooLarge:
            raise
        except UploadRefused as refused:
            self.refused.append(str(refused))

    def _unpack(self, file: UploadedFile) -> None:
        if file.content.count(LISTED) > MOST_MEMBERS:
            raise UploadRefused(
                f"'{_shown(file.name)}' has more than {MOST_MEMBERS:,} files.", "Pack the documents alone."
            )
        try:
            archive = zipfile.ZipFile(BytesIO(file.content))
        except DAMAGES as error:
            raise UploadRefused(
                f"'{_shown(file.name)}' is not a zip that can be read: {_reason(error)}.", "Pack it again."
            ) from error
        with archive:
            for member in archive.infolist():
                with self._noting_refusals():
                    self._unpack_member(archive, member)

    def _unpack_member(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
        name = _safe_name(member.filename, member.filename)
        if member.is_dir() or _hidden(name):
            return
        if _ends(name, self._limits.suffixes):
            _check_plain(member, name)
            self._write(name, _unpacked(archive, member, name))
        else:
            self.ignored.append(name)

    def _write(self, name: str, chunks: Iterable[bytes]) -> None:
        if name.casefold() in self._names:
            raise UploadRefused(
                f"'{name}' is in the upload twice (letters of either case count as the same).",
                "Rename one of them.",
            )
        self._files += 1
        if self._files > self._limits.max_files:
            raise UploadTooLarge(
                f"The upload has more than {self._limits.max_files:,} files.",
                "Upload it in parts, or raise ATHENA_MAX_UPLOAD_FILES.",
            )
        target = self._folder / PurePosixPath(name)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as stream:
                for chunk in self._counted(name, chunks):
                    stream.write(chunk)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise UploadRefused(
                f"'{name}' is a file and a folder in one upload.", "Rename one of them."
            ) from error
        except OSError as error:
            raise _unwritable(name, error) from error
        self._names.add(name.casefold())
        self.kept.append(name)

    def _counted(self, name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The content, piece by piece: what was really unpacked counts, whatever the archive claims."""
        size, limits = 0, self._limits
        for chunk in chunks:
            size += len(chunk)
            self._bytes += len(chunk)
            if size > (most := limits.of_a_file.of(name)):
                setting = "ATHENA_MAX_FILE_MB" if is_text(name) else "ATHENA_MAX_CONVERTED_MB"
                fix = f"Divide the file, or raise {setting}."
                raise UploadRefused(f"'{name}' is larger than {most / MEGABYTE:g} MB.", fix)
            if self._bytes > limits.max_total_bytes:
                raise UploadTooLarge(
                    f"The upload unpacks to more than {limits.max_total_bytes / MEGABYTE:g} MB.",
                    "Upload it in parts, or raise ATHENA_MAX_UPLOAD_MB.",
                )
            yield chunk


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> Iterator[bytes]:
    """The content of a member, piece by piece; raises `UploadRefused` where it is damaged."""
    try:
        with archive.open(member) as stream:
            while chunk := stream.read(CHUNK):
                yield chunk
    except DAMAGES as error:
        raise UploadRefused(
            f"'{name}' in the zip cannot be unpacked: {_reason(error)}.",
            "Pack it again, without a special method.",
        ) from error


def _reason(error: BaseException) -> str:
    return _shown(str(error).rstrip(".") or type(error).__name__)


def _shown(text: str) -> str:
    """A text of somebody else's as a message can show it: no lone surrogates, not endless."""
    return text[:LONGEST_SHOWN].encode("utf-8", "backslashreplace").decode("utf-8")


def _unwritable(name: str, error: OSError) -> AthenaError:
    if error.errno in NO_ROOM:
        return DiskFull(f"Cannot write '{name}': the disk is full.", "Free some space and try again.")
    reason = error.strerror or type(error).__name__
    return UploadRefused(
        f"Cannot write '{name}': {reason}.", "Shorten its name, or let its folder be written."
    )


def _check_plain(member: zipfile.ZipInfo, name: str) -> None:
    """Raise `UploadRefused` for a link, a device, or what a password protects."""
    mode = member.external_attr >> 16
    if mode and stat.S_ISLNK(mode):
        raise UploadRefused(f"'{name}' in the zip is a link.", "Pack the file itself in place of the link.")
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise UploadRefused(f"'{name}' in the zip is no plain file.", "Pack plain files only.")
    if member.flag_bits & ENCRYPTED:
        raise UploadRefused(f"'{name}' in the zip is encrypted.", "Pack it without a password.")


def name_of(written: str) -> str:
    """The relative path that a file of that name is kept at; raises `UploadRefused` where it is none."""
    return _safe_name(written, written)


def _safe_name(written: str, shown: str) -> str:
    """A relative path with forward slashes that stays inside any folder it is put in."""
    name, shown = written.replace("\\", "/"), _shown(shown)
    if name.startswith("/") or DRIVE.match(name):
        raise UploadRefused(f"'{shown}' is an absolute path.", "Pack files by relative names.")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise UploadRefused(
            f"'{shown}' leads out of its folder ('..').", "Pack files by plain relative names."
        )
    if not parts or any(
        FORBIDDEN.search(part) or part != part.strip(" ") or part.endswith(".") for part in parts
    ):
        raise UploadRefused(f"{shown!r} is not a usable file name.", "Rename the file.")
    name = "/".join(parts)
    if max(map(_bytes, parts)) > LONGEST_PART or _bytes(name) > LONGEST_NAME or len(parts) > MOST_PARTS:
        raise UploadRefused(f"'{shown}' is too long or too deep a name.", "Shorten the name.")
    return name


def _bytes(name: str) -> int:
    return len(name.encode())


def _hidden(name: str) -> bool:
    parts = name.split("/")
    return any(part.startswith(".") or part in IGNORED_FOLDERS for part in parts)


def _ends(name: str, suffixes: Collection[str]) -> bool:
    return PurePosixPath(name).suffix.lower() in suffixes


def _chunks(content: bytes) -> Iterator[bytes]:
    return (content[start : start + CHUNK] for start in range(0, len(content), CHUNK))


def _move(paths: Collection[str], staging: Path, folder: Path) -> None:
    """Move what was staged into place, each file in one step of the file system."""
    present = {path.casefold(): path for path in uploaded(folder)}
    for path in paths:
        target = folder / PurePosixPath(present.get(path.casefold(), path))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            (staging / PurePosixPath(path)).replace(target)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise UploadRefused(
                f"'{path}' is a file here and a folder in what was uploaded before, or the other way round.",
                "Rename it.",
            ) from error
        except OSError as error:
            raise _unwritable(path, error) from error
