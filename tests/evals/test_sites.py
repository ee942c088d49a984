"""Sites: their own titles are asked for, and what readers would not see is counted."""

from __future__ import annotations

from pathlib import Path

from evals.sites import measure, table


def test_a_site_without_rows_is_asked_for_its_own_titles(tmp_path: Path) -> None:
    for name in ("Pumps", "Fans", "Twins"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nHow {name} hum.\n\n!!! note\n", encoding="utf-8")
    (tmp_path / "again.md").write_text("# Twins\n\nThe same title.\n", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("unread", encoding="utf-8")
    site = measure("pumps", tmp_path, [], [])
    assert (site.counts["titles"], site.counts["first"], site.counts["three"]) == (2, 2, 2)
    assert (site.counts["pages"], site.counts["unread"], site.counts["marked"]) == (4, 1, 0)
    assert "| pumps | 4 | 2 / 2 of 2 |" in table([site])
