"""Included files are part of a page's text: those that lie in the folder, and no others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from readers.source import IncludeBudget, LeftOut, Source, read_page

RUST = """// ANCHOR: all
fn main() {
    // ANCHOR: here
    let s = 1;
    // ANCHOR_END: here
}
// ANCHOR_END: all
"""
PYTHON = "import x\n# region main\nrun(7)\n# endregion\nstop()\n"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A folder to be indexed, with listings beside the pages and a secret beside the folder."""
    for name, content in {
        "book/src/one.md": "# One\n\n```rust\n{{#rustdoc_include ../listings/a.rs:here}}\n```\n\nEnd.\n",
        "book/listings/a.rs": RUST,
        "book/listings/b.py": PYTHON,
        "book/listings/.hidden": "hidden",
        "book/parts/part.md": "---\ntopic: include\n---\nIncluded.\n\nTwice.\n",
        "secret.md": "secret",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="")
    return tmp_path / "book"


def read(folder: Path, text: str = "", *, name: str = "src/one.md", max_bytes: int = 10_000) -> Source:
    if text:
        (folder / name).write_bytes(text.encode())
    return read_page(folder / name, max_bytes=max_bytes, source=name)


def test_the_hash_changes_with_an_included_file(book: Path) -> None:
    before = read(book)
    assert read(book) == before
    (book / "listings/a.rs").write_text(RUST.replace("1", "2"), encoding="utf-8")
    changed = read(book)
    assert changed.hash != before.hash
    (book / "listings/a.rs").unlink()
    assert read(book).hash not in (changed.hash, before.hash)
    without = read(book)
    assert "{{#rustdoc_include" in without.text
    assert without.left_out == (LeftOut("../listings/a.rs", "named by an include and not found"),)


PART = "Included.\n\nTwice."
MAIN = "fn main() {\n    let s = 1;\n}"


@pytest.mark.parametrize(
    ("directive", "text"),
    [
        ("{{#include ../listings/a.rs:here}}", "    let s = 1;"),
        ("{{#include ../listings/a.rs:2}}", "fn main() {"),
        ("{{#include ../listings/a.rs:2:4}}", "fn main() {\n    let s = 1;"),
        ("{{#include ../listings/a.rs::2}}", "fn main() {"),
        ("{{#include ../listings/a.rs:6:}}", "}"),
        ("{{#playground ../listings/a.rs editable}}", MAIN),
        ("a {{#include ../listings/a.rs:2}} b", "a fn main() { b"),
        ('  --8<-- "listings/a.rs:2:4"', "  fn main() {\n      let s = 1;"),
        ('--8<-- "../parts/part.md"', PART),
        ("{!parts/part.md!}", PART),
        ("{{< include ../parts/part.md >}}", PART),
        ('  {% include-markdown "../parts/part.md" heading-offset=1 %}', f"  {PART}"),
        ("<!--@include: ../parts/part.md-->", PART),
        ("<!-- @include: @/parts/part.md{3,} -->", "Twice."),
        ("<!--@include: ../listings/b.py{,1}-->", "import x"),
        ("<<< @/listings/b.py#main{1}", "```py\nrun(7)\n```"),
        ("{* ../listings/b.py ln[1:2:9, :1 ] *}", "```py\nimport x\nimport x\n```"),
        ("  {* ../listings/b.py ln[1,5:9] hl[2] *}", "  ```py\n  import x\n  stop()\n  ```"),
        ("[!INCLUDE [part](../parts/part.md)]", PART),
        ("[!code-python[](../listings/b.py#L5-L5)]", "```py\nstop()\n```"),
        ("[!code-python[Main](~/listings/b.py?name=main)]", "```py\nrun(7)\n```"),
        ("```{include} ../parts/part.md\n```", PART),
        (":::{literalinclude} ../listings/b.py\n:language: python\n:lines: 1-1\n:::", "```py\nimport x\n```"),
    ],
)
def test_a_directive_is_replaced_by_the_part_of_the_file(book: Path, directive: str, text: str) -> None:
    assert read(book, f"A.\n{directive}\nB.").text == f"A.\n{text}\nB."


@pytest.mark.parametrize(
    "directive",
    [
        *("{{#include ../../secret.md}}", "{{#include /etc/hostname}}", "{{#include ../listings}}"),
        *("{{#include ../listings/.hidden}}", "{{#include ../listings/none.rs}}", "{{#include one.md}}"),
        *("{{#include link.md}}", "{{#include linked/a.rs}}", "{{#include latin.txt}}", "{{#include pipe}}"),
        *("{{#include large.txt}}", "{{#include " + "x" * 5_000 + "}}", "{{#include \xa0}}"),
        *("\\{{#include ../listings/a.rs}}", "{{#title ../listings/a.rs}}", '--8<-- "../../secret.md"'),
        *('--8<-- "https://example.org/a.md"', 'a --8<-- "listings/a.rs"', "<<< ../../secret.md"),
        *("{* ../../../secret.md *}", "[!INCLUDE [x](../../secret.md)]", "```{include} /etc/passwd\n```"),
    ],
)
def test_a_directive_stays_where_its_file_may_not_be_read(book: Path, directive: str) -> None:
    (book / "src/link.md").symlink_to("../../secret.md")
    (book / "src/linked").symlink_to("../listings")
    (book / "src/latin.txt").write_bytes(b"\xe9")
    (book / "src/large.txt").write_bytes(b"x" * 20_000)
    os.mkfifo(book / "src/pipe")
    assert read(book, f"A.\n{directive}\nB.").text == f"A.\n{directive}\nB."


def test_included_files_include_but_in_no_circle_and_not_without_end(book: Path) -> None:
    (book / "src/a.md").write_text("a {{#include deep/b.md}}", encoding="utf-8")
    (book / "src/deep").mkdir()
    (book / "src/deep/b.md").write_text("b {{#include ../a.md}} {{#include 0.md}}", encoding="utf-8")
    for depth in range(9):
        content = f"{depth} {{{{#include {depth + 1}.md}}}}"
        (book / f"src/deep/{depth}.md").write_text(content, encoding="utf-8")
    assert read(book, "{{#include a.md}}").text == "a b {{#include ../a.md}} 0 1 {{#include 2.md}}"


def test_neither_a_page_nor_an_ingest_includes_more_than_it_may(book: Path) -> None:
    (book / "src/b.txt").write_text("b" * 400, encoding="utf-8")
    assert read(book, "{{#include b.txt}}\n" * 20, max_bytes=2_000).text.count("b" * 400) == 4
    budget = IncludeBudget(left=5_000)
    for included in (True, False):
        page = read_page(book / "src/one.md", max_bytes=10_000, source="src/one.md", budget=budget)
        assert ("b" * 400 in page.text) is included
