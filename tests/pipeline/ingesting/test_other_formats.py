"""Documents that are not Markdown in an ingest: which are read, converted again, and how that is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.ingesting.run import OtherFormat
from pipeline.stores.embedded import EmbeddedStore
from readers.converting import converter
from readers.converting.converted import Conversion
from readers.formats import EVERY
from tests.made_files import notebook, pdf
from tests.pipeline.ingest_runs import run_ingest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nOne.\n")
    (folder / "b.ipynb").write_text(
        notebook(("markdown", "# Fans\n\nThey hum."), ("code", "x = 1"), outputs=2)
    )
    (folder / "robots.txt").write_text("Disallow everything.")
    (folder / "photo.png").write_bytes(b"\x89PNG")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    store = EmbeddedStore(tmp_path / "store")
    yield store
    store.close()


def test_a_folder_is_read_for_markdown_and_what_else_could_be_read_is_said(
    store: EmbeddedStore, folder: Path
) -> None:
    report = run_ingest(store, folder)
    assert report.added == ("a.md",)
    assert report.problems == ()
    fix = "Name the files, or add --formats md,ipynb (ATHENA_FORMATS)."
    assert report.left_out == (OtherFormat("Jupyter", ("b.ipynb",), fix),)


def test_what_is_ignored_is_not_mentioned(store: EmbeddedStore, folder: Path) -> None:
    (folder / ".athenaignore").write_text("*.ipynb\n")
    assert run_ingest(store, folder).left_out == ()


def test_named_formats_are_read_and_what_was_lost_is_said(store: EmbeddedStore, folder: Path) -> None:
    report = run_ingest(store, folder, formats=frozenset({"md", "ipynb", "txt"}))
    assert report.added == ("a.md", "b.ipynb", "robots.txt")
    assert report.left_out == ()
    assert report.converted == (
        Conversion("b.ipynb", "Jupyter", 0, ("2 outputs",)),
        Conversion("robots.txt", "plain text", 0, ()),
    )
    stored = store.sections.document("b.ipynb")
    assert all(stored.text[node.start_char_idx : node.end_char_idx] == node.text for node in stored.sections)
    assert "They hum." in stored.text


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (
            "b.ipynb",
            notebook(("markdown", "# Fans\n\nThey hum.")),
            notebook(("markdown", "# Fans\n\nThey are silent.")),
        ),
        ("notes.txt", "The fan hums.", "The fan is silent."),  # which its folder does not mention
    ],
)
def test_a_file_that_was_named_stays_and_is_kept_up_to_date(
    store: EmbeddedStore, folder: Path, name: str, before: str, after: str
) -> None:
    (folder / name).write_text(before)
    run_ingest(store, folder / name)
    report = run_ingest(store, folder)
    assert (report.added, report.unchanged, report.deleted) == (("a.md",), (name,), ())
    assert [other.format for other in report.left_out] == ([] if name == "b.ipynb" else ["Jupyter"])
    (folder / name).write_text(after)
    assert run_ingest(store, folder).changed == (name,)
    assert "silent" in store.sections.document(name).text
    (folder / name).unlink()
    assert run_ingest(store, folder).deleted == (name,)


def test_only_what_changed_is_converted(
    store: EmbeddedStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_ingest(store, folder, formats=EVERY)
    converted: list[str] = []
    original = converter.convert_notebook

    def counting(text: str, *, source: str) -> object:
        converted.append(source)
        return original(text, source=source)

    monkeypatch.setattr(converter, "convert_notebook", counting)
    assert run_ingest(store, folder, formats=EVERY).unchanged == ("a.md", "b.ipynb", "robots.txt")
    assert converted == []
    monkeypatch.setattr(converter, "recipe_hash", lambda data, kind: f"another recipe of {kind.name}")
    assert run_ingest(store, folder, formats=EVERY).changed == ("b.ipynb", "robots.txt")
    assert converted == ["b.ipynb"]


def test_a_rebuild_without_the_file_takes_the_converted_text(store: EmbeddedStore, folder: Path) -> None:
    run_ingest(store, folder / "b.ipynb")
    text = store.sections.document("b.ipynb").text
    (folder / "b.ipynb").unlink()
    report = run_ingest(store, folder / "a.md", rebuild=True)
    assert store.sections.document("b.ipynb").text == text
    assert [made.source for made in report.converted] == ["b.ipynb"]


def test_a_broken_file_is_named_and_the_others_are_read(store: EmbeddedStore, folder: Path) -> None:
    (folder / "broken.ipynb").write_text("{")
    (folder / "empty.ipynb").write_text('{"cells": []}')
    report = run_ingest(store, folder, formats=frozenset({"md", "ipynb"}))
    assert report.added == ("a.md", "b.ipynb")
    assert [(problem.source, problem.reason) for problem in report.problems] == [
        ("broken.ipynb", "not a Jupyter notebook: it is not JSON"),
        ("empty.ipynb", "it has no text"),
    ]


def test_without_the_extra_a_pdf_is_named_with_what_installs_it(
    store: EmbeddedStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readers.formats.importlib.util.find_spec", lambda _: None)
    (folder / "m.pdf").write_bytes(pdf([(11, "Text.")]))
    install = "pip install 'athena-docs[files]'"
    (left_out,) = (other for other in run_ingest(store, folder).left_out if other.format == "PDF")
    assert left_out.sources == ("m.pdf",)
    assert install in left_out.fix
    (left_out,) = run_ingest(store, folder, formats=EVERY).left_out
    assert left_out == OtherFormat("PDF", ("m.pdf",), f"Install what reads them: {install}")
    (problem,) = run_ingest(store, folder / "m.pdf").problems
    assert (problem.reason, problem.fix) == ("PDF needs an extra", f"{install} installs it.")


@pytest.mark.slow  # a process converts
def test_a_pdf_is_stored_with_its_pages(store: EmbeddedStore, folder: Path) -> None:
    pytest.importorskip("pypdfium2", reason="the extra [files] is not installed")
    (folder / "m.pdf").write_bytes(
        pdf(
            [(20, "Pumps"), (0, ""), (11, "The pump hums all day.")],
            [(20, "Fans"), (0, ""), (11, "Both fans are silent.")],
        )
    )
    report = run_ingest(store, folder / "m.pdf")
    assert report.converted == (Conversion("m.pdf", "PDF", 2, ()),)
    sections = store.sections.document("m.pdf").sections
    assert [(section.text, section.metadata["page"]) for section in sections] == [
        ("<!-- page 1 -->\n\nThe pump hums all day.", 1),
        ("<!-- page 2 -->\n\nBoth fans are silent.", 2),
    ]
    sentences = store.sentences.of_sections([section.node_id for section in sections])
    assert [node.metadata["page"] for nodes in sentences.values() for node in nodes] == [1, 2]
