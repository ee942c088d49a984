"""What nobody means to type, and streams that are not there: an answer or a message, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from athena import Athena, cli, models
from tests.athena.data_folders import GOOD, open_data, prepare
from tests.fakes import FakeEncoder

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_folder")]

ROOT = Path(__file__).parents[3]
UNDECODABLE = "fan \udcff?"  # as Python gives an argument with the byte 0xff


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small manual, and its index by a fake encoder."""
    folder = tmp_path_factory.mktemp("odd")
    prepare(folder)
    return folder


@pytest.fixture
def athena(folder: Path) -> Iterator[Athena]:
    opened = open_data(folder)
    yield opened
    opened.close()


@pytest.fixture
def data_dir(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The index, for commands in this process: with the fake encoder."""
    monkeypatch.setattr(models, "_encoder", lambda *_: (FakeEncoder(), GOOD))
    return str(folder / "data")


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(cli.app, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def process(*arguments: str | bytes, data_dir: str, **given: Any) -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own, whose streams are real."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments, "--data-dir", data_dir],
        timeout=120, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | given,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert b"Traceback" not in (done.stderr or b""), done.stderr
    assert b"Exception ignored" not in (done.stderr or b""), done.stderr
    return done


PROGRAM = """
from athena import cli, models
from tests.athena.data_folders import GOOD
from tests.fakes import FakeEncoder
models._encoder = lambda *_: (FakeEncoder(), GOOD)
cli.main()
"""


# -- text ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", UNDECODABLE, "--json"],
        ["ask", UNDECODABLE, "--json"],
        ["search", "fan", "--path", "\udcff"],
        ["ask", "fan", "--path", "\udcff"],
        ["ask", "fan", "--conversation", "\udcff"],
        ["ingest", "\udcff"],
        ["search", "a\0b fan"],
    ],
)
def test_what_is_no_text_is_answered_or_refused(arguments: list[str], data_dir: str) -> None:
    result = run(*arguments, "--data-dir", data_dir)
    assert result.exit_code in (0, 1, 2)
    assert result.exit_code == 0 or result.stderr or "Not indexed" in result.stdout
    if "--json" in arguments:
        assert json.loads(result.stdout)


def test_undecodable_arguments_reach_a_terminal_that_knows_no_unicode(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    assert subprocess.run(
        [sys.executable, "-c", PROGRAM, "ask", b"fan \xff\xe9", "--data-dir", str(folder / "data")],
        env=environment, capture_output=True, timeout=120,
    ).returncode == 0  # fmt: skip


# -- streams ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["ask", "fan"], ["search", "fan", "--json"]])
def test_a_reader_that_leaves_is_not_complained_of(arguments: list[str], folder: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = process(*arguments, data_dir=str(folder / "data"), stdout=write)
    os.close(write)
    assert done.returncode in (0, 1)


def test_a_question_at_the_prompt_that_is_no_text(folder: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"fan \xff \0 OFFLINE?\n\n")
    os.close(write)
    done = process("chat", data_dir=str(folder / "data"), stdin=read)
    os.close(read)
    assert done.returncode == 0
    assert b"OFFLINE" in done.stdout
