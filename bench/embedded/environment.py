"""The baseline's own environment, `.bench-venv/`: torch is several GB and never belongs to the app.

It is made once and kept until the pinned requirements change.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.embedded.processes import BenchmarkError

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".bench-venv"
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
STAMP = "athena-benchmarks.stamp"
COPIED = "llama-index-core"
"""uv hard-links by default, and nltk refuses to read hard-linked data: this package carries nltk's."""


def baseline_python() -> Path:
    """The interpreter of the baseline's environment, which is made or renewed where that is needed."""
    python = FOLDER / "bin" / "python"
    stamp = FOLDER / STAMP
    wanted = requirements_digest(REQUIREMENTS)
    if python.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    _install(python)
    stamp.write_text(wanted, encoding="utf-8")
    return python


def requirements_digest(path: Path) -> str:
    """What tells one set of requirements, for one Python, from another."""
    python = ".".join(map(str, sys.version_info[:2]))
    return hashlib.sha256(python.encode() + path.read_bytes()).hexdigest()


def _install(python: Path) -> None:
    uv = shutil.which("uv")
    if uv:
        core = next(line for line in REQUIREMENTS.read_text("utf-8").splitlines() if line.startswith(COPIED))
        _run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(FOLDER)])
        install = [uv, "pip", "install", "--quiet", "--python", str(python)]
        _run([*install, "--link-mode", "copy", "--no-deps", core])
    else:
        _run([sys.executable, "-m", "venv", "--clear", str(FOLDER)])
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*install, "-r", str(REQUIREMENTS)])


def _run(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, cwd=ROOT)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BenchmarkError(
            f"Cannot make the baseline's environment '{FOLDER.name}': {error}.",
            "It needs a package index and 6 GB on disk; delete the folder and measure again.",
        ) from error
