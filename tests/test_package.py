"""The wheel: what is in it, and that it works away from the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest

from tests.dockerfile import copies
from tests.server_processes import free_ports

pytestmark = [pytest.mark.package, pytest.mark.xdist_group("package"), pytest.mark.timeout(600)]

ROOT = Path(__file__).parent.parent
ROOMS = {"agent", "doors", "memory", "pipeline", "readers", "mission", "ui", "evals", "docs_corpus"}
OTHERS = 'raise RuntimeError("this is somebody else\'s")\n'
QUESTION = "What does the cabin fan do?"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what the image copies, so that no earlier build of the checkout gets in."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name, _ in copies():
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    for name in ("bench", "tests"):  # here to be left out
        (source / name).mkdir()
        (source / name / "__init__.py").touch()
    (source / "app.py").touch()
    pip("wheel", "--no-build-isolation", "--wheel-dir", str(target), str(source))
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel alone; its dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    pip("install", "--target", str(folder), str(wheel))
    return folder


def pip(command: str, *arguments: str) -> None:
    quiet = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    if subprocess.run([sys.executable, "-c", "import pip"], capture_output=True).returncode:
        pytest.skip("this environment was made by uv and has no pip")
    done = subprocess.run(
        [sys.executable, "-m", "pip", command, *quiet, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def names(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_it_has_one_package_with_every_file(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"athena"}
    files = {path for name in {"athena", *ROOMS} for path in (ROOT / name).rglob("*") if path.is_file()}
    found = {path.relative_to(ROOT) for path in files if path.parent.name != "__pycache__"}
    expected = {str(path if path.parts[0] == "athena" else "athena" / path) for path in found}
    assert {"athena/ui/entry/app.py", "athena/py.typed"} <= expected
    assert not expected - set(names(wheel))


def test_it_ingests_and_answers_away_from_the_repository(installed: Path, tmp_path: Path) -> None:
    ingested = json.loads(run(installed, tmp_path, "ingest", "--json"))
    assert "systems/air-revitalisation.md" in ingested["added"]
    answer = json.loads(run(installed, tmp_path, "ask", QUESTION, "--llm", "none", "--json"))
    assert "systems/air-revitalisation.md" in {citation["source"] for citation in answer["citations"]}
    assert "experiment" in run(installed, tmp_path, "eval", "--help")


def test_it_serves_away_from_the_repository(installed: Path, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    process = subprocess.Popen(
        command(installed, "serve", "--port", str(port)), cwd=tmp_path, env=environment(installed)
    )
    try:
        deadline = time.monotonic() + 120
        while not _answers(port):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)
    finally:
        process.terminate()
        process.wait(20)


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        return False


def test_packages_of_the_rooms_names_are_not_in_its_way(wheel: Path, tmp_path: Path) -> None:
    """In a new environment, beside others' `pipeline`, `memory` and so on; dependencies are this one's."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
    for name in ROOMS:
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text(OTHERS)
    pip("install", "--target", str(packages), str(wheel))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    doctor = subprocess.run(
        [python, "-m", "athena", "doctor", "--json"],
        cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    checks = {check["name"]: check["ok"] for check in json.loads(doctor.stdout)["checks"]}
    assert checks["embedding works"], doctor.stdout + doctor.stderr
    program = "import sys; from athena import MarkdownReader, SourcesFound; print(*sys.modules)"
    loaded = subprocess.run(
        [python, "-c", program], cwd=tmp_path, env=clean, check=True, capture_output=True, text=True
    )
    assert not ROOMS & set(loaded.stdout.split())


def run(installed: Path, folder: Path, *arguments: str) -> str:
    """What the command prints."""
    done = subprocess.run(
        command(installed, *arguments),
        cwd=folder, env=environment(installed), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(installed: Path, *arguments: str) -> list[str]:
    """`python -m athena`, refused where it is not the wheel's."""
    program = (
        "import athena, runpy, sys; assert athena.__file__.startswith(sys.argv.pop(1)), athena.__file__;"
        "runpy.run_module('athena', run_name='__main__')"
    )
    return [sys.executable, "-P", "-c", program, str(installed), *arguments]


def environment(installed: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(installed)}
