"""Texts of any size, each of one construct over and over: what a reader must take in linear time.

`constructs.tsv` names them, in groups. Its kinds: `repeated` (a unit as often as there is room for it, with a
text before and one after), `numbered` (the same of a form with a {number}), `halves` (as many openings as
closings, with a text inside) and `own`, a function below. Texts are JSON's strings.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

TABLE = Path(__file__).with_name("constructs.tsv")

Generator = Callable[[int], str]
"""From a number of characters to a text of about that many."""


def repeated(unit: str, before: str = "", after: str = "") -> Generator:
    """`unit` as often as there is room for it."""
    return lambda size: before + unit * max(1, size // len(unit)) + after


def joined(pieces: Callable[[], Iterable[str]], before: str = "") -> Generator:
    """The first of endless pieces, one behind the other."""

    def generate(size: int) -> str:
        taken, length = [before], 0
        for piece in pieces():
            if length >= size:
                break
            taken.append(piece)
            length += len(piece)
        return "".join(taken)

    return generate


def halves(opening: str, closing: str, inside: str) -> Generator:
    """As many openings as closings, one within the other."""

    def generate(size: int) -> str:
        count = max(1, size // (len(opening) + len(closing)))
        return opening * count + inside + closing * count

    return generate


def numbered(form: str, before: str, _after: str) -> Generator:
    """A form with one number after the other."""
    return joined(lambda: (form.format(number=number) for number in itertools.count()), before)


def _growing(piece: Callable[[int], str]) -> Generator:
    return joined(lambda: map(piece, itertools.count(1)))


def _nested(indent: str, item: str, *, depth: int) -> Generator:
    return joined(lambda: (indent * (number % depth) + item + "\n" for number in itertools.count()))


def _wide_table(size: int) -> str:
    columns = max(1, size // 9)
    return "|aa" * columns + "|\n" + "|-" * columns + "|\n" + "|bb" * columns + "|\n"


def _wide_table_of_empty_rows(size: int) -> str:
    columns = max(1, size // 10)
    return "|a" * columns + "|\n" + "|-" * columns + "|\n" + "|b\n" * (2 * columns)


def _square_table(size: int) -> str:
    columns = max(1, int((size / 3) ** 0.5))
    return "|a" * columns + "|\n" + "|-" * columns + "|\n" + ("|b" * columns + "|\n") * columns


def _long_heading(size: int) -> str:
    return f"# {'long ' * (size // 10)}\n\n" + "A short paragraph.\n\n" * (size // 40)


def _long_headings(size: int) -> str:
    levels = "".join(f"{'#' * level} {'long ' * (size // 60)}\n\n" for level in range(1, 7))
    return levels + "A short one.\n\n###### again\n\n" * (size // 60)


def _long_header(size: int) -> str:
    return f"| {'long ' * (size // 10)} |\n|---|\n" + "| short |\n" * (size // 20)


def _long_front_matter(size: int) -> str:
    return f"---\ntitle: {'long ' * (min(size // 2, 16_000) // 5)}\n---\n\n" + "# a\n\nb\n\n" * (size // 16)


OWN: dict[str, Generator] = {
    "backticks of every length": _growing(lambda number: "`" * number + " "),
    "headings of all levels": joined(
        lambda: (f"{'#' * (number % 6 + 1)} a{number}\n\nb\n\n" for number in itertools.count())
    ),
    "a long heading": _long_heading,
    "long headings": _long_headings,
    "items nested": _nested("  ", "- a", depth=50),
    "items nested deeper and deeper": _growing(lambda number: "  " * (number - 1) + "- a\n"),
    "numbered items nested": _nested("   ", "1. a", depth=30),
    "quotes deeper and deeper": _growing(lambda number: ">" * number + " a\n"),
    "a wide table": _wide_table,
    "a wide table of short rows": _wide_table_of_empty_rows,
    "a square table": _square_table,
    "a table with a long header": _long_header,
    "fences longer and longer": _growing(lambda number: "`" * number + " a\n"),
    "a long title": _long_front_matter,
    "MkDocs' admonitions nested": _nested("    ", '!!! note "a"', depth=60),
    "MyST's directives nested": _growing(lambda number: "`" * (number + 2) + "{note}\n"),
}
KINDS: dict[str, Callable[[str, str, str], Generator]] = {
    "repeated": repeated,
    "numbered": numbered,
    "halves": halves,
}


def _constructs() -> Iterator[tuple[str, Generator]]:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    rows = csv.reader(
        (line for line in lines[1:] if not line.startswith("#")), delimiter="\t", quoting=csv.QUOTE_NONE
    )
    for name, kind, *texts in rows:
        yield name, OWN[name] if kind == "own" else KINDS[kind](*map(json.loads, texts))


GENERATORS = dict(_constructs())
