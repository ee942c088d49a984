"""What a file may ask for: names are short, short parts are few, and what is too much is plain text."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from readers import commonmark, cutting, sections
from readers.commonmark import MAX_TITLE
from readers.corpus import MarkdownCorpus
from readers.cutting import SentenceCutter
from readers.levels import Section, Sentence
from readers.sections import read_sections
from tests.readers.oracle import count_words


def cut(text: str, *, max_tokens: int = 254) -> tuple[Sequence[Section], Sequence[Sentence]]:
    corpus = MarkdownCorpus(lambda: SentenceCutter(count_words, max_tokens=max_tokens), max_bytes=10**7)
    return corpus.cut(text, source="a.md")


def words_of(nodes: Sequence[Section] | Sequence[Sentence]) -> str:
    return "".join("".join(filter(str.isalnum, node.text)) for node in nodes)


def test_a_heading_longer_than_a_name_is_a_paragraph() -> None:
    name, long = "n " * (MAX_TITLE // 2 - 1) + "n", "l " * (MAX_TITLE // 2) + "l"
    found = read_sections(f"# {name}\n\none\n\n## {long}\n\ntwo\n", source="a.md")
    assert [(section.metadata["heading_path"], section.text) for section in found] == [
        ([name], f"one\n\n## {long}\n\ntwo")
    ]
    assert found[0].metadata["title"] == name


@pytest.mark.parametrize("max_tokens", [5, 30, 254])
def test_sentences_beyond_the_limit_stay_together(max_tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "A b. C d! E f?\n\n- 1 2 3 4 5\n- x.\n\n" * 30
    _, every = cut(text, max_tokens=max_tokens)
    monkeypatch.setattr(cutting, "MAX_SENTENCES", 2)
    _, leaves = cut(text, max_tokens=max_tokens)
    assert [leaf.text for leaf in leaves[:3]] == ["A b.", "C d!", "E f?"]
    assert words_of(leaves) == words_of(every)
    assert len(leaves) <= len(every)
    assert all(min(len(leaf.text), count_words(leaf.text)) <= max_tokens for leaf in leaves)
    assert all(leaf.text == text[leaf.start_char_idx : leaf.end_char_idx] for leaf in leaves)


def test_blocks_beyond_the_limit_are_plain_text_and_a_warning_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(commonmark, "MAX_BLOCKS", 3)
    monkeypatch.setattr(sections, "MAX_BLOCKS", 3)
    _, leaves = cut("# A\n\n- one\n- two\n# B\n\n- three\n")
    assert [leaf.text for leaf in leaves] == ["one", "two", "# B\n\n- three"]
    assert leaves[-1].metadata["kind"] == "code"
    assert "as plain text" in caplog.text
