from __future__ import annotations

from pathlib import Path
from typing import Never

import pytest

from pipeline.ingesting.documents import (
    Candidate,
    FoundDocuments,
    Problem,
    find_documents,
    vanished,
    without_collisions,
)
from pipeline.stores.base import DocumentInfo
from readers.errors import ReaderError
from readers.files import FoundFiles


def info(source: str, root: str = "/manuals") -> DocumentInfo:
    return DocumentInfo("id", source, root, "Title", "hash", 1, 1, 1, 0.0)


def candidate(source: str, root: str = "/manuals") -> Candidate:
    return Candidate(source, root, Path(root) / source)


def found(
    *sources: str, problems: tuple[str, ...] = (), folders: tuple[str, ...] = ("/manuals",)
) -> FoundDocuments:
    return FoundDocuments(
        tuple(map(candidate, sources)),
        frozenset(folders),
        tuple(Problem(source, "unreadable", "Mend it.") for source in problems),
    )


@pytest.mark.parametrize(
    ("what", "gone"),
    [
        (found("a.md"), ["b/c.md", "b/d.md"]),
        (found("a.md", "b/c.md", "b/d.md"), []),
        (found("a.md", problems=("b/c.md",)), ["b/d.md"]),  # it is there, but cannot be read
        (found("a.md", problems=("b/",)), []),  # nor can the folder that it is in
        (found("a.md", folders=("/elsewhere",)), []),
        (found(), ["a.md", "b/c.md", "b/d.md"]),
    ],
)
def test_vanished(what: FoundDocuments, gone: list[str]) -> None:
    assert vanished(what, [info("a.md"), info("b/c.md"), info("b/d.md"), info("up.md", "upload")]) == gone


def test_an_uploaded_document_keeps_its_name() -> None:
    kept = without_collisions(found("a.md"), [info("a.md", "upload")])
    assert kept.candidates == ()
    assert "'upload'" in kept.problems[0].reason


def test_a_searched_folder_that_lost_the_file_gives_the_name_away(tmp_path: Path) -> None:
    moved = found("a.md", folders=("/manuals", str(tmp_path)))
    assert len(without_collisions(moved, [info("a.md", str(tmp_path))]).candidates) == 1


class Finding:
    """A reader that finds no file: it reports an error, or raises it."""

    def __init__(self, error: ReaderError, *, raises: bool) -> None:
        self._error = error
        self._raises = raises

    def find(self, path: Path) -> FoundFiles:
        if self._raises:
            raise self._error
        return FoundFiles(problems=[self._error])

    def read(self, path: Path, *, source: str, known: str = "") -> Never:
        pytest.fail("nothing was found")

    def cut(self, text: str, *, source: str) -> Never:
        pytest.fail("nothing was read")

    def warnings(self, text: str, sections: object) -> Never:
        pytest.fail("nothing was read")


def test_a_root_that_cannot_be_listed_deletes_nothing(tmp_path: Path) -> None:
    closed = ReaderError(tmp_path.name, reason="Permission denied", fix="Make it readable.")
    assert find_documents([tmp_path], reader=Finding(closed, raises=False)).folders == frozenset()


def test_an_error_of_finding_is_a_problem_and_deletes_nothing(tmp_path: Path) -> None:
    twice = ReaderError("a.md", reason="two of that name", fix="Rename one.")
    found = find_documents([tmp_path], reader=Finding(twice, raises=True))
    assert found.problems == (Problem("a.md", "two of that name", "Rename one."),)
    assert found.folders == frozenset()
