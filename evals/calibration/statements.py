"""How well statements are extracted: `python -m evals.calibration.statements [--half test]`.

Natural statements with dates, denials, corrections and typing errors, and messages that state nothing
(`evals/data/memory/statements`), all said on Wednesday, 2026-03-18 at 15:00 UTC. One is right where all of it
is: subject, predicate, object, since when, until when, denied, ended, what it replaces. Rules are made on
`dev`; `--misses` prints what went wrong there, and is refused for `test`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from typer import echo

from evals.calibration.extraction import half_chosen
from evals.datasets import read_text
from memory.extracting import statements_in
from memory.extracting.intervals import UNKNOWN

DATA = Path(__file__).parents[1] / "data" / "memory" / "statements"
SAID_AT = datetime(2026, 3, 18, 15, 0, tzinfo=UTC).timestamp()

Stated = Mapping[str, Any]


def load_statements(half: str) -> list[tuple[str, list[Stated]]]:
    """The messages of a half, each with what it states."""
    rows = [json.loads(line) for line in read_text(DATA / f"{half}.jsonl").split("\n") if line]
    return [(row["text"], row["statements"]) for row in rows]


def stated(message: str) -> list[Stated]:
    """What the rules read in a message, as it is labelled: without what is not said."""
    return [
        {
            "subject": item.subject,
            "predicate": item.predicate,
            "object": item.object,
            **({} if item.valid_at == SAID_AT else {"since": _day(item.valid_at)}),
            **({} if item.invalid_at is None else {"until": _day(item.invalid_at)}),
            **{name: True for name in ("negated", "ends") if getattr(item, name)},
            **({"replaces": item.replaces} if item.replaces else {}),
        }
        for item in statements_in(message, said_at=SAID_AT)
        if not item.only_of_known
    ]


def _day(moment: float) -> str:
    return "?" if moment == UNKNOWN else datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def print_report(rows: Sequence[tuple[str, list[Stated]]], *, half: str) -> None:
    """The table of one half."""
    found = [(stated(text), expected) for text, expected in rows]
    right = sum(item in expected for got, expected in found for item in got)
    whole = sum(got == expected for got, expected in found)
    count, labelled = (sum(len(pair[place]) for pair in found) for place in (0, 1))
    echo(f"| {half} | messages read right | statements right | found | labelled |")
    echo("|---|---|---|---|---|")
    echo(f"| {len(rows)} messages | {whole} | {right} | {count} | {labelled} |")


def main() -> None:
    """Print how well one half is read."""
    chosen = half_chosen(__doc__)
    rows = load_statements(chosen.half)
    for text, expected in rows if chosen.misses else ():
        if (got := stated(text)) != expected:
            echo(f"{text}\n   found {got}\n   is    {expected}")
    print_report(rows, half=chosen.half)


if __name__ == "__main__":
    main()
