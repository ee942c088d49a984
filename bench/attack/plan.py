"""What is tried, in the order of the table."""

from __future__ import annotations

from collections.abc import Sequence

from bench.attack import documents
from bench.attack.attack import Attack, from_module, from_tests
from bench.attack.sessions import sessions
from bench.processes import BenchmarkError

MOST_SECONDS = 1800
"""All attacks together, at their worst: three times what they take on two cores, and more."""

ATTACKS = (
    Attack(
        "random-documents",
        "Every text is cut into exact spans, nothing lost and nothing twice",
        from_tests("tests/readers/test_properties.py", detail="700 random texts and 35 hostile ones"),
        seconds=105,
    ),
    Attack("growth", "Every construct is read in linear time", documents.growth, seconds=300),
    Attack(
        "amplification",
        "A store and an ingest's memory stay in proportion to the file",
        documents.amplification,
        seconds=330,
    ),
    Attack(
        "hostile-files",
        "Links, pipes, includes and patterns of a folder stay in it, and end",
        from_tests(
            "tests/readers/test_files.py",
            "tests/readers/test_includes.py",
            "tests/pipeline/test_patterns.py",
            "tests/pipeline/stores/test_globs.py",
            detail="names, links, ignore files, includes, --path",
        ),
        seconds=60,
    ),
    Attack(
        "uploads",
        "A damaged or hostile upload names the file and the reason, and the others are kept",
        from_tests(
            "tests/pipeline/ingesting/test_uploads.py", detail="zips of every method, damaged anywhere"
        ),
        seconds=75,
    ),
    Attack(
        "disk-damage",
        "Damage is found and rebuilt, or named; no traceback, and doctor is right",
        from_module("tests.pipeline.stores.embedded.damage", "120", detail="random damage to stored files"),
        seconds=165,
    ),
    Attack(
        "kills",
        "A killed ingest or forgetting leaves every document and memory whole or gone",
        from_tests(
            "tests/pipeline/test_ingest_kill.py",
            "tests/pipeline/stores/embedded/test_forgetting.py",
            "tests/pipeline/stores/test_memory_kills.py",
            "-m",
            "not server",
            detail="kills at random steps and times",
        ),
        seconds=195,
    ),
    Attack(
        "model-faults",
        "Whatever a model's server sends ends in its own message, bounded in time and size",
        from_tests(
            "tests/pipeline/models/test_faults.py",
            "tests/pipeline/models/test_whole_answers.py",
            detail="54 faults in two protocols",
        ),
        seconds=180,
    ),
    Attack(
        "requests",
        "Nothing but the loopback address is asked, by any thread or child process",
        from_tests("tests/athena/test_requests.py", detail="ingest, ask, search, doctor"),
        seconds=120,
    ),
    Attack(
        "strangers",
        "Other sites get no session, no frame and no answer",
        from_tests("tests/browser/test_strangers.py", detail="rebinding, framing, ports; a real browser"),
        seconds=90,
    ),
    Attack("sessions", "Everybody gets their own whole answer", sessions, seconds=180),
)


def chosen(names: Sequence[str]) -> tuple[Attack, ...]:
    """The attacks of these names, all where none is given; raises `BenchmarkError` for an unknown one."""
    known = {attack.name: attack for attack in ATTACKS}
    for name in names:
        if name not in known:
            raise BenchmarkError(f"No attack is called '{name}'.", f"There are: {', '.join(known)}.")
    return tuple(known[name] for name in names) if names else ATTACKS
