"""Athena's searches as they are measured: timed, and ranked by file."""

import json

from athena import load_settings, open_athena
from bench.athena_worker import main


def test_every_question_has_a_time_and_its_file_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "fan.md").write_text("# Cabin fan\n\nThe fan turns. It must not stop.\n")
    (tmp_path / "docs" / "pump.md").write_text(
        "# Coolant pump\n\nThe pump moves water.\n\n## Noise\n\nIt hums.\n"
    )
    athena = open_athena(load_settings(llm="none", data_dir=tmp_path / "index"))
    athena.ingest([tmp_path / "docs"])
    athena.close()
    questions, report = tmp_path / "questions.json", tmp_path / "report.json"
    questions.write_text(json.dumps(["what moves the water?", "does the cabin fan stop?"]))
    main(["--data-dir", str(tmp_path / "index"), "--questions", str(questions), "--report", str(report)])
    found = json.loads(report.read_text())
    assert found["sources"] == [["pump.md", "fan.md"], ["fan.md", "pump.md"]], "each file once, best first"
    assert len(found["ms"]) == 2
    assert min(found["ms"]) > 0
    assert found["passages"] == 4
