"""What is looked at in a memory that does everything wrong, and in Athena's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import scripts
from bench.memory_player import AthenaMemory
from bench.scripts import Believed, Outcome, Script, load_scripts, play
from memory.options import PRESETS
from pipeline.models.embedding import OnnxEncoder

SCRIPTS = {script.name: script for script in load_scripts()}


class Notebook:
    """Writes down everything, of everybody, again and again, and tears nothing out."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def remember(self, user: str, text: str, *, at: float, fact: bool) -> None:
        self.lines.append(text)

    def read_document(self, user: str, source: str, text: str, *, at: float) -> None:
        self.lines.append(text)

    def search(
        self, user: str, query: str, *, at: float, as_of: float | None, known_at: float | None
    ) -> Sequence[str]:
        return self.lines

    def recalled(self, user: str, message: str, *, at: float) -> Sequence[str]:
        return self.lines

    def believed(self, user: str, *, at: float) -> Sequence[Believed]:
        return [Believed(line) for line in self.lines]

    def forget(self, user: str, query: str, *, words: Sequence[str], at: float) -> None:
        pass

    def files_with(self, words: Sequence[str]) -> Sequence[str]:
        return ["notebook"]


class Sieve(Notebook):
    """Keeps nothing."""

    def remember(self, user: str, text: str, *, at: float, fact: bool) -> None:
        pass


def values(script: Script, player: scripts.Player) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for outcome in play(script, player):
        found.setdefault(outcome.measure, []).append(outcome.value)
    return found


def test_a_memory_that_keeps_everything_fails_what_it_should() -> None:
    assert values(SCRIPTS["moving-house"], Notebook())[scripts.NOW] == [0, 0]
    assert set(values(SCRIPTS["moving-house"], Notebook())[scripts.THEN]) == {0}
    assert values(SCRIPTS["the-same-again"], Notebook())[scripts.GROWTH] == [2, 1.5]
    assert sum(values(SCRIPTS["small-talk"], Notebook())[scripts.INJECTED]) > 7
    assert values(SCRIPTS["forget-the-piano"], Notebook())[scripts.DELETION] == [1, 1]
    assert sum(values(SCRIPTS["two-users"], Notebook())[scripts.ISOLATION]) > 0
    assert sum(values(SCRIPTS["instructions"], Notebook())[scripts.ACTED]) > 0
    assert sum(values(SCRIPTS["secrets"], Notebook())[scripts.SECRETS]) == 4
    assert set(values(SCRIPTS["who-is-right"], Notebook())[scripts.DISPUTES]) == {0}


def test_a_memory_that_keeps_nothing_has_retired_everything() -> None:
    found = values(SCRIPTS["many-things-at-once"], Sieve())
    assert set(found[scripts.RETIRED]) == {1}
    assert found[scripts.RECALLED if scripts.RECALLED in found else scripts.NOW] == [0]


@pytest.mark.parametrize("preset", [name for name, preset in PRESETS.items() if preset.recalls])
@pytest.mark.parametrize("name", ["back-and-forth", "two-users", "forget-the-piano", "more-instructions"])
def test_athenas_memory_as_scripts_use_it(tmp_path: Path, name: str, preset: str) -> None:
    player = AthenaMemory(tmp_path, preset=preset, encoder=OnnxEncoder())  # type: ignore[arg-type]
    try:
        wrong = [outcome for outcome in play(SCRIPTS[name], player) if not _well(outcome)]
    finally:
        player.close()
    assert not wrong


def test_nothing_is_kept_by_the_presets_that_keep_nothing(tmp_path: Path) -> None:
    player = AthenaMemory(tmp_path, preset="none", encoder=OnnxEncoder())
    try:
        player.remember("ada", "Remember that I live in Oulu.", at=1.0, fact=True)
        assert player.believed("ada", at=2.0) == []
        assert not player.keeps
    finally:
        player.close()


def _well(outcome: Outcome) -> bool:
    shares = (scripts.NOW, scripts.THEN, scripts.RECALLED, scripts.DISPUTES, scripts.GROWTH)
    return outcome.value == float(outcome.measure in shares)
