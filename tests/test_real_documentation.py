"""Small documentation of the kinds that people have, asked through the program with the bundled model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from athena import Athena, load_settings, open_athena
from pipeline.ingest import IngestReport

Files = Mapping[str, str]

TEAMS: Files = {
    "osprey.md": "---\ntitle: Osprey\ndescription: The group that mends sails.\n---\n\n"
    "They gather on Tuesdays at 10:15.\n",
    "petrel.md": "---\ntitle: Petrel\n---\n\nThey gather on Fridays at 16:45.\n",
    "gulls/T-42 winch.md": "---\ntags: [deck]\n---\n\n## Whom to call\n\n- Number: 555-0178\n- Deck: 4\n",
    "gulls/T-43 crane.md": "## Whom to call\n\n- Number: 555-0199\n- Deck: 5\n",
    "log/2023-03-14.md": "Painted the hull.\n",
    "log/2023-03-15.md": "Oiled the rudder.\n",
}


@contextmanager
def opened(folder: Path, files: Files) -> Iterator[tuple[Athena, IngestReport]]:
    """An Athena over these files."""
    for name, content in files.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    settings = load_settings(data_dir=folder / "index", llm="none", memory="none")
    with open_athena(settings) as athena:
        yield athena, athena.ingest(folder / "docs")


@pytest.mark.parametrize(
    ("question", "file"),
    [
        ("When does Osprey gather?", "osprey.md"),
        ("when is petrel", "petrel.md"),
        ("who mends sails", "osprey.md"),
        ("number of the T-42 winch", "gulls/T-42 winch.md"),
        ("what did we do on 2023-03-15", "log/2023-03-15.md"),
    ],
)
def test_a_page_is_found_by_its_names(tmp_path: Path, question: str, file: str) -> None:
    with opened(tmp_path, TEAMS) as (athena, _):
        assert athena.search(question).passages[0].section.metadata["source"] == file
        answer = athena.ask(question)
    assert file in [one.source for one in (answer.citations or answer.nearest)[:2]]


def test_documents_are_found_in_their_language_and_marked_as_not_calibrated(tmp_path: Path) -> None:
    files = {
        "ja.md": "# 港の規則\n\n## 係留\n\n船首のロープは二回巻いてください。\n\n"
        "## 燃料\n\nポンプは七時に開きます。\n",
        "ja2.md": "# 帆の手入れ\n\n白い帆は毎週洗ってください。黒い帆は月に一度だけ洗います。\n",
    }
    with opened(tmp_path, files) as (athena, report):
        found = athena.search("ポンプはいつ開きますか")
    assert report.languages == {"ja": 2}
    assert any("ATHENA_EMBEDDING_MODEL" in warning for warning in report.warnings)
    assert "ポンプは七時に開きます" in found.passages[0].section.text
    assert found.answerability.verdict != "answered"
