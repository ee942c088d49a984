"""The documents of an ingest: their names where roots collide, and those that are gone."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Never

import pytest

from pipeline.ingesting.documents import find_documents
from pipeline.stores.base import DocumentInfo
from readers.files import FoundFiles, find_files
from readers.source import ReaderError


class Finding:
    """A reader that finds files, or only reports an error."""

    def __init__(self, *problems: ReaderError) -> None:
        self._problems = list(problems)

    def find(self, path: Path, *, known: Collection[str] = ()) -> FoundFiles:
        if self._problems:
            return FoundFiles(problems=self._problems)
        return find_files([path], max_bytes=1000, known=known)

    def read(self, path: Path, *, source: str, known: str = "") -> Never:
        pytest.fail("nothing is read")

    def cut(self, text: str, *, source: str) -> Never:
        pytest.fail("nothing is cut")


def info(source: str, root: Path | str) -> DocumentInfo:
    return DocumentInfo("id", source, str(root), "Title", "hash", 1, 1, 1, 0.0)


def write(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root.resolve()


def found(*roots: Path, indexed: Collection[DocumentInfo] = ()) -> list[str]:
    return [one.source for one in find_documents(roots, reader=Finding(), indexed=indexed).candidates]


def test_a_label_tells_both_roots_apart(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a/docs", "index.md", "x.md"), write(tmp_path / "b/docs", "index.md", "y.md")
    c = write(tmp_path / "c/b/docs", "index.md")
    assert found(a, b) == ["index.md", "x.md", "b/docs/index.md", "y.md"]
    (other,) = found(c, indexed=[info("index.md", a), info("b/docs/index.md", b)])
    assert other.endswith("/index.md") and "docs" not in other
    assert found(c, indexed=[info("index.md", a), info("b/docs/index.md", b), info(other, c)]) == [other]


def test_a_label_never_takes_the_name_of_another_file_of_the_root(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", "x.md"), write(tmp_path / "b", "x.md", "b/x.md")
    sources = found(a, b)
    assert sources[0] == "x.md" and "b/x.md" in sources[1:]
    assert len(set(sources)) == 3
    infos = [info(source, root) for source, root in zip(sources, (a, b, b), strict=True)]
    assert found(a, b, indexed=infos) == sources


def test_a_file_that_moved_to_another_root_keeps_its_name(tmp_path: Path) -> None:
    new = write(tmp_path / "new", "x.md")
    assert found(new, indexed=[info("x.md", tmp_path / "old")]) == ["x.md"]
    assert found(new, indexed=[info("x.md", "upload")]) == ["new/x.md"]


def test_a_document_is_gone_where_its_folder_was_searched_and_its_file_is_not_there(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a", "x.md"), write(tmp_path / "b", "y.md")
    indexed = [info("x.md", a), info("z.md", a), info("a/y.md", a), info("y.md", b), info("up.md", "upload")]
    assert find_documents([a], reader=Finding(), indexed=indexed).gone == ["z.md", "a/y.md"]
    assert find_documents([a / "x.md"], reader=Finding(), indexed=indexed).gone == []


def test_uploads_of_another_machine_are_not_gone(tmp_path: Path) -> None:
    uploads = write(tmp_path / "uploads", "mine.md")
    indexed = [info("mine.md", "upload"), info("other.md", "upload")]
    result = find_documents([uploads], reader=Finding(), indexed=indexed, uploads=uploads)
    assert result.gone == []
    assert [(one.source, one.root) for one in result.candidates] == [("mine.md", "upload")]


def test_what_cannot_be_read_is_not_gone(tmp_path: Path) -> None:
    a = write(tmp_path / "a", "x.md")
    indexed = [info("x.md", a), info("sub/y.md", a), info("z.md", a)]
    closed = [ReaderError(source, reason="Permission denied", fix="Mend it.") for source in ("x.md", "sub/")]
    assert find_documents([a], reader=Finding(*closed), indexed=indexed).gone == ["z.md"]
    whole = ReaderError("a", reason="Permission denied", fix="Mend it.")
    assert find_documents([a], reader=Finding(whole), indexed=indexed).gone == []
