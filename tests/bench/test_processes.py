"""Measuring real processes."""

import sys
import time

import pytest

from bench.processes import BenchmarkError, resident_bytes, run_measured

MEGABYTE = 1_000_000


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_time_and_output_of_a_process(tmp_path):
    started = time.perf_counter()
    done = run_measured(python("import time; time.sleep(0.3); print('ready')"), cwd=tmp_path)
    assert 0.3 <= done.seconds <= time.perf_counter() - started
    assert done.output == "ready\n"


def test_memory_is_the_peak_and_not_what_is_left(tmp_path):
    code = "import time; block = bytearray(b'x') * 80_000_000; time.sleep(1); del block; time.sleep(0.2)"
    assert 80 < run_measured(python(code), cwd=tmp_path).peak_mb < 200


def test_memory_of_processes_it_starts_is_added(tmp_path):
    block = "block = bytearray(b'x') * 60_000_000"
    child = f"import sys; {block}; print(flush=True); sys.stdin.read()"  # until the other has had its own
    both = (
        "import subprocess, sys, time; "
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}], stdin=-1, stdout=-1); {block}; "
        "child.stdout.readline(); time.sleep(1); child.communicate()"
    )
    assert 120 < run_measured(python(both), cwd=tmp_path).peak_mb < 250


def test_a_failing_command_is_named_with_its_last_words(tmp_path):
    with pytest.raises(BenchmarkError, match=r"ended with exit code 3:\nno such index\n"):
        run_measured(python("import sys; sys.stderr.write('no such index\\n'); sys.exit(3)"), cwd=tmp_path)


def test_an_exit_code_may_be_accepted(tmp_path):
    assert run_measured(python("raise SystemExit(3)"), cwd=tmp_path, accepted=(0, 3)).output == ""


def test_a_process_that_is_gone_has_no_memory(tmp_path):
    done = run_measured(python("import os; print(os.getpid())"), cwd=tmp_path)
    assert resident_bytes(int(done.output)) == 0
