"""An attack on the files of a data folder: damage at random, and then everything that a user would try.

A few are tried by the tests and many by `make attack`. Each has a number, by which it is repeated.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from athena import Athena
from athena.diagnosis import diagnose
from athena.settings import Settings
from pipeline.errors import AthenaError
from pipeline.models.base import ModelChoice
from pipeline.steps.events import AnswerFinished, RunFailed
from pipeline.stores.embedded.damage import salvage
from tests.fakes import FakeEncoder
from tests.pipeline.searching import write_manual

QUESTIONS = ("What does a broken fan show?", "When the LN2 tank shows OFFLINE, what should I check?")
GOOD = ModelChoice("embedding", "fake", "bundled", "on disk")

Damage = Callable[[Path, random.Random], None]


def open_data(folder: Path, **given: Any) -> Athena:
    """Athena over a data folder, with an encoder that costs nothing; settings may be given."""
    known = {"data_dir": folder / "data", "llm": "none", "cross_encoder": "none", "merge_up": False}
    athena = Athena(Settings(**known | given))
    athena.models.__dict__["encoder"] = (FakeEncoder(), GOOD)
    return athena


def prepare(folder: Path) -> None:
    """A data folder with the small manual and a conversation, and a copy of it as a kill leaves it."""
    athena = open_data(folder)
    athena.ingest([write_manual(folder)])
    chat = athena.chat()
    for question in QUESTIONS:
        list(chat.run(question))
    shutil.copytree(folder / "data", folder / "killed")  # with what is not yet in the main file
    athena.close()
    shutil.copytree(folder / "data", folder / "original")


def flip_a_bit(path: Path, chance: random.Random) -> None:
    """One bit is another."""
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def overwrite(path: Path, chance: random.Random) -> None:
    """Forty bytes anywhere are others."""
    content = bytearray(path.read_bytes())
    for _ in range(40):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)


def overwrite_a_block(path: Path, chance: random.Random) -> None:
    """A block of the disk is lost: zeros, or something else's."""
    content = bytearray(path.read_bytes())
    start = chance.randrange(len(content)) // 512 * 512
    end = min(len(content), start + 512)
    content[start:end] = bytes(end - start) if chance.random() < 0.5 else chance.randbytes(end - start)
    path.write_bytes(content)


def truncate(path: Path, chance: random.Random) -> None:
    """Its end is missing."""
    content = path.read_bytes()
    path.write_bytes(content[: chance.randrange(len(content))])


def delete(path: Path, chance: random.Random) -> None:
    """It is gone."""
    path.unlink()


def replace_by_a_folder(path: Path, chance: random.Random) -> None:
    """A folder has its name."""
    path.unlink()
    path.mkdir()


DAMAGES: tuple[Damage, ...] = (
    flip_a_bit, overwrite, overwrite, overwrite_a_block, overwrite_a_block, truncate, delete,
    replace_by_a_folder,
)  # fmt: skip


def damaged(number: int, folder: Path, expected: list[object]) -> list[str]:
    """What a folder that is damaged in the way of a number does that it must not; the same each time."""
    chance = random.Random(number)
    shutil.rmtree(folder / "data")
    shutil.copytree(folder / chance.choice(("original", "killed")), folder / "data")
    files = sorted(path for path in (folder / "data").rglob("*") if path.is_file() and path.stat().st_size)
    # The database as often as all others together: there is most to lose in it.
    path = chance.choice([*files, *[file for file in files if ".sqlite" in file.name] * len(files)])
    damage = chance.choice(DAMAGES)
    damage(path, chance)
    case = f"{number}: {damage.__name__} of {path.relative_to(folder / 'data')}"
    try:
        return [f"{case}: {problem}" for problem in _tried(folder, expected)]
    except Exception as error:  # noqa: BLE001  (this is what is looked for)
        return [f"{case}: {type(error).__name__}: {error}"]


def _tried(folder: Path, expected: list[object]) -> list[str]:
    """What went wrong of all that a user would try: only right answers and errors of ours are right."""
    said_ok = _doctor_says_ok(folder)
    wrong = []
    for question, right in zip(QUESTIONS, expected, strict=True):
        found = searched(folder, question)
        if found != right and said_ok:
            wrong.append(f"doctor said ok, search said {str(found)[:200]}")
    answered = _asked(folder)
    if said_ok and isinstance(answered, str):
        wrong.append(f"doctor said ok, ask said {answered[:200]}")
    _ingested(folder)
    _salvaged(folder)
    return wrong


def _doctor_says_ok(folder: Path) -> bool:
    with closing(open_data(folder)) as athena:
        return diagnose(athena).ok


def searched(folder: Path, question: str) -> object:
    """What a search found, or the error's text."""
    with closing(open_data(folder)) as athena:
        try:
            found = athena.search(question)
        except AthenaError as error:
            return _clear(error)
        return [
            (passage.node.metadata["source"], passage.node.text, round(passage.score, 3))
            for passage in found.passages
        ]


def _asked(folder: Path) -> object:
    with closing(open_data(folder)) as athena:
        try:
            *_, last = athena.chat().run(QUESTIONS[0])
        except AthenaError as error:
            return _clear(error)
        if isinstance(last, RunFailed):
            return _clear(last.error or AthenaError(last.message, last.fix))
        assert isinstance(last, AnswerFinished)
        return last.answer


def _ingested(folder: Path) -> None:
    with closing(open_data(folder)) as athena:
        try:
            athena.ingest([folder / "manual"])
        except AthenaError as error:
            _clear(error)


def _salvaged(folder: Path) -> None:
    """What was saved can be used."""
    shutil.rmtree(folder / "saved", ignore_errors=True)
    with closing(open_data(folder)) as athena:
        try:
            salvage(athena.settings.data_dir, folder / "saved" / "data")
        except AthenaError as error:
            _clear(error)
            return
    with closing(open_data(folder / "saved")) as athena:
        athena.ingest([folder / "manual"])
        assert diagnose(athena).ok, [check for check in diagnose(athena).checks if not check.ok]


def _clear(error: AthenaError) -> str:
    assert error.fix, f"no advice: {error}"
    return str(error)
