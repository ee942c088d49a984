"""scripts/setup.sh: which Python it takes, with fake interpreters on a PATH of the test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
TOOLS = ("bash", "env", "sh", "dirname", "awk", "head", "grep", "rm", "mkdir", "touch", "cat", "chmod", "cp")

# A Python as far as setup.sh asks: its version, whether it can make environments, making one.
INTERPRETER = """#!/bin/sh
case "$*" in
  *'"%d.%d"'*) echo {version} ;;
  *ensurepip*) exit {ensurepip} ;;
  '-m venv .venv')
    [ {venv} = 0 ] || {{ echo "The virtual environment was not created"; exit 1; }}
    mkdir -p .venv/bin
    cp "{pip}" .venv/bin/python
    echo "VIRTUAL_ENV=$PWD/.venv" >.venv/bin/activate
    echo "{name}" >.venv/made-by ;;
  *) exit 2 ;;
esac
"""
# What is `.venv/bin/python` then: good for every question, and installs by making the console script.
PIP = """#!/bin/sh
case "$*" in
  *'-m pip install'*'-e .'*) touch .venv/bin/athena; chmod +x .venv/bin/athena ;;
esac
"""
SHIM = "#!/bin/sh\necho 'pyenv: {name}: command not found' >&2\nexit 127\n"

# Pythons that will not do: what each is like (None: it does not run), and what the script says of it.
BAD: dict[str, tuple[dict[str, Any] | None, str]] = {
    "python3.13": (None, "does not run"),
    "python3.12": ({"version": "3.10"}, "is Python 3.10, older than 3.11"),
    "python3.11": ({"version": "3.12", "ensurepip": 1}, "cannot make environments"),
    "python3.14": ({"version": "3.12", "venv": 1}, "The virtual environment was not created"),
}


@dataclass(frozen=True, slots=True)
class Machine:
    """A checkout with nothing but setup.sh, and a PATH with nothing but what tests put there."""

    checkout: Path
    bin: Path

    def has(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def has_python(self, name: str, version: str, *, ensurepip: int = 0, venv: int = 0) -> None:
        like = {"name": name, "version": version, "ensurepip": ensurepip, "venv": venv}
        self.has(name, INTERPRETER.format(**like, pip=self.bin / "pip-of-venv"))

    def has_bad_pythons(self) -> None:
        for name, (like, _) in BAD.items():
            self.has_python(name, **like) if like else self.has(name, SHIM.format(name=name))

    def set_up(self) -> subprocess.CompletedProcess[str]:
        command = [self.checkout / "scripts/setup.sh", "run"]
        environment = {"PATH": str(self.bin), "HOME": str(self.bin)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    def sets_up(self) -> str:
        """What it prints where it must succeed."""
        done = self.set_up()
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(checkout=tmp_path / "a checkout", bin=tmp_path / "bin")
    (made.checkout / "scripts").mkdir(parents=True)
    made.bin.mkdir()
    shutil.copy(ROOT / "scripts/setup.sh", made.checkout / "scripts")
    for name in ("pyproject.toml", "requirements.lock"):
        (made.checkout / name).touch()
        os.utime(made.checkout / name, (1, 1))
    for tool in TOOLS:
        (made.bin / tool).symlink_to(shutil.which(tool) or tool)
    made.has("pip-of-venv", PIP)
    return made


def test_a_good_python_is_found_after_bad_ones(machine: Machine) -> None:
    machine.has_bad_pythons()
    machine.has_python("python3", "3.11")
    machine.has("uv", SHIM.format(name="uv"))  # one that does not run is none
    machine.sets_up()
    assert (machine.checkout / ".venv/made-by").read_text().strip() == "python3"


def test_each_python_that_will_not_do_is_named_with_the_reason(machine: Machine) -> None:
    nothing = machine.set_up()
    assert nothing.returncode == 1
    assert "no python on" in nothing.stderr
    machine.has_bad_pythons()
    done = machine.set_up()
    assert done.returncode == 1
    for name, (_, why) in BAD.items():
        assert f"  {machine.bin}/{name}: {why}" in done.stderr
    assert not (machine.checkout / ".venv").exists()


def test_a_whole_environment_is_left_alone_until_the_project_changes(machine: Machine) -> None:
    machine.has_python("python3", "3.11")
    assert machine.sets_up()
    assert machine.sets_up() == ""
    later = 2 * (machine.checkout / ".venv/.athena-run").stat().st_mtime
    os.utime(machine.checkout / "requirements.lock", (later, later))
    assert machine.sets_up()


@pytest.mark.parametrize(
    "harm", ["rm -r .venv/bin", "touch .venv/.athena-unfinished", "echo > .venv/bin/activate"]
)
def test_a_broken_environment_is_made_anew(machine: Machine, harm: str) -> None:
    machine.has_python("python3", "3.11")
    machine.sets_up()
    (machine.checkout / ".venv/old").touch()
    subprocess.run(harm, shell=True, cwd=machine.checkout, check=True)
    assert machine.sets_up()
    assert not (machine.checkout / ".venv/old").exists()
    assert machine.sets_up() == ""
