"""Reads included files into a page, where a directive of its site generator names them.

Only files in the root are included, none that is hidden or reached through a link. A directive whose file
cannot be read stays as it is.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from readers.blocks import NEWLINE
from readers.errors import ReaderError

MAX_DEPTH = 4
"""How deep files include files."""
REPEATED = 100_000
"""Characters that an ingest may include a second time, besides as many as its pages have themselves."""
COST, SHARE_READ = 50, 20
"""Including a file once more costs so many characters, and this part of the characters that it has."""

_ROWS = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()
_DIRECTIVE = re.compile(
    "|".join("(?P<{}>{})".format(*row.split("\t")) for row in _ROWS if row[:1] != "#"), re.MULTILINE
)
_PATH = re.compile(r"\s*(?:[~@]?/)?([^\s:#?{]+)")
_LINES = re.compile(r"(?:^:|\{(?=[\d,])|ln\[|#L|range=|:lines:[ \t]*)(?=:?[\d,])([\dL:,\- ]+)")
_NAME = re.compile(r"(?::|#|\?name=)([A-Za-z_][\w-]*)")
_ANCHOR = re.compile(r"ANCHOR(?:_END)?:|--8<--[ \t]*\[(?:start|end):|#[ \t]*(?:end)?region\b")
_FRONT_MATTER = re.compile(r"---\r?\n.*?\n---\r?\n", re.DOTALL)


@dataclass(slots=True)
class IncludeBudget:
    """Limits of the pages of one ingest: each file is included once, and only a little of it again."""

    most: int
    """Characters of one page with its included files."""
    left: int = REPEATED
    seen: set[Path] = field(default_factory=set)


@dataclass(slots=True)
class Expanded:
    """A page's text with its included files; `left_out` names those that would have been too much."""

    text: str
    lines: Sequence[int]
    """The page's own line (from 1) of each line of the text."""
    included: Sequence[str]
    left_out: Sequence[str]


def expand(
    text: str, *, path: Path, root: Path, read: Callable[[Path], str], budget: IncludeBudget
) -> Expanded | None:
    """Return the text of the page at `path` with the files of `root` that it includes; None without any.

    `read` returns a file's text or raises `ReaderError`.
    """
    budget.left += len(text)
    page = _Page(Path(os.path.realpath(root)), read, budget, room=budget.most - len(text))
    pieces = list(page.pieces(text, Path(os.path.realpath(path)), ()))
    if not page.included and not page.left_out:
        return None
    lines, number = array("q", [1]), 1
    for piece, is_own in pieces:
        for _ in NEWLINE.finditer(piece):
            number += is_own
            lines.append(number)
    return Expanded("".join(piece for piece, _ in pieces), lines, page.included, list(page.left_out))


@dataclass(slots=True)
class _Page:
    """A page while it is expanded: there is `room` for so many more characters."""

    root: Path
    read: Callable[[Path], str]
    budget: IncludeBudget
    room: int
    included: list[str] = field(default_factory=list)
    left_out: dict[str, None] = field(default_factory=dict)

    def pieces(self, text: str, path: Path, above: tuple[Path, ...]) -> Iterator[tuple[str, bool]]:
        """Yield the text in pieces, those of the text itself (True) and those included in it (False)."""
        position = 0
        for found in _DIRECTIVE.finditer(text):
            part = self._part(found, path, (*above, path))
            if part is not None:
                yield text[position : found.start()], True
                yield part, False
                position = found.end()
        yield text[position:], True

    def _part(self, found: re.Match[str], path: Path, above: tuple[Path, ...]) -> str | None:
        """Return the text that a directive stands for; None if the directive stays."""
        name, argument = str(found.lastgroup), found[(found.lastindex or 0) + 1]
        named = _PATH.match(argument)
        target = self._target(named[1], path) if named else None
        if named is None or target is None or target in above or len(above) > MAX_DEPTH:
            return None
        try:
            whole = self.read(target) if self.budget.left >= 0 or target not in self.budget.seen else ""
        except ReaderError:
            return None
        is_code = name.endswith("code")
        start = matter.end() if not is_code and (matter := _FRONT_MATTER.match(whole)) else 0
        part = select(whole[start:], argument[named.end() :], commas=name == "vitepress").rstrip("\r\n")
        if not self._may_include(target, part, of=len(whole)):
            return None
        if is_code:
            fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", part))])
            part = f"{fence}{target.suffix.removeprefix('.')}\n{part}\n{fence}"
        else:
            part = "".join(piece for piece, _ in self.pieces(part, target, above))
        indent = found[0][: len(found[0]) - len(found[0].lstrip(" \t"))]
        return indent + NEWLINE.sub(lambda newline: newline[0] + indent, part)

    def _may_include(self, target: Path, part: str, *, of: int) -> bool:
        """Count a part of a file `of` so many characters; False if that is too much."""
        budget = self.budget
        budget.left -= (len(part) + of // SHARE_READ + COST) * (target in budget.seen)
        budget.seen.add(target)
        if budget.left < 0 or len(part) > self.room:
            self.left_out[target.relative_to(self.root).as_posix()] = None
            return False
        self.room -= len(part)
        self.included.append(part)
        return True

    def _target(self, named: str, path: Path) -> Path | None:
        """Return the file of the root that `named` means: relative to the page's folder or one above it."""
        for base in [*path.parents, self.root / "docs"]:
            target = Path(os.path.normpath(base / named))
            if base.is_relative_to(self.root) and target.is_relative_to(self.root) and target.is_file():
                hidden = any(part.startswith(".") for part in target.relative_to(self.root).parts)
                return None if hidden or os.path.realpath(target) != str(target) else target
        return None


def select(text: str, selection: str, *, commas: bool = False) -> str:
    """Return the lines that `selection` names by numbers or a region's name, without region marks.

    Numbers are `:2:10`, `ln[1:5,8]`, `#L2-L5`, `range=2-5` or, with `commas` between both, `{2,10}`.
    """
    lines, chosen = text.splitlines(keepends=True), list[str]()
    found, name = _LINES.search(selection), _NAME.match(selection)
    if found:
        ranges = found[1].replace("L", "").replace("-", ":")
        for piece in (ranges.replace(",", ":") if commas else ranges).split(","):
            first, colon, last = piece.strip().partition(":")
            start = max(int(first or 1) - 1, 0)
            chosen += lines[start : int(last) if last.isdigit() else None if colon else start + 1]
    elif name:
        begin = re.compile(rf"(?:ANCHOR:|\[start:|#[ \t]*region)[ \t]*{name[1]}\b|<{name[1]}>")
        end = re.compile(rf"(?:ANCHOR_END:|\[end:)[ \t]*{name[1]}\b|#[ \t]*endregion\b|</{name[1]}>")
        inside = False
        for line in lines:
            inside = bool(begin.search(line)) or (inside and not end.search(line))
            chosen += [line] * (inside and not begin.search(line))
    return "".join(line for line in (chosen if found or name else lines) if not _ANCHOR.search(line))
