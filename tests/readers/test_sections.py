"""Sections: CommonMark's headings, paths, offsets and metadata."""

from __future__ import annotations

from readers.cutting import SentenceCutter
from readers.levels import document_id, section_id
from tests.readers.oracle import read, shown


def test_metadata_and_offsets() -> None:
    text = "Before.\n\n# Valves\n\nFirst line,\nsecond <b>line</b>.\n\n### Seats\n\nHard.\n"
    before, section, below = read(text, source="systems/v3.5/ecs.md")
    document = document_id("systems/v3.5/ecs.md")
    assert (section.document_id, section.node_id) == (document, section_id(document, ["Valves"], 1))
    assert (section.start_char_idx, section.end_char_idx) == (19, 50)
    assert text[19:50] == section.text == "First line,\nsecond <b>line</b>."
    assert {key: value for key, value in section.metadata.items() if key not in ("hash", "shown")} == {
        "source": "systems/v3.5/ecs.md",
        "title": "Valves",
        "heading_path": ["Valves"],
        "level": 1,
        "order": 1,
        "aliases": ["ecs"],
        "keywords": "systems\nv3.5",
        "version": "v3.5",
        "start_line": 5,
        "end_line": 6,
    }
    assert shown(section) == "First line,\nsecond line."
    assert (before.text, before.node_id) == ("Before.", section_id(document, ["Valves"], 0))
    assert [node.metadata["order"] for node in (before, section, below)] == [0, 1, 2]
    assert below.metadata["heading_path"] == ["Valves", "Seats"]
    assert read(text, language="de")[0].metadata["language"] == "de"
    assert "language" not in read(text, language="en")[0].metadata
    assert read(f"---\nlang: nb-NO\n---\n{text}", language="da")[0].metadata["language"] == "nb"
    assert "language" not in read(f"---\nlanguage: go\n---\n{text}")[0].metadata


def test_a_page_without_text_is_its_description() -> None:
    (section,) = read("---\ntitle: Bell\ndescription: It rings.\n---\n# Bell\n\n![](bell.png)\n")
    assert (section.text, section.start_char_idx) == ("It rings.", 29)
    assert [(one.text, one.metadata["start_line"]) for one in SentenceCutter(len).cut(section)] == [
        ("It rings.", 3)
    ]


def test_headings_repeated_are_told_apart_by_how_often() -> None:
    text = "# A\n## Notes\none\n## Notes\ntwo\n## Notes\n## Notes\nthree\n# A\n## Notes\nfour"
    sections = read(text)
    paths = [tuple(section.metadata["heading_path"]) for section in sections]
    assert paths == [("A", "Notes")] * 4
    expected = [section_id(document_id("manual.md"), ["A", "Notes"], count) for count in (0, 1, 3, 4)]
    assert [section.node_id for section in sections] == expected


def test_the_hash_changes_with_what_is_embedded() -> None:
    def hashes(text: str) -> list[str]:
        return [section.metadata["hash"] for section in read(text)]

    before = hashes("# A\n\none\n\n## B\n\ntwo")
    assert hashes("intro\n\n# A\n\none\n\n\n## B\n\ntwo\n")[1:] == before
    assert [a == b for a, b in zip(before, hashes("# A\n\none\n\n## B\n\n2"), strict=True)] == [True, False]
    assert [a == b for a, b in zip(before, hashes("# A\n\none\n\n## C\n\ntwo"), strict=True)] == [True, False]
