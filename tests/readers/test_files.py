"""Finding and reading files: what is read, what is left out and why, and what cannot be read."""

from __future__ import annotations

import codecs
import hashlib
import os
import time
from pathlib import Path

import pytest

from readers.corpus import MarkdownCorpus
from readers.files import FoundFiles, find_files
from readers.formats import INSTALL
from readers.source import ReaderError, read_page

LIMIT = 1000


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}\n", encoding="utf-8")


def find(*paths: Path, known: frozenset[str] = frozenset()) -> FoundFiles:
    return find_files(paths, max_bytes=LIMIT, known=known)


def sources(*paths: Path) -> list[str]:
    found = find(*paths)
    assert not found.problems
    return [file.source for file in found.files]


def left_out(*paths: Path, known: frozenset[str] = frozenset()) -> dict[str, str]:
    return {one.source: one.reason for one in find(*paths, known=known).left_out}


def messages(*paths: Path) -> list[str]:
    return [str(problem) for problem in find(*paths).problems]


def test_a_folder_is_read_recursively_in_the_order_of_its_paths(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.mdx", "a.mkd", "a-b/x.markdown", "a/b/c.MD", "q.qmd", "r.Rmd", "s.mkdn")
    assert sources(tmp_path) == [
        "a/b/c.MD", "a/z.mdx", "a-b/x.markdown", "a.mkd", "b.md", "q.qmd", "r.Rmd", "s.mkdn",
    ]  # fmt: skip


def test_everything_that_is_found_and_not_read_has_a_reason(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "img/pic.png", "old/b.md", ".cache/d.md", "note.txt", "LICENSE")
    (tmp_path / "large.md").write_bytes(b"x" * (LIMIT + 1))
    (tmp_path / "link.md").symlink_to("a.md")
    (tmp_path / ".gitignore").write_text("old/\n")
    why = {
        ".cache/": "hidden", "LICENSE": "unknown ending", "img/pic.png": "unknown ending",
        "large.md": "0.001 MB", "link.md": "symbolic link", "note.txt": "formats", "old/": ".gitignore",
    }  # fmt: skip
    found = left_out(tmp_path)
    assert found.keys() == why.keys() and all(part in found[name] for name, part in why.items())
    assert sources(tmp_path) == ["a.md"]
    assert "large.md" not in left_out(tmp_path, known=frozenset({"large.md"}))  # it says why
    assert "note.txt" not in left_out(tmp_path, known=frozenset({"note.txt"}))


def test_a_format_that_is_not_installed_says_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readers.formats.importlib.util.find_spec", lambda _: None)
    write(tmp_path, "a.pdf")
    found = find_files([tmp_path], max_bytes=LIMIT, all_formats=True)
    assert [INSTALL in one.reason for one in found.left_out] == [True]


def test_gitignore_semantics(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "draft-1.md", "draft-keep.md", "build/x.md", "sub/build/y.md", "sub/a.md")
    write(tmp_path, "top/t.md", "sub/top/t.md", "x/1/deep.md", "x/2/3/deep.md", "f1b2.md", "f1c2.md")
    (tmp_path / ".gitignore").write_text("draft-*.md\n!draft-keep.md\nbuild/\n/top/\nx/**/deep.md\nf*b*.m?\n")
    assert sources(tmp_path) == ["a.md", "draft-keep.md", "f1c2.md", "sub/a.md", "sub/top/t.md"]


def test_the_deepest_ignore_file_decides_and_athenaignore_after_gitignore(tmp_path: Path) -> None:
    write(tmp_path, "sub/keep.md", "sub/other.md", "sub/deep/keep.md", "gone/keep.md")
    (tmp_path / ".gitignore").write_text("*.md\ngone/\n")
    (tmp_path / "sub/.gitignore").write_text("other.md\n")
    (tmp_path / "sub/.athenaignore").write_bytes(b"\xef\xbb\xbf!keep.md\r\n")
    (tmp_path / "sub/deep/.athenaignore").write_text("keep.md\n")
    (tmp_path / "gone/.gitignore").write_text("!*\n")
    assert sources(tmp_path) == ["sub/keep.md"]
    assert left_out(tmp_path)["sub/deep/keep.md"] == "ignored by .athenaignore"


@pytest.mark.parametrize("pattern", ["[z-a].md", "!", "a/**/" * 3 + "b"])
def test_a_line_that_is_no_pattern_is_named_and_the_others_count(pattern: str, tmp_path: Path) -> None:
    write(tmp_path, "a.md", "c.md")
    (tmp_path / ".gitignore").write_text(f"{pattern}\nc.md\n{pattern}\n[[]a.md\n")
    found = find(tmp_path)
    assert [file.source for file in found.files] == ["a.md"]
    (problem,) = found.problems
    assert problem.reason.startswith("line 1 ")


def test_no_pattern_takes_long(tmp_path: Path) -> None:
    """With 40 stars against 200 letters, an engine that backtracks is still at it next year."""
    write(tmp_path, "a" * 200 + ".md", "/".join(["ab"] * 90) + "/b.md")
    (tmp_path / ".gitignore").write_text(("*a" * 40 + "*c\n") + "**/a*/**/b*/x\n" * 200)
    started = time.perf_counter()
    assert len(sources(tmp_path)) == 2
    assert time.perf_counter() - started < 20


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"x" * 100_001, "100,001 bytes, over the limit of 100,000"),
        (b"\n" * 1_001, "only its first 1,000 lines are used"),
        (None, "it is not a regular file"),
    ],
)
def test_an_ignore_file_that_is_not_used_is_reported(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    write(tmp_path, "a.md")
    if content is None:
        (tmp_path / ".athenaignore").symlink_to("/dev/zero")
    else:
        (tmp_path / ".athenaignore").write_bytes(content)
    assert [problem.reason for problem in find(tmp_path).problems] == [reason]


def test_links_are_not_followed_and_circles_end(tmp_path: Path) -> None:
    write(tmp_path, "docs/a/b.md", "outside/secret.md")
    (tmp_path / "docs/secret.md").symlink_to(tmp_path / "outside/secret.md")
    (tmp_path / "docs/a/up").symlink_to(tmp_path / "docs")
    (tmp_path / "docs/loop.md").symlink_to("loop.md")
    (tmp_path / "root").symlink_to("docs")
    assert sources(tmp_path / "docs") == sources(tmp_path / "root") == ["a/b.md"]


def test_a_named_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "good.md", "data.json")
    (tmp_path / "loop.md").symlink_to("loop.md")
    names = ["good.md", "data.json", "missing.md", "loop.md"]
    found = find(*(tmp_path / name for name in names))
    assert [file.source for file in found.files] == ["good.md"]
    said = zip(("unknown ending", "no such file", "symbolic links"), found.problems, strict=True)
    assert all(part in problem.reason for part, problem in said)
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(ReaderError, match="regular file"):
        read_page(tmp_path / "pipe.md", max_bytes=LIMIT)


def test_a_name_that_cannot_be_cited_is_reported_in_one_line(tmp_path: Path) -> None:
    write(tmp_path, "two\nlines.md")
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("text")
    said = messages(tmp_path)
    assert [line.count("\n") for line in said] == [0, 0]
    assert all("not UTF-8" in line and "line break" in line for line in said)
    (tmp_path / ".gitignore").write_bytes(b"caf\xe9*\ntwo*\n")
    assert messages(tmp_path) == []


PAGE = "# Größe\n\nDer Mast."


@pytest.mark.parametrize(
    "data",
    [
        PAGE.encode(),
        codecs.BOM_UTF8 + PAGE.encode(),
        codecs.BOM_UTF32_LE + PAGE.encode("utf-32-le"),
        codecs.BOM_UTF32_BE + PAGE.encode("utf-32-be"),
        codecs.BOM_UTF16_LE + PAGE.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + PAGE.encode("utf-16-be"),
        PAGE.replace("\n", "\r").encode(),
    ],
)
def test_encodings_with_a_mark_are_read_and_lines_may_end_with_cr(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.md").write_bytes(data)
    source = read_page(tmp_path / "a.md", max_bytes=LIMIT)
    assert (source.text, source.hash) == (PAGE, hashlib.sha256(data).hexdigest())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "file is empty"),
        (b"\xef\xbb\xbf \r\n\t", "file is empty"),
        (b"x" * 1204 + b"\x96", "0x96 at 1,204"),
        (codecs.BOM_UTF16_LE + b"x", "0x78 at 2"),
        (b"ab\0c", "NUL byte"),
        (b"x" * 2001, "2,001 bytes"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "valves.md").write_bytes(data)
    with pytest.raises(ReaderError, match=f"'sub/valves.md': .*{reason}") as caught:
        read_page(tmp_path / "valves.md", max_bytes=2000, source="sub/valves.md")
    assert caught.value.fix


@pytest.mark.parametrize("swapped", ["sub/a.md", "sub"])
def test_a_file_that_has_become_a_link_since_it_was_found_is_not_read(tmp_path: Path, swapped: str) -> None:
    folder, outside = tmp_path / "docs", tmp_path / "outside"
    for place in (folder / "sub", outside):
        place.mkdir(parents=True)
        (place / "a.md").write_text("secret" if place == outside else "words", encoding="utf-8")
    corpus = MarkdownCorpus(lambda: pytest.fail("nothing is cut"), max_bytes=LIMIT)
    (file,) = corpus.find(folder).files
    (folder / swapped).rename(tmp_path / "gone")
    (folder / swapped).symlink_to(outside / "a.md" if swapped.endswith(".md") else outside)
    with pytest.raises(ReaderError, match="become a link"):
        corpus.read(file.path, source=file.source)
