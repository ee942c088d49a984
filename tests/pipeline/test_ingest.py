"""Ingests of real files into a real store: what is stored, what is embedded again, what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import ManifestMismatch
from pipeline.ingest import IngestReport, Progress, left_out_summary
from pipeline.stores.base import SearchRequest
from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import contents, findings, run_ingest

TANK = "# Tank\n\nThe LN2 tank is cold. It vents.\n\n## Valve\n\nThe valve opens at 5 bar.\n"
FAN = "# Fan\n\nThe cabin fan is loud. It hums.\n"


class Library:
    """Two folders of files and a store."""

    def __init__(self, place: Path) -> None:
        self.folder, self.other = place / "manuals", place / "other"
        self.tank, self.fan, self.notes = (
            self.folder / "ecs" / "tank.md", self.folder / "fan.md", self.other / "notes.md",
        )  # fmt: skip
        for path, text in ((self.tank, TANK), (self.fan, FAN), (self.notes, "# Notes\n\nSome.\n")):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.store = EmbeddedStore(place / "store")

    def ingest(self, *paths: Path, **options: Any) -> IngestReport:
        return run_ingest(self.store, *(paths or [self.folder]), **options)

    def sources(self) -> list[str]:
        return [info.source for info in self.store.documents()]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library(tmp_path)
    yield library
    library.store.close()


def until_one_is_stored() -> dict[str, Any]:
    """Arguments of an ingest that stops when it has stored a document."""
    stages = list[str]()
    return {
        "on_progress": lambda progress: stages.append(progress.stage),
        "should_stop": lambda: "storing" in stages,
    }


def test_everything_is_stored_with_its_vectors(library: Library) -> None:
    encoder, store = FakeEncoder(), library.store
    report = library.ingest(encoder=encoder)
    assert report.added == ["ecs/tank.md", "fan.md"]
    assert (report.changed, report.unchanged, report.deleted, report.problems) == ([], [], [], [])
    # A section of one sentence reads like it.
    assert (report.sections, report.sentences, report.embedded, report.stopped) == (3, 5, 7, False)
    assert {info.root for info in store.documents()} == {str(library.folder.resolve())}
    assert store.document("ecs/tank.md").info.title == "Tank"
    question = "Tank > Valve: The valve opens at 5 bar."
    assert question in encoder.texts
    response = store.search(SearchRequest(question, encoder.encode_query(question), 5))
    best = store.get_many([response.dense_sentences[0].node_id])
    assert [node.text for node in best.values()] == ["The valve opens at 5 bar."]


def test_what_is_left_out_is_counted(library: Library) -> None:
    (library.folder / "plan.md").write_text("# Plan\n\n![](plan.png)\n")
    (library.folder / ".git").mkdir()
    assert left_out_summary(library.ingest().left_out) == "1 folder hidden, 1 without text"


def test_progress_counts_documents_and_texts(library: Library) -> None:
    told: list[Progress] = []
    library.ingest(on_progress=told.append, encoder=FakeEncoder(batch=4))
    assert told == [
        Progress("reading", 1, 2, "ecs/tank.md"), Progress("reading", 2, 2, "fan.md"),
        Progress("embedding", 4, 7), Progress("embedding", 7, 7),
        Progress("storing", 2, 2, "fan.md"), Progress("indexing", 2, 2),
    ]  # fmt: skip


def test_where_nothing_changed_nothing_is_embedded_or_made(library: Library) -> None:
    library.ingest()
    documents, encoder = library.store.documents(), FakeEncoder()
    report = library.ingest(encoder=encoder)
    assert report.unchanged == ["ecs/tank.md", "fan.md"]
    assert (report.embedded, encoder.calls, report.sentences) == (0, [], 5)
    assert library.store.documents() == documents


def test_a_changed_section_alone_is_embedded(library: Library) -> None:
    library.ingest()
    encoder = FakeEncoder()
    library.tank.write_text("Foreword.\n\n" + TANK.replace("5 bar", "6 bar"))
    assert library.ingest(encoder=encoder).changed == ["ecs/tank.md"]
    assert sorted(encoder.texts) == ["Tank > Valve: The valve opens at 6 bar.", "Tank: Foreword."]


def test_the_result_is_that_of_a_first_ingest(library: Library, tmp_path: Path) -> None:
    library.ingest()
    library.tank.write_text(TANK.replace("cold", "warm") + "\n# Appendix\n\nMore.\n")
    library.fan.unlink()
    library.ingest()
    other = EmbeddedStore(tmp_path / "new")
    run_ingest(other, library.folder)
    questions = ["tank", "warm appendix", "fan hums", "valve opens at 5 bar"]
    assert contents(library.store) == contents(other)
    assert findings(library.store, FakeEncoder(), questions) == findings(other, FakeEncoder(), questions)
    other.close()


@pytest.mark.parametrize("rebuild", [False, True])
@pytest.mark.parametrize("content", [b"\xff\xfecaf", b"", b"x" * 2_000])
def test_a_file_that_cannot_be_read_any_more_keeps_its_former_version(
    library: Library, content: bytes, rebuild: bool
) -> None:
    library.ingest()
    before = contents(library.store)
    library.fan.write_bytes(content)
    report = library.ingest(rebuild=rebuild, max_bytes=1_000)
    assert ([problem.source for problem in report.problems], report.deleted) == (["fan.md"], [])
    assert contents(library.store) == before


def test_two_folders_with_files_of_one_name_live_in_one_index(library: Library) -> None:
    folder, other = library.folder, library.other
    (other / "fan.md").write_text("# Other fan\n\nOther.\n")
    library.ingest()
    for paths in ([other], [folder, other], [other, folder]):
        assert library.ingest(*paths).problems == []
        assert library.sources() == ["ecs/tank.md", "fan.md", "notes.md", "other/fan.md"]
    assert library.store.document("fan.md").info.root == str(folder.resolve())
    (other / "fan.md").unlink()
    assert library.ingest(other).deleted == ["other/fan.md"]


def test_a_file_that_moved_is_not_embedded_again(library: Library) -> None:
    encoder = FakeEncoder()
    library.ingest(encoder=encoder)
    before, calls = contents(library.store), list(encoder.calls)
    (library.folder / "ecs").rename(library.folder / "air")
    report = library.ingest(encoder=encoder)
    assert (report.added, report.deleted, report.embedded) == (["air/tank.md"], ["ecs/tank.md"], 0)
    assert encoder.calls == calls
    (library.folder / "air").rename(library.folder / "ecs")
    library.ingest(encoder=encoder)
    assert contents(library.store) == before


def test_what_was_stored_before_a_stop_stays_and_the_next_ingest_completes_it(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.ingesting.run.BATCH_TEXTS", 1)
    report = library.ingest(**until_one_is_stored())
    assert (report.stopped, report.added, library.sources()) == (True, ["ecs/tank.md"], ["ecs/tank.md"])
    report = library.ingest()
    assert (report.added, report.unchanged) == (["fan.md"], ["ecs/tank.md"])


def test_another_model_needs_a_rebuild(library: Library) -> None:
    library.ingest()
    other = FakeEncoder(name="other", dimensions=16, fingerprint="other file")
    with pytest.raises(ManifestMismatch, match="athena ingest --rebuild"):
        library.ingest(encoder=other)
    report = library.ingest(encoder=other, rebuild=True)
    assert (report.embedded, report.changed) == (7, ["ecs/tank.md", "fan.md"])
    manifest = library.store.statistics().manifest
    assert manifest is not None and manifest.embedding_model == "other"
    assert findings(library.store, other, ["tank"])


def test_a_rebuild_keeps_documents_of_other_folders(library: Library) -> None:
    library.ingest(library.other)
    library.ingest()
    library.notes.unlink()
    library.fan.unlink()
    report = library.ingest(encoder=FakeEncoder(name="other"), rebuild=True)
    assert (report.deleted, library.sources()) == (["fan.md"], ["ecs/tank.md", "notes.md"])
    assert library.store.document("notes.md").info.root == str(library.other.resolve())


def test_an_outdated_index_is_embedded_again(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.ingesting.run.BATCH_TEXTS", 1)
    library.ingest(library.folder, library.other, encoder=FakeEncoder(fingerprint="old"))
    encoder = FakeEncoder(fingerprint="new")
    stopped = library.ingest(encoder=encoder, **until_one_is_stored())
    assert stopped.stopped and len(stopped.changed) == 1
    library.notes.unlink()
    report = library.ingest(encoder=encoder)
    assert report.unchanged == stopped.changed  # not embedded again
    assert report.changed == ["fan.md", "notes.md"]  # the second one from its stored text
    assert report.embedded == 4  # without those of the first document
    manifest = library.store.statistics().manifest
    assert manifest is not None and manifest.fingerprint == "new"
    assert library.ingest(encoder=encoder).embedded == 0
