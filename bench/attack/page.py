"""The table of attacks, and its place in `docs/security.md`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bench.attack.attack import Attack, Outcome
from bench.processes import BenchmarkError
from bench.table import markdown_table

BEGIN = "<!-- what `make attack` prints: begin -->"
END = "<!-- what `make attack` prints: end -->"
_SHOWN_FAILURES = 10

Result = tuple[Attack, Outcome]


def table(results: Iterable[Result]) -> str:
    """A row an attack: what must hold, how often that was tried, how often it did not hold."""
    rows = [
        (_cell(attack, outcome), f"{outcome.tried:,}", f"{len(outcome.failures):,}")
        for attack, outcome in results
    ]
    return markdown_table(("what must hold", "tried", "failed"), rows)


def _cell(attack: Attack, outcome: Outcome) -> str:
    detail = f": {outcome.detail}" if outcome.detail else ""
    return f"{attack.promise} (`{attack.name}`{detail})".replace("|", "\\|").replace("\n", " ")


def faults(results: Iterable[Result]) -> list[str]:
    """What got through, a line each; the first of an attack that failed often."""
    lines = []
    for attack, outcome in results:
        lines += [f"{attack.name}: {failure}" for failure in outcome.failures[:_SHOWN_FAILURES]]
        if len(outcome.failures) > _SHOWN_FAILURES:
            lines.append(f"{attack.name}: and {len(outcome.failures) - _SHOWN_FAILURES} more")
    return lines


def write_down(text: str, page: Path, *, marks: tuple[str, str] = (BEGIN, END)) -> None:
    """Put the text between two marks of the page; raises `BenchmarkError` where they are missing."""
    whole = page.read_text(encoding="utf-8")
    before, begin, rest = whole.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not (begin and end):
        raise BenchmarkError(f"'{page}' has no place for the table.", f"Write '{marks[0]}' and '{marks[1]}'.")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")
