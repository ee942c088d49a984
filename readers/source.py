"""Reading of a page's text with the files that it includes, never through a link, within size limits.

`includes.tsv` lists the directives of site generators that include a file. Only files below the root are
included, and none that is hidden or reached through a link. If a file cannot be read, its directive stays.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from readers.front_matter import read_front_matter
from readers.levels import NEWLINE

MAX_DEPTH = 4
"""The most levels of files that include files."""
MOST_INCLUDED = 10_000_000
"""Characters that one ingest may include, in addition to the total length of its pages."""
COST, SHARE_READ = 1_000, 20
"""Besides its length, each included part costs `COST` characters and 1/`SHARE_READ` of its file's length."""

_ROWS = Path(__file__).with_name("includes.tsv").read_text(encoding="utf-8").splitlines()
_NAMES, _SIGNS, _PATTERNS = zip(*(row.split("\t") for row in _ROWS if row[:1] != "#"), strict=True)
_DIRECTIVE = re.compile("|".join(map("(?P<{}>{})".format, _NAMES, _PATTERNS)), re.MULTILINE)
_UTF = ("utf-32", "utf-16")  # UTF-32 first: its byte order mark begins with that of UTF-16
_MARKS = {"\ufeff".encode(f"{name}-{order}"): name for name in _UTF for order in ("le", "be")}
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)  # without it, opening a pipe waits for a writer
_PATH = re.compile(r"\s*(?:[~@]?/)?([^\s:#?{]+)")
_LINES = re.compile(r"(?:^:|\{(?=[\d,])|ln\[|#L|range=|:lines:[ \t]*)(?=:?[\d,])([\dL:,\- ]+)")
_NAME = re.compile(r"(?::|#|\?name=)([A-Za-z_][\w-]*)")
_ANCHOR = re.compile(r"ANCHOR(?:_END)?:|--8<--[ \t]*\[(?:start|end):|#[ \t]*(?:end)?region\b")


@dataclass(eq=False)
class ReaderError(Exception):
    """A file or folder cannot be read; its text (source, reason, fix) can be shown to users.

    A search for files does not raise it but returns one for each path with an error.
    """

    source: str
    reason: str
    fix: str

    def __post_init__(self) -> None:
        """Escape the surrogates of a name that is not UTF-8: no terminal, log or database accepts them."""
        self.source = self.source.encode("utf-8", "backslashreplace").decode("utf-8")

    def __str__(self) -> str:
        """Return the whole message."""
        return f"Cannot read {self.source!r}: {self.reason}. {self.fix}"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is not read, or a folder (with a trailing slash) that is not searched, and the reason.

    The reason must read well after a count: "3 ignored by .gitignore".
    """

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """A file's text without a byte order mark, and a SHA-256 of its bytes and included texts (hexadecimal).

    The hash of a converted file is of its bytes and format. `left_out` are files that are not included.
    """

    text: str
    hash: str
    left_out: tuple[LeftOut, ...] = ()


def read_bytes(path: Path, *, max_bytes: int, source: str) -> bytes:
    """Return a file's bytes; raise `ReaderError` if it has over `max_bytes` or cannot be read.

    `path` must be absolute and without symbolic links; a path that has become a link is an error, too.
    """
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | _NO_WAITING)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ReaderError(source, reason="it is not a regular file", fix="Save it as a file.")
            if os.path.realpath(path) != str(path) or not os.path.samestat(status, os.lstat(path)):
                raise ReaderError(source, reason="it has become a link", fix="Ingest again.")
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise unreadable(source, error) from error
    if len(data) > max_bytes:
        reason = f"{max(status.st_size, len(data)):,} bytes, over the limit of {max_bytes:,}"
        raise ReaderError(source, reason=reason, fix="Divide it, or raise the limit in the settings.")
    return data


def decoded(data: bytes, *, source: str) -> str:
    """Decode UTF-8, or UTF-16 or -32 with a byte order mark, and remove the mark; raise `ReaderError`.

    If the text has CR line endings only, as on old Macintoshes, they become LF.
    """
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        reason = f"not {encoding.upper()} (byte 0x{data[error.start]:02X} at {error.start:,})"
        raise ReaderError(source, reason=reason, fix="Save it as UTF-8, and add it again.") from error
    if "\0" in text:
        reason = f"not text (NUL byte at {data.index(0):,})"
        raise ReaderError(source, reason=reason, fix="Save it as UTF-8 text, or rename it.")
    return text if "\n" in text else text.replace("\r", "\n")


def unreadable(source: str, error: OSError) -> ReaderError:
    """Convert an `OSError` to the `ReaderError` for the same file or folder."""
    if isinstance(error, FileNotFoundError):
        return ReaderError(source, reason="no such file or folder", fix="Check the path.")
    reason = error.strerror or type(error).__name__
    return ReaderError(source, reason=reason, fix="Make it readable, or leave it out.")


@dataclass(slots=True)
class IncludeBudget:
    """The characters that one ingest may still include: pages add their length, includes take their cost."""

    left: int = MOST_INCLUDED


def read_page(path: Path, *, max_bytes: int, source: str = "", budget: IncludeBudget | None = None) -> Source:
    """Return the page at `path` with its includes; `source`, its path below the root, names it in errors.

    Raises:
        ReaderError: The page is missing, a link, unreadable, too large, binary, wrongly encoded or empty.
    """
    source = source or path.name
    data = read_bytes(path, max_bytes=max_bytes, source=source)
    text, digest = decoded(data, source=source), hashlib.sha256(data)
    if not text.strip():
        raise ReaderError(source, reason="the file is empty", fix="Write something into it, or remove it.")
    depth = source.count("/") if path.as_posix().endswith(f"/{source}") else 0
    page = _Page(path.parents[depth], max_bytes, budget or IncludeBudget(), len(text))
    page.budget.left += len(text)
    expanded = page.expanded(text, (path,))
    if page.included:
        digest.update("\0".join(["", *page.included]).encode())
    return Source(expanded, digest.hexdigest(), tuple(page.left_out))


@dataclass(slots=True)
class _Page:
    """A page whose includes are being expanded: it has `size` characters so far, and may have `most`."""

    root: Path
    most: int
    budget: IncludeBudget
    size: int
    included: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def expanded(self, text: str, above: tuple[Path, ...]) -> str:
        """Return `text` with its includes expanded; `above` is the chain of files that ends with its own."""
        if not any(sign in text for sign in _SIGNS):
            return text
        return _DIRECTIVE.sub(lambda found: self._part(found, above), text)

    def _part(self, found: re.Match[str], above: tuple[Path, ...]) -> str:
        """Return the text that replaces a directive; the directive itself if its file cannot be included."""
        is_code, argument = str(found.lastgroup).endswith("code"), found[(found.lastindex or 0) + 1]
        named = _PATH.match(argument)
        target = self._target(named[1], above[-1]) if named else None
        if named is None or target is None or target in above or len(above) > MAX_DEPTH:
            self.left_out.append(
                LeftOut(named[1] if named else argument, "named by an include and not found")
            )
            return found[0]
        try:
            part = self._read(target, argument[named.end() :], is_code=is_code)
        except ReaderError as error:
            self.left_out.append(LeftOut(error.source, "named by an include and not readable"))
            return found[0]
        if is_code:
            fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", part))])
            part = f"{fence}{target.suffix.removeprefix('.')}\n{part}\n{fence}"
        else:
            part = self.expanded(part, (*above, target))
        indent = found[0][: len(found[0]) - len(found[0].lstrip(" \t"))]
        return indent + NEWLINE.sub(lambda newline: newline[0] + indent, part)

    def _read(self, target: Path, selection: str, *, is_code: bool) -> str:
        """Return the selected part of a file; raise `ReaderError` if it is unreadable or over the limits."""
        too_much = ReaderError(target.name, reason="too much is included", fix="Divide the pages.")
        if self.budget.left < 0:
            raise too_much
        text = decoded(read_bytes(target, max_bytes=self.most, source=target.name), source=target.name)
        start = 0 if is_code else read_front_matter(text, source=target.name)[1]
        part = _selected(text[start:], selection)
        self.budget.left -= len(part) + len(text) // SHARE_READ + COST
        self.size += len(part)
        if self.budget.left < 0 or self.size > self.most:
            raise too_much
        self.included.append(part)
        return part

    def _target(self, named: str, path: Path) -> Path | None:
        """Find `named` in the including file's folder, those above it, or root/docs; None if not allowed."""
        for base in [*(up for up in path.parents if up.is_relative_to(self.root)), self.root / "docs"]:
            target = Path(os.path.normpath(base / named))
            if target.is_relative_to(self.root) and target.is_file():
                hidden = any(part.startswith(".") for part in target.relative_to(self.root).parts)
                return None if hidden or os.path.realpath(target) != str(target) else target
        return None


def _selected(text: str, selection: str) -> str:
    """Return the lines that `selection` names by numbers or region, else all lines; never region marks.

    Numbers are `:2:10`, `ln[1:5,8]`, `#L2-L5`, `range=2-5`, or `{2,10}` for lines 2 to 10.
    """
    lines = text.splitlines(keepends=True)
    if found := _LINES.search(selection):
        ranges = found[1].replace("L", "").replace("-", ":").replace(" ", "")
        chosen = []
        for span in (ranges.replace(",", ":") if found[0][0] == "{" else ranges).split(","):
            first, colon, last = span.partition(":")
            end = last.partition(":")[0] if colon else first or "1"
            chosen += lines[max(int(first or 1) - 1, 0) : int(end) if end else None]
        lines = chosen
    elif name := _NAME.match(selection):
        begin = re.compile(rf"(?:ANCHOR:|\[start:|#[ \t]*region)[ \t]*{name[1]}\b|<{name[1]}>")
        end = re.compile(rf"(?:ANCHOR_END:|\[end:)[ \t]*{name[1]}\b|#[ \t]*endregion\b|</{name[1]}>")
        chosen, inside = list[str](), False
        for line in lines:
            inside = bool(begin.search(line)) or (inside and not end.search(line))
            chosen += [line] * (inside and not begin.search(line))
        lines = chosen
    return "".join(line for line in lines if not _ANCHOR.search(line)).rstrip("\r\n")
