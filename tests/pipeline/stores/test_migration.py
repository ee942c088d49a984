"""Documents, conversations and memories copied from one store to another, on each backend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pipeline.errors import ManifestMismatch, StoreError
from pipeline.stores.base import DocumentStore, SearchRequest
from pipeline.stores.conversations import Conversations
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.memories import Memories, MemoryEvent
from pipeline.stores.migration import copy_conversations, copy_documents, copy_memories
from tests.answers import answer
from tests.contracts.conftest import BACKENDS
from tests.contracts.documents import ENCODER, MANIFEST, make_document
from tests.contracts.memories import adding, memory
from tests.server_stores import server_addresses

FAN = make_document("fan.md", {"Fan": ["The fan hums.", "It is loud."]})
TANK = make_document("tank.md", {"Tank": ["The tank is cold."], "Valve": ["It vents."]})


@dataclass(frozen=True, slots=True)
class Stores:
    """The three stores that are copied."""

    documents: DocumentStore
    conversations: Conversations
    memories: Memories


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Stores]:
    """An embedded store with two documents, a rated conversation and a memory."""
    with ExitStack() as stack:
        stores = embedded(tmp_path / "source", stack)
        write(stores, "fan", "tank")
        turn = stores.conversations.save_turn(stores.conversations.create("About fans").info.id, answer())
        stores.conversations.set_feedback(turn, 1, "helped")
        event = MemoryEvent(id="v", user="ann", memory_id="m", action="ADD", at=1.0)
        stores.memories.apply("ann", adding(memory(id="m"), events=(event,)))
        yield stores


@pytest.fixture(params=BACKENDS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    """An empty store of each backend in turn."""
    with ExitStack() as stack:
        if request.param == "embedded":
            yield embedded(tmp_path / "target", stack)
            return
        from pipeline.stores.server import ServerStore
        from pipeline.stores.server.conversations import ServerConversations
        from pipeline.stores.server.memories import ServerMemories

        addresses = stack.enter_context(server_addresses())
        yield Stores(
            stack.enter_context(closing(ServerStore(addresses))),
            stack.enter_context(closing(ServerConversations(addresses))),
            stack.enter_context(closing(ServerMemories(addresses))),
        )


def embedded(folder: Path, stack: ExitStack) -> Stores:
    path = folder / "athena.sqlite"
    return Stores(
        stack.enter_context(closing(EmbeddedStore(folder))),
        stack.enter_context(closing(EmbeddedConversations(path))),
        stack.enter_context(closing(EmbeddedMemories(path))),
    )


def write(stores: Stores, *names: str) -> None:
    with stores.documents.writing(MANIFEST) as writing:
        for name in names:
            writing.replace({"fan": FAN, "tank": TANK}[name])


def report(what: str, done: int, total: int) -> None:
    assert what and done <= total


def copied(source: Stores, target: Stores, *, force: bool = False) -> tuple[int, int, int]:
    return (
        copy_documents(source.documents, target.documents, force=force, report=report),
        copy_conversations(source.conversations, target.conversations, report=report),
        copy_memories(source.memories, target.memories, report=report),
    )


def test_everything_arrives_once_and_finds_the_same(source: Stores, target: Stores) -> None:
    assert copied(source, target) == (2, 1, 1)
    assert copied(source, target) == (0, 0, 0)
    request = SearchRequest("tank vents", ENCODER.encode_query("tank vents"), 5)
    found = target.documents.sentences.search(request)
    assert found.bm25_sections and found.dense_sentences
    assert target.documents.sections.document("fan.md").text == FAN.text
    (info,) = source.conversations.list()
    assert target.conversations.get(info.id) == source.conversations.get(info.id)
    assert target.memories.load("ann").memories == source.memories.load("ann").memories
    assert target.memories.events("ann") == source.memories.events("ann")


def test_an_interrupted_copy_is_continued(source: Stores, target: Stores) -> None:
    write(target, "fan")
    assert copied(source, target)[0] == 1


def test_other_documents_are_not_overwritten_without_force(source: Stores, target: Stores) -> None:
    with target.documents.writing(MANIFEST) as writing:
        writing.replace(replace(make_document("fan.md", {"Fan": ["Another fan."]}), hash="other"))
    with pytest.raises(StoreError, match=r"fan\.md.*--force"):
        copied(source, target)
    assert copied(source, target, force=True)[0] == 2
    assert target.documents.sections.document("fan.md").text == FAN.text


def test_a_conversation_is_copied_again_only_where_it_went_on_in_the_source(
    source: Stores, target: Stores
) -> None:
    copied(source, target)
    (info,) = source.conversations.list()
    source.conversations.save_turn(info.id, answer("And?"))
    assert copied(source, target)[1] == 1
    target.conversations.save_turn(info.id, answer("More?"))
    assert copied(source, target)[1] == 0
    assert target.conversations.get(info.id).info.turns == 3


def test_an_outdated_target_takes_nothing(source: Stores, target: Stores) -> None:
    with target.documents.writing(replace(MANIFEST, recipe=2)) as writing:
        writing.replace(FAN)
    with pytest.raises(ManifestMismatch, match="do not fit"):
        copied(source, target)


def test_an_empty_source_is_an_error(source: Stores, target: Stores) -> None:
    with pytest.raises(StoreError, match="no index"):
        copied(target, source)
