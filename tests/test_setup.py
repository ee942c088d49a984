"""scripts/setup.sh: which Python it takes, with fake interpreters on a PATH of the test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
TOOLS = ("bash", "env", "sh", "dirname", "awk", "head", "grep", "rm", "mkdir", "touch", "cat", "chmod", "cp")
INSTALLING = "Installing Athena into .venv (one to two minutes) …\n"

# A Python as far as setup.sh asks: its version, whether it can make environments, making one, pip.
INTERPRETER = """#!/bin/sh
echo "${{0##*/}} $*" >>"{calls}"
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
echo "pip $*" >>"{calls}"
case "$*" in
  *'-m pip install'*'-e .'*) echo "WARNING: chatter of a build tool"
    touch .venv/bin/athena; chmod +x .venv/bin/athena ;;
esac
"""
SHIM = "#!/bin/sh\necho 'pyenv: {name}: command not found' >&2\nexit 127\n"


@dataclass(frozen=True, slots=True)
class Machine:
    """A checkout with nothing but setup.sh, and a PATH with nothing but what tests put there."""

    checkout: Path
    bin: Path

    def has(self, name: str, text: str) -> None:
        write_program(self.bin / name, text)

    def has_python(self, name: str, version: str, *, ensurepip: int = 0, venv: int = 0) -> None:
        like = {"name": name, "version": version, "ensurepip": ensurepip, "venv": venv}
        self.has(name, INTERPRETER.format(**like, calls=self.calls_file, pip=self.bin / "pip-of-venv"))

    @property
    def calls_file(self) -> Path:
        return self.bin.parent / "calls"

    @property
    def installs(self) -> list[str]:
        return [call for call in self.calls_file.read_text().splitlines() if " -e ." in call]

    def made_by(self) -> str:
        return (self.checkout / ".venv/made-by").read_text().strip()

    def set_up(self, stage: str = "run", *, path: str = "") -> subprocess.CompletedProcess[str]:
        command = [self.checkout / "scripts/setup.sh", stage]
        environment = {"PATH": path or str(self.bin), "HOME": str(self.bin)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    def sets_up(self, stage: str = "run", *, path: str = "") -> str:
        """What it prints where it must succeed."""
        done = self.set_up(stage, path=path)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout


def write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


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
    made.has("pip-of-venv", PIP.format(calls=made.calls_file))
    return made


# Pythons that will not do: what each is like (None: it does not run), and what the script says of it.
BAD: dict[str, tuple[dict[str, Any] | None, str]] = {
    "python3.13": (None, "does not run"),
    "python3.12": ({"version": "3.10"}, "is Python 3.10, older than 3.11"),
    "python3.11": (
        {"version": "3.12", "ensurepip": 1},
        "cannot make environments: on Debian or Ubuntu, sudo apt-get install python3.12-venv",
    ),
    "python3.14": ({"version": "3.12", "venv": 1}, "The virtual environment was not created"),
}


def spoil(machine: Machine) -> list[str]:
    """Put bad Pythons before `python3`; what is said of each."""
    for name, (like, _) in BAD.items():
        machine.has_python(name, **like) if like else machine.has(name, SHIM.format(name=name))
    return [f"  {machine.bin}/{name}: {why}\n" for name, (_, why) in BAD.items()]


def test_a_good_python_is_found_after_bad_ones_also_of_the_same_name(machine: Machine) -> None:
    spoil(machine)
    machine.has_python("python3", "3.11")
    shims = machine.bin.parent / "shims"
    shims.mkdir()
    write_program(shims / "python3", SHIM.format(name="python3"))
    machine.has("uv", SHIM.format(name="uv"))  # one that does not run is none
    assert machine.sets_up(path=f"{shims}:{machine.bin}") == INSTALLING
    assert machine.made_by() == "python3"


def test_what_was_tried_is_said_with_why_not(machine: Machine) -> None:
    nothing = machine.set_up()
    assert nothing.returncode == 1
    assert "nothing: there is no python on the PATH" in nothing.stderr
    reasons = spoil(machine)
    done = machine.set_up()
    assert done.returncode == 1
    assert [reason for reason in reasons if reason not in done.stderr] == []
    assert "sudo apt-get install python3 python3-venv" in done.stderr
    assert not (machine.checkout / ".venv").exists()


def test_what_is_set_up_is_left_alone_until_the_project_changes(machine: Machine) -> None:
    machine.has_python("python3", "3.11")
    machine.sets_up()
    assert machine.sets_up() == ""
    assert len(machine.installs) == 1
    later = 2 * (machine.checkout / ".venv/.athena-run").stat().st_mtime
    os.utime(machine.checkout / "requirements.lock", (later, later))
    assert machine.sets_up()
    assert len(machine.installs) == 2


def broken(environment: Path) -> dict[str, Callable[[], object]]:
    """Ways to break an environment."""
    python = environment / "bin/python"
    return {
        "interpreter gone": lambda: (python.unlink(), python.symlink_to("/nowhere/python3")),
        "moved": lambda: (environment / "bin/activate").write_text("VIRTUAL_ENV=/elsewhere/.venv\n"),
        "half installed": lambda: (environment / ".athena-unfinished").touch(),
        "half made": lambda: shutil.rmtree(environment / "bin"),
    }


def test_a_broken_environment_is_made_anew(machine: Machine) -> None:
    machine.has_python("python3", "3.11")
    machine.sets_up()
    environment = machine.checkout / ".venv"
    for how, harm in broken(environment).items():
        (environment / "old").touch()
        harm()
        anew = machine.sets_up()
        assert anew.startswith("The .venv here is broken or was moved: making it anew.\n"), how
        assert not (environment / "old").exists(), how
        assert machine.sets_up() == "", how
