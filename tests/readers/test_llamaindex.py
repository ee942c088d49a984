"""Reading and cutting as LlamaIndex's components."""

from __future__ import annotations

from pathlib import Path

import pytest
from llama_index.core.schema import MetadataMode, TextNode

from readers.levels import document_id
from readers.llamaindex import MarkdownReader, PunktSentenceParser
from readers.source import ReaderError
from tests.readers.oracle import leaves_of, read

TEXT = "# A\n\n    code\n\n> One.\n> Two.\n\n1. Item\n\n| a |\n|---|\n| b |\n\n[r]: /x\n\n## B\n\nText.\r\n"


def test_documents_are_sections_with_flat_metadata(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(TEXT, newline="")
    documents = MarkdownReader().load_data([tmp_path], extra_info={"team": "operations"})
    assert [(one.id_, one.text) for one in documents] == [(s.node_id, s.text) for s in read(TEXT, "a.md")]
    assert documents[1].metadata["heading_path"] == "A › B"
    assert not any(isinstance(value, list | dict) for one in documents for value in one.metadata.values())
    assert {one.ref_doc_id for one in documents} == {document_id("a.md")}
    assert "operations" in documents[1].get_content(MetadataMode.EMBED)
    assert "a.md" not in documents[1].get_content(MetadataMode.EMBED)


@pytest.mark.parametrize("name", ["b.md", "missing.md", "notes.json"])
def test_a_file_that_cannot_be_read_raises(tmp_path: Path, name: str) -> None:
    (tmp_path / "b.md").write_bytes(b"\xff")
    (tmp_path / "notes.json").write_text("text")
    with pytest.raises(ReaderError, match=f"Cannot read '.*{name}'"):
        MarkdownReader().load_data([tmp_path / name])


def test_leaves_of_documents_are_those_of_their_sections(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(TEXT, newline="")
    documents = MarkdownReader().load_data(tmp_path)
    leaves = PunktSentenceParser().get_nodes_from_documents(documents)
    expected = leaves_of(TEXT, source="a.md")
    assert [(leaf.node_id, leaf.get_content()) for leaf in leaves] == [(e.node_id, e.text) for e in expected]
    assert [leaf.metadata["start_line"] for leaf in leaves] == [e.metadata["start_line"] for e in expected]
    children = [child.node_id for one in documents for child in one.child_nodes or ()]
    assert children == [leaf.node_id for leaf in leaves]
    assert {leaf.ref_doc_id for leaf in leaves} == {document_id("a.md")}


def test_nodes_from_elsewhere_are_parsed_by_their_text() -> None:
    node = TextNode(id_="n1", text="# Title\n\nOne. Two.\n\n- Item\n", start_char_idx=100)
    leaves = [
        leaf for leaf in PunktSentenceParser().get_nodes_from_documents([node]) if isinstance(leaf, TextNode)
    ]
    assert [leaf.text for leaf in leaves] == ["# Title", "One.", "Two.", "Item"]
    assert [leaf.start_char_idx for leaf in leaves] == [100, 109, 114, 122]
    assert [leaf.metadata["start_line"] for leaf in leaves] == [1, 3, 3, 5]
    assert leaves[0].ref_doc_id is None
