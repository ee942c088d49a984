"""What is tried, in the order of the table."""

from __future__ import annotations

from collections.abc import Sequence

from bench.attack import documents
from bench.attack.attack import Attack, from_tests
from bench.processes import BenchmarkError

MOST_SECONDS = 600
"""All attacks together, at their worst."""

ATTACKS = (
    Attack(
        "random-documents",
        "Every text is cut into exact spans, nothing lost and nothing twice",
        from_tests("tests/readers/test_properties.py", detail="700 random texts and 35 hostile ones"),
        seconds=60,
    ),
    Attack("growth", "Every construct is read in linear time", documents.growth, seconds=240),
    Attack(
        "amplification",
        "A store and an ingest's memory stay in proportion to the file",
        documents.amplification,
        seconds=150,
    ),
    Attack(
        "uploads",
        "A damaged or hostile upload names the file and the reason, and the others are kept",
        from_tests(
            "tests/pipeline/ingesting/test_uploads.py", detail="zips of every method, damaged anywhere"
        ),
        seconds=30,
    ),
)


def chosen(names: Sequence[str]) -> tuple[Attack, ...]:
    """The attacks of these names, all where none is given; raises `BenchmarkError` for an unknown one."""
    known = {attack.name: attack for attack in ATTACKS}
    for name in names:
        if name not in known:
            raise BenchmarkError(f"No attack is called '{name}'.", f"There are: {', '.join(known)}.")
    return tuple(known[name] for name in names) if names else ATTACKS
