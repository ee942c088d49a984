"""Included files are part of a document's text: where they lie in the folder, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from readers.corpus import MarkdownCorpus
from readers.cutting import SentenceCutter
from readers.files import Source, read_source
from readers.levels import Sentence
from tests.readers.oracle import count_words

RUST = """// ANCHOR: all
fn main() {
    // ANCHOR: here
    let s = 1;
    // ANCHOR_END: here
}
// ANCHOR_END: all
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A folder to be indexed, with a listing beside the pages and a secret beside the folder."""
    folder = tmp_path / "book"
    for name, content in {
        "book/src/one.md": "# One\n\n```rust\n{{#rustdoc_include ../listings/a.rs:here}}\n```\n\nEnd.\n",
        "book/listings/a.rs": RUST,
        "book/listings/.hidden": "hidden",
        "book/listings/build/out.txt": "ignored",
        "book/.gitignore": "build/\n",
        "secret.md": "secret",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="")
    return folder


def read(folder: Path, text: str = "", *, name: str = "src/one.md", max_bytes: int = 10_000) -> Source:
    if text:
        (folder / name).write_bytes(text.encode())
    return read_source(folder / name, max_bytes=max_bytes, source=name)


def test_a_listing_is_a_leaf_with_the_line_of_its_directive(book: Path) -> None:
    reader = MarkdownCorpus(lambda: SentenceCutter(count_words), max_bytes=10_000)
    content = reader.read(book / "src/one.md", source="src/one.md")
    assert content.text == "# One\n\n```rust\n    let s = 1;\n```\n\nEnd.\n"
    sections, sentences = reader.cut(content.text, source="src/one.md")
    assert [content.text[leaf.start_char_idx : leaf.end_char_idx] for leaf in sentences] == [
        "let s = 1;",
        "End.",
    ]
    assert [leaf.metadata["start_line"] for leaf in sentences] == [4, 7]
    assert (sections[0].metadata["start_line"], sections[0].metadata["end_line"]) == (3, 7)


def test_lines_are_the_files_own(book: Path) -> None:
    reader = MarkdownCorpus(lambda: SentenceCutter(count_words), max_bytes=10_000)

    def lines(sentences: list[Sentence]) -> list[tuple[str, int, int]]:
        return [(leaf.text, leaf.metadata["start_line"], leaf.metadata["end_line"]) for leaf in sentences]

    (book / "part.md").write_text("Included.\n\nTwice.\n\n- a\n- b", encoding="utf-8")
    (book / "all.md").write_text(
        "Before.\r\n{{#include part.md}}\r\n\r\nAfter.\r\n", encoding="utf-8", newline=""
    )
    content = reader.read(book / "all.md", source="all.md")
    expected = [
        ("Before.", 1, 1),
        ("Included.", 2, 2),
        ("Twice.", 2, 2),
        ("a", 2, 2),
        ("b", 2, 2),
        ("After.", 4, 4),
    ]
    assert lines(reader.cut(content.text, source="all.md")[1]) == expected
    later = lines(reader.cut(content.text, source="all.md")[1])  # from the index: the file is not read
    assert [line[1] for line in later] == [1, 2, 4, 6, 7, 9]


def test_the_hash_changes_with_what_is_included(book: Path) -> None:
    before = read(book)
    assert read(book) == before
    (book / "listings/a.rs").write_text(RUST.replace("1", "2"), encoding="utf-8")
    changed = read(book)
    assert changed.hash != before.hash
    (book / "listings/a.rs").unlink()
    assert read(book).hash not in (changed.hash, before.hash)
    assert "{{#rustdoc_include" in read(book).text


@pytest.mark.parametrize(
    ("directive", "text"),
    [
        ("{{#include ../listings/a.rs:here}}", "    let s = 1;"),
        ("{{#include ../listings/a.rs:2}}", "fn main() {"),
        ("{{#include ../listings/a.rs:2:4}}", "fn main() {\n    let s = 1;"),
        ("{{#include ../listings/a.rs::2}}", "fn main() {"),
        ("{{#include ../listings/a.rs:6:}}", "}"),
        ("{{#include ../listings/a.rs}}", "fn main() {\n    let s = 1;\n}"),
        ("{{#playground ../listings/a.rs editable}}", "fn main() {\n    let s = 1;\n}"),
        ("a {{#include ../listings/a.rs:2}} b", "a fn main() { b"),
        ('  --8<-- "listings/a.rs:2:4"', "  fn main() {\n      let s = 1;"),
        ('--8<-- "../listings/a.rs:here"', "    let s = 1;"),
    ],
)
def test_what_is_included(book: Path, directive: str, text: str) -> None:
    assert read(book, f"A.\n{directive}\nB.").text == f"A.\n{text}\nB."


@pytest.mark.parametrize(
    "directive",
    [
        *("{{#include ../../secret.md}}", "{{#include /etc/hostname}}", "{{#include ../listings}}"),
        *("{{#include ../listings/.hidden}}", "{{#include ../listings/build/out.txt}}"),
        *("{{#include ../listings/none.rs}}", "{{#include one.md}}", "{{#include link.md}}"),
        *("{{#include linked/a.rs}}", "{{#include latin.txt}}", "{{#include pipe}}"),
        *("{{#include large.txt}}", "{{#include " + "x" * 5_000 + "}}", "{{#include \xa0}}"),
        *("\\{{#include ../listings/a.rs}}", "{{#title ../listings/a.rs}}", '--8<-- "../secret.md"'),
        *('--8<-- "https://example.org/a.md"', 'a --8<-- "listings/a.rs"'),
    ],
)
def test_what_is_not_included(book: Path, directive: str) -> None:
    (book / "src/link.md").symlink_to("../../secret.md")
    (book / "src/linked").symlink_to("../listings")
    (book / "src/latin.txt").write_bytes(b"\xe9")
    (book / "src/large.txt").write_bytes(b"x" * 20_000)
    os.mkfifo(book / "src/pipe")
    assert read(book, f"A.\n{directive}\nB.").text == f"A.\n{directive}\nB."


def test_a_file_alone_includes_from_its_own_folder(book: Path) -> None:
    (book / "src/b.txt").write_text("b", encoding="utf-8")
    (book / "src/one.md").write_text("{{#include ../listings/a.rs}}\n{{#include b.txt}}", encoding="utf-8")
    text = read_source(book / "src/one.md", max_bytes=10_000, source="one.md").text
    assert text == "{{#include ../listings/a.rs}}\nb"
    assert read_source(book / "src/one.md", max_bytes=10_000, source="other/name.md").text == text


def test_included_files_include_but_in_no_circle_and_not_without_end(book: Path) -> None:
    (book / "src/a.md").write_text("a {{#include deep/b.md}}", encoding="utf-8")
    (book / "src/deep").mkdir()
    (book / "src/deep/b.md").write_text("b {{#include ../a.md}} {{#include 0.md}}", encoding="utf-8")
    for depth in range(9):
        content = f"{depth} {{{{#include {depth + 1}.md}}}}"
        (book / f"src/deep/{depth}.md").write_text(content, encoding="utf-8")
    assert read(book, "{{#include a.md}}").text == "a b {{#include ../a.md}} 0 1 {{#include 2.md}}"


@pytest.mark.slow
def test_a_file_is_included_once_and_as_often_again_as_is_little(book: Path) -> None:
    listing = book / "listings" / "long.txt"
    listing.write_text("word\n" * 12_000, encoding="utf-8")
    directive = "{{#include ../listings/long.txt}}\n"
    text = read(book, directive * 100, max_bytes=10**7).text
    assert text.count("word") == 2 * 12_000  # 60,000 characters, of which there may be 100,000 again
    assert text.count(directive) == 98
    pieces = "".join(f"{{{{#include ../listings/long.txt:{line}:12000}}}}\n" for line in range(1, 60))
    assert len(read(book, pieces, max_bytes=10**7).text) < 2 * 12_000 * 5 + 2 * len(pieces)


def test_many_small_pages_index_a_large_file_once_and_the_report_names_the_others(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "big.txt").write_text("A pump hums.\n" * 10_000, encoding="utf-8")
    for number in range(10):
        (folder / f"{number}.md").write_text("{{#include big.txt}}\n", encoding="utf-8")
    corpus = MarkdownCorpus(lambda: SentenceCutter(count_words), max_bytes=10**7)
    for _ in range(2):  # an ingest includes as much as the one before it
        pages = [corpus.read(folder / f"{number}.md", source=f"{number}.md") for number in range(10)]
        assert [page.text.count("pump") for page in pages] == [10_000, *[0] * 9]
        assert [list(page.not_included) for page in pages] == [[], *[["big.txt"]] * 9]
        corpus.close()


@pytest.mark.slow
def test_no_more_is_included_than_a_file_may_have(book: Path) -> None:
    (book / "src/b.txt").write_text("b" * 400, encoding="utf-8")
    text = read(book, "{{#include b.txt}}\n" * 20, max_bytes=2_000).text
    assert len(text) < 2_000
    assert text.count("b" * 400) == 4
    (book / "src/empty.txt").write_text("", encoding="utf-8")
    assert "{{#include empty.txt}}" in read(book, "{{#include empty.txt}}\n" * 8_000, max_bytes=200_000).text


PIECES = st.sampled_from(
    ["{{#include a.rs}}", "{{#include ../b.rs:1:x}}", '\n--8<-- "a.rs"\n', "{{#", "}}", "\n", "\r\n", "x"]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_each_line_has_a_line_of_its_own(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "a.rs").write_text("1\n2\n{{#include a.rs}}\n", encoding="utf-8")
    (folder / "b.md").write_bytes(b"x" + text.encode())
    content = read_source(folder / "b.md", max_bytes=1_000)
    if content.lines:
        assert len(content.lines) == len(content.text.replace("\r\n", "\n").split("\n"))
        assert list(content.lines) == sorted(content.lines)
        assert content.lines[-1] <= len(text.replace("\r\n", "\n").split("\n"))
    else:
        assert content.text == "x" + text
