"""Small documentation of the kinds that people have, asked through the program with the bundled model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from athena import Athena, load_settings, open_athena
from pipeline.ingest import IngestReport

Files = Mapping[str, str | bytes]
Open = Callable[[Files], tuple[Athena, IngestReport]]

TEAMS: Files = {
    "osprey.md": "---\ntitle: Osprey\ndescription: The group that mends sails.\n---\n\n"
    "They gather on Tuesdays at 10:15.\n",
    "petrel.md": "---\ntitle: Petrel\n---\n\nThey gather on Fridays at 16:45.\n",
    "gulls/T-42 winch.md": "---\ntags: [deck]\n---\n\n## Whom to call\n\n- Number: 555-0178\n- Deck: 4\n",
    "gulls/T-43 crane.md": "## Whom to call\n\n- Number: 555-0199\n- Deck: 5\n",
    "log/2023-03-14.md": "Painted the hull.\n",
    "log/2023-03-15.md": "Oiled the rudder.\n",
}
RULES: Files = {
    "rules.md": "# Harbour rules\n\n## 4 Berths\n\n### 4.1 Booking\n\nBook a week ahead.\n\n### 4.2 Lines\n\n"
    "#### 4.2.1 Bow line\n\nUse two turns.\n\n#### 4.2.2 Stern line\n\nUse three turns.\n\n## 5 Fuel\n\n"
    "### 5.1 Hours\n\nThe pump opens at seven.\n",
}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    made: list[Athena] = []

    def build(files: Files) -> tuple[Athena, IngestReport]:
        for name, content in files.items():
            path = tmp_path / "docs" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        athena = open_athena(load_settings(data_dir=tmp_path / "index", llm="none", memory="none"))
        made.append(athena)
        return athena, athena.ingest(tmp_path / "docs")

    yield build
    for athena in made:
        athena.close()


def first_file(athena: Athena, question: str) -> str:
    return str(athena.search(question).passages[0].section.metadata["source"])


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
def test_a_page_is_found_by_its_names(opened: Open, question: str, file: str) -> None:
    athena, _ = opened(TEAMS)
    assert first_file(athena, question) == file
    answer = athena.ask(question)
    assert file in [one.source for one in (answer.citations or answer.nearest)[:2]]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What does section 4.2.1 say?", "Use two turns."),
        ("section 4.2.2", "Use three turns."),
        ("5.1", "The pump opens at seven."),
    ],
)
def test_a_section_called_by_its_number_answers_alone(opened: Open, question: str, text: str) -> None:
    athena, _ = opened(RULES)
    answer = athena.ask(question)
    assert answer.verdict == "answered"
    assert [citation.quote for citation in answer.citations] == [text]


def test_a_page_whose_title_is_the_question_comes_before_pages_that_have_the_words(opened: Open) -> None:
    words = "tank pressure too high and tank pressure too high again"
    athena, _ = opened(
        {
            "TankPressureTooHigh.md": "# TankPressureTooHigh\n\nOpen the valve.\n",
            "list.md": f"# All alarms\n\n## Tank pressure too high\n\n{words}\n",
            "notes.md": f"# Release notes\n\n{words}, {words}.\n",
        }
    )
    assert first_file(athena, "Tank Pressure Too High") == "TankPressureTooHigh.md"


def test_symbols_and_long_options_are_found_exactly(opened: Open) -> None:
    athena, _ = opened(
        {
            "variables.md": "# Variables\n\n## Status\n\n`$?` holds the state of the last command.\n\n"
            "## Id\n\n`$$` holds the number of the process.\n",
            "options.md": "# Options\n\n- `--frozen-list`: refuses changes.\n- `--list`: prints all.\n",
        }
    )
    assert "`$?`" in athena.ask("what is $?").citations[0].quote
    assert "--frozen-list" in athena.ask("--frozen-list").citations[0].quote


@pytest.mark.parametrize(
    ("question", "answer"),
    [("which port", "9100"), ("which port in v1.4", "8100"), ("which port had version 2.0", "9000")],
)
def test_a_version_is_answered_from_its_folder_and_else_from_the_newest(
    opened: Open, question: str, answer: str
) -> None:
    page = "# Server\n\nThe server listens on port {}.\n"
    ports = {"v1.4": 8100, "v2.0": 9000, "v2.10": 9100}
    athena, _ = opened({f"{version}/server.md": page.format(port) for version, port in ports.items()})
    assert answer in athena.ask(question).citations[0].quote


def test_documents_are_found_in_their_language_and_marked_as_not_calibrated(opened: Open) -> None:
    athena, report = opened(
        {
            "ja.md": "# 港の規則\n\n## 係留\n\n船首のロープは二回巻いてください。\n\n"
            "## 燃料\n\nポンプは七時に開きます。\n",
            "ja2.md": "# 帆の手入れ\n\n白い帆は毎週洗ってください。黒い帆は月に一度だけ洗います。\n",
        }
    )
    assert report.languages == {"ja": 2}
    assert any("ATHENA_EMBEDDING_MODEL" in warning for warning in report.warnings)
    found = athena.search("ポンプはいつ開きますか")
    assert "ポンプは七時に開きます" in found.passages[0].section.text
    assert found.answerability.verdict != "answered"
