"""The Documents page: adding files, the tree, reading, looking for changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from athena import Athena
from tests.ui.conftest import component_data, use, words
from ui.shared.jobs import jobs

Run = Callable[..., AppTest]


def added(app: AppTest, name: str, content: bytes) -> AppTest:
    """Add a file, and wait until it is indexed."""
    app.file_uploader[0].set_value((name, content, "application/octet-stream"))
    next(button for button in app.button if button.label == "Add").click().run()
    job = jobs().current
    if job is not None:
        assert job.wait(60)
        app.run()
    assert not app.exception
    return app


def dialog(athena: Athena, code: str) -> AppTest:
    app = AppTest.from_string(code, default_timeout=60)
    use(athena)
    app.run()
    assert not app.exception
    return app


def sources(athena: Athena) -> list[str]:
    return sorted(info.source for info in athena.store.documents())


def test_documents_are_a_tree_and_one_is_read_with_its_headings(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="documents")
    assert "in 1 collection" in words(app)
    [tree] = component_data(app, "tree")
    assert [node["name"] for node in tree["nodes"][0]["nodes"]] == ["Crew", "Valves"]
    app.text_input(key="documents-search").set_value("valv").run()
    assert [node["path"] for node in component_data(app, "tree")[0]["nodes"]] == ["manuals//valves.md"]
    read = dialog(athena, "from ui.documents.page import read\nread('valves.md')")
    [shown] = component_data(read, "document")
    assert [heading[2] for heading in shown["headings"]] == ["Valves", "LN2 tank"]


def test_a_citations_address_opens_the_document_at_its_span(athena: Athena, run_app: Run) -> None:
    text = athena.store.document("valves.md").text
    start = text.index("Close CB-4")
    app = run_app(athena, page="documents", source="valves.md", start=str(start), end=str(start + 17))
    [shown] = component_data(app, "document")
    assert "<mark>Close " in shown["html"]
    assert not component_data(run_app(athena, page="documents", source="gone.md"), "document")


def test_a_file_that_cannot_be_read_is_named_once_and_not_kept(athena: Athena, run_app: Run) -> None:
    app = added(run_app(athena, page="documents"), "bad.md", b"\xff\xfe broken")
    assert words(app).count("bad.md") == 1
    assert not [*(athena.settings.data_dir / "uploads").rglob("bad.md")]


def test_changes_are_looked_for_in_the_known_folders(athena: Athena, run_app: Run) -> None:
    [root] = {info.root for info in athena.store.documents()}
    app = run_app(athena, page="documents")
    Path(root, "new.md").write_text("# New\n\nText.\n", encoding="utf-8")
    app.button(key="reindex").click().run()
    job = jobs().current
    assert job is not None and job.wait(60) and "new.md" in sources(athena)
