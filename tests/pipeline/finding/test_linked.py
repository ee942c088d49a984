"""Sections that a found sentence names by a code."""

from __future__ import annotations

from pathlib import Path

from athena import load_settings, open_athena

TABLE = (
    "# Alarms\n\n| Code | Title | Procedure |\n|---|---|---|\n"
    "| K-17 | SEAL LOST | P-9 |\n| K-18 | SEAL WET | P-8 |\n"
)
PROCEDURES = (
    "# Procedures\n\n## P-8 Drying\n\nWipe it.\n\n## P-9 New ring\n\nTurn the red wheel until it stops.\n"
)


def test_the_row_of_an_alarm_brings_its_procedure(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "alarms.md").write_text(TABLE)
    (tmp_path / "docs" / "procedures.md").write_text(PROCEDURES)
    for number in range(12):  # more pages about seals than passages are selected
        text = f"# Seal {number}\n\nA lost seal of kind {number} is a seal that was lost in store {number}.\n"
        (tmp_path / "docs" / f"seal-{number}.md").write_text(text)
    settings = load_settings(data_dir=tmp_path / "index", llm="none", memory="none")
    with open_athena(settings) as athena:
        athena.ingest(tmp_path / "docs")
        found = athena.search("K-17 SEAL LOST")
        only = athena.search("K-17 SEAL LOST", paths="alarms.md")
    paths = [passage.section.metadata["heading_path"] for passage in found.passages]
    assert ["Procedures", "P-9 New ring"] in paths[:3]
    assert ["Procedures", "P-8 Drying"] not in paths[:3]
    assert {passage.section.metadata["source"] for passage in only.passages} == {"alarms.md"}
