"""scripts/setup.sh: which Python it takes, with fake interpreters on a PATH of the test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOLS = ("bash", "env", "sh", "dirname", "awk", "head", "grep", "rm", "mkdir", "touch", "cat", "chmod", "cp")
NAMES = ["python3.13", "python3.12", "python3.11", "python3.14", "python3", "python"]

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
  *'-m pip install'*'-e .'*) [ ! -e fail ] || {{ echo "ERROR: no such package"; exit 1; }}
    echo "WARNING: chatter of a build tool"; touch .venv/bin/athena; chmod +x .venv/bin/athena ;;
esac
"""
SHIM = "#!/bin/sh\necho 'pyenv: {name}: command not found' >&2\nexit 127\n"
UV = """#!/bin/sh
echo "uv $*" >>"{calls}"
case "$1" in
  --version) echo uv 1 ;;
  venv) [ "$4" != '>=3.11' ] || [ {fetches} = 1 ] || {{ echo "no download"; exit 2; }}
    mkdir -p .venv/bin; cp "{pip}" .venv/bin/python; echo "$4" >.venv/made-by
    echo "VIRTUAL_ENV=$PWD/.venv" >.venv/bin/activate ;;
  pip) touch .venv/bin/athena; chmod +x .venv/bin/athena ;;
esac
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """A checkout with nothing but setup.sh, and a PATH with nothing but what tests put there."""

    checkout: Path
    bin: Path

    def has(self, name: str, text: str) -> None:
        write_program(self.bin / name, text)

    def has_python(self, name: str, version: str, *, ensurepip: int = 0, venv: int = 0) -> None:
        self.has(
            name,
            INTERPRETER.format(
                name=name,
                version=version,
                ensurepip=ensurepip,
                venv=venv,
                calls=self.calls_file,
                pip=self.bin / "pip-of-venv",
            ),
        )

    def has_uv(self, *, fetches: bool = False) -> None:
        self.has(
            "uv",
            UV.format(calls=self.calls_file, pip=self.bin / "pip-of-venv", fetches=int(fetches)),
        )

    @property
    def calls_file(self) -> Path:
        return self.bin.parent / "calls"

    @property
    def calls(self) -> list[str]:
        """What was started, a line each."""
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []

    @property
    def installs(self) -> list[str]:
        return [call for call in self.calls if " -e ." in call]

    def made_by(self) -> str:
        return (self.checkout / ".venv/made-by").read_text().strip()

    def set_up(self, stage: str = "run") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.checkout / "scripts/setup.sh", stage],
            env={"PATH": str(self.bin), "HOME": str(self.bin)},
            capture_output=True,
            text=True,
            timeout=60,
        )

    def sets_up(self, stage: str = "run") -> str:
        """What it prints where it must succeed."""
        done = self.set_up(stage)
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


def shim(machine: Machine, name: str) -> None:
    machine.has(name, SHIM.format(name=name))


def too_old(machine: Machine, name: str) -> None:
    machine.has_python(name, "3.10")


def without_ensurepip(machine: Machine, name: str) -> None:
    machine.has_python(name, "3.12", ensurepip=1)


def failing_to_make_one(machine: Machine, name: str) -> None:
    machine.has_python(name, "3.12", venv=1)


BAD = {
    shim: "does not run",
    too_old: "is Python 3.10, older than 3.11",
    without_ensurepip: "cannot make environments: on Debian or Ubuntu, sudo apt-get install python3.12-venv",
    failing_to_make_one: "The virtual environment was not created",
}


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.__name__)
def test_a_good_python_is_found_after_bad_ones(machine: Machine, bad: Callable[..., None]) -> None:
    for name in NAMES[:4]:
        bad(machine, name)
    machine.has_python("python3", "3.11")
    assert machine.sets_up() == "Installing Athena into .venv (one to two minutes) …\n"
    assert machine.made_by() == "python3"


@pytest.mark.parametrize(("bad", "reason"), BAD.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_what_was_tried_is_said_with_why_not(machine: Machine, bad: Callable[..., None], reason: str) -> None:
    bad(machine, "python3.13")
    too_old(machine, "python3")
    done = machine.set_up()
    assert done.returncode == 1
    assert f"  {machine.bin}/python3.13: {reason}\n" in done.stderr
    assert f"  {machine.bin}/python3: is Python 3.10, older than 3.11\n" in done.stderr
    assert "sudo apt-get install python3 python3-venv" in done.stderr
    assert not (machine.checkout / ".venv").exists()


def test_a_machine_without_python_is_told_so(machine: Machine) -> None:
    done = machine.set_up()
    assert done.returncode == 1
    assert "nothing: there is no python on the PATH" in done.stderr


def test_a_name_that_is_twice_on_the_path_is_tried_twice(machine: Machine) -> None:
    shims = machine.bin.parent / "shims"
    shims.mkdir()
    write_program(shims / "python3.11", SHIM.format(name="python3.11"))
    machine.has_python("python3.11", "3.11")
    done = subprocess.run(
        [machine.checkout / "scripts/setup.sh", "run"],
        env={"PATH": f"{shims}:{machine.bin}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert machine.made_by() == "python3.11"


def test_uv_is_given_a_python_that_runs_and_needs_no_ensurepip(machine: Machine) -> None:
    machine.has_uv()
    shim(machine, "python3.13")
    without_ensurepip(machine, "python3.12")
    machine.sets_up()
    assert machine.made_by() == str(machine.bin / "python3.12")
    assert [call.split()[0] for call in machine.installs] == ["uv"]


def test_uv_may_fetch_a_python_where_none_will_do(machine: Machine) -> None:
    machine.has_uv(fetches=True)
    shim(machine, "python3.13")
    machine.sets_up()
    assert machine.made_by() == ">=3.11"


def test_uv_without_a_network_leaves_what_was_tried(machine: Machine) -> None:
    machine.has_uv()
    shim(machine, "python3.13")
    done = machine.set_up()
    assert done.returncode == 1
    assert f"  {machine.bin}/python3.13: does not run\n" in done.stderr


def test_a_uv_that_does_not_run_is_none(machine: Machine) -> None:
    shim(machine, "uv")
    machine.has_python("python3", "3.11")
    machine.sets_up()
    assert machine.made_by() == "python3"


def test_what_is_set_up_is_left_alone_until_the_project_changes(machine: Machine) -> None:
    machine.has_python("python3", "3.11")
    machine.sets_up()
    assert machine.sets_up() == ""
    assert len(machine.installs) == 1
    later = 2 * (machine.checkout / ".venv/.athena-run").stat().st_mtime
    os.utime(machine.checkout / "requirements.lock", (later, later))
    assert machine.sets_up()
    assert len(machine.installs) == 2


def test_running_needs_no_tests_tools_and_tests_add_theirs_to_the_same_environment(machine: Machine) -> None:
    machine.has_python("python3", "3.11")
    machine.sets_up("run")
    (machine.checkout / ".venv/mine").touch()
    machine.sets_up("test")
    run, test = machine.installs
    assert "--group" not in run
    assert "--group dev" in test
    assert (machine.checkout / ".venv/mine").exists()
    assert machine.sets_up("run") == ""  # all that it needs is there


def interpreter_gone(checkout: Path) -> None:
    (checkout / ".venv/bin/python").unlink()
    (checkout / ".venv/bin/python").symlink_to("/nowhere/python3")


def moved(checkout: Path) -> None:
    (checkout / ".venv/bin/activate").write_text("VIRTUAL_ENV=/elsewhere/.venv\n")


def half_installed(checkout: Path) -> None:
    (checkout / ".venv/.athena-unfinished").touch()


def half_made(checkout: Path) -> None:
    shutil.rmtree(checkout / ".venv/bin")


@pytest.mark.parametrize("harm", [interpreter_gone, moved, half_installed, half_made])
def test_a_broken_environment_is_made_anew(machine: Machine, harm: Callable[[Path], None]) -> None:
    machine.has_python("python3", "3.11")
    machine.sets_up()
    (machine.checkout / ".venv/old").touch()
    harm(machine.checkout)
    assert machine.sets_up().startswith("The .venv here is broken or was moved: making it anew.\n")
    assert not (machine.checkout / ".venv/old").exists()
    assert machine.sets_up() == ""


def test_a_failed_installation_is_shown_whole_and_tried_again(machine: Machine) -> None:
    machine.has_python("python3", "3.11")
    (machine.checkout / "fail").touch()
    done = machine.set_up()
    assert done.returncode == 1
    assert "ERROR: no such package" in done.stderr
    (machine.checkout / "fail").unlink()
    assert machine.sets_up() == "Installing Athena into .venv (one to two minutes) …\n"  # in the same .venv


def test_an_unknown_stage_is_refused(machine: Machine) -> None:
    assert machine.set_up("everything").returncode == 2
