"""Headings as questions of which the right file is known, and SciFact as Markdown."""

import json

import pytest

from bench.corpora import KnownItem, existing, known_items, sample, scifact_as_markdown
from pipeline.errors import DatasetError
from readers.sections import read_sections


@pytest.fixture
def docs(tmp_path):
    pages = {
        "fan.md": "# Cabin fan\n\nIt turns.\n\n## Fan speed limits\n\n900 rpm.\n\n## Usage\n\nSwitch it.\n",
        "sub/pump.md": "# Coolant pump\n\nIt pumps.\n\n## FAN SPEED LIMITS\n\nNone.\n",
        "note.txt": "# Not Markdown\n\nText.\n",
    }
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_heading_that_stands_once_asks_for_its_file(docs):
    # "Fan speed limits" stands twice, "Usage" is one word
    items = known_items(docs, count=10)
    assert sorted(items, key=lambda item: item.text) == [
        KnownItem("Cabin fan", "fan.md"),
        KnownItem("Coolant pump", "sub/pump.md"),
    ]


def test_fewer_questions_are_the_first_of_more_whatever_the_order_of_the_sections():
    text = "".join(f"# Valve number {n}\n\nText {n}.\n\n" for n in range(30))
    sections = list(read_sections(text, source="valves.md"))
    items = sample(sections, count=20)
    assert len(items) == 20
    assert sample(reversed(sections), count=7) == items[:7]
    assert [item.text for item in items] != [f"Valve number {n}" for n in range(20)], (
        "a sample, not the first"
    )


def test_scifact_becomes_a_markdown_file_an_abstract(tmp_path):
    row = {"_id": 7, "title": "Cells", "text": "They divide."}
    (tmp_path / "corpus.jsonl").write_text(json.dumps(row))
    target = scifact_as_markdown(tmp_path, tmp_path / "markdown")
    assert (target / "7.md").read_text() == "# Cells\n\nThey divide.\n"


def test_missing_data_are_named_with_what_to_do(tmp_path):
    with pytest.raises(DatasetError, match=r"'.*' does not exist\. Name the folder .* ATHENA_TEST_DATA"):
        existing(tmp_path / "nowhere")
