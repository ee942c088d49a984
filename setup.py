"""How the wheel is built: all of it below `athena`, so that no other `memory` or `ui` is in its way.

In the tree, rooms stand beside `athena` and import each other by their names. In what is built they are moved
below it and named `athena.pipeline` and so on, in imports and in strings that name a module and nothing else.
An editable installation is the tree as it is (docs/decisions/layout.md).
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.egg_info import egg_info

TOP = "athena"
NAMED = re.compile(r"(\w+(?:\.\w+)+)(?::\w+)?")  # a module, or what is in it

Edit = tuple[int, int, int, bytes]
"""Line (from 0), the first column and that after the last, in bytes, and what is to stand there."""


class BuildBelowAthena(build_py):
    """Copies the packages, moves them below `athena`, and lets what imports them say so."""

    def run(self) -> None:
        """Build; an editable installation is left as the tree is."""
        super().run()
        if self.editable_mode:
            return
        built = Path(self.build_lib)
        rooms = {name.partition(".")[0] for name in self.distribution.packages} - {TOP}
        for room in rooms:
            shutil.rmtree(built / TOP / room, ignore_errors=True)  # of an earlier build
            (built / room).rename(built / TOP / room)
        for path in (built / TOP).rglob("*.py"):
            source = path.read_bytes()
            if (renamed := with_new_names(source, rooms, built / TOP)) != source:
                path.write_bytes(renamed)


class SayOneName(egg_info):
    """Writes that the distribution has one top-level package."""

    def run(self) -> None:
        """Write the metadata."""
        super().run()
        Path(self.egg_info, "top_level.txt").write_text(f"{TOP}\n", encoding="ascii")


def with_new_names(source: bytes, rooms: set[str], folder: Path) -> bytes:
    """A module's source, with the rooms of `folder` named as they are below `athena`."""
    lines = source.splitlines(keepends=True)
    for line, start, end, text in sorted(_edits(ast.parse(source), lines, rooms, folder), reverse=True):
        lines[line] = lines[line][:start] + text + lines[line][end:]
    return b"".join(lines)


def _edits(tree: ast.AST, lines: list[bytes], rooms: set[str], folder: Path) -> Iterator[Edit]:
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(level=0, module=str(name)) if name.partition(".")[0] in rooms:
                at = node.col_offset + len("from ")
                yield node.lineno - 1, at, at, f"{TOP}.".encode()
            case ast.Import(names=[alias]) if alias.name in rooms:
                words = f"from {TOP} import {alias.name}".encode()
                yield node.lineno - 1, node.col_offset, node.col_offset + len(f"import {alias.name}"), words
            case ast.Import() if any(alias.name.partition(".")[0] in rooms for alias in node.names):
                raise SyntaxError(f"write `from … import …` instead of: {ast.unparse(node)}")
            case ast.Constant(value=str(text)) if _is_module(text, rooms, folder):
                at = node.col_offset + 1  # behind the quote
                if lines[node.lineno - 1][at - 1 : at] in (b'"', b"'"):
                    yield node.lineno - 1, at, at, f"{TOP}.".encode()


def _is_module(text: str, rooms: set[str], folder: Path) -> bool:
    """Whether a text is the name of a module of ours, and nothing else."""
    found = NAMED.fullmatch(text)
    if found is None or found[1].partition(".")[0] not in rooms:
        return False
    path = folder.joinpath(*found[1].split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


setup(cmdclass={"build_py": BuildBelowAthena, "egg_info": SayOneName})
