"""A data folder that may only be read, as its user really is: searched and asked, without history."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.pipeline.stores.embedded.damage import open_data, prepare

pytestmark = pytest.mark.slow  # processes of another user

ROOT = Path(__file__).parents[4]
RIGHTS = "-dac_override,-dac_read_search,-fowner"  # by which root may write whatever the permissions say
BOUND = ["setpriv", f"--bounding-set={RIGHTS}", f"--inh-caps={RIGHTS}"] if os.geteuid() == 0 else []
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nowhere"}
USE = """
import sys
from contextlib import closing
from pathlib import Path
sys.path.insert(0, {root!r})
from athena.diagnosis import diagnose
from pipeline.errors import AthenaError
from tests.pipeline.stores.embedded.damage import QUESTIONS, open_data
folder = Path(sys.argv[1])
with closing(open_data(folder)) as athena:
    print("found", len(athena.search(QUESTIONS[0]).passages))
    for _ in range(2):
        chat = athena.chat(conversation_id=chat.conversation_id if _ else None)
        *_, last = chat.run(QUESTIONS[0])
        print("asked", last.answer.mode, *[note for note in last.answer.notices if "not stored" in note])
    print("kept", len(athena.conversations.get(chat.conversation_id).turns))
    print("doctor", diagnose(athena).ok)
    try:
        athena.ingest([folder / "manual"])
    except AthenaError as error:
        print("ingest", error)
"""
REMEMBER = """
from athena.stores import open_conversations, open_memories
from memory.chat import UNWRITABLE
from pipeline.steps.records import Step, data_of, last_step
with closing(open_data(folder, memory="agent")) as athena:
    print([memory.text for memory in athena.memory.list() if memory.tier != "static"])
    for message in ("I live in Bonn.", "Remember that Rex is a dog."):
        *_, last = athena.chat().run(message)
        step = data_of(last.answer.steps, "remember")
        print(last.answer.status, step.status, step.detail == UNWRITABLE, step.data.get("pending"))
    try:
        athena.memory.add("Rex is a dog.")
    except AthenaError as error:
        print("add", error)
print("to copy", len(open_conversations(athena.settings).list()), open_memories(athena.settings).users())
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A prepared data folder that everybody may read."""
    with tempfile.TemporaryDirectory(prefix="athena-read-only-") as name:
        folder = Path(name)
        prepare(folder)
        shutil.rmtree(folder / "killed")
        folder.chmod(0o755)
        yield folder
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)


def protect(folder: Path) -> None:
    """Write-protect it, as what belongs to another user is."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def use(folder: Path, program: str = USE) -> list[str]:
    """What a user sees for whom permissions count."""
    done = subprocess.run(
        [*BOUND, sys.executable, "-c", program.format(root=str(ROOT)), str(folder)],
        capture_output=True, text=True, timeout=120, cwd=folder, env=ENVIRONMENT,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


EXPECTED = [
    "found 7",
    "asked quote This conversation is not stored: the data folder can only be read.",
    "asked quote",
    "kept 2",
    "doctor True",
]


def test_it_is_searched_and_asked_without_history(folder: Path) -> None:
    protect(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    *lines, ingest = use(folder)
    assert lines == EXPECTED
    assert ingest.startswith("ingest Cannot write '")
    assert "--data-dir" in ingest
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_what_is_remembered_is_read_and_copied_and_nothing_is_added(folder: Path) -> None:
    with closing(open_data(folder)) as owner:
        owner.memory.add("My cabin fan is loud.")
    protect(folder)
    known, told, asked, add, copied = use(folder, USE.split("with closing(open_data")[0] + REMEMBER)
    assert known == "['My cabin fan is loud.']"
    assert told == asked == "complete skipped True False"
    assert add.startswith("add Cannot write '")
    assert copied == "to copy 1 ['local']"


def test_its_words_are_derived_where_they_cannot_be_read(folder: Path) -> None:
    protect(folder)
    shutil.rmtree(folder / "data" / "lexical")
    assert use(folder)[:-1] == EXPECTED


def test_damaged_vectors_are_made_again_in_memory(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "data" / "athena.sqlite")) as connection, connection:
        connection.execute("UPDATE embedding SET vectors = ''")
    protect(folder)
    lines = use(folder)
    assert lines[:4] == EXPECTED[:4]
    assert lines[4] == "doctor False"  # until somebody may write there


def test_its_owner_may_be_using_it(folder: Path) -> None:
    with closing(open_data(folder)) as owner:
        owner.conversations.create("open")
        protect(folder)
        assert use(folder)[:-1] == EXPECTED


def test_what_its_owner_writes_is_seen(folder: Path) -> None:
    """By one who opened it while nobody was writing, and took it for a file that does not change."""
    if os.geteuid() != 0:
        pytest.skip("the owner must be able to write what the reader cannot")
    protect(folder)
    program = USE.split("with closing")[0].format(root=str(ROOT)) + (
        "with closing(open_data(folder)) as athena:\n"
        "    for line in sys.stdin:\n"
        "        print(len(athena.search(line).passages), athena.banner(), flush=True)\n"
    )
    reader = subprocess.Popen(
        [*BOUND, sys.executable, "-c", program, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder, env=ENVIRONMENT,
    )  # fmt: skip

    def ask() -> str:
        assert reader.stdin and reader.stdout
        reader.stdin.write("zebra crossing\n")
        reader.stdin.flush()
        return reader.stdout.readline()

    assert "3 documents" in ask()
    (folder / "new.md").write_text("# Zebra\n\nThe zebra crossing is striped.\n")
    with closing(open_data(folder)) as owner:
        owner.ingest([folder / "new.md"])
        assert "4 documents" in ask()
    assert "4 documents" in ask()
    reader.communicate()
    assert reader.returncode == 0


def test_one_of_an_earlier_version_is_named(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "data" / "athena.sqlite")) as connection:
        connection.execute("PRAGMA user_version = 1")
    protect(folder)
    with pytest.raises(AssertionError, match="made by an earlier version of Athena"):
        use(folder)
