"""What it costs to set Athena up: seconds, size and time to import, in fresh environments.

    python -m bench.setup_cost

prints one JSON object, an environment a key:

- `run`: as `make run` makes it (`scripts/setup.sh run`, an editable installation);
- `pip`: as `pip install .` makes it in a new virtual environment, the bundled embedding model and the manuals
  included.

Both take the versions of requirements.lock and what is in pip's cache: the time to download is the network's.
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


def measure_all() -> dict[str, SetupCost]:
    """Each way to set Athena up, by name."""
    return {"run": measure(_by_setup), "pip": measure(_by_pip)}


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


def _by_pip(checkout: Path) -> Path:
    environment = checkout.parent / "environment"
    _run([sys.executable, "-m", "venv", environment], cwd=checkout)
    pip: list[str | Path] = [
        environment / "bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    versions = environment / "versions.txt"
    versions.write_text(_without_hashes((checkout / "requirements.lock").read_text()))
    _run([*pip, "--constraint", versions, "."], cwd=checkout)
    return environment


def _without_hashes(lock: str) -> str:
    """The versions of a lock file; with their hashes, pip refuses to install a folder."""
    lines = (line.removesuffix("\\") for line in lock.splitlines() if not line.lstrip().startswith("--hash"))
    return "\n".join(lines)


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
    shape: dict[str, object] = {name: asdict(cost) for name, cost in measure_all().items()}
    print(json.dumps(shape | {"machine": platform.platform()}, indent=2))


if __name__ == "__main__":
    main()
