"""Token chunks: at most so many tokens, overlapping by at most so many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import Document, TextNode

from evals.tokens import FixedTokenParser, RecursiveTokenParser
from tests.readers.oracle import count_words, read

PARSERS = (FixedTokenParser, RecursiveTokenParser)


def chunks(text: str, kind: type[FixedTokenParser], size: int, overlap: int) -> list[TextNode]:
    parser = kind(count_tokens=count_words, chunk_tokens=size, overlap_tokens=overlap)
    nodes = parser.get_nodes_from_documents([Document(text=text)])
    return [node for node in nodes if isinstance(node, TextNode)]


def test_fixed_chunks_overlap() -> None:
    text = "a b c d e f g h"
    assert [chunk.text for chunk in chunks(text, FixedTokenParser, 4, 1)] == ["a b c", "c d e f", "f g h"]
    assert [chunk.text for chunk in chunks(text, FixedTokenParser, 4, 0)] == ["a b c d", "e f g h"]
    assert [chunk.text for chunk in chunks(text, FixedTokenParser, 8, 3)] == [text]


def test_recursive_chunks_end_where_the_text_does() -> None:
    text = "One two three.\nFour five six.\n\nSeven. Eight nine ten."
    assert [chunk.text for chunk in chunks(text, RecursiveTokenParser, 8, 0)] == [
        "One two three.\nFour five six.",
        "Seven. Eight nine ten.",
    ]


@pytest.mark.parametrize("kind", PARSERS)
@given(text=st.text(alphabet="ab \n.", max_size=200), size=st.integers(2, 12), overlap=st.integers(0, 1))
def test_chunks_are_spans_within_the_limit_and_lose_nothing(
    kind: type[FixedTokenParser], text: str, size: int, overlap: int
) -> None:
    covered: set[int] = set()
    for chunk in chunks(text, kind, size, overlap):
        assert chunk.start_char_idx is not None
        assert chunk.end_char_idx is not None
        assert chunk.text == text[chunk.start_char_idx : chunk.end_char_idx] == chunk.text.strip() != ""
        assert min(count_words(chunk.text), len(chunk.text)) <= size
        covered.update(range(chunk.start_char_idx, chunk.end_char_idx))
    assert {index for index, character in enumerate(text) if not character.isspace()} <= covered


@pytest.mark.parametrize("kind", PARSERS)
def test_chunks_of_sections_know_their_file(kind: type[FixedTokenParser]) -> None:
    text = "# A\n\none two three four"
    parser = kind(count_tokens=count_words, chunk_tokens=2, overlap_tokens=0)
    nodes = parser.get_nodes_from_documents(read(text))
    assert [
        text[node.start_char_idx : node.end_char_idx] for node in nodes if isinstance(node, TextNode)
    ] == [
        "one two",
        "three four",
    ]
    assert nodes[1].metadata["heading_path"] == ["A"]
    assert kind.class_name() == kind.__name__


def test_an_overlap_as_large_as_the_chunk_is_refused() -> None:
    with pytest.raises(ValueError, match=r"overlap_tokens \(5\) must be less than chunk_tokens \(5\)"):
        FixedTokenParser(count_tokens=count_words, chunk_tokens=5, overlap_tokens=5)
