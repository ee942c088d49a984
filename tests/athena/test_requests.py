"""Nothing leaves the machine unless a person asked: whole processes, all threads and children, watched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lonely import can_be_lonely, noted, noting, wrapped

pytestmark = pytest.mark.slow

PYTHON = [sys.executable]
ATHENA = [sys.executable, "-m", "athena"]
BY_PYTHON = "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)"
IN_A_CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BY_PYTHON!r}])"
NOT_BY_PYTHON = """
import ctypes, socket, struct
address = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(80), bytes([192, 0, 2, 1]))
plain = socket.socket()
ctypes.CDLL(None).connect(plain.fileno(), address, 16)
"""
FIRST_RUN = {"ATHENA_OLLAMA_URL": "http://127.0.0.1:9"}


def run(program: list[str], folder: Path) -> list[str]:
    """What the program tried to reach, run as at the first time on a machine."""
    watching = folder / "watching"
    watching.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ATHENA_")}
    environment |= FIRST_RUN | {"PYTHONDONTWRITEBYTECODE": "1", "HF_HOME": str(folder / "hub")}
    subprocess.run(
        wrapped(program, watching / "refused"),
        cwd=folder, env=noting(environment, watching), capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    refused = (watching / "refused").read_text(encoding="utf-8") if can_be_lonely() else "0"
    return [*noted(watching), *([f"{refused} packets without a route"] if refused != "0" else [])]


@pytest.mark.parametrize("program", [BY_PYTHON, IN_A_CHILD], ids=["itself", "a child"])
def test_this_test_notices_python(program: str, tmp_path: Path) -> None:
    assert any("192.0.2.1" in line for line in run([*PYTHON, "-c", program], tmp_path))


@pytest.mark.skipif(not can_be_lonely(), reason="this kernel gives us no network of our own")
def test_this_test_notices_code_that_is_not_pythons(tmp_path: Path) -> None:
    assert run([*PYTHON, "-c", NOT_BY_PYTHON], tmp_path) == ["1 packets without a route"]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("requests")
    (folder / "manual").mkdir()
    (folder / "manual" / "fan.md").write_text("# Fan\n\nThe cabin fan hums.\n", encoding="utf-8")
    assert run([*ATHENA, "ingest", "manual"], folder) == []
    return folder


@pytest.mark.parametrize(
    "command",
    [["ask", "What hums?"], ["ask", "What hums?", "--json", "--rerank", "--hyde"], ["doctor"], ["--help"]],
    ids=" ".join,
)
def test_a_command_reaches_nothing(command: list[str], indexed: Path) -> None:
    assert run([*ATHENA, *command], indexed) == []
