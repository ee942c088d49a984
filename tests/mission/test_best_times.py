from __future__ import annotations

from pathlib import Path

import pytest

from mission.errors import SavedGameError
from mission.games import read_best_times, record_win


def test_the_better_time_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "progress.json"
    assert not read_best_times(path).completed("ln2-tank")
    for seconds in (600, 420, 900):
        record_win(path, "ln2-tank", seconds)
    record_win(path, "mixture", 9000)
    assert dict(read_best_times(path).best_seconds) == {"ln2-tank": 420, "mixture": 9000}
    assert [file.name for file in path.parent.iterdir()] == ["progress.json"]


@pytest.mark.parametrize("damage", ["{", '{"ln2-tank": -1}', '["ln2-tank"]'])
def test_a_damaged_file_is_an_error(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "progress.json"
    path.write_text(damage, encoding="utf-8")
    with pytest.raises(SavedGameError, match="Cannot read the best times"):
        read_best_times(path)
