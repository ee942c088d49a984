"""What lies in one server without its counterpart is found, and removed."""

from __future__ import annotations

from contextlib import closing
from functools import partial

import pytest
from weaviate.classes.query import Filter

from pipeline.stores.base import LEVELS
from pipeline.stores.server import ServerAddresses, ServerStore
from pipeline.stores.server.schema import collection_name, create_collection, node_objects
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.state import read_state
from tests.contracts.documents import MANIFEST, make_document
from tests.contracts.test_document_store import OTHER_ENCODER, OTHER_MANIFEST, found, write

pytestmark = pytest.mark.server


@pytest.fixture
def servers(addresses: ServerAddresses, store: ServerStore):
    write(store, "a.md", {"A": ["Alpha."], "Other": ["One.", "Two."]})
    write(store, "b.md", {"B": ["Beta."]})
    with closing(Servers(addresses)) as opened:
        yield opened


def name_of(servers: Servers, level: str) -> str:
    state = read_state(servers.mongo)
    return collection_name(servers.addresses.weaviate_prefix, state.store, state.build or "", level)  # type: ignore[arg-type]


def test_objects_that_no_document_has(store: ServerStore, servers: Servers) -> None:
    stray = node_objects(make_document("c.md", {"C": ["Gamma."]}), "f" * 32)
    for level in LEVELS:
        servers.weaviate.run(
            lambda client, level=level: client.collections.use(name_of(servers, level)).data.insert_many(
                stray[level]
            )
        )
    assert found(store, "gamma") == set()
    report = store.find_orphans()
    assert (report.objects, report.versions, report.incomplete) == (2, ("f" * 32,), ())
    assert store.remove_orphans() == report
    assert store.find_orphans().is_clean
    assert found(store, "alpha") and found(store, "beta")


def test_texts_and_sections_that_no_document_has(store: ServerStore, servers: Servers) -> None:
    build = read_state(servers.mongo).build
    with servers.mongo.database() as database:
        database["texts"].insert_one({"_id": "stray", "build": build, "text": "Stray."})
        database["sections"].insert_one({"_id": "stray/0", "build": build, "version": "stray", "order": 0})
    assert store.find_orphans().versions == ("stray",)
    store.remove_orphans()
    with servers.mongo.database() as database:
        assert database["sections"].count_documents({"version": "stray"}) == 0
    assert store.find_orphans().is_clean


def test_documents_whose_objects_are_gone_are_ingested_again(store: ServerStore, servers: Servers) -> None:
    document = make_document("a.md", {"A": ["Alpha."], "Other": ["One.", "Two."]})
    servers.weaviate.run(
        lambda client: client.collections.use(name_of(servers, "sentence")).data.delete_many(
            where=Filter.by_property("section").equal(document.sections[0].node_id)
        )
    )
    report = store.find_orphans()
    assert report.incomplete == ("a.md",) and "a.md" in report.lines()[0]
    assert store.remove_orphans().incomplete == ("a.md",)
    assert {info.source: bool(info.hash) for info in store.sections.documents()} == {
        "a.md": False,
        "b.md": True,
    }
    with store.writing(MANIFEST) as writing:
        writing.replace(document)
    assert store.find_orphans().is_clean


def test_a_collection_that_is_gone(store: ServerStore, servers: Servers) -> None:
    servers.weaviate.run(lambda client: client.collections.delete(name_of(servers, "sentence")))
    assert store.find_orphans().incomplete == ("a.md", "b.md")
    store.remove_orphans()
    for source, content in (("a.md", {"A": ["Alpha."]}), ("b.md", {"B": ["Beta."]})):
        write(store, source, content)
    assert store.find_orphans().is_clean
    assert store.sentences.count() == 2


def test_builds_and_collections_that_nobody_sees(store: ServerStore, servers: Servers) -> None:
    with store.writing(OTHER_MANIFEST, rebuild=True) as writing:
        writing.replace(make_document("b.md", {"B": ["Beta."]}, encoder=OTHER_ENCODER))
    state = read_state(servers.mongo)
    lost = collection_name(servers.addresses.weaviate_prefix, state.store, "lost", "section")
    servers.weaviate.run(lambda client: create_collection(client, lost, "section", servers.addresses))
    report = store.find_orphans()
    assert len(report.builds) == 1 and report.collections == (lost,)
    assert store.remove_orphans() == report
    assert store.find_orphans().is_clean
    assert found(store, "alpha")


@pytest.mark.parametrize("tenant", ["", "crew"])
def test_a_collection_that_comes_to_be_meanwhile_is_taken(servers: Servers, tenant: str) -> None:
    """A process that is killed has asked for it, and Weaviate does so while the next one looks."""
    state = read_state(servers.mongo)
    name = collection_name(servers.addresses.weaviate_prefix, state.store, "meanwhile", "section")
    options = servers.addresses.but(weaviate_tenant=tenant)
    make = partial(create_collection, name=name, level="section", options=options)
    assert servers.weaviate.run_all([make] * 4) == [None] * 4
    assert servers.weaviate.run(lambda client: client.collections.exists(name))


def test_what_is_being_written_is_none(store: ServerStore, servers: Servers) -> None:
    with store.writing(MANIFEST) as writing:
        writing.replace(make_document("a.md", {"A": ["Alpha again."]}))
        writing.flush()
        assert store.find_orphans().is_clean  # the former version is there until the turn ends
    assert store.find_orphans().is_clean


def test_an_empty_store_has_none(addresses: ServerAddresses) -> None:
    with closing(ServerStore(addresses)) as store:
        for report in (store.find_orphans(), store.remove_orphans()):
            assert report.is_clean and report.lines() == []


def test_more_documents_are_counted_than_weaviate_groups_unless_told(store: ServerStore) -> None:
    """A hundred groups are its default; what it does not name would look as if it were gone."""
    with store.writing(MANIFEST) as writing:
        for number in range(130):
            writing.replace(make_document(f"{number}.md", {f"{number}": [f"Alpha {number}."]}))
    assert store.find_orphans().is_clean
