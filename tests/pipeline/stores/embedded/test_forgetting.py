"""What is forgotten leaves every file of the folder: also from gaps, under readers, and after kills."""

from __future__ import annotations

import os
import random
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import ErasureIncomplete
from pipeline.stores.base import Manifest
from pipeline.stores.embedded import EmbeddedStore, erasing
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.database import FILE_NAME, open_database
from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.memories import MemoryChanges
from tests.contracts.documents import MANIFEST, make_document
from tests.contracts.memories import adding, found_in_files, memory, texts
from tests.contracts.test_conversations import answer
from tests.pipeline.stores.forgotten import FORGETTING, FORMS, PLAIN, SECRET, USER, fill


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an index, a conversation of a secret, and what was remembered of it."""
    folder = tmp_path / "data"
    with closing(EmbeddedStore(folder)) as store, store.writing(MANIFEST) as stored:
        stored.replace(make_document("fan.md", {"Fan": ["It hums.", "It turns."]}))
    with (
        closing(EmbeddedMemories(folder / FILE_NAME)) as memories,
        closing(EmbeddedConversations(folder / FILE_NAME)) as conversations,
    ):
        fill(memories, conversations)
    return folder


def test_no_file_has_a_byte_of_it_while_others_have_the_folder_open(folder: Path) -> None:
    assert found_in_files(folder, FORMS)
    with (
        closing(EmbeddedStore(folder)) as store,
        closing(EmbeddedConversations(folder / FILE_NAME)) as conversations,
        closing(EmbeddedMemories(folder / FILE_NAME)) as memories,
    ):
        (info,) = conversations.list()
        memories.load(USER)
        memories.forget(USER, FORGETTING, words=[SECRET])
        assert (folder / f"{FILE_NAME}-wal").exists()
        assert found_in_files(folder, FORMS) == []
        assert len(memories.load(USER).memories) == 12
        assert len(conversations.get(info.id).turns) == 4
        assert [found.source for found in store.sections.documents()] == ["fan.md"]


def test_no_file_has_a_byte_of_a_turn_that_is_deleted_or_of_an_embedding(folder: Path) -> None:
    with (
        closing(EmbeddedConversations(folder / FILE_NAME)) as conversations,
        closing(EmbeddedMemories(folder / FILE_NAME)) as memories,
    ):
        (mine,) = conversations.revisions(USER)
        other = conversations.create(user=USER).info.id
        deleted = conversations.save_turn(other, answer("Who is Xanthippe?", "Nobody.", verdict="answered"))
        marks = {turn.id: f"MARK{number}" for number, turn in enumerate(conversations.get(mine).turns)}
        marks[deleted] = "MARK OF DELETED"
        found = conversations.recallable(USER, [mine, other])
        conversations.keep_embeddings(
            [replace(turn, embedding=marks[turn.id].encode() * 500, embedded_by="m") for turn in found]
        )
        gone = [*PLAIN, "xanthippe", "Xanthippe", "Nobody", "MARK0", "MARK OF", deleted]
        assert {word for word in gone if found_in_files(folder, [word])} == {*gone}
        memories.forget(USER, FORGETTING, words=[SECRET], turns=[deleted])
        assert found_in_files(folder, gone) == []
        assert [turn.embedding[:5] for turn in conversations.recallable(USER, [mine, other])] == [
            b"",
            *(b"MARK%d" % number for number in range(1, 4)),
        ]


@pytest.mark.slow
def test_copies_that_sqlite_left_in_gaps_of_pages_go_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turns that grew while they were answered, and moved from page to page; without a search bytes stay."""
    monkeypatch.setattr(erasing, "MOST_SEARCHED", 10_000)

    def left(path: Path, seed: int = 1) -> list[str]:
        chooser = random.Random(seed)
        with closing(EmbeddedMemories(path)) as memories, closing(EmbeddedConversations(path)) as asked:
            id_ = asked.create(user=USER).info.id
            questions = [f"Is MARK{number:05d} it?" for number in range(400)]
            turns = {question: asked.save_turn(id_, answer(question)) for question in questions}
            for question in chooser.sample(questions * 4, 1600):
                text = "y" * chooser.randint(0, 900)
                asked.save_turn(id_, answer(question, text, turn_id=turns[question]))
            for turn in chooser.sample(asked.recallable(USER, [id_]) * 3, 1200):
                mark = turn.question[3:12].replace("MARK", "VECTOR").encode()
                asked.keep_embeddings([replace(turn, embedding=mark * chooser.randint(50, 200))])
            words = [question[3:12] for question in chooser.sample(questions, 300)]
            memories.forget(USER, MemoryChanges(), words=words)
            vectors = [word.replace("MARK", "VECTOR") for word in words]
            return found_in_files(path.parent, [*words, *vectors])

    assert left(tmp_path / "searched" / FILE_NAME) == []
    monkeypatch.setattr(erasing, "_left", lambda *_: False)
    assert any(left(tmp_path / f"not {seed}" / FILE_NAME, seed) for seed in range(2, 12))


def test_under_a_reader_it_is_said_and_done_at_the_next_opening(folder: Path) -> None:
    reader = open_database(folder / FILE_NAME)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memory").fetchone()
    with closing(EmbeddedMemories(folder / FILE_NAME, erasing_wait_s=0.05)) as memories:
        with pytest.raises(ErasureIncomplete, match=r"It is forgotten.*Close other programs"):
            memories.forget(USER, FORGETTING, words=[SECRET])
        assert len(memories.load(USER).memories) == 12  # forgotten it is
        assert found_in_files(folder, FORMS)
        with closing(EmbeddedConversations(folder / FILE_NAME)):  # opened while it is read: left for later
            assert found_in_files(folder, FORMS)
        reader.execute("ROLLBACK")
        with closing(EmbeddedConversations(folder / FILE_NAME)):
            assert found_in_files(folder, FORMS) == []
    reader.close()


def test_a_lock_that_cannot_be_opened_is_named_and_in_nobodys_way(folder: Path) -> None:
    (folder / "erasing.lock").unlink(missing_ok=True)
    (folder / "erasing.lock").mkdir()  # or another user's: root may open that one
    with (
        closing(EmbeddedMemories(folder / FILE_NAME)) as memories,
        pytest.raises(ErasureIncomplete, match=r"It is forgotten.*Remove 'erasing\.lock'"),
    ):
        memories.forget(USER, FORGETTING, words=[SECRET])
    with closing(EmbeddedMemories(folder / FILE_NAME)) as memories:
        assert len(memories.load(USER).memories) == 12
    (folder / "erasing.lock").rmdir()
    with closing(EmbeddedMemories(folder / FILE_NAME)):
        assert found_in_files(folder, FORMS) == []


def test_words_that_a_document_has_do_not_have_the_file_written_anew(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "_write_anew", lambda *_: pytest.fail("written anew"))
    with closing(EmbeddedMemories(folder / FILE_NAME)) as memories:
        memories.apply(USER, adding(memory("It hums.", id="hums")))
        memories.forget(USER, MemoryChanges(removed=("hums",)), words=["It hums."])
        assert "It hums." not in texts(memories.load(USER))


def test_an_index_is_the_same_after_the_file_was_written_anew(folder: Path) -> None:
    with closing(EmbeddedMemories(folder / FILE_NAME)) as memories, closing(EmbeddedStore(folder)) as store:
        before = store.sections.document("fan.md")
        rows = tuple(memory(f"Many {number}.", id=f"{number}") for number in range(60))
        memories.apply(USER, adding(*rows))
        memories.forget(USER, MemoryChanges(removed=tuple(row.id for row in rows)))
        assert store.sections.document("fan.md") == before
        assert isinstance(store.sections.manifest(), Manifest)


LOCKS = Path("/proc/locks")


@pytest.mark.skipif(not LOCKS.exists(), reason="only Linux lists the locks of files")
def test_who_forgot_keeps_its_locks(folder: Path) -> None:
    """A second descriptor of the file, closed again, would drop them, and the next process delete the log."""
    with closing(EmbeddedMemories(folder / FILE_NAME)) as memories:
        before = held(folder / FILE_NAME)
        gone = tuple(item.id for item in memories.load(USER).memories)
        memories.forget(USER, MemoryChanges(removed=gone), words=[SECRET])
        assert before
        assert held(folder / FILE_NAME) == before


def held(path: Path) -> int:
    """How many locks this process holds on a file."""
    file = f":{path.stat().st_ino} "
    return sum(f" {os.getpid()} " in line and file in line for line in LOCKS.read_text().splitlines())
