"""The wheel: what is in it, and that it works away from the repository, whatever else is installed."""

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
    (source / "app.py").touch()
    pip("wheel", "--no-build-isolation", "--wheel-dir", str(target), str(source))
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and others' `pipeline`, `memory` …; dependencies are this one's."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    made = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    packages = Path(run(made, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    for name in ROOMS:
        (packages / name).mkdir()
        (packages / name / "__init__.py").write_text(OTHERS)
    pip("install", "--target", str(packages), str(wheel))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return made


def pip(command: str, *arguments: str) -> None:
    if subprocess.run([sys.executable, "-c", "import pip"], capture_output=True).returncode:
        pytest.skip("this environment was made by uv and has no pip")
    run(Path(sys.executable), "-m", "pip", command, "--quiet", "--no-index", "--no-deps", *arguments)


def run(python: Path, *arguments: str, folder: Path | None = None) -> str:
    """What a program prints."""
    done = subprocess.run(
        [python, *arguments], cwd=folder, env=clean(), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test_it_has_one_package_with_every_file(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"athena"}
    files = {path for name in {"athena", *ROOMS} for path in (ROOT / name).rglob("*") if path.is_file()}
    found = {path.relative_to(ROOT) for path in files if path.parent.name != "__pycache__"}
    expected = {str(path if path.parts[0] == "athena" else "athena" / path) for path in found}
    assert {"athena/ui/entry/app.py", "athena/py.typed"} <= expected
    assert not expected - set(names)


def test_it_ingests_answers_and_serves_away_from_the_repository(python: Path, tmp_path: Path) -> None:
    athena = ("-m", "athena")
    ingested = json.loads(run(python, *athena, "ingest", "--json", folder=tmp_path))
    assert "systems/air-revitalisation.md" in ingested["added"]
    answer = json.loads(run(python, *athena, "ask", QUESTION, "--llm", "none", "--json", folder=tmp_path))
    assert "systems/air-revitalisation.md" in {citation["source"] for citation in answer["citations"]}
    assert "experiment" in run(python, *athena, "eval", "--help", folder=tmp_path)
    (port,) = free_ports(1)
    process = subprocess.Popen([python, *athena, "serve", "--port", str(port)], cwd=tmp_path, env=clean())
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
