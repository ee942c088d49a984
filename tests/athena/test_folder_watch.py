"""Folders that are watched: changes in them are indexed. Nothing here is timed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from athena import Athena, AthenaError, load_settings, open_athena
from athena.folder_watch import watch_folders
from pipeline.errors import StoreError
from pipeline.ingest import IngestReport
from tests.fakes import FakeEncoder

WAIT_S = 60
News = Callable[[], IngestReport | AthenaError]


@pytest.fixture
def athena(tmp_path: Path) -> Iterator[Athena]:
    (tmp_path / "docs").mkdir()
    with open_athena(load_settings(data_dir=tmp_path / "docs" / "data"), encoder=FakeEncoder()) as opened:
        yield opened


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return tmp_path / "docs"


@contextmanager
def watched(athena: Athena, *paths: Path) -> Iterator[News]:
    """Watches while the block runs; the block gets a function that waits for the next report or error."""
    news: queue.Queue[IngestReport | AthenaError] = queue.Queue()
    stop = threading.Event()
    thread = threading.Thread(
        target=watch_folders,
        args=(athena, paths),
        kwargs={"stop": stop, "on_report": news.put, "on_error": news.put},
    )
    thread.start()
    try:
        yield lambda: news.get(timeout=WAIT_S)
    finally:
        stop.set()
        thread.join(WAIT_S)
    assert not thread.is_alive()
    assert news.empty()


def report(news: News) -> tuple[list[str], list[str], list[str]]:
    found = news()
    assert isinstance(found, IngestReport)
    return sorted(found.added), list(found.changed), sorted(found.deleted)


@pytest.mark.slow
def test_new_changed_renamed_and_deleted_files_are_indexed(athena: Athena, docs: Path) -> None:
    (docs / "a.md").write_text("# A\n\nOne.\n")
    with watched(athena, docs) as news:
        assert report(news) == (["a.md"], [], [])  # it was there before
        (docs / "a.md").write_text("# A\n\nThe quokka sleeps.\n")
        assert report(news) == ([], ["a.md"], [])
        assert "quokka" in athena.search("quokka").passages[0].text
        (docs / "new").mkdir()
        (docs / "a.md").rename(docs / "new" / "b.md")
        assert report(news) == (["new/b.md"], [], ["a.md"])
        (docs / ".athenaignore").write_text("new/\n")
        assert report(news) == ([], [], ["new/b.md"])


def test_a_failed_ingest_is_repeated(athena: Athena, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athena.folder_watch.RETRY_MS", 100)
    (docs / "a.md").write_text("# A\n\nOne.\n")
    ingest, tries = athena.ingest, iter(range(10))

    def busy(*args: object, **given: object) -> IngestReport:
        if next(tries) < 2:
            raise StoreError("Somebody is writing.")
        return ingest(*args, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(athena, "ingest", busy)
    with watched(athena, docs) as news:
        assert isinstance(news(), StoreError)  # and not twice
        assert report(news) == (["a.md"], [], [])
