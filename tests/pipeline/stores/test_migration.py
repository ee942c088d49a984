"""Copies between stores: whole, gone on with, refused over other documents; to each of the backends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.errors import ManifestMismatch, StoreError
from pipeline.stores.base import DocumentStore, NewDocument
from pipeline.stores.conversations import Conversations
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.conversations import EmbeddedConversations
from pipeline.stores.embedded.keys import EmbeddedKeys
from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.keys import Keys, found, new_key
from pipeline.stores.memories import Entity, Memories, MemoryChanges, MemoryEvent, MemorySource, Mention
from pipeline.stores.migration import Migration, migrate
from tests.contracts.conftest import BACKENDS
from tests.contracts.documents import MANIFEST, make_document
from tests.contracts.memories import adding, memory, texts
from tests.contracts.test_conversations import answer
from tests.server_stores import server_addresses

FAN = make_document("fan.md", {"Fan": ["It moves air.", "It hums."], "Filter": ["Clean it weekly."]})
TANK = make_document("tank.md", {"Tank": ["It holds nitrogen."]})

Pair = tuple[DocumentStore, Conversations, Memories, Keys]


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Pair]:
    """A store of two documents and a conversation with a rated answer."""
    store = EmbeddedStore(tmp_path / "source")
    write(store, FAN, TANK)
    conversations = EmbeddedConversations(tmp_path / "source" / "athena.sqlite")
    turn = conversations.save_turn(conversations.create("About fans").info.id, answer())
    conversations.set_feedback(turn, 1, "helped")
    path = tmp_path / "source" / "athena.sqlite"
    yield from _closed(store, conversations, EmbeddedMemories(path), EmbeddedKeys(path))


@pytest.fixture(params=BACKENDS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """An empty store of each backend in turn."""
    if request.param == "embedded":
        path = tmp_path / "target" / "athena.sqlite"
        yield from _closed(
            EmbeddedStore(tmp_path / "target"),
            EmbeddedConversations(path),
            EmbeddedMemories(path),
            EmbeddedKeys(path),
        )
        return
    from pipeline.stores.server import ServerStore
    from pipeline.stores.server.conversations import ServerConversations
    from pipeline.stores.server.keys import ServerKeys
    from pipeline.stores.server.memories import ServerMemories

    with server_addresses() as addresses:
        yield from _closed(
            ServerStore(addresses),
            ServerConversations(addresses),
            ServerMemories(addresses),
            ServerKeys(addresses),
        )


def _closed(*parts: *Pair) -> Iterator[Pair]:
    yield parts
    for part in parts:
        part.close()


def write(store: DocumentStore, *documents: NewDocument) -> None:
    with store.writing(MANIFEST) as writing:
        for document in documents:
            writing.replace(document)


def copy(source: Pair, target: Pair, *, force: bool = False) -> Migration:
    return migrate(
        source[0],
        target[0],
        conversations=(source[1], target[1]),
        memories=(source[2], target[2]),
        keys=(source[3], target[3]),
        force=force,
    )


def test_all_arrives_and_finds_the_same(source: Pair, target: Pair) -> None:
    assert copy(source, target) == Migration(2, 1, 0, 0)
    for document in (FAN, TANK):
        was, now = (store.sections.document(document.source) for store in (source[0], target[0]))
        assert now.text == was.text
        assert [node.text for node in now.sections] == [node.text for node in was.sections]
        assert replace(now.info, indexed_at=0) == replace(was.info, indexed_at=0)
        ids = [node.node_id for node in (*document.sections, *document.sentences)]
        before, after = (store.sentences.vectors(ids) for store in (source[0], target[0]))
        assert all(np.allclose(before[id_], after[id_], atol=1e-3) for id_ in ids)
    (info,) = source[1].list()
    assert target[1].get(info.id) == source[1].get(info.id)


def test_a_second_copy_has_nothing_to_do(source: Pair, target: Pair) -> None:
    copy(source, target)
    assert copy(source, target) == Migration(0, 0, 2, 1)


def test_a_copy_that_was_broken_off_is_gone_on_with(source: Pair, target: Pair) -> None:
    write(target[0], FAN)
    assert copy(source, target) == Migration(1, 1, 1, 0)


def test_other_documents_are_not_written_over_unless_told(source: Pair, target: Pair) -> None:
    other = make_document("fan.md", {"Fan": ["Another fan."]})
    mine = make_document("mine.md", {"Mine": ["Only here."]})
    write(target[0], other, mine)
    with pytest.raises(StoreError, match=r"2 documents that are not those of this index: fan\.md, mine\.md"):
        copy(source, target)
    assert target[0].sections.document("fan.md").text == other.text
    copy(source, target, force=True)
    assert target[0].sections.document("fan.md").text == FAN.text
    assert target[0].sections.document("mine.md").text == mine.text


def test_keys_go_along_and_open_but_not_those_that_were_revoked_there(source: Pair, target: Pair) -> None:
    (kept, sent), (gone, lost), (other, _) = (new_key(name, user="ann", days=1) for name in ("a", "b", "c"))
    for key in (kept, gone, other):
        source[3].add(key)
    target[3].add(new_key("c")[0])
    done = copy(source, target)
    assert (done.keys, done.keys_unchanged) == (2, 1)
    assert found(target[3], sent) == kept and found(target[3], lost) == gone
    target[3].revoke("b")
    assert copy(source, target).keys == 0
    assert found(target[3], lost) is None
    assert [key.name for key in target[3].list()] == ["a", "c"]


def test_a_conversation_that_went_on_there_is_left_alone(source: Pair, target: Pair) -> None:
    copy(source, target)
    (info,) = target[1].list()
    target[1].save_turn(info.id, answer("And then?"))
    assert copy(source, target).conversations == 0
    assert [turn.question for turn in target[1].get(info.id).turns] == ["Why?", "And then?"]


def test_one_that_went_on_here_is_copied_again(source: Pair, target: Pair) -> None:
    copy(source, target)
    (info,) = source[1].list()
    source[1].save_turn(info.id, answer("And then?"))
    assert copy(source, target).conversations == 1
    assert target[1].get(info.id) == source[1].get(info.id)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"embedding_model": "another"}, "another"),
        ({"fingerprint": "2"}, r"another model file.*each of the two"),
    ],
)
def test_an_index_made_otherwise_takes_nothing(
    source: Pair, target: Pair, made: dict[str, str], said: str
) -> None:
    with target[0].writing(replace(MANIFEST, **made)) as writing:
        writing.replace(FAN)
    with pytest.raises(ManifestMismatch, match=said):
        copy(source, target)


def test_nothing_to_copy_is_said(source: Pair, target: Pair) -> None:
    with pytest.raises(StoreError, match="no index to copy"):
        copy(target, source)


def event(memory_id: str, action: str, at: float) -> MemoryEvent:
    return MemoryEvent(id=f"{memory_id}-{action}-{at}", user="ann", memory_id=memory_id, action=action, at=at)  # type: ignore[arg-type]


def test_memories_arrive_with_their_history_and_whose_they_are(source: Pair, target: Pair) -> None:
    tea = memory("Tea.", id="tea", sources=(MemorySource(turn_id="t", quote="tea"),))
    source[2].apply(
        "ann",
        MemoryChanges(
            memories=(tea, memory("Milk.", id="milk", ended_at=5.0)),
            entities=(Entity(id="e", user="ann", name="Ann"),),
            mentions=(Mention(id="m", user="ann", entity_id="e", at=1.0, memory_id="tea"),),
            events=(event("tea", "ADD", 1.0), event("milk", "REPLACE", 5.0)),
        ),
    )
    source[2].apply("bob", adding(memory("Coffee.", user="bob")))
    done = copy(source, target)
    assert (done.memories, done.memories_unchanged) == (3, 0)
    for user in ("ann", "bob"):
        assert replace(target[2].load(user), version=1) == source[2].load(user)
        assert target[2].events(user) == source[2].events(user)
    done = copy(source, target)
    assert (done.memories, done.memories_unchanged) == (0, 3)
    assert target[2].version("ann") == 1  # nothing was written


def test_a_memory_that_both_have_stays_as_it_was_changed_last_and_a_forgotten_one_stays_away(
    source: Pair, target: Pair
) -> None:
    rows = [memory(f"{name}.", id=name) for name in ("older", "newer", "forgotten")]
    named = Mention(id="m", user="ann", entity_id="e", at=1.0, memory_id="forgotten")
    known = {"entities": (Entity(id="e", user="ann", name="Clara"),), "mentions": (named,)}
    source[2].apply("ann", adding(*rows, **known, events=tuple(event(row.id, "ADD", 1.0) for row in rows)))
    copy(source, target)
    source[2].apply(
        "ann", adding(replace(rows[1], text="Newer here."), events=(event("newer", "UPDATE", 3.0),))
    )
    target[2].apply(
        "ann", adding(replace(rows[0], text="Newer there."), events=(event("older", "UPDATE", 2.0),))
    )
    gone = MemoryChanges(removed=("forgotten", "e", "m"), events=(event("forgotten", "DELETE", 2.0),))
    target[2].forget("ann", gone)
    target[2].apply("ann", adding(memory("Said in both.", id="there")))
    source[2].apply("ann", adding(memory("Said in both.", id="here")))
    assert copy(source, target).memories == 1
    assert sorted(texts(target[2].load("ann"))) == ["Newer here.", "Newer there.", "Said in both."]
    assert target[2].load("ann").entities == ()
