"""Finding and reading files: what is left out, what is reported, and in which words."""

from __future__ import annotations

import hashlib
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from readers.corpus import MarkdownCorpus
from readers.errors import ReaderError
from readers.files import FileLimits, FoundFiles, find_files, read_source
from readers.formats import MARKDOWN_ONLY

LIMIT = 1000


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}\n", encoding="utf-8")


def find(*paths: Path) -> FoundFiles:
    return find_files(paths, limits=FileLimits(LIMIT, LIMIT), named=MARKDOWN_ONLY)


def sources(*paths: Path) -> list[str]:
    found = find(*paths)
    assert not found.problems
    return [file.source for file in found.files]


def sources_and_reasons(*paths: Path) -> tuple[list[str], list[str]]:
    found = find(*paths)
    return [file.source for file in found.files], [problem.reason for problem in found.problems]


def messages(*paths: Path) -> list[str]:
    return [str(problem) for problem in find(*paths).problems]


def test_a_folder_is_read_recursively_in_the_order_of_its_paths(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.md", "a.md", "a-b/x.markdown", "a/b/c.MD", "notes.txt", "a/pic.png")
    assert sources(tmp_path) == ["a/b/c.MD", "a/z.md", "a-b/x.markdown", "a.md", "b.md"]


def test_a_file_named_explicitly_is_called_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, "deep/down/a.md")
    assert sources(tmp_path / "deep/down/a.md") == ["a.md"]


def test_hidden_folders_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, ".git/a.md", "sub/.cache/b.md", "c.md")
    assert sources(tmp_path) == ["c.md"]


def test_a_file_reached_twice_is_listed_once(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "sub/b.md")
    assert sources(tmp_path, tmp_path / "a.md", tmp_path / "sub") == ["a.md", "sub/b.md"]


def test_two_files_of_the_same_name_are_an_error(tmp_path: Path) -> None:
    write(tmp_path, "one/a.md", "two/a.md")
    with pytest.raises(ReaderError, match=r"Cannot read 'a\.md': both .*one/a\.md.* and .*two/a\.md.* would"):
        find(tmp_path / "one", tmp_path / "two")


def test_gitignore_semantics(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.md",
        "draft-1.md",
        "draft-keep.md",
        "build/x.md",
        "sub/build/y.md",
        "sub/a.md",
        "top/t.md",
    )
    write(tmp_path, "sub/top/t.md", "x/1/deep.md", "x/2/3/deep.md", "sp ace.md", "#odd.md")
    (tmp_path / ".gitignore").write_text(
        "# comment\n\ndraft-*.md\n!draft-keep.md\nbuild/\n/top/\nx/**/deep.md\nsp\\ ace.md  \n\\#odd.md\n"
    )
    assert sources(tmp_path) == ["a.md", "draft-keep.md", "sub/a.md", "sub/top/t.md"]


def test_the_deepest_ignore_file_decides(tmp_path: Path) -> None:
    write(tmp_path, "sub/keep.md", "sub/other.md", "sub/deep/keep.md", "gone/keep.md")
    (tmp_path / ".gitignore").write_text("*.md\ngone/\n")
    (tmp_path / "sub/.gitignore").write_text("!keep.md\n")
    (tmp_path / "sub/deep/.athenaignore").write_text("keep.md\n")
    (tmp_path / "gone/.gitignore").write_text("!*\n")
    assert sources(tmp_path) == ["sub/keep.md"]


def test_athenaignore_is_read_after_gitignore(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md", "c.md")
    (tmp_path / ".gitignore").write_text("a.md\n")
    (tmp_path / ".athenaignore").write_bytes(b"\xef\xbb\xbf!a.md\r\nb.md\r\n")
    assert sources(tmp_path) == ["a.md", "c.md"]


def test_an_ignored_file_can_be_named_explicitly(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    (tmp_path / ".gitignore").write_text("*\n")
    assert sources(tmp_path) == []
    assert sources(tmp_path / "a.md") == ["a.md"]


def test_a_line_that_is_no_pattern_is_reported_and_the_others_count(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md", "sub/c.md")
    (tmp_path / "sub/.gitignore").write_text("!\nc.md\n")
    found = find(tmp_path)
    assert [file.source for file in found.files] == ["a.md", "b.md"]
    assert [str(problem) for problem in found.problems] == [
        "Cannot read 'sub/.gitignore': line 1 is not a pattern ('!'). Correct or remove it."
    ]


@pytest.mark.parametrize("pattern", ["[z-a].md", "x[9-1]", "x[a", "\\"])
def test_a_pattern_that_means_nothing_is_named_and_skipped(pattern: str, tmp_path: Path) -> None:
    write(tmp_path, "a.md", "c.md")
    (tmp_path / ".gitignore").write_text(f"{pattern}\nc.md\n")
    assert sources_and_reasons(tmp_path) == (["a.md"], [f"line 1 is not a pattern ({pattern!r})"])


def test_no_pattern_backtracks(tmp_path: Path) -> None:
    """With 40 stars against 200 letters, an engine that backtracks is still at it next year."""
    write(tmp_path, "a" * 200 + ".md", "b.md")
    (tmp_path / ".gitignore").write_text("*a" * 40 + "*c\n**/" * 30 + "x\nb.md\n")
    assert sources_and_reasons(tmp_path)[0] == ["a" * 200 + ".md"]


def test_a_file_of_no_patterns_is_not_told_line_by_line(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md")
    (tmp_path / ".gitignore").write_text("!\n" * 3_000 + "b.md\n" + "[z-a]\n" * 3_000)
    found = find(tmp_path)
    assert [file.source for file in found.files] == ["a.md"]
    assert [problem.reason for problem in found.problems[-2:]] == [
        "line 20 is not a pattern ('!')",
        "5,980 more lines are not patterns either",
    ]


def test_no_warning_of_the_compiler_reaches_anybody(tmp_path: Path) -> None:
    """`re` says that `[[` may mean something else one day; warnings are errors here."""
    write(tmp_path, "[a.md", "b.md")
    (tmp_path / ".gitignore").write_text("[[]a.md\n[a&&b].txt\n")
    assert sources(tmp_path) == ["b.md"]


@pytest.mark.slow
def test_more_patterns_than_fit_into_one_set(tmp_path: Path) -> None:
    write(tmp_path, "a" * 40 + "b.md", "b.md", "c.md")
    (tmp_path / ".gitignore").write_text(("*a" * 30 + "b.md\n") * 1500 + "b.md\n")
    found = find(tmp_path)
    assert [file.source for file in found.files] == ["c.md"]
    assert found.problems == []


def test_names_that_are_not_utf8_can_be_left_out(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.md")
    write(tmp_path, "b.md")
    try:
        (tmp_path / name).write_text("text")
    except OSError:
        pytest.skip("this file system takes no such names")
    (tmp_path / ".gitignore").write_bytes(b"caf\xe9*\n")
    assert sources_and_reasons(tmp_path)[0] == ["b.md"]


def test_an_unreadable_ignore_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md", ".gitignore")

    def refuse(path: Path, mode: str) -> NoReturn:
        raise PermissionError(13, f"Permission denied to {mode}", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    assert messages(tmp_path) == [
        "Cannot read '.gitignore': Permission denied to rb. Make it readable, or remove it."
    ]


def test_an_ignore_file_that_is_too_long_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md")
    monkeypatch.setattr("readers.ignore.MAX_BYTES", 5)
    (tmp_path / ".athenaignore").write_text("a.md\n\n")
    assert messages(tmp_path) == [
        "Cannot read '.athenaignore': it has more than 5 bytes, so none of it is used. "
        "Name folders instead of files."
    ]


@pytest.mark.parametrize("target", ["/dev/zero", "../secret"])
def test_an_ignore_file_that_is_a_link_is_not_followed(tmp_path: Path, target: str) -> None:
    """Lines that are no patterns are shown: a link would show those of any file."""
    (tmp_path / "secret").write_text("the [key\n")
    write(tmp_path / "docs", "a.md")
    (tmp_path / "docs/.gitignore").symlink_to(target)
    assert messages(tmp_path / "docs") == [
        "Cannot read '.gitignore': it is a link. Put the file itself there."
    ]


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, "docs/a.md", "outside/secret.md", "docs-other/b.md")
    (tmp_path / "docs/link.md").symlink_to(tmp_path / "outside/secret.md")
    (tmp_path / "docs/folder").symlink_to(tmp_path / "outside")
    (tmp_path / "docs/prefix").symlink_to(tmp_path / "docs-other")
    with caplog.at_level(logging.INFO, logger="readers.files"):
        assert sources(tmp_path / "docs") == ["a.md"]
    assert "folder is a link out of the folder: not followed" in caplog.text


def test_links_in_circles_end(tmp_path: Path) -> None:
    write(tmp_path, "a/b/c.md")
    (tmp_path / "a/b/up").symlink_to(tmp_path / "a")
    (tmp_path / "a/b/root").symlink_to(tmp_path)
    (tmp_path / "a/self").symlink_to("self")
    (tmp_path / "x").symlink_to("y")
    (tmp_path / "y").symlink_to("x")
    assert sources(tmp_path) == ["a/b/c.md"]


def test_a_link_within_the_folder_adds_no_second_copy(tmp_path: Path) -> None:
    write(tmp_path, "z/real.md")
    (tmp_path / "a.md").symlink_to("z/real.md")
    (tmp_path / "b").symlink_to("z")
    assert sources(tmp_path) == ["z/real.md"]


def test_a_link_to_what_is_not_read_otherwise_is_followed_once(tmp_path: Path) -> None:
    write(tmp_path, ".hidden/real.md", ".hidden/sub/more.md", ".hidden/notes.txt")
    (tmp_path / "a.md").symlink_to(".hidden/real.md")
    (tmp_path / "b.md").symlink_to(".hidden/real.md")
    (tmp_path / "notes").symlink_to(".hidden/notes.txt")
    (tmp_path / "c").symlink_to(".hidden/sub")
    (tmp_path / ".d").symlink_to(".hidden")
    assert sources(tmp_path) == ["a.md", "c/more.md"]


def test_the_root_may_be_a_link(tmp_path: Path) -> None:
    write(tmp_path, "docs/a.md")
    (tmp_path / "link").symlink_to("docs")
    assert sources(tmp_path / "link") == ["a.md"]


def test_a_broken_link_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("nowhere.md")
    (tmp_path / "folder").symlink_to("nowhere")
    fix = "Make it readable, or leave it out."
    assert messages(tmp_path) == [f"Cannot read 'a.md': No such file or directory. {fix}"]


def test_what_was_named_but_cannot_be_read_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "good.md", "data.json")
    (tmp_path / "loop.md").symlink_to("loop.md")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "large.md").write_bytes(b"x" * 1001)
    names = ["good.md", "data.json", "missing.md", "loop.md", "pipe.md", "large.md"]
    found = find(*(tmp_path / name for name in names))
    assert [file.source for file in found.files] == ["good.md"]
    assert [str(problem) for problem in found.problems] == [
        "Cannot read 'data.json': not a Markdown file. Convert it, or name it .md if it is Markdown.",
        f"Cannot read '{tmp_path}/missing.md': no such file or folder. Check the path.",
        f"Cannot read '{tmp_path}/loop.md': Too many levels of symbolic links. "
        "Make it readable, or leave it out.",
        "Cannot read 'pipe.md': it is not a regular file. Save its content as a file.",
        "Cannot read 'large.md': 1,001 bytes, over the limit of 1,000. "
        "Split it, or raise the limit in the settings.",
    ]
    assert found.problems[0].source == "data.json"
    assert found.problems[0].reason == "not a Markdown file"
    assert found.problems[0].fix == "Convert it, or name it .md if it is Markdown."


def test_a_name_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("text")
    assert messages(tmp_path) == [
        r"Cannot read 'caf\udce9.md': its name is not UTF-8. Rename it and ingest again."
    ]


@pytest.mark.parametrize("name", ["two\nlines.md", "folder\u2028/lines.md", "two\r\nlines.md"])
def test_a_name_with_a_line_break_is_reported_in_one_line(name: str, tmp_path: Path) -> None:
    write(tmp_path, name, "text")
    [said] = messages(tmp_path)
    assert "its name has a line break. Rename it" in said
    assert len(said.splitlines()) == 1


def test_a_folder_that_cannot_be_listed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md", "locked/b.md")
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if path.name == "locked":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert sources_and_reasons(tmp_path) == (["a.md"], ["Permission denied"])


def test_text_is_kept_as_it_is_but_for_the_byte_order_mark(tmp_path: Path) -> None:
    data = "\ufeff# Wärme\r\n\r\ntext\rmore\n".encode()
    (tmp_path / "a.md").write_bytes(data)
    source = read_source(tmp_path / "a.md", max_bytes=LIMIT)
    assert source.text == "# Wärme\r\n\r\ntext\rmore\n"
    assert source.hash == hashlib.sha256(data).hexdigest()


EMPTY = "the file is empty. Write something into it, or remove it."


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", EMPTY),
        (b"\xef\xbb\xbf \r\n\t", EMPTY),
        (b"x" * 1204 + b"\x81", "not UTF-8 (byte 0x81 at 1,204). Save it as UTF-8 and ingest again."),
        ("x".encode("utf-16"), "not UTF-8 (byte 0xFF at 0). Save it as UTF-8 and ingest again."),
        (
            "\u043d\u0430\u0441\u043e\u0441".encode("koi8-r"),
            "not UTF-8 (byte 0xCE at 0). Save it as UTF-8 and ingest again.",
        ),
        ("Wärme ".encode() + b"\xe4", "not UTF-8 (byte 0xE4 at 7). Save"),
        (b"\xed\xa0\x80", "not UTF-8 (byte 0xED at 0). Save it as UTF-8 and ingest again."),
        (b"ab\0c", "not text (NUL byte at 2). Save it as UTF-8 text, or rename it."),
        (b"x" * 2001, "2,001 bytes, over the limit of 2,000. Split it, or raise the limit"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "valves.md").write_bytes(data)
    with pytest.raises(ReaderError) as caught:
        read_source(tmp_path / "valves.md", max_bytes=2000, source="sub/valves.md")
    assert str(caught.value).startswith(f"Cannot read 'sub/valves.md': {reason}")


def test_what_is_written_in_latin_1_is_read_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes("# Wärme – Kälte\n".encode("cp1252"))
    source = read_source(tmp_path / "a.md", max_bytes=LIMIT)
    assert (source.text, source.encoding) == ("# Wärme – Kälte\n", "cp1252")


def test_files_that_vanish_or_are_none(tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match="no such file or folder"):
        read_source(tmp_path / "gone.md", max_bytes=LIMIT)
    with pytest.raises(ReaderError, match="it is a folder"):
        read_source(tmp_path, max_bytes=LIMIT)
    (tmp_path / "loop.md").symlink_to("loop.md")
    with pytest.raises(ReaderError, match="Too many levels of symbolic links"):
        read_source(tmp_path / "loop.md", max_bytes=LIMIT)


def test_a_file_that_grows_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_bytes(b"x" * 2000)
    monkeypatch.setattr("readers.files._check_file", lambda *_, **__: None)
    with pytest.raises(ReaderError, match="over the limit"):
        read_source(tmp_path / "a.md", max_bytes=LIMIT)


def test_finding_files_does_not_import_llama_index() -> None:
    code = "import sys, readers.files, readers.levels; sys.exit('llama_index' in sys.modules)"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="this platform follows every link")
@pytest.mark.parametrize("swapped", ["sub/a.md", "sub"])
def test_what_became_a_link_since_it_was_found_is_not_read(tmp_path: Path, swapped: str) -> None:
    folder, outside = tmp_path / "docs", tmp_path / "outside"
    for place in (folder / "sub", outside):
        place.mkdir(parents=True)
        (place / "a.md").write_text("secret" if place == outside else "words", encoding="utf-8")
    corpus = MarkdownCorpus(lambda: pytest.fail("nothing is cut"), max_bytes=LIMIT)
    (file,) = corpus.find(folder).files
    (folder / swapped).rename(tmp_path / "gone")
    (folder / swapped).symlink_to(outside / "a.md" if swapped.endswith(".md") else outside)
    with pytest.raises(ReaderError, match="it has become a link"):
        corpus.read(file.path, source=file.source)
