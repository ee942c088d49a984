"""`make attack`: what is tried against Athena, what came of it, and the table in `docs/security.md`.

To register an attack, write a function that takes an empty folder and returns an `Outcome`, and add a row to
`ATTACKS` in `bench/attack/plan.py`; what the row needs lies in a module of its own here:

    def overwrite(folder: Path) -> Outcome:
        faults = ["byte 17 of vectors: search ended with TypeError"]  # one line each, [] where all is well
        return Outcome(tried=40, failures=tuple(faults), detail="random overwrites of every file")

    Attack("disk-damage", "Damaged files are found, and rebuilt or named", overwrite, seconds=60)

Attacks that are tests already are a row alone: `from_tests("tests/browser/test_strangers.py")` counts a test
as tried, and one that did not pass as failed. Each attack runs in a process of its own, which is ended with
all that it started when its `seconds` are over: that counts as failed. All `seconds` together are half an
hour at most. `make attack options='--only growth'` runs one and writes nothing.
"""
