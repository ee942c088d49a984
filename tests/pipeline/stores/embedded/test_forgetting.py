"""What is forgotten leaves every file of the folder: under readers, from gaps of pages, and after kills."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.errors import ErasureIncomplete
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.database import FILE_NAME
from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.memories import MemoryChanges
from tests.answers import answer
from tests.contracts.documents import MANIFEST, make_document
from tests.contracts.memories import found_in_files
from tests.pipeline.stores.forgotten import FORGETTING, FORMS, KEPT, TURN, USER, fill


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an index, a conversation of a secret, and memories of it."""
    folder = tmp_path / "data"
    with closing(EmbeddedStore(folder)) as store, store.writing(MANIFEST) as stored:
        stored.replace(make_document("fan.md", {"Fan": ["It hums.", "It turns."]}))
    with (
        closing(EmbeddedMemories(folder / FILE_NAME)) as memories,
        closing(EmbeddedConversations(folder / FILE_NAME)) as conversations,
    ):
        fill(memories, conversations)
        turns = conversations.recallable(USER, [*conversations.revisions(USER)])
        conversations.keep_embeddings([replace(turn, embedding=b"MARK" * 500) for turn in turns[:1]])
    return folder


@pytest.fixture
def memories(folder: Path) -> Iterator[EmbeddedMemories]:
    with closing(EmbeddedMemories(folder / FILE_NAME, erasing_wait_s=0.05)) as opened:
        yield opened


def test_no_file_has_a_byte_of_it_while_others_have_the_folder_open(
    folder: Path, memories: EmbeddedMemories
) -> None:
    assert {word for word in FORMS if found_in_files(folder, [word])} == {*FORMS}
    with (
        closing(EmbeddedStore(folder)) as store,
        closing(EmbeddedConversations(folder / FILE_NAME)) as conversations,
    ):
        before = store.sections.document("fan.md")
        memories.forget(USER, FORGETTING, turns=[TURN])
        assert found_in_files(folder, [*FORMS, "MARK", TURN]) == []
        assert len(memories.load(USER).memories) == KEPT
        (info,) = conversations.list()
        assert info.turns == len(conversations.get(info.id).turns) == 3
        assert store.sections.document("fan.md") == before


def test_under_a_reader_it_is_said_and_done_at_the_next_opening(
    folder: Path, memories: EmbeddedMemories
) -> None:
    with closing(EmbeddedStore(folder)) as store, store.database.read() as reader:
        reader.execute("SELECT count(*) FROM memory").fetchone()
        with pytest.raises(ErasureIncomplete, match="Close the other programs"):
            memories.forget(USER, FORGETTING, turns=[TURN])
        assert len(memories.load(USER).memories) == KEPT
        with closing(EmbeddedMemories(folder / FILE_NAME)):  # opened while it is read: left for later
            assert found_in_files(folder, FORMS)
    with closing(EmbeddedMemories(folder / FILE_NAME)):
        assert found_in_files(folder, FORMS) == []


@pytest.mark.slow
def test_copies_that_sqlite_left_in_gaps_of_pages_go_too(tmp_path: Path) -> None:
    """Turns that grew while they were answered move from page to page; `secure_delete` alone leaves bytes."""
    chooser, path = random.Random(1), tmp_path / FILE_NAME
    with closing(EmbeddedMemories(path)) as memories, closing(EmbeddedConversations(path)) as asked:
        id_ = asked.create(user=USER).info.id
        questions = [f"Is MARK{number:05d} it?" for number in range(400)]
        turns = {question: asked.save_turn(id_, answer(question)) for question in questions}
        for question in chooser.sample(questions * 4, 1600):
            text = "y" * chooser.randint(0, 900)
            asked.save_turn(id_, answer(question, text, turn_id=turns[question]))
        gone = chooser.sample(questions, 300)
        memories.forget(USER, MemoryChanges(), turns=[turns[question] for question in gone])
        assert found_in_files(tmp_path, [question[3:12] for question in gone]) == []
