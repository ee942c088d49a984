"""Journeys on the documents page: upload, ask, read, delete, refuse."""

from __future__ import annotations

import io
import shutil
import sqlite3
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from pipeline.stores.embedded import EmbeddedStore
from tests.browser.conftest import SERVE, Opener, serving
from tests.browser.looks import can_be_read, looked_at
from tests.browser.pages import App
from tests.made_files import docx, notebook, pdf
from tests.ui.conftest import answered

FILES, LINES, STORED = 6, 5, 2
NOTE = """# Greenhouse

## Watering the beans

The beans on rack 7 get 250 ml of water at 06:30 ship's time.

<script>alert("from a document")</script>

<img src="https://example.org/pixel.png" onerror="alert(1)"> ![a](https://example.org/picture.png)
"""


@pytest.fixture(scope="module")
def address(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    data_dir = tmp_path_factory.mktemp("documents") / "data"
    shutil.copytree(indexed, data_dir)
    with serving(data_dir, llm="none") as served:
        yield served


def test_upload_ask_and_delete(address: str, open_app: Opener, tmp_path: Path) -> None:
    note = tmp_path / "greenhouse.md"
    note.write_text(NOTE, encoding="utf-8")
    app = open_app(address, path="/documents")
    app.upload(note)
    expect(app.page.get_by_text("1 document added")).to_be_visible()
    expect(app.document_row("greenhouse.md")).to_be_visible()

    app.document_row("greenhouse.md").locator(".name").click()
    shown = app.page.locator(".document")
    expect(shown).to_contain_text('<script>alert("from a document")</script>')
    expect(shown).to_contain_text("<img src=")
    expect(shown.locator("img, script")).to_have_count(0)
    app.escape()

    app.page.get_by_role("link", name="Chat").click()
    app.ask("How much water do the beans on rack 7 get?")
    turn = app.answered(1)
    expect(turn.locator(".quote").first).to_contain_text("250 ml")
    turn.locator(".chip").first.click()
    assert "rack 7 get 250 ml of water" in app.cited()
    expect(app.pane).to_contain_text('<script>alert("from a document")</script>')
    conversation = app.page.url.removeprefix(address)

    app.page.get_by_role("link", name="Documents").click()
    app.document_row("greenhouse.md").get_by_label("Delete greenhouse.md").click()
    delete = app.page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True)
    can_be_read(app, delete)
    delete.click()
    expect(app.document_row("greenhouse.md")).to_have_count(0)

    app.open("/")
    app.ask("How much water do the beans on rack 7 get?")
    expect(app.answered(1)).not_to_contain_text("250 ml")
    app.open(conversation)
    app.answered(1).locator(".chip").first.click()
    expect(app.pane.locator(".status")).to_contain_text("The file is no longer indexed.")
    expect(app.pane.locator(".then")).to_contain_text("250 ml")


def test_a_zip_is_added_and_its_collision_asks(address: str, open_app: Opener, tmp_path: Path) -> None:
    pack = tmp_path / "pack.zip"
    with zipfile.ZipFile(pack, "w") as archive:
        archive.writestr("lab/centrifuge.md", "# Centrifuge\n\nThe centrifuge turns at 900 rpm.\n")
        archive.writestr("lab/photo.png", b"x")
    app = open_app(address, path="/documents")
    app.upload(pack)
    expect(app.document_row("lab/centrifuge.md")).to_be_visible()
    app.page.get_by_role("button", name="Close").click()
    expect(app.job).to_have_count(0)
    app.ready()
    expect(app.uploader).to_be_visible()  # what the job's end removes does not shut what stands below it
    app.choose(pack)
    add = app.page.get_by_role("button", name="Add 1 file")
    expect(add).to_be_disabled()
    app.page.get_by_text("Replace what was uploaded before").click()
    expect(add).to_be_enabled()


def _zipped(name: str, text: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, text)
    return buffer.getvalue()


SENTENCES = {
    "ladder.md": "The ladder on deck 2 folds to the left.",
    "in-a-zip/kettle.md": "The kettle takes exactly seven minutes to boil.",
    "razor.txt": "The razor is charged on Sundays.",
    "telescope.ipynb": "The telescope points at Vega during the night watch.",
    "compass.html": "The compass needle is painted violet.",
    "anchor.rst": "The anchor weighs ninety kilograms.",
    "lamp.docx": "The lamp turns a quarter turn to the left.",
}
DROPPED = {
    "ladder.md": f"# Ladder\n\n{SENTENCES['ladder.md']}\n".encode(),
    "pack.zip": _zipped("in-a-zip/kettle.md", f"# Kettle\n\n{SENTENCES['in-a-zip/kettle.md']}\n"),
    "razor.txt": f"{SENTENCES['razor.txt']}\n".encode(),
    "telescope.ipynb": notebook(
        ("markdown", f"# Telescope\n\n{SENTENCES['telescope.ipynb']}"), ("code", "x = 1"), outputs=3
    ).encode(),
    "compass.html": f"<h1>Compass</h1><p>{SENTENCES['compass.html']}</p><script>x()</script>".encode(),
    "anchor.rst": f"Anchor\n======\n\n{SENTENCES['anchor.rst']}\n".encode(),
    "lamp.docx": docx(("Heading1", "Lamp"), SENTENCES["lamp.docx"]),
}
QUESTIONS = {
    "ladder.md": "Which way does the ladder fold?",
    "in-a-zip/kettle.md": "How long does the kettle take to boil?",
    "razor.txt": "When is the razor charged?",
    "telescope.ipynb": "Where does the telescope point?",
    "compass.html": "What colour is the compass needle?",
    "anchor.rst": "How much does the anchor weigh?",
    "lamp.docx": "Which way does the lamp turn?",
}


def test_files_of_every_format_are_dropped_asked_about_and_cited(
    address: str, open_app: Opener, tmp_path: Path
) -> None:
    pytest.importorskip("docutils", reason="the extra [files] is not installed")
    pytest.importorskip("mammoth", reason="the extra [files] is not installed")
    app = open_app(address, path="/documents")
    app.drop(*_written(DROPPED, tmp_path))
    add = app.page.get_by_role("button", name="Add 7 files")
    expect(add).to_be_visible()
    looked_at(app, "documents-dropped")
    app.press("Add 7 files")
    expect(app.job).to_contain_text("7 documents added")
    for source in SENTENCES:
        expect(app.document_row(source)).to_be_visible()
    looked_at(app, "documents-added")

    app.page.get_by_role("link", name="Chat").click()
    asked = QUESTIONS
    said = SENTENCES
    for number, (source, question) in enumerate(asked.items(), start=1):
        app.ask(question)
        turn = app.answered(number)
        expect(turn.locator(".crumbs").first).to_contain_text(source)
        expect(turn.locator(".quote").first).to_contain_text(said[source])
    turn.locator(".chip").first.click()
    assert app.cited() == said[source]
    looked_at(app, "documents-cited")
    app.escape()
    app.page.get_by_role("link", name="Documents").click()
    expect(app.page.locator(".files")).to_be_visible()
    expect(app.job).to_have_count(0)  # the report was read


def _written(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    for name, body in files.items():
        (folder / name).write_bytes(body)
    return [folder / name for name in files]


def test_the_table_is_filtered_and_a_file_read(address: str, open_app: Opener) -> None:
    app = open_app(address, path="/documents")
    app.page.get_by_label("Filter the documents").fill("alarms")
    expect(app.page.locator(".files tbody tr:visible")).to_have_count(1)
    app.page.locator(".files .name:visible").click()
    shown = app.page.get_by_role("dialog")
    expect(shown.locator(".document table").first).to_be_visible()
    _run_again(app)
    expect(shown.locator(".document table").first).to_be_visible()
    app.escape()
    expect(shown).to_have_count(0)
    _run_again(app)
    expect(shown).to_have_count(0)


def _run_again(app: App) -> None:
    """Have the page run by Streamlit's own key: a run that knows nothing of a click."""
    app.ready()
    app.page.keyboard.press("r")
    app.ready()


LATE_END = """
import threading
from streamlit.runtime.state.session_state import SessionState
begun, finished = SessionState.on_script_will_rerun, SessionState.on_script_finished
ending, next_run, ended = threading.Event(), threading.Event(), threading.Event()

def begin(*given, **named):
    begun(*given, **named)
    next_run.set()
    if ending.is_set():
        ended.wait(5)

def finish(*given, **named):
    next_run.clear(), ended.clear(), ending.set()
    next_run.wait(2)
    finished(*given, **named)
    ending.clear(), ended.set()

SessionState.on_script_will_rerun, SessionState.on_script_finished = begin, finish
"""


def test_a_click_while_a_run_of_the_page_ends_is_not_lost(
    indexed: Path, open_app: Opener, tmp_path: Path
) -> None:
    """Streamlit takes what a click sent from the next run, where the end of the one before comes late."""
    shutil.copytree(indexed, tmp_path / "data")
    with serving(tmp_path / "data", program=LATE_END + SERVE, llm="none") as address:
        app = open_app(address)
        app.page.get_by_role("link", name="Documents").click()
        app.document_row("alarms").locator(".name").click()
        expect(app.page.get_by_role("dialog").locator(".document table").first).to_be_visible()


HELD = f"""
from ui.shared.jobs import Job
note = Job._note

def held(job, progress):
    note(job, progress)
    if progress.stage == "storing" and progress.done == {STORED} and job.title.startswith("Adding"):
        job._stop.wait(60)

Job._note = held
"""


def test_a_cancelled_upload_leaves_whole_documents_and_indexing_again_completes_it(
    open_app: Opener, tmp_path: Path
) -> None:
    """The job waits at its second document until it is cancelled, however fast the machine is.

    Other windows, on the chat's first page and on a conversation, come to life by themselves.
    """
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    with closing(EmbeddedStore(data_dir)) as store:
        conversations = store.conversations
        conversation = conversations.create(title="Valves", assistant="Athena").info.id
        conversations.save_turn(conversation, answered("Which valve is open?"))
    with serving(data_dir, program=HELD + SERVE, llm="none") as address:
        waiting = open_app(address)
        expect(waiting.page.get_by_text("Nothing is indexed yet.")).to_be_visible()
        expect(waiting.question).to_be_disabled()
        looked_at(waiting, "first-visit-empty")
        talked = open_app(address, path=f"/?c={conversation}")
        expect(talked.turn(1).locator(".question")).to_contain_text("Which valve is open?")
        expect(talked.question).to_be_disabled()
        adding = open_app(address)
        adding.page.get_by_role("link", name="Add documents").click()
        _cancelled_and_completed(adding, data_dir, tmp_path / "pack.zip")
        expect(talked.question).to_be_enabled()
        expect(waiting.question).to_have_attribute("placeholder", "Ask the documents")
        expect(waiting.page.locator(".st-key-suggestions button").first).to_contain_text(
            "bay", ignore_case=True
        )
        expect(waiting.page.get_by_text("manuals")).to_have_count(0)
        looked_at(waiting, "first-visit-own-documents")


def _cancelled_and_completed(app: App, data_dir: Path, pack: Path) -> None:
    with zipfile.ZipFile(pack, "w") as archive:
        for file in range(FILES):
            lines = (f"In bay {file} valve {line} opens at {line + 3} bar." for line in range(LINES))
            archive.writestr(f"bay-{file}.md", f"# Bay {file}\n\n" + "\n\n".join(lines) + "\n")
    app.upload(pack)
    expect(app.job).to_contain_text(f"Storing {STORED} of {FILES}")
    app.page.get_by_role("button", name="Cancel").click()
    expect(
        app.page.get_by_text(f"Cancelled: {STORED} documents added or changed before it stay")
    ).to_be_visible()
    with sqlite3.connect(data_dir / "athena.sqlite") as database:
        stored = database.execute("SELECT sentences FROM document").fetchall()
    assert stored == [(LINES,)] * STORED

    app.page.get_by_role("button", name="Close").click()
    app.page.get_by_role("button", name="Index again what changed").click()
    expect(app.page.locator(".files tbody tr")).to_have_count(FILES)


PUMP = pdf(
    [(20, "Pump manual"), (0, ""), (11, "This manual describes the coolant pump of the greenhouse.")],
    [(15, "Starting the pump"), (0, ""), (11, "Hold the green lever for nine seconds, until the"),
     (11, "coolant lamp is lit. Then let it go.")],
    [],
    image=True,
)  # fmt: skip


def test_a_pdf_is_uploaded_asked_about_and_cited_by_its_page(
    address: str, open_app: Opener, tmp_path: Path
) -> None:
    pytest.importorskip("markitdown", reason="the extra [files] is not installed")
    (tmp_path / "pump.pdf").write_bytes(PUMP)
    app = open_app(address, path="/documents")
    app.upload(tmp_path / "pump.pdf")
    expect(app.job).to_contain_text("1 document added")
    expect(app.document_row("pump.pdf")).to_contain_text("Converted from PDF")

    app.open("/")
    app.ask("How long do I hold the green lever?")
    turn = app.answered(1)
    expect(turn.locator(".crumbs").first).to_contain_text("pump.pdf p. ")
    turn.locator(".chip").first.click()
    assert "Hold the green lever for nine seconds" in app.cited()
    expect(app.pane.locator(".crumbs")).to_contain_text("pump.pdf p. ")
    expect(app.pane).to_contain_text("Page ")
    expect(app.pane).not_to_contain_text("<!--")
    app.pane.get_by_role("button", name="Open the whole file").click()
    expect(app.pane).to_contain_text("This manual describes the coolant pump")

    app.open("/documents")
    expect(app.document_row("pump.pdf")).to_be_visible()
    expect(app.job).to_have_count(0)  # the report was read
