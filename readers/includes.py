"""Included files: mdBook's `{{#include path}}` and MkDocs' `--8<-- "path"`, read in where they stand.

A document's text is the text that its readers see, so that a listing kept in a file of its own is found and
quoted. Read in is what lies in the folder that is indexed: nothing outside of it, through no link, nothing
hidden or ignored there. Where a file cannot be read, the directive stays, and counts as a mark.
"""

from __future__ import annotations

import logging
import os
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from readers.blocks import NEWLINE
from readers.ignore import IgnoreRules, load_rules

MAX_DEPTH = 4
"""How deep files include files."""
WORK = 20
"""How many times the largest size of a file, and each document's own, is read through for includes."""
COST = 1_000
"""What reading a file at all counts for, in characters."""
REPEATED = 100_000
"""Characters that an ingest may include once more, beside as many as its documents have themselves."""

_HAS_INCLUDES = re.compile(r"\{\{#|8<-")
_INCLUDE = re.compile(
    r"(?<!\\)\{\{#(?:rustdoc_include|include|playground|playpen)[ \t]++(?P<book>[^{}\n]++)\}\}"
    r"|^(?P<indent>[ \t]*+)-+8<-+[ \t]++\"(?P<snippet>[^\"\n]++)\"[ \t]*+(?=\r?$)",
    re.MULTILINE,
)
_ANCHOR = re.compile(
    r"ANCHOR(?P<end>_END)?:[ \t]*+(?P<name>[\w-]++)"
    r"|--8<--[ \t]++\[(?P<side>start|end):[ \t]*+(?P<section>[\w-]++)"
)
_LINE_NUMBER = re.compile(r"[0-9]{0,9}")
_LINE = re.compile(r"[^\r\n]*+(?:\r\n?|\n|\Z)")

_logger = logging.getLogger(__name__)

ReadText = Callable[[Path], str]
"""The text of a file; raises `OSError` or `ValueError` where it cannot be read."""


@dataclass(slots=True)
class IncludeBudget:
    """What the documents of one ingest may still include: ten small ones index a large one once."""

    work: int
    repeats: int = REPEATED
    once: dict[str, int] = field(default_factory=dict)
    """Of each included file, how many characters were not yet included: these count as its own."""

    def add(self, text: str) -> None:
        """One more document, with this text of its own."""
        self.work += WORK * len(text)
        self.repeats += len(text)

    def pay(self, target: str, characters: int, *, of: int) -> bool:
        """Whether so many characters of a file may be read in: its size, then what is left for repeats."""
        once = self.once.setdefault(target, of)
        again = max(0, characters - once)
        if again > self.repeats:
            return False
        self.once[target] = max(0, once - characters)
        self.repeats -= again
        return True


@dataclass(slots=True)
class Expanded:
    """A text with its included files read in."""

    text: str
    lines: Sequence[int]
    """For each of its lines, the file's own line (from 1): an included one has that of its directive."""
    included: list[str] = field(default_factory=list)
    """The parts that were read in, in order."""
    left_out: list[str] = field(default_factory=list)
    """The files that were not, because it would be too much."""


def expand(
    text: str,
    *,
    path: Path,
    root: Path,
    read: ReadText,
    max_characters: int,
    budget: IncludeBudget | None = None,
) -> Expanded | None:
    """The text of the file at `path` with what it includes from `root`; None where it includes nothing.

    Documents of one ingest share a `budget`; without one, a document has its own.
    """
    budget = budget or IncludeBudget(WORK * max_characters)
    budget.add(text)
    if not _HAS_INCLUDES.search(text):
        return None
    expansion = _Expansion(root, read, budget, left=max_characters - len(text))
    pieces = list(expansion.pieces(text, path, ()))
    if not (expansion.included or expansion.left_out):
        return None
    whole = "".join(piece for piece, _ in pieces)
    return Expanded(whole, _own_lines(pieces), expansion.included, list(expansion.left_out))


def _own_lines(pieces: Sequence[tuple[str, bool]]) -> Sequence[int]:
    """The own line of each line; pieces are the file's own (True) or included."""
    lines, number = array("q", [1]), 1
    for piece, own in pieces:
        for _ in NEWLINE.finditer(piece):
            number += own
            lines.append(number)
    return lines


class _Expansion:
    """One reading of a file and of what it includes, up to a number of characters in all."""

    def __init__(self, root: Path, read: ReadText, budget: IncludeBudget, *, left: int) -> None:
        self.included: list[str] = []
        self.left_out: dict[str, None] = {}
        self._root = os.path.realpath(root)
        self._read = read
        self._left = left
        self._budget = budget
        self._rules: dict[str, IgnoreRules] = {}

    def pieces(self, text: str, path: Path, above: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
        """The text in pieces, those of the text itself (True) and those included in it."""
        above = (*above, os.path.realpath(path))
        position = 0
        for found in _INCLUDE.finditer(text):
            part = self._part(found, above)
            if part is None:
                continue
            yield text[position : found.start()], True
            yield part, False
            position = found.end()
        yield text[position:], True

    def _part(self, found: re.Match[str], above: tuple[str, ...]) -> str | None:
        """What a directive stands for; None where it stays."""
        argument = found["snippet"] or next(iter(found["book"].split()), "")
        name, *selection = argument.split(":")
        bases = [Path(above[-1]).parent, Path(self._root)] if found["snippet"] else [Path(above[-1]).parent]
        for base in bases:
            target = self._allowed(base, name)
            if target and target not in above and len(above) <= MAX_DEPTH:
                part = self._text(target, selection, found["indent"] or "", above)
                if part is not None:
                    return part
        _logger.info("%s includes '%s', which cannot be read", above[-1], name)
        return None

    def _text(self, target: str, selection: Sequence[str], indent: str, above: tuple[str, ...]) -> str | None:
        name = Path(target).relative_to(self._root).as_posix()
        if self._budget.work < 0:
            self.left_out[name] = None
            return None
        try:
            whole = self._read(Path(target))
        except (OSError, ValueError):
            return None
        self._budget.work -= len(whole) + COST
        part = indent + select(whole, selection).rstrip("\r\n")
        if indent:
            part = NEWLINE.sub(lambda newline: newline[0] + indent, part)
        if len(part) > self._left or not self._budget.pay(target, len(part), of=len(whole)):
            self.left_out[name] = None
            return None
        self._left -= len(part)
        self.included.append(part)
        return "".join(piece for piece, _ in self.pieces(part, Path(target), above))

    def _allowed(self, base: Path, name: str) -> str | None:
        """The real path of a file that may be read in: in the root, no link on the way, not left out."""
        if not name or os.path.isabs(name) or "\0" in name:  # noqa: PTH117 (a name, not a path)
            return None
        target = os.path.normpath(base / name)
        if not Path(target).is_relative_to(self._root) or os.path.realpath(target) != target:
            return None
        return None if self._is_left_out(Path(target).relative_to(self._root).parts) else target

    def _is_left_out(self, parts: Sequence[str]) -> bool:
        """Whether a path below the root is hidden or ignored, or a folder on the way is."""
        folder, rules = "", None
        for part in parts:
            rules = self._rules_in(folder, rules)
            is_folder = folder + part != "/".join(parts)
            if part.startswith(".") or rules.ignore(folder + part + "/" * is_folder):
                return True
            folder += part + "/"
        return False

    def _rules_in(self, folder: str, above: IgnoreRules | None) -> IgnoreRules:
        if folder not in self._rules:
            self._rules[folder] = load_rules(Path(self._root, folder), prefix=folder, above=above)[0]
        return self._rules[folder]


def select(text: str, selection: Sequence[str]) -> str:
    """The lines that `2:10`, `2`, `:10`, `2:` or an anchor's name selects; no line that marks an anchor."""
    lines = (line[0] for line in _LINE.finditer(text) if line[0])
    if not selection or not any(selection):
        return "".join(line for line in lines if not _ANCHOR.search(line))
    first, last = selection[0], selection[1] if len(selection) > 1 else selection[0]
    if all(_LINE_NUMBER.fullmatch(number) for number in (first, last)):
        start = max(int(first or 1) - 1, 0)
        chosen = islice(lines, start, max(int(last), start) if last else None)
        return "".join(line for line in chosen if not _ANCHOR.search(line))
    return "".join(_anchored(lines, first))


def _anchored(lines: Iterator[str], name: str) -> Iterator[str]:
    """The lines between the anchors of that name."""
    inside = False
    for line in lines:
        anchor = _ANCHOR.search(line)
        if anchor is None:
            if inside:
                yield line
        elif name in (anchor["name"], anchor["section"]):
            inside = not anchor["end"] and anchor["side"] != "end"
