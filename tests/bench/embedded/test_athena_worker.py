"""Leaves as they are exported for the baseline."""

import json

from bench.embedded.athena_worker import main
from bench.embedded.corpora import count_by_source, read_lines

TEXT = """# Cabin fan

The fan turns. It must not stop.

## Speed

| rpm | meaning |
|---|---|
| 900 | nominal |
"""


def test_the_exported_leaves_are_what_athena_embeds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "fan.md").write_text(TEXT, encoding="utf-8")
    options = ["--folder", tmp_path / "docs", "--leaves", tmp_path / "out", "--report", tmp_path / "report"]
    main(["export", *map(str, options)])
    leaves, sections = (read_lines(tmp_path / "out" / f"{name}.jsonl") for name in ("leaves", "sections"))
    assert [leaf["prefix"] + leaf["text"] for leaf in leaves] == [
        "Cabin fan: The fan turns.",
        "Cabin fan: It must not stop.",
        "Cabin fan > Speed: | rpm | meaning |",
        "Cabin fan > Speed: | rpm | meaning |\n| 900 | nominal |",
    ]
    assert [(row["heading_path"], row["sentences"]) for row in sections] == [
        (["Cabin fan"], 2),
        (["Cabin fan", "Speed"], 2),
    ]
    assert {leaf["section"] for leaf in leaves} == {row["id"] for row in sections}
    assert count_by_source(leaves) == {"fan.md": 4}
    report = json.loads((tmp_path / "report").read_text())
    assert (report["leaves"], report["sections"]) == (4, 2)
    assert report["seconds"] > 0
