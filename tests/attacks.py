"""The tests that try to break the program, by file: `make attack` runs and counts them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ATTACKS = {
    "tests/readers/test_properties.py": "Random texts are cut into exact spans, none lost, none twice",
    "tests/attack/test_constructs.py": "Every construct takes linear time, memory and space",
    "tests/readers/test_files.py": "Links, pipes and odd names in a folder stay in it and end",
    "tests/readers/test_includes.py": "Includes stay in the folder and end",
    "tests/pipeline/ingesting/test_uploads.py": "A hostile upload is named, and the others are kept",
    "tests/pipeline/test_ingest_kill.py": "A killed ingest leaves every document whole or gone",
    "tests/pipeline/stores/embedded/test_forgetting.py": "A killed forgetting leaves nothing behind",
    "tests/pipeline/stores/test_memory_kills.py": "A killed write leaves every memory whole or gone",
    "tests/pipeline/models/test_generation.py": "A model server that stalls or breaks off ends in a message",
    "tests/athena/test_requests.py": "No thread or child process asks another machine",
    "tests/ui/test_guard.py": "Other sites get no session, no frame and no answer",
    "tests/attack/test_sessions.py": "Twenty people at once each get their own whole answers",
}


def mark(items: Sequence[pytest.Item]) -> None:
    """Mark the tests of these files `attack`, and let their reports carry what must hold."""
    for item in items:
        if promise := ATTACKS.get(item.path.relative_to(ROOT).as_posix()):
            item.add_marker("attack")
            item.user_properties.append(("attack", promise))


def table(reports: Sequence[pytest.TestReport]) -> Iterator[str]:
    """A line for each promise: how many tests tried it, and how many failed."""
    counts: dict[str, list[int]] = {}
    for report in reports:
        for name, promise in report.user_properties:
            if name == "attack" and (report.when == "call" or report.failed):
                row = counts.setdefault(str(promise), [0, 0])
                row[0] += 1
                row[1] += report.failed
    yield "| what must hold | tried | failed |"
    yield "|---|--:|--:|"
    for promise, (tried, failed) in counts.items():
        yield f"| {promise} | {tried:,} | {failed:,} |"
