"""Folders that are watched: what changes in them is indexed once it rests. Nothing here is timed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from athena import Athena, AthenaError, load_settings, open_athena
from athena.folder_watch import LONG_WRITE_S, LONGEST_WAIT_S, REST_S, Unrest, is_on_network
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
    """Watches while the block runs; the block gets what waits for the next news."""
    news: queue.Queue[IngestReport | AthenaError] = queue.Queue()
    stop = threading.Event()
    thread = threading.Thread(
        target=athena.watch, args=(paths,), kwargs={"stop": stop, "tell": news.put, "fail": news.put}
    )
    thread.start()
    try:
        yield lambda: news.get(timeout=WAIT_S)
    finally:
        stop.set()
        thread.join(WAIT_S)
    assert not thread.is_alive()
    assert news.empty()


def report(news: News) -> tuple[list[str], list[str], list[str], list[str]]:
    found = news()
    assert isinstance(found, IngestReport)
    problems = [problem.source for problem in found.problems]
    return sorted(found.added), list(found.changed), sorted(found.deleted), problems


def test_what_is_new_changed_renamed_or_deleted_is_indexed(athena: Athena, docs: Path) -> None:
    (docs / "a.md").write_text("# A\n\nOne.\n")
    with watched(athena, docs) as news:
        assert report(news) == (["a.md"], [], [], [])  # what was there before
        (docs / "a.md").write_text("# A\n\nThe quokka sleeps.\n")
        assert report(news) == ([], ["a.md"], [], [])
        assert "quokka" in athena.search("quokka").passages[0].text
        (docs / "new").mkdir()
        (docs / "a.md").rename(docs / "new" / "b.md")
        assert report(news) == (["new/b.md"], [], ["a.md"], [])
        (docs / "new").rename(docs / "old")
        assert report(news) == (["old/b.md"], [], ["new/b.md"], [])
        (docs / ".athenaignore").write_text("old/\n")
        assert report(news) == ([], [], ["old/b.md"], [])


def test_a_burst_is_one_ingest_and_a_broken_file_is_told_once(athena: Athena, docs: Path) -> None:
    with watched(athena, docs) as news:
        (docs / "broken.md").write_bytes(b"\xff")
        assert report(news) == ([], [], [], ["broken.md"])
        for number in range(100):
            (docs / f"{number:03}.md").write_text(f"# {number}\n\nOne.\n")
        assert report(news) == ([f"{number:03}.md" for number in range(100)], [], [], [])
        (docs / "broken.md").write_text("# Whole\n\nOne.\n")
        assert report(news) == (["broken.md"], [], [], [])


def test_a_folder_and_a_file_that_come_later_are_watched(athena: Athena, docs: Path) -> None:
    later, alone = docs.parent / "later", docs.parent / "alone.md"
    with watched(athena, later, alone) as news:
        assert report(news)[3] == [str(later), str(alone)]
        later.mkdir()
        (later / "a.md").write_text("# A\n\nOne.\n")
        alone.write_text("# Alone\n\nOne.\n")
        seen: set[str] = set()
        while not seen >= {"a.md", "alone.md"}:
            seen.update(report(news)[0])


def test_where_another_is_writing_it_is_tried_again(
    athena: Athena, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("athena.folder_watch.AGAIN_S", 0.0)
    (docs / "a.md").write_text("# A\n\nOne.\n")
    ingest, tries = athena.ingest, iter(range(10))

    def busy(*args: object, **given: object) -> IngestReport:
        if next(tries) < 2:
            raise StoreError("Somebody is writing.")
        return ingest(*args, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(athena, "ingest", busy)
    with watched(athena, docs) as news:
        assert isinstance(news(), StoreError)  # and not twice
        assert report(news) == (["a.md"], [], [], [])


def test_a_file_that_is_being_written_keeps_its_version(athena: Athena, docs: Path) -> None:
    file = docs / "a.md"
    file.write_text("# A\n\nThe quokka.\n")
    athena.ingest([docs])
    file.write_text("# A\n\nThe em")
    done = athena.ingest([docs], unfinished=frozenset({str(file.resolve())}))
    assert not done.deleted and [problem.source for problem in done.problems] == ["a.md"]
    assert "quokka" in athena.search("quokka").passages[0].text


def test_files_rest_before_they_are_due() -> None:
    unrest = Unrest()
    assert not unrest.is_due(0.0)
    unrest.note(["a"], 0.0)
    unrest.note(["b"], REST_S)
    assert not unrest.is_due(REST_S + 0.1)  # b is part of the same burst
    assert unrest.is_due(2 * REST_S)
    assert unrest.take(2 * REST_S) == frozenset()


def test_who_is_written_for_long_holds_nobody() -> None:
    unrest, at = Unrest(), 0.0
    while at < LONG_WRITE_S:
        unrest.note(["log"], at)
        at += 0.1
    unrest.note(["a"], at)
    assert not unrest.is_due(at)
    for _ in range(int(REST_S / 0.1) + 1):
        at += 0.1
        unrest.note(["log"], at)
    assert unrest.is_due(at)
    assert unrest.take(at) == {"log"}
    assert not unrest.is_due(at)


def test_a_burst_without_end_is_indexed_in_parts() -> None:
    unrest, at = Unrest(), 0.0
    while not unrest.is_due(at):
        unrest.note([f"{at}"], at)
        at += 0.1
    assert at >= LONGEST_WAIT_S


@pytest.mark.parametrize(
    ("folder", "network"), [("/mnt/share/docs", True), ("/mnt/my disk/docs", False), ("/home/docs", False)]
)
def test_folders_of_the_network_are_known(tmp_path: Path, folder: str, network: bool) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/a / ext4 rw 0 0\nserver:/x /mnt/share nfs4 rw 0 0\n/dev/b /mnt/my\\040disk ext4 rw 0 0\n"
    )
    assert is_on_network(Path(folder), mounts) == network


def test_by_polling_it_is_the_same(athena: Athena, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athena.folder_watch.is_on_network", lambda _: True)
    with watched(athena, docs) as news:
        (docs / "a.md").write_text("# A\n\nOne.\n")
        assert report(news) == (["a.md"], [], [], [])
        (docs / "a.md").unlink()
        assert report(news) == ([], [], ["a.md"], [])
