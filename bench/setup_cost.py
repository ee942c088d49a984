"""What it costs to set Athena up: seconds, size and time to import, in a fresh environment.

`python -m bench.setup_cost` prints JSON: `run` is as `make run` makes it (`scripts/setup.sh run`), with the
versions of requirements.lock and what is in pip's cache: the time to download is the network's.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMPORTS = 5
LEFT_OUT = shutil.ignore_patterns(
    ".*", "__pycache__", "build", "dist", "*.egg-info", "docs", "tests", "bench"
)
TIMED_IMPORT = (
    "import time; t = time.perf_counter(); from athena import open_athena; print(time.perf_counter() - t)"
)


@dataclass(frozen=True, slots=True)
class SetupCost:
    """One environment: how long it took, what it weighs, and how quickly a program imports `athena`."""

    seconds: float
    megabytes: int
    """Of 2^20 bytes on the disk, as `du -sm` counts."""
    packages: int
    import_seconds: float
    """Median of five processes, after a first that may have warmed the disk."""
    python: str


def measure(set_up: Callable[[Path], Path]) -> SetupCost:
    """Set up in a copy of the checkout, in a temporary folder; `set_up` says where the environment is."""
    with tempfile.TemporaryDirectory(prefix="athena-setup-") as folder:
        checkout = Path(folder).resolve() / "athena"
        shutil.copytree(ROOT, checkout, ignore=LEFT_OUT)
        started = time.perf_counter()
        environment = set_up(checkout)
        seconds = time.perf_counter() - started
        return SetupCost(
            seconds=round(seconds, 1),
            megabytes=megabytes(environment),
            packages=len(list(environment.glob("lib/python*/site-packages/*.dist-info"))),
            import_seconds=round(_import_seconds(environment, cwd=Path(folder)), 3),
            python=_output(environment, "import platform; print(platform.python_version())", cwd=checkout),
        )


def megabytes(folder: Path) -> int:
    """The size on the disk, each file once however many names it has."""
    blocks = {
        (status.st_dev, status.st_ino): status.st_blocks
        for path in (folder, *folder.rglob("*"))
        if (status := path.lstat())
    }
    return round(sum(blocks.values()) * 512 / 2**20)


def _by_setup(checkout: Path) -> Path:
    _run([checkout / "scripts/setup.sh", "run"], cwd=checkout)
    return checkout / ".venv"


def _import_seconds(environment: Path, *, cwd: Path) -> float:
    times = [float(_output(environment, TIMED_IMPORT, cwd=cwd)) for _ in range(1 + IMPORTS)]
    return statistics.median(times[1:])


def _output(environment: Path, program: str, *, cwd: Path) -> str:
    return _run([environment / "bin/python", "-c", program], cwd=cwd).strip()


def _run(command: list[str | Path], *, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Print what setting up costs here."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(json.dumps({"run": asdict(measure(_by_setup)), "machine": platform.platform()}, indent=2))


if __name__ == "__main__":
    main()
