"""Reads pages with the files that they include, where a directive of their site generator names one.

`includes.tsv` has the directives. Only files in the root are included, none that is hidden or reached through
a link. A directive whose file cannot be read stays as it is.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from readers.front_matter import read_front_matter
from readers.levels import NEWLINE
from readers.source import ReaderError, Source, decoded, read_bytes

MAX_DEPTH = 4
"""How deep files include files."""
MOST_INCLUDED = 10_000_000
"""Characters that an ingest may include besides as many as its pages have themselves."""
COST, SHARE_READ = 1_000, 20
"""Including a part of a file costs so many characters more, and this part of the characters of the file."""

_ROWS = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8").splitlines()
_DIRECTIVE = re.compile(
    "|".join("(?P<{}>{})".format(*row.split("\t")) for row in _ROWS if row[:1] != "#"), re.MULTILINE
)
_SIGNS = ("{{#", "{!", "8<-", "@include:", "<<<", "{*", "[!", "include}")
"""Each directive has one of these: few pages do, and to look for them costs a hundredth of `_DIRECTIVE`."""

_PATH = re.compile(r"\s*(?:[~@]?/)?([^\s:#?{]+)")
_LINES = re.compile(r"(?:^:|\{(?=[\d,])|ln\[|#L|range=|:lines:[ \t]*)(?=:?[\d,])([\dL:,\- ]+)")
_NAME = re.compile(r"(?::|#|\?name=)([A-Za-z_][\w-]*)")
_ANCHOR = re.compile(r"ANCHOR(?:_END)?:|--8<--[ \t]*\[(?:start|end):|#[ \t]*(?:end)?region\b")


_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class IncludeBudget:
    """The characters that the pages of one ingest may still include."""

    left: int = MOST_INCLUDED


def read_page(path: Path, *, max_bytes: int, source: str = "", budget: IncludeBudget | None = None) -> Source:
    """Return the text of the page at `path` with the files that it includes; errors call it `source`.

    Raises:
        ReaderError: missing, a link, unreadable, too large, binary, of an unknown encoding or empty.
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
    return Source(expanded, digest.hexdigest())


@dataclass(slots=True)
class _Page:
    """A page while it is expanded: it has `size` characters by now, and may have `most`."""

    root: Path
    most: int
    budget: IncludeBudget
    size: int
    included: list[str] = field(default_factory=list)

    def expanded(self, text: str, above: tuple[Path, ...]) -> str:
        """Return the text with included files in the place of directives; `above` ends with its file."""
        if not any(sign in text for sign in _SIGNS):
            return text
        return _DIRECTIVE.sub(lambda found: self._part(found, above), text)

    def _part(self, found: re.Match[str], above: tuple[Path, ...]) -> str:
        """Return the text that a directive stands for; the directive itself if its file is not included."""
        generator, argument = str(found.lastgroup), found[(found.lastindex or 0) + 1]
        named = _PATH.match(argument)
        target = self._target(named[1], above[-1]) if named else None
        if named is None or target is None or target in above or len(above) > MAX_DEPTH:
            return found[0]
        is_code = generator.endswith("code")
        try:
            part = self._read(target, argument[named.end() :], generator=generator)
        except ReaderError as error:
            _logger.warning("%s does not include a file: %s", above[0].name, error)
            return found[0]
        if is_code:
            fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", part))])
            part = f"{fence}{target.suffix.removeprefix('.')}\n{part}\n{fence}"
        else:
            part = self.expanded(part, (*above, target))
        indent = found[0][: len(found[0]) - len(found[0].lstrip(" \t"))]
        return indent + NEWLINE.sub(lambda newline: newline[0] + indent, part)

    def _read(self, target: Path, selection: str, *, generator: str) -> str:
        """Return the selected part of a file; raises `ReaderError`, also if too much would be included."""
        too_much = ReaderError(target.name, reason="too much is included", fix="Divide the pages.")
        if self.budget.left < 0:
            raise too_much
        text = decoded(read_bytes(target, max_bytes=self.most, source=target.name), source=target.name)
        start = 0 if generator.endswith("code") else read_front_matter(text, source=target.name)[1]
        part = _selected(text[start:], selection, commas=generator == "vitepress")
        self.budget.left -= len(part) + len(text) // SHARE_READ + COST
        self.size += len(part)
        if self.budget.left < 0 or self.size > self.most:
            raise too_much
        self.included.append(part)
        return part

    def _target(self, named: str, path: Path) -> Path | None:
        """Return the file of the root that `named` means: relative to the page's folder or one above it."""
        for base in [*path.parents, self.root / "docs"]:
            target = Path(os.path.normpath(base / named))
            if base.is_relative_to(self.root) and target.is_relative_to(self.root) and target.is_file():
                hidden = any(part.startswith(".") for part in target.relative_to(self.root).parts)
                return None if hidden or os.path.realpath(target) != str(target) else target
        return None


def _selected(text: str, selection: str, *, commas: bool) -> str:
    """Return the lines that `selection` names by numbers or a region's name, without region marks.

    Numbers are `:2:10`, `ln[1:5,8]`, `#L2-L5`, `range=2-5` or, with `commas` between both, `{2,10}`.
    """
    lines = text.splitlines(keepends=True)
    if found := _LINES.search(selection):
        ranges = found[1].replace("L", "").replace("-", ":").replace(" ", "")
        chosen = []
        for span in (ranges.replace(",", ":") if commas else ranges).split(","):
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
