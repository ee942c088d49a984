"""A disk without room: answers are shown, errors say what to do, nothing is lost, and later all goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
IN_A_MOUNT = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
MOUNT = 'mount -t tmpfs -o size=24m tmpfs "$0" && exec "$@"'
QUESTION = "What does the cabin fan do?"


@cache
def can_mount() -> bool:
    """Whether this machine lets us mount a small disk."""
    if not shutil.which("unshare"):
        return False
    command = [*IN_A_MOUNT, MOUNT, "/mnt", "true"]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `_live_through_it` saw on a small disk of its own."""
    if not can_mount():
        pytest.skip("this kernel lets us mount nothing")
    folder = tmp_path_factory.mktemp("full")
    disk, manual, report = folder / "disk", folder / "manual", folder / "report.json"
    disk.mkdir()
    manual.mkdir()
    (manual / "fan.md").write_text("# Fan\n\nThe cabin fan moves the air of the cabin.\n", encoding="utf-8")
    program = [sys.executable, "-m", "tests.athena.test_full_disk", str(disk), str(manual), str(report)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ATHENA_")}
    done = subprocess.run(
        [*IN_A_MOUNT, MOUNT, str(disk), *program],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return told


@pytest.mark.parametrize("process", ["the same", "another"])
def test_a_question_is_answered_and_says_that_it_is_not_stored(story: dict[str, Any], process: str) -> None:
    assert story[f"asked by {process} process"]["citations"] == ["The cabin fan moves the air of the cabin."]
    assert "not stored" in " ".join(story[f"asked by {process} process"]["notices"])


@pytest.mark.parametrize("what", ["remember", "ingest", "rebuild"])
def test_what_must_be_written_says_what_to_do(story: dict[str, Any], what: str) -> None:
    assert "the disk is full" in story[what]
    assert "Free some space" in story[what]


def test_searching_goes_on_and_doctor_says_so(story: dict[str, Any]) -> None:
    assert story["found"] == ["fan.md"]
    assert "Traceback" not in story["doctor"]


def test_with_space_again_all_is_there_and_goes_on(story: dict[str, Any]) -> None:
    assert story["kept"] == [QUESTION]  # asked while there was space
    assert story["asked later"]["notices"] == story["asked before"]["notices"]
    assert story["ingested later"] == ["pump.md"]
    assert story["remembered later"] == "complete"
    assert story["faults later"] == []


def _live_through_it(disk: Path, manual: Path) -> dict[str, Any]:
    """Use Athena on a disk that fills and is emptied; what came of it."""
    from athena import load_settings, open_athena
    from athena.diagnosis import diagnose
    from pipeline.errors import AthenaError
    from pipeline.steps.events import AnswerFinished

    settings = load_settings(data_dir=disk / "data", llm="none", cross_encoder="none")
    told: dict[str, Any] = {}

    def ask(athena: Any, question: str = QUESTION) -> dict[str, Any]:
        *_, last = athena.chat().run(question)
        if not isinstance(last, AnswerFinished):
            return {"failed": f"{last.error}"}
        quotes = [citation.quote for citation in last.answer.citations]
        return {"citations": quotes, "notices": last.answer.notices, "status": last.answer.status}

    def refused(call: Any) -> str:
        try:
            return f"went well: {call()}"
        except AthenaError as error:
            return str(error)

    def pump() -> Path:
        path = manual / "pump.md"
        path.write_text("".join(f"# Pump {i}\n\nThe pump {i} hums {i} times.\n\n" for i in range(800)))
        return path

    athena = open_athena(settings)
    athena.ingest([manual])
    told["asked before"] = ask(athena)
    filling = disk / "filling"
    _fill(filling)
    told["asked by the same process"] = ask(athena)
    with closing(open_athena(settings)) as other:
        told["asked by another process"] = ask(other)
    told["remember"] = ask(athena, "Remember that my call sign is Echo.").get("failed", "")
    told["found"] = [passage.section.metadata["source"] for passage in athena.search("cabin fan").passages]
    told["ingest"] = refused(lambda: athena.ingest([pump()]))
    told["rebuild"] = refused(lambda: athena.ingest([manual], rebuild=True))
    told["doctor"] = repr(diagnose(athena))
    filling.unlink()
    told["kept"] = [turn.question for turn in _turns(athena)]
    told["asked later"] = ask(athena)
    told["ingested later"] = athena.ingest([pump()]).added
    told["remembered later"] = ask(athena, "Remember that my call sign is Echo.")["status"]
    faults = [check for check in diagnose(athena).checks if not check.ok]
    told["faults later"] = [repr(check) for check in faults if check.name != "data folder"]  # it is small
    athena.close()
    return told


def _turns(athena: Any) -> list[Any]:
    conversations = athena.conversations
    return [turn for info in conversations.list() for turn in conversations.get(info.id).turns]


def _fill(path: Path) -> None:
    """Take all that is left."""
    with path.open("wb", buffering=0) as file:
        for size in (65_536, 512):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue


if __name__ == "__main__":
    Path(sys.argv[3]).write_text(
        json.dumps(_live_through_it(Path(sys.argv[1]), Path(sys.argv[2]))), encoding="utf-8"
    )
