"""Build of the wheel, with all packages below `athena`, so that other packages called `memory` do not clash.

In the checkout, packages such as `pipeline` ("rooms") lie beside `athena` and import each other by name.
The build moves them below `athena` and renames them to `athena.pipeline` and so on, in imports and in strings
that are only a module's name. An editable installation uses the checkout as it is (docs/decisions/layout.md).
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
NAMED = re.compile(r"(\w+(?:\.\w+)+)(?::\w+)?")  # `package.module` or `package.module:attribute`

Edit = tuple[int, int, int, bytes]
"""Line (from 0), first column, column after the last (both in bytes), and the replacement."""


class BuildBelowAthena(build_py):
    """Copies the packages, moves them below `athena`, and renames them in their modules."""

    def run(self) -> None:
        """Build the packages; in an editable installation, move and rename nothing."""
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
    """Writes `top_level.txt` with `athena` as the only top-level package."""

    def run(self) -> None:
        """Write the metadata."""
        super().run()
        Path(self.egg_info, "top_level.txt").write_text(f"{TOP}\n", encoding="ascii")


def with_new_names(source: bytes, rooms: set[str], folder: Path) -> bytes:
    """Return a module's source with `athena.` before the `rooms`; `folder` is the built `athena` folder."""
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
    """Return whether `text` is only the dotted name of a built module, or such a name with `:attribute`."""
    found = NAMED.fullmatch(text)
    if found is None or found[1].partition(".")[0] not in rooms:
        return False
    path = folder.joinpath(*found[1].split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


setup(cmdclass={"build_py": BuildBelowAthena, "egg_info": SayOneName})
