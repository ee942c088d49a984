"""Uploads: Markdown files and zips of them, checked by rules before any of it is kept.

Everything is written into a temporary folder beside the uploads first and moved over only when all of it
has passed, so that a refused upload leaves nothing behind.
"""

from __future__ import annotations

import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath

from pipeline.errors import UploadRefused

MARKDOWN = frozenset({".md", ".markdown"})
CHUNK = 64 * 1024
MEGABYTE = 1_000_000
DRIVE = re.compile(r"^[A-Za-z]:")
FORBIDDEN = re.compile(r"[\x00-\x1f\x7f:]")  # control characters, and NTFS' streams
IGNORED_FOLDERS = frozenset({"__MACOSX"})
ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """One file as the browser sent it."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """What an upload may not exceed; bytes and counts."""

    max_files: int
    max_total_bytes: int
    max_file_bytes: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """What was kept, relative to the uploads' folder, and what was left out because it is no Markdown."""

    paths: tuple[str, ...]
    ignored: tuple[str, ...]


@dataclass(slots=True)
class _Budget:
    limits: UploadLimits
    files: int = 0
    total: int = 0

    def file(self) -> None:
        self.files += 1
        if self.files > self.limits.max_files:
            raise UploadRefused(
                f"The upload has more than {self.limits.max_files:,} Markdown files.",
                "Upload it in parts, or raise ATHENA_MAX_UPLOAD_FILES.",
            )

    def read(self, name: str, *, in_file: int, more: int) -> None:
        """Count what was really unpacked, whatever the archive claims."""
        self.total += more
        if in_file > self.limits.max_file_bytes:
            raise UploadRefused(
                f"'{name}' is larger than {self.limits.max_file_bytes / MEGABYTE:g} MB.",
                "Divide the file, or raise ATHENA_MAX_FILE_MB.",
            )
        if self.total > self.limits.max_total_bytes:
            raise UploadRefused(
                f"The upload unpacks to more than {self.limits.max_total_bytes / MEGABYTE:g} MB.",
                "Upload it in parts, or raise ATHENA_MAX_UPLOAD_MB.",
            )


def accept(
    files: Sequence[UploadedFile], folder: Path, *, limits: UploadLimits, replace: bool = False
) -> Accepted:
    """Keep the Markdown of some uploaded files and zips in a folder; all of it or, when refused, nothing.

    Raises `UploadRefused`, naming the rule; a file that is there already is refused unless `replace`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".upload-") as temporary:
        staging = Path(temporary)
        accepted = _stage(files, staging, limits)
        if not accepted.paths:
            raise UploadRefused(
                "The upload has no Markdown file.", "Upload .md or .markdown files, or a zip of them."
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
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".upload-") as temporary:
        return _stage(files, Path(temporary), limits)


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


def _stage(files: Sequence[UploadedFile], staging: Path, limits: UploadLimits) -> Accepted:
    budget = _Budget(limits)
    kept: list[str] = []
    ignored: list[str] = []
    for file in files:
        if file.name.lower().endswith(".zip"):
            _unpack(file, staging, budget, kept, ignored)
        else:
            name = _safe_name(PurePosixPath(file.name.replace("\\", "/")).name, file.name)
            if _is_markdown(name):
                _write(name, _chunks(file.content), staging, budget, kept)
            else:
                ignored.append(name)
    return Accepted(tuple(sorted(kept)), tuple(ignored))


def _unpack(file: UploadedFile, staging: Path, budget: _Budget, kept: list[str], ignored: list[str]) -> None:
    try:
        with zipfile.ZipFile(BytesIO(file.content)) as archive:
            for member in archive.infolist():
                name = _checked(member)
                if member.is_dir() or _hidden(name):
                    continue
                if not _is_markdown(name):
                    ignored.append(name)
                    continue
                with archive.open(member) as stream:
                    _write(name, iter(lambda s=stream: s.read(CHUNK), b""), staging, budget, kept)  # type: ignore[misc]
    except (zipfile.BadZipFile, EOFError, NotImplementedError, ValueError, RuntimeError, zlib.error) as error:
        raise UploadRefused(
            f"'{file.name}' is not a zip that can be read: {error}.",
            "Pack it again, without a special method.",
        ) from error


def _checked(member: zipfile.ZipInfo) -> str:
    """The member's name, if it may be unpacked at all."""
    name = _safe_name(member.filename, member.filename)
    mode = member.external_attr >> 16
    if mode and stat.S_ISLNK(mode):
        raise UploadRefused(f"'{name}' in the zip is a link.", "Pack the file itself in place of the link.")
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise UploadRefused(f"'{name}' in the zip is no plain file.", "Pack plain files only.")
    if member.flag_bits & ENCRYPTED:
        raise UploadRefused(f"'{name}' in the zip is encrypted.", "Pack it without a password.")
    return name


def _safe_name(written: str, shown: str) -> str:
    """A relative path with forward slashes that stays inside any folder it is put in."""
    name = written.replace("\\", "/")
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
        raise UploadRefused(f"'{shown!r}' is no usable file name.", "Rename the file.")
    if any(len(part.encode()) > 200 for part in parts) or len(parts) > 30:
        raise UploadRefused(f"'{shown[:80]}' is too long or too deep a name.", "Shorten the name.")
    return "/".join(parts)


def _hidden(name: str) -> bool:
    parts = name.split("/")
    return any(part.startswith(".") or part in IGNORED_FOLDERS for part in parts)


def _is_markdown(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in MARKDOWN


def _chunks(content: bytes) -> Iterator[bytes]:
    return (content[start : start + CHUNK] for start in range(0, len(content), CHUNK))


def _write(name: str, chunks: Iterable[bytes], staging: Path, budget: _Budget, kept: list[str]) -> None:
    if name.casefold() in {other.casefold() for other in kept}:
        raise UploadRefused(
            f"'{name}' is in the upload twice (letters of either case count as the same).",
            "Rename one of them.",
        )
    budget.file()
    target = staging / PurePosixPath(name)
    size = 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as stream:
            for chunk in chunks:
                size += len(chunk)
                budget.read(name, in_file=size, more=len(chunk))
                stream.write(chunk)
    except (FileExistsError, NotADirectoryError) as error:
        raise UploadRefused(
            f"'{name}' is a file and a folder in one upload.", "Rename one of them."
        ) from error
    kept.append(name)


def _move(paths: Collection[str], staging: Path, folder: Path) -> None:
    """Move what was staged into place, each file in one step of the file system."""
    present = {path.casefold(): path for path in uploaded(folder)}
    for path in paths:
        target = folder / PurePosixPath(present.get(path.casefold(), path))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(staging / PurePosixPath(path), target)
