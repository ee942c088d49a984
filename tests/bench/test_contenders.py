"""The peers: what is said to the worker, what it says back; each in its own environment, where it is made."""

import json
import os
import subprocess
import sys

import pytest

from bench import contenders as environments
from bench.contenders import PEERS, STAMP, TITLES, WORKER, Environment, find_python
from bench.processes import BenchmarkError

FILES = {
    "fan.md": "# Cabin fan\n\nThe cabin fan moves the air. It must never stop.\n",
    "sub/pump.md": "# Coolant pump\n\nThe pump moves water through the radiator.\n",
}
FAKE = """
def ingest(options):
    return {"passages": len(list(options.folder.rglob("*.md"))), "unit": "files"}
def searcher(options):
    return lambda question: [str(options.folder / name) for name in ("b/x.md", "a.md", "b/x.md")]
"""


def test_every_peer_has_a_worker_pinned_packages_and_a_version():
    for peer in PEERS.values():
        assert (WORKER.parent / f"{peer.module}.py").is_file()
        assert peer.version()[0].isdigit()
        lines = peer.environment.requirements.read_text().splitlines()
        assert all("==" in line for line in lines if not line.startswith("#"))
        assert peer.environment.requirements.with_suffix(".in").is_file()
    assert len(set(TITLES.values())) == len(PEERS) + 1


def work(python, module, folder, *arguments):
    report = folder / "report.json"
    command = [python, WORKER, module, *arguments, "--report", report]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    return json.loads(report.read_text())


def test_the_worker_times_and_names_each_file_once(tmp_path, monkeypatch):
    (tmp_path / "with_fake.py").write_text(FAKE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "a.md").write_text("")
    (tmp_path / "questions.json").write_text('["one", "two"]')
    where = ("--folder", tmp_path, "--store", tmp_path / "store")
    done = work(sys.executable, "with_fake", tmp_path, "ingest", *where)
    assert (done["passages"], done["unit"]) == (1, "files")
    assert done["import_seconds"] > 0
    found = work(
        sys.executable, "with_fake", tmp_path, "search", *where, "--questions", tmp_path / "questions.json"
    )
    assert found["sources"] == [["b/x.md", "a.md"]] * 2
    assert len(found["ms"]) == 2


@pytest.mark.skipif(
    "ATHENA_TEST_PEERS" not in os.environ, reason="a minute each: ATHENA_TEST_PEERS=1 runs them"
)
@pytest.mark.parametrize("name", PEERS)
def test_a_peer_finds_the_right_file_in_its_environment(name, tmp_path):
    peer = PEERS[name]
    if not (peer.environment.folder / STAMP).exists():
        pytest.skip(f"the environment of {name} is made by `make bench` only")
    for file, text in FILES.items():
        (tmp_path / "docs" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "docs" / file).write_text(text)
    folder, store = tmp_path / "docs", tmp_path / "store"
    assert peer.ingest(folder, store)[1]["passages"] >= 2
    peer.ingest(folder, store)
    (tmp_path / "questions.json").write_text('["what moves the air in the cabin?", "coolant pump"]')
    _, report = peer.search(folder, store, tmp_path / "questions.json")
    assert [found[0] for found in report["sources"]] == ["fan.md", "sub/pump.md"]


def test_an_environment_is_made_once_and_again_for_other_packages(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "FOLDER", tmp_path / "venvs")
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    commands = []

    def run(*command):
        commands.append(command[1:3])
        (tmp_path / "venvs" / "fake" / "bin").mkdir(parents=True, exist_ok=True)
        (tmp_path / "venvs" / "fake" / "bin" / "python").write_bytes(b"x" * 3 * 2**20)

    monkeypatch.setattr(environments, "_run", run)
    requirements = tmp_path / "fake.txt"
    requirements.write_text("one==1\n")
    fake = Environment("fake")
    for _ in range(2):
        assert fake.python() == tmp_path / "venvs" / "fake" / "bin" / "python"
    assert commands == [("-m", "venv"), ("-m", "pip")]
    requirements.write_text("one==2\n")
    fake.python()
    assert commands == [("-m", "venv"), ("-m", "pip")] * 2
    assert fake.megabytes() == pytest.approx(3, abs=0.1)


def test_a_python_that_does_not_run_is_passed_over(tmp_path, monkeypatch):
    for name, text in (
        ("python3.11", "echo 'command not found' >&2; exit 127"),
        ("python3.12", "echo 3 10"),
        ("python3.13", "echo 3 13"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(environments.sys, "executable", str(tmp_path / "python3.11"))
    assert find_python((3, 12)) == str(tmp_path / "python3.13")
    with pytest.raises(BenchmarkError, match=r"No Python 3\.99 or newer"):
        find_python((3, 99))
