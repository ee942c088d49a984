"""An attack in a process of its own, ended with all that it started when its time is over."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.athena import ROOT
from bench.attack.attack import Attack, Outcome

LAST_WORDS = 300  # characters of what a broken attack said


def run_apart(attack: Attack) -> Outcome:
    """What came of an attack; one that dies or takes too long has failed."""
    with tempfile.TemporaryDirectory(prefix="athena-attack-", ignore_cleanup_errors=True) as scratch:
        result, said = Path(scratch, "outcome.json"), Path(scratch, "said")
        folder = Path(scratch, "folder")
        folder.mkdir()
        words = [sys.executable, "-m", "bench.attack", "--child", attack.name, str(folder), str(result)]
        with said.open("wb") as output:
            process = subprocess.Popen(
                words,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                code = process.wait(attack.seconds)
            except subprocess.TimeoutExpired:
                return Outcome(1, (f"not over after {attack.seconds} s",))
            finally:
                _end(process)
        if code or not result.exists():
            words = said.read_text(encoding="utf-8", errors="replace").strip()[-LAST_WORDS:].splitlines()
            return Outcome(1, (f"ended with exit code {code}: {' '.join(words)}",))
        return read_outcome(result.read_text(encoding="utf-8"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the session of processes, of which some may be left when the first has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_here(attack: Attack, folder: Path, result: Path) -> None:
    """Run the attack in this process, and write down what came of it."""
    result.write_text(json.dumps(asdict(attack.run(folder))), encoding="utf-8")


def read_outcome(text: str) -> Outcome:
    """What `run_here` wrote."""
    values = json.loads(text)
    return Outcome(values["tried"], tuple(values["failures"]), values["detail"])
