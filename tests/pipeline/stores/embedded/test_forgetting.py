"""What is forgotten or deleted leaves every file: under readers, from gaps of pages, and of the index."""

from __future__ import annotations

import random
import time
from contextlib import closing
from dataclasses import replace
from functools import partialmethod
from pathlib import Path

import pytest

from pipeline.errors import ErasureIncomplete
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.database import BUSY_TIMEOUT_S, FILE_NAME, Database
from pipeline.stores.embedded.lexical import open_searcher
from pipeline.stores.memories import MemoryChanges
from tests.answers import answer
from tests.contracts.documents import MANIFEST, delete, found, make_document, write
from tests.contracts.memories import found_in_files
from tests.pipeline.stores.forgotten import FORGETTING, FORMS, KEPT, TURN, USER, fill


def frequency(folder: Path, term: str) -> int:
    """How often tantivy's files have a term, also of deleted nodes; their term lists are compressed."""
    indexes = [path.parent for path in (folder / "lexical").rglob("meta.json")]
    return sum(open_searcher(path).doc_freq("terms", term) for path in indexes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an index, a conversation of a secret, and memories of it."""
    folder = tmp_path / "data"
    with closing(EmbeddedStore(folder)) as store:
        with store.writing(MANIFEST) as writing:
            writing.replace(make_document("fan.md", {"Fan": ["It hums.", "It turns."]}))
        fill(store)
        turns = store.conversations.turns(USER)
        store.conversations.keep_embeddings([replace(turn, embedding=b"MARK" * 500) for turn in turns[:1]])
    return folder


def test_no_file_has_a_byte_of_it_while_others_have_the_folder_open(folder: Path) -> None:
    assert {word for word in FORMS if found_in_files(folder, [word])} == {*FORMS}
    with closing(EmbeddedStore(folder)) as forgetting, closing(EmbeddedStore(folder)) as store:
        before = store.document("fan.md")
        forgetting.memories.apply(USER, FORGETTING, expected=1, erase=True)
        assert found_in_files(folder, [*FORMS, "MARK", TURN]) == []
        assert len(store.memories.load(USER).memories) == KEPT
        (info,) = store.conversations.list()
        assert len(store.conversations.get(info.id).turns) == 3
        assert store.document("fan.md") == before


def test_under_a_reader_it_is_said_and_done_at_the_next_opening(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Database, "erase", partialmethod(Database.erase, wait_s=0.05))
    with closing(EmbeddedStore(folder)) as store, store.database.read() as reader:
        reader.execute("SELECT count(*) FROM memory").fetchone()
        memories = store.memories
        with pytest.raises(ErasureIncomplete, match="other programs"):
            memories.apply(USER, FORGETTING, expected=1, erase=True)
        assert len(memories.load(USER).memories) == KEPT
        with closing(EmbeddedStore(folder)) as early:  # opened while it is read: left for later
            assert early.memories.users() == [USER]
            assert found_in_files(folder, FORMS)
    with closing(EmbeddedStore(folder)) as later:
        assert later.memories.users() == [USER]
        assert found_in_files(folder, FORMS) == []


def test_opening_does_not_wait_for_a_writer_to_go_on_with_an_erasure(tmp_path: Path) -> None:
    with closing(Database(tmp_path / FILE_NAME)) as database:
        with database.write() as connection:
            connection.execute("UPDATE state SET erasing = 1")
        with database.write():
            started = time.monotonic()
            Database(database.path).resume_erasure()
            assert time.monotonic() - started < BUSY_TIMEOUT_S / 2
        database.resume_erasure()
        with database.read() as connection:
            assert connection.execute("SELECT erasing FROM state").fetchone() == (0,)


def test_no_file_has_the_text_of_a_deleted_document_and_its_words_leave_the_index_later(folder: Path) -> None:
    texts = ["zyzzogeton opens", "secret.md"]
    with closing(EmbeddedStore(folder)) as store, closing(EmbeddedStore(folder)) as reader:
        for number in range(6):
            write(store, f"{number}.md", {"Other": [f"Nothing of it, {number}."]})
        write(store, "secret.md", {"Locker": ["The zyzzogeton opens with 48151623."]})
        assert found(reader, "zyzzogeton")
        assert found_in_files(folder, texts)
        delete(store, "secret.md")
        assert found_in_files(folder, texts) == []
        assert found(reader, "zyzzogeton") == set()
        assert reader.lacking(["zyzzogeton"])
        assert frequency(folder, "zyzzogeton") == 2  # its section and its sentence, until it is made anew
        for number in range(3):
            delete(store, f"{number}.md")
        assert frequency(folder, "zyzzogeton") == 0
        assert found(reader, "nothing")


@pytest.mark.slow
def test_copies_that_sqlite_left_in_gaps_of_pages_go_too(tmp_path: Path) -> None:
    """Turns that grew while they were answered move from page to page; `secure_delete` alone leaves bytes."""
    chooser = random.Random(1)
    with closing(EmbeddedStore(tmp_path)) as store:
        asked = store.conversations
        id_ = asked.create(user=USER).info.id
        questions = [f"Is MARK{number:05d} it?" for number in range(400)]
        turns = {question: asked.save_turn(id_, answer(question)) for question in questions}
        for question in chooser.sample(questions * 4, 1600):
            text = "y" * chooser.randint(0, 900)
            asked.save_turn(id_, answer(question, text, turn_id=turns[question]))
        gone = chooser.sample(questions, 300)
        changes = MemoryChanges(removed_turns=tuple(turns[question] for question in gone))
        store.memories.apply(USER, changes, expected=0, erase=True)
        assert found_in_files(tmp_path, [question[3:12] for question in gone]) == []
