from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pipeline.errors import ManifestMismatch, ModelError
from pipeline.ingest import Progress, left_out_summary
from pipeline.stores.base import SearchRequest
from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeEncoder
from tests.pipeline.ingest_runs import contents, findings, run_ingest

TANK = "# Tank\n\nThe LN2 tank is cold. It vents.\n\n## Valve\n\nThe valve opens at 5 bar.\n"
FAN = "# Fan\n\nThe cabin fan is loud. It hums.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "manuals"
    (folder / "ecs").mkdir(parents=True)
    (folder / "ecs" / "tank.md").write_text(TANK)
    (folder / "fan.md").write_text(FAN)
    return folder


@pytest.fixture
def other(tmp_path: Path) -> Path:
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.md").write_text("# Notes\n\nSome.\n")
    return other


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    store = EmbeddedStore(tmp_path / "store")
    yield store
    store.close()


@pytest.fixture
def encoder() -> FakeEncoder:
    return FakeEncoder()


def until_one_is_stored(stored: list[str]) -> dict[str, Any]:
    """Arguments of an ingest that stops when it has stored a document, which `stored` then names."""

    def on_progress(progress: Progress) -> None:
        stored.extend([progress.document] if progress.stage == "storing" else [])

    return {"on_progress": on_progress, "should_stop": lambda: bool(stored)}


def sources(store: EmbeddedStore) -> list[str]:
    return [info.source for info in store.sections.documents()]


class TestFirstIngest:
    def test_everything_is_stored_with_its_vectors(
        self, store: EmbeddedStore, folder: Path, encoder: FakeEncoder
    ) -> None:
        report = run_ingest(store, folder, encoder=encoder)
        assert report.added == ("ecs/tank.md", "fan.md")
        assert (report.changed, report.unchanged, report.deleted, report.problems) == ((), (), (), ())
        # A section of one sentence reads like it.
        assert (report.sections, report.sentences, report.embedded) == (3, 5, 7)
        assert not report.stopped
        assert [info.root for info in store.sections.documents()] == [str(folder.resolve())] * 2
        assert store.sections.document("ecs/tank.md").info.title == "Tank"
        assert "Tank > Valve: The valve opens at 5 bar." in encoder.texts
        question = "Tank > Valve: The valve opens at 5 bar."
        response = store.sentences.search(SearchRequest(question, encoder.encode_query(question), 5))
        best = store.sentences.get_many([response.dense_sentences[0].node_id])
        assert [node.text for node in best.values()] == ["The valve opens at 5 bar."]

    def test_what_is_too_much_to_be_read_as_markdown_is_told(
        self, store: EmbeddedStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("readers.commonmark.MAX_BLOCKS", 3)
        report = run_ingest(store, folder)
        assert report.problems == ()
        assert [warning.partition(":")[0] for warning in report.warnings] == ["ecs/tank.md"]
        assert run_ingest(store, folder).warnings == ()

    def test_documents_are_embedded_together_and_each_text_once(
        self, store: EmbeddedStore, folder: Path, encoder: FakeEncoder
    ) -> None:
        (folder / "copy.md").write_text(FAN)
        report = run_ingest(store, folder, encoder=encoder)
        assert len(encoder.calls) == 1
        assert len(encoder.texts) == len(set(encoder.texts)) == report.embedded
        assert len(store.sentences.vectors(
            [node.node_id for node in store.sections.document("copy.md").sections]
        )) == 1  # fmt: skip

    def test_batches_are_bounded(
        self, store: EmbeddedStore, folder: Path, encoder: FakeEncoder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pipeline.ingesting.batches.BATCH_TEXTS", 3)
        run_ingest(store, folder, encoder=encoder)
        assert len(encoder.calls) == 2

    def test_a_file_with_headings_only_is_a_document(self, store: EmbeddedStore, folder: Path) -> None:
        (folder / "toc.md").write_text("# One\n\n# Two\n")
        run_ingest(store, folder)
        assert store.sections.document("toc.md").sections == ()
        assert "toc.md" in run_ingest(store, folder).unchanged

    def test_progress_counts_documents_and_texts(self, store: EmbeddedStore, folder: Path) -> None:
        told: list[Progress] = []
        run_ingest(store, folder, on_progress=told.append, encoder=FakeEncoder(batch=4))
        assert told == [
            Progress("reading", 0, 2, "ecs/tank.md"),
            Progress("reading", 1, 2, "fan.md"),
            Progress("reading", 2, 2),
            Progress("embedding", 4, 7),
            Progress("embedding", 7, 7),
            Progress("storing", 1, 2, "ecs/tank.md"),
            Progress("storing", 2, 2, "fan.md"),
            Progress("indexing", 2, 2),
        ]


class TestNextIngest:
    def test_nothing_changed_embeds_nothing_and_makes_nothing(
        self, store: EmbeddedStore, folder: Path, encoder: FakeEncoder
    ) -> None:
        run_ingest(store, folder)
        generation = store.sections.manifest()
        report = run_ingest(store, folder, encoder=encoder)
        assert report.unchanged == ("ecs/tank.md", "fan.md")
        assert (report.embedded, encoder.calls, report.sentences) == (0, [], 5)
        assert store.sections.manifest() == generation

    @pytest.mark.slow
    def test_it_imports_nothing_slow(self, tmp_path: Path, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.pipeline.ingest_runs", str(tmp_path / "store"), str(folder)]
        first, second = (
            subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)
        )
        assert first == "7 0 nltk\n"  # reading needs Punkt, and no LlamaIndex
        assert second == "0 2\n"

    def test_a_changed_section_alone_is_embedded(self, store: EmbeddedStore, folder: Path) -> None:
        run_ingest(store, folder)
        before = contents(store)
        (folder / "ecs" / "tank.md").write_text("Foreword.\n\n" + TANK.replace("5 bar", "6 bar"))
        encoder = FakeEncoder()
        report = run_ingest(store, folder, encoder=encoder)
        assert report.changed == ("ecs/tank.md",)
        assert sorted(encoder.texts) == ["Tank > Valve: The valve opens at 6 bar.", "Tank: Foreword."]
        assert contents(store)["fan.md"] == before["fan.md"]
        document = store.sections.document("ecs/tank.md")
        for section in document.sections:  # offsets have moved with the text
            assert document.text[section.start_char_idx : section.end_char_idx] == section.text

    def test_the_result_is_that_of_a_first_ingest(
        self, store: EmbeddedStore, folder: Path, tmp_path: Path
    ) -> None:
        run_ingest(store, folder)
        (folder / "ecs" / "tank.md").write_text(TANK.replace("cold", "warm") + "\n# Appendix\n\nMore.\n")
        (folder / "fan.md").unlink()
        run_ingest(store, folder)
        other = EmbeddedStore(tmp_path / "other")
        run_ingest(other, folder)
        questions = ["tank", "warm appendix", "fan hums", "valve opens at 5 bar"]
        assert contents(store) == contents(other)
        assert findings(store, FakeEncoder(), questions) == findings(other, FakeEncoder(), questions)
        other.close()

    def test_deleted_files_disappear_from_their_own_folder_only(
        self, store: EmbeddedStore, folder: Path, other: Path
    ) -> None:
        run_ingest(store, folder, other)
        (folder / "fan.md").unlink()
        (other / "notes.md").unlink()
        report = run_ingest(store, folder)
        assert report.deleted == ("fan.md",)
        assert sources(store) == ["ecs/tank.md", "notes.md"]

    def test_a_single_file_deletes_nothing(self, store: EmbeddedStore, folder: Path) -> None:
        run_ingest(store, folder)
        (folder / "fan.md").write_text(FAN + "\nMore.\n")
        report = run_ingest(store, folder / "fan.md")
        assert (report.changed, report.deleted) == (("fan.md",), ())
        assert len(sources(store)) == 2

    def test_uploads_delete_nothing(self, store: EmbeddedStore, folder: Path, other: Path) -> None:
        run_ingest(store, folder, root="upload")
        report = run_ingest(store, other, root="upload")
        assert (report.added, report.deleted) == (("notes.md",), ())
        assert {info.root for info in store.sections.documents()} == {"upload"}


class TestProblems:
    def test_what_cannot_be_read_is_reported_and_the_rest_is_indexed(
        self, store: EmbeddedStore, folder: Path
    ) -> None:
        (folder / "latin.md").write_bytes(b"\xff\xfecaf")
        report = run_ingest(store, folder, folder / "missing")
        assert [(problem.source, problem.reason[:9]) for problem in report.problems] == [
            (str(folder / "missing"), "no such f"), ("latin.md", "not UTF-1"),
        ]  # fmt: skip
        assert all(problem.fix for problem in report.problems)
        assert sources(store) == ["ecs/tank.md", "fan.md"]

    @pytest.mark.parametrize("rebuild", [False, True])
    @pytest.mark.parametrize("content", [b"\xff\xfecaf", b""])
    def test_one_that_can_be_read_no_more_keeps_its_former_version(
        self, store: EmbeddedStore, folder: Path, content: bytes, rebuild: bool
    ) -> None:
        run_ingest(store, folder)
        before = contents(store)
        (folder / "fan.md").write_bytes(content)
        report = run_ingest(store, folder, rebuild=rebuild)
        assert [problem.source for problem in report.problems] == ["fan.md"]
        assert report.deleted == ()
        assert contents(store) == before

    def test_two_folders_with_files_of_one_name_live_in_one_index(
        self, store: EmbeddedStore, folder: Path, other: Path
    ) -> None:
        (other / "fan.md").write_text("# Other fan\n\nOther.\n")
        run_ingest(store, folder)
        for paths in ([other], [folder, other], [other, folder]):
            report = run_ingest(store, *paths)
            assert report.problems == ()
            assert sources(store) == ["ecs/tank.md", "fan.md", "notes.md", "other/fan.md"]
        assert store.sections.document("fan.md").info.root == str(folder.resolve())
        (other / "fan.md").unlink()
        assert run_ingest(store, other).deleted == ("other/fan.md",)

    def test_a_file_over_the_limit_is_left_out_and_every_other_one_counted(
        self, store: EmbeddedStore, folder: Path
    ) -> None:
        run_ingest(store, folder)
        (folder / "fan.md").write_bytes(b"x" * 2000)
        for name in ("a.png", "b.png", "c.css"):
            (folder / name).touch()
        report = run_ingest(store, folder, max_bytes=1000)
        assert report.deleted == ("fan.md",)
        assert left_out_summary(report.left_out) == "3 of unknown ending (.png, .css), 1 over 0.001 MB"

    def test_a_format_that_was_named_once_stays_and_is_kept_up_to_date(
        self, store: EmbeddedStore, folder: Path
    ) -> None:
        (folder / "notes.txt").write_text("The fan hums.")
        run_ingest(store, folder / "notes.txt")
        report = run_ingest(store, folder)
        assert (report.unchanged, report.left_out) == (("notes.txt",), ())
        (folder / "notes.txt").write_text("The fan is silent.")
        assert run_ingest(store, folder).changed == ("notes.txt",)
        (folder / "notes.txt").unlink()
        assert run_ingest(store, folder).deleted == ("notes.txt",)

    def test_languages_are_counted(self, store: EmbeddedStore, folder: Path) -> None:
        (folder / "ja.md").write_text("# 弁\n\nポンプは弁が閉じている間うなります。\n")
        assert run_ingest(store, folder).languages == {"en": 2, "ja": 1}
        assert store.sections.document("ja.md").sections[0].metadata["language"] == "ja"

    def test_what_is_renamed_is_not_embedded_again(self, folder: Path, store: EmbeddedStore) -> None:
        encoder = FakeEncoder()
        run_ingest(store, folder, encoder=encoder)
        before = contents(store)
        (folder / "ecs").rename(folder / "air")
        calls = list(encoder.calls)
        report = run_ingest(store, folder, encoder=encoder)
        assert (report.added, report.deleted, report.embedded) == (("air/tank.md",), ("ecs/tank.md",), 0)
        assert encoder.calls == calls
        (folder / "air").rename(folder / "ecs")
        run_ingest(store, folder, encoder=encoder)
        assert contents(store) == before

    def test_a_folder_that_was_moved_takes_its_documents_along(
        self, store: EmbeddedStore, folder: Path, encoder: FakeEncoder
    ) -> None:
        run_ingest(store, folder)
        moved = folder.rename(folder.parent / "renamed")
        report = run_ingest(store, moved, encoder=encoder)
        assert (report.problems, report.embedded, len(report.changed)) == ((), 0, 2)
        assert {info.root for info in store.sections.documents()} == {str(moved.resolve())}

    def test_a_file_reached_twice_is_indexed_once(self, store: EmbeddedStore, folder: Path) -> None:
        report = run_ingest(store, folder, folder / "ecs", folder / "fan.md")
        assert (report.added, report.problems) == (("ecs/tank.md", "fan.md"), ())
        assert run_ingest(store, folder, folder / "ecs").deleted == ()


class TestStopping:
    def test_what_was_stored_stays_and_the_next_ingest_completes_it(
        self, store: EmbeddedStore, folder: Path
    ) -> None:
        report = run_ingest(store, folder, **until_one_is_stored([]))
        assert report.stopped
        assert report.added == ("ecs/tank.md",)
        assert sources(store) == ["ecs/tank.md"]
        report = run_ingest(store, folder)
        assert (report.added, report.unchanged) == (("fan.md",), ("ecs/tank.md",))

    def test_it_stops_in_the_middle_of_the_model(self, store: EmbeddedStore, folder: Path) -> None:
        """The model takes its time; a stop reaches it between two of its batches."""
        told: list[str] = []
        encoder = SlowEncoder(batch=1)
        report = run_ingest(
            store,
            folder,
            encoder=encoder,
            on_progress=lambda progress: told.append(progress.stage),
            should_stop=lambda: told.count("embedding") > 2,
        )
        assert (report.stopped, report.embedded, report.added) == (True, 0, ())
        assert encoder.reported < 7
        assert store.sections.documents() == []

    def test_what_the_model_raises_ends_the_ingest(self, store: EmbeddedStore, folder: Path) -> None:
        with pytest.raises(ModelError, match="out of order"):
            run_ingest(store, folder, encoder=BrokenEncoder())
        assert store.sections.documents() == []
        assert run_ingest(store, folder).added == ("ecs/tank.md", "fan.md")


class SlowEncoder(FakeEncoder):
    """Takes its time after every report."""

    reported = 0

    def encode_passages(
        self, texts: Sequence[str], *, on_progress: Callable[[int], None] | None = None
    ) -> NDArray[np.float32]:
        def slowly(done: int) -> None:
            time.sleep(0.1)
            self.reported += 1
            if on_progress:
                on_progress(done)

        return super().encode_passages(texts, on_progress=slowly)


class BrokenEncoder(FakeEncoder):
    """Fails whatever it is given."""

    def encode_passages(self, texts: Sequence[str], *, on_progress: object = None) -> NDArray[np.float32]:
        raise ModelError("The model is out of order.", "Mend it.")


class TestRebuild:
    def test_another_model_needs_one(self, store: EmbeddedStore, folder: Path) -> None:
        run_ingest(store, folder)
        other = FakeEncoder(name="other", dimensions=16, fingerprint="other file")
        with pytest.raises(ManifestMismatch, match="athena ingest --rebuild"):
            run_ingest(store, folder, encoder=other)
        report = run_ingest(store, folder, encoder=other, rebuild=True)
        assert (report.embedded, report.changed) == (7, ("ecs/tank.md", "fan.md"))
        manifest = store.sections.manifest()
        assert manifest is not None and manifest.embedding_model == "other"
        assert findings(store, other, ["tank"])

    def test_documents_of_other_folders_come_along(
        self, store: EmbeddedStore, folder: Path, other: Path
    ) -> None:
        run_ingest(store, other, root="upload")
        run_ingest(store, folder)
        (other / "notes.md").unlink()
        (folder / "fan.md").unlink()
        report = run_ingest(store, folder, encoder=FakeEncoder(name="other"), rebuild=True)
        assert report.deleted == ("fan.md",)
        assert sources(store) == ["ecs/tank.md", "notes.md"]
        assert store.sections.document("notes.md").info.root == "upload"

    def test_one_that_was_stopped_changes_nothing_and_is_gone_on_with(
        self, store: EmbeddedStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pipeline.ingesting.batches.BATCH_TEXTS", 1)
        run_ingest(store, folder)
        before, other = contents(store), FakeEncoder(name="other")
        report = run_ingest(store, folder, encoder=other, rebuild=True, **until_one_is_stored([]))
        assert report.stopped and contents(store) == before
        (folder / "ecs" / "tank.md").unlink()
        resumed = FakeEncoder(name="other")
        report = run_ingest(store, folder, encoder=resumed, rebuild=True)
        assert (report.deleted, sources(store)) == (("ecs/tank.md",), ["fan.md"])
        assert run_ingest(store, folder, encoder=resumed).unchanged == ("fan.md",)


class TestOutdated:
    """An index made with another file of the same model, or another recipe, is embedded again unasked."""

    def test_everything_is_embedded_again_and_the_report_says_why(
        self, store: EmbeddedStore, folder: Path, other: Path
    ) -> None:
        run_ingest(store, folder, other, encoder=FakeEncoder(fingerprint="old"))
        (other / "notes.md").unlink()
        encoder, told = FakeEncoder(fingerprint="new"), list[Progress]()
        report = run_ingest(store, folder, encoder=encoder, on_progress=told.append)
        assert report.outdated == "another model file"
        assert report.changed == ("ecs/tank.md", "fan.md", "notes.md")  # not asked for, from its stored text
        assert report.embedded == len(encoder.texts) == 8
        assert (told[0], told[-1]) == (Progress("renewing", 0, 3), Progress("renewing", 3, 3))
        manifest = store.sections.manifest()
        assert manifest is not None and manifest.fingerprint == "new"
        again = run_ingest(store, folder, encoder=encoder)
        assert (again.embedded, again.outdated) == (0, "")

    def test_one_that_was_stopped_leaves_the_old_index_and_is_completed_by_the_next(
        self, store: EmbeddedStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pipeline.ingesting.batches.BATCH_TEXTS", 1)
        run_ingest(store, folder, encoder=FakeEncoder(fingerprint="old"))
        before, stored = store.sections.manifest(), list[str]()

        new = FakeEncoder(fingerprint="new")
        report = run_ingest(store, folder, encoder=new, **until_one_is_stored(stored))
        assert report.stopped
        assert store.sections.manifest() == before
        embedded = len(new.texts)
        report = run_ingest(store, folder, encoder=new)
        assert (report.stopped, report.outdated) == (False, "another model file")
        assert report.unchanged == tuple(stored)  # what the first one embedded is not embedded again
        assert len(new.texts) - embedded == report.embedded < 7
