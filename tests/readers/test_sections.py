"""Sections: CommonMark's headings, paths, offsets and metadata."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from llama_index.core.schema import NodeRelationship, TextNode

from readers.errors import ReaderError
from readers.levels import document_id, section_id
from readers.llamaindex import MarkdownReader, SectionNode
from tests.readers.oracle import read


def test_the_level_is_that_of_the_heading() -> None:
    text = "# ECS\n\nIntro.\n\n## Fan\n\nTurns.\n\n### Speed\n\nFast.\n\n# EPS\n\nPower.\n"
    assert [section.metadata["level"] for section in read(text)] == [1, 2, 3, 1]


def test_metadata_and_offsets() -> None:
    text = "Before.\n\n# Valves\n\nFirst line,\nsecond line.\n\n"
    before, section = read(text, source="systems/ecs.md")
    assert section.id_ == section_id(document_id("systems/ecs.md"), ["Valves"], 0)
    assert (section.start_char_idx, section.end_char_idx) == (19, 43)
    assert text[19:43] == section.text == "First line,\nsecond line."
    assert {key: value for key, value in section.metadata.items() if key != "hash"} == {
        "source": "systems/ecs.md",
        "title": "Valves",
        "heading_path": ["Valves"],
        "level": 1,
        "start_line": 5,
        "end_line": 6,
    }
    assert section.relationships[NodeRelationship.SOURCE].node_id == document_id("systems/ecs.md")  # type: ignore[union-attr]
    assert (before.text, before.metadata["heading_path"], before.metadata["level"]) == ("Before.", [], 0)


def test_headings_repeated_are_told_apart_by_how_often() -> None:
    text = "# A\n## Notes\none\n## Notes\ntwo\n## Notes\n## Notes\nthree\n# A\n## Notes\nfour"
    sections = read(text)
    assert {tuple(section.metadata["heading_path"]) for section in sections} == {("A", "Notes")}
    expected = [section_id(document_id("manual.md"), ["A", "Notes"], count) for count in (0, 1, 3, 4)]
    assert [section.id_ for section in sections] == expected


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Front\n---\n## Two\n\ntext\n\n# One\n", "One"),
        ("---\ntitle: Front\n---\n## Two\n\ntext\n", "Front"),
        ("+++\ntitle = 'Front'\n+++\ntext", "Front"),
        ("## Two\n\ntext\n", "valves"),
        ("---\ntitle: ' '\n---\n#\n\ntext\n", "valves"),
    ],
)
def test_the_title(text: str, title: str) -> None:
    assert {section.metadata["title"] for section in read(text, source="systems/valves.md")} == {title}


def test_front_matter_is_metadata_and_no_text() -> None:
    text = "---\nlayout: page\ntags: [a]\n---\n\nIntro.\n\n# A\n\ntext"
    intro, section = read(text)
    assert (intro.text, intro.metadata["start_line"]) == ("Intro.", 6)
    assert intro.metadata["front_matter"] == section.metadata["front_matter"] == {"layout": "page"}
    assert "front_matter" not in read("text")[0].metadata


def test_the_hash_changes_with_what_is_embedded() -> None:
    def hashes(text: str) -> list[str]:
        return [section.metadata["hash"] for section in read(text)]

    before = hashes("# A\n\none\n\n## B\n\ntwo")
    assert hashes("intro\n\n# A\n\none\n\n\n## B\n\ntwo\n")[1:] == before
    assert [a == b for a, b in zip(before, hashes("# A\n\none\n\n## B\n\n2"), strict=True)] == [True, False]
    assert [a == b for a, b in zip(before, hashes("# A\n\none\n\n## C\n\ntwo"), strict=True)] == [True, False]


def test_line_endings_and_byte_order_mark_move_offsets_only() -> None:
    text = "# A\n\none\ntwo\n\n## B\n\n> three\n> four\n"
    for variant in (text.replace("\n", "\r\n"), text.replace("\n", "\r"), "\ufeff" + text):
        sections = read(variant)
        assert [section.metadata["heading_path"] for section in sections] == [["A"], ["A", "B"]]
        assert [variant[section.start_char_idx : section.end_char_idx] for section in sections] == [
            section.text for section in sections
        ]
        assert [section.metadata["start_line"] for section in sections] == [3, 8]
        assert [section.id_ for section in sections] == [section.id_ for section in read(text)]


def test_blocks_are_forgotten_with_the_text_and_by_serialising() -> None:
    (section,) = read("# A\n\ntext")
    assert isinstance(section, SectionNode)
    assert section.remembered()
    assert SectionNode.from_dict(section.to_dict()).remembered() is None
    section.set_content("another text")
    assert section.remembered() is None


def test_metadata_are_json() -> None:
    (section,) = read("---\na: 2026-01-01\nb: 1\n---\ntext")
    assert json.loads(json.dumps(section.metadata)) == section.metadata
    assert TextNode.from_json(section.to_json()).text == "text"


def test_documents_for_llama_index(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\none\n\n## B\n\ntwo\n")
    (tmp_path / "b.md").write_bytes(b"\xff")
    problems: list[ReaderError] = []
    documents = MarkdownReader().load_data([tmp_path], on_problem=problems.append)
    sections = read((tmp_path / "a.md").read_text(), source="a.md")
    assert [document.id_ for document in documents] == [section.id_ for section in sections]
    assert [document.text for document in documents] == ["one", "two"]
    offsets = {"start_char_idx": 16, "end_char_idx": 19}
    assert documents[1].metadata == {**sections[1].metadata, "heading_path": "A › B", **offsets}
    assert [problem.source for problem in problems] == ["b.md"]


@pytest.mark.parametrize("name", ["b.md", "missing.md", "notes.txt"])
def test_no_failure_is_lost_silently(tmp_path: Path, name: str) -> None:
    (tmp_path / "b.md").write_bytes(b"\xff")
    (tmp_path / "notes.txt").write_text("text")
    with pytest.raises(ReaderError, match=f"Cannot read '.*{name}'"):
        MarkdownReader().load_data([tmp_path / name])
