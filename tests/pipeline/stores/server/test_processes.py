"""Several processes at the same servers: one writer, any number of readers."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing

import pytest

from pipeline.errors import ManifestMismatch, StoreError
from pipeline.stores.base import SearchRequest
from pipeline.stores.server import ServerAddresses, ServerStore
from pipeline.stores.server.servers import Servers
from pipeline.stores.server.state import STATE_ID
from tests.contracts.documents import ENCODER, MANIFEST, make_document, make_id
from tests.contracts.test_document_store import OTHER_ENCODER, write

pytestmark = pytest.mark.server

ROUNDS = 8

OPEN = """
import json, sys, time
from pipeline.errors import StoreError, UnknownDocument
from pipeline.stores.base import SearchRequest
from pipeline.stores.server import ServerAddresses, ServerStore
from tests.contracts.documents import ENCODER, MANIFEST, make_document
from tests.contracts.test_document_store import OTHER_ENCODER, OTHER_MANIFEST
store = ServerStore(ServerAddresses(**json.loads(sys.argv[1])))
"""

WRITE = f"""
for round in range(1, {ROUNDS} + 1):
    with store.writing(MANIFEST) as writing:
        for number in range(8):
            writing.replace(make_document(f"{{number}}.md", {{
                "Version": [f"Marker round{{round}} of all."] * 3, f"Own {{round}}": ["Something else."]}}))
            if number % 3 == 0:
                writing.flush()
        if round % 3 == 0:
            writing.delete("7.md")
store.close()
"""

READ = f"""
vector = ENCODER.encode_query("Manual > Version: Marker round of all.")
newest = searches = 0
seen = {{}}
while newest < {ROUNDS}:
    response = store.sentences.search(SearchRequest("marker round", vector, 100))
    dense = {{hit.node_id for hit in response.dense_sections}}
    assert len(dense) == len(response.dense_sections), "two versions"
    assert len(dense) % 2 == 0, "half a document"
    assert len(response.dense_sentences) == 2 * len(dense), "half a document"
    assert len(response.bm25_sections) * 2 == len(dense), "words and vectors differ"
    assert not searches or len(dense) >= len(last) - 2, "a document was gone"
    last = dense
    for info in store.sections.documents():
        try:
            version, own = store.sections.document(info.source).sections
        except UnknownDocument:
            continue  # deleted since it was listed
        round = int(own.metadata["heading_path"][-1].removeprefix("Own "))
        assert version.text.count(f"round{{round}} ") == 3, "two versions mixed"
        assert round >= seen.get(info.source, 0), "back to an old version"
        seen[info.source] = round
        newest = max(newest, round)
    searches += 1
print(searches)
store.close()
"""

SWAP = """
for round in range(5):
    encoder, manifest = [(ENCODER, MANIFEST), (OTHER_ENCODER, OTHER_MANIFEST)][(round + 1) % 2]
    with store.writing(manifest, rebuild=True) as writing:
        for number in range(6):
            writing.replace(make_document(f"{number}.md", {"A": ["Alpha."]}, encoder=encoder))
        writing.publish()
store.close()
"""

HOLD = """
with store.writing(MANIFEST) as writing:
    writing.replace(make_document("held.md", {"Held": ["Held."]}))
    writing.flush()
    print("writing", flush=True)
    sys.stdin.read()
store.close()
"""


def start(script: str, addresses: ServerAddresses) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", OPEN + script, json.dumps(addresses.model_dump())],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_two_readers_and_a_writer_at_once(addresses: ServerAddresses, store: ServerStore) -> None:
    with store.writing(MANIFEST) as writing:
        for number in range(8):
            writing.replace(
                make_document(
                    f"{number}.md",
                    {"Version": ["Marker round0 of all."] * 3, "Own 0": ["Something else."]},
                )
            )
    readers = [start(READ, addresses) for _ in range(2)]
    writer = start(WRITE, addresses)
    assert (writer.communicate(timeout=120)[1], writer.returncode) == ("", 0)
    for reader in readers:
        output, errors = reader.communicate(timeout=120)
        assert (errors, reader.returncode) == ("", 0)
        assert int(output) > 0
    assert store.find_orphans().is_clean


def test_a_build_is_swapped_while_others_read(addresses: ServerAddresses, store: ServerStore) -> None:
    with store.writing(MANIFEST) as writing:
        for number in range(6):
            writing.replace(make_document(f"{number}.md", {"A": ["Alpha."]}))
    swapping = start(SWAP, addresses)
    models, searches = set(), 0
    while swapping.poll() is None:
        searches += 1
        manifest = store.sections.manifest()
        assert manifest is not None
        models.add(manifest.embedding_model)
        assert len(store.sections.documents()) == 6
        assert len(store.sections.document("3.md").sections) == 1
        assert len(store.sections.get_many([make_id("3.md", "A")])) == 1
        assert len(store.sentences.search(SearchRequest("alpha", None, 10)).bm25_sections) == 6
        encoder = {"other": OTHER_ENCODER}.get(manifest.embedding_model, ENCODER)
        try:
            found = store.sentences.search(SearchRequest("alpha", encoder.encode_query("alpha"), 10))
        except ManifestMismatch:
            continue  # swapped since its manifest was read
        assert len(found.dense_sections) == len(found.bm25_sentences) == 6
    assert swapping.communicate()[1] == ""
    assert models == {"fake-encoder", "other"} and searches > 5
    assert store.find_orphans().is_clean


def test_a_second_writer_is_told_who_the_first_is_and_follows_when_it_is_dead(
    addresses: ServerAddresses, store: ServerStore
) -> None:
    holder = start(HOLD, addresses)
    assert holder.stdout and holder.stdout.readline() == "writing\n"
    assert [info.source for info in store.sections.documents()] == ["held.md"]
    with closing(ServerStore(addresses, lock_wait_s=0.2)) as second:
        with pytest.raises(StoreError, match=rf"pid {holder.pid}\).*Wait until"), second.writing(MANIFEST):
            pass
        with pytest.raises(StoreError, match=str(holder.pid)):
            second.delete_document("held.md")
        holder.kill()
        holder.communicate()
        with second.writing(MANIFEST):  # of this machine, and dead: nobody waits for the lease to run out
            pass
    assert [info.source for info in store.sections.documents()] == ["held.md"]


def test_the_lease_of_a_dead_machine_runs_out(addresses: ServerAddresses, store: ServerStore) -> None:
    write(store, "a.md", {"A": ["Alpha."]})
    with closing(Servers(addresses)) as servers:
        lease = {"owner": "x", "machine": "elsewhere/1", "pid": 1, "expires_at": servers.mongo.now() + 1.5}
        with servers.mongo.collection("state") as states:
            states.update_one({"_id": STATE_ID}, {"$set": {"writer": lease}})
    started = time.monotonic()
    with (
        closing(ServerStore(addresses, lock_wait_s=0.2)) as other,
        pytest.raises(StoreError, match="on 'elsewhere'"),
        other.writing(MANIFEST),
    ):
        pass
    write(store, "b.md", {"B": ["Beta."]})
    assert time.monotonic() - started > 1.0
    assert len(store.sections.documents()) == 2


def test_a_writer_who_was_away_for_too_long_shows_nothing(addresses: ServerAddresses) -> None:
    with closing(ServerStore(addresses)) as first, closing(ServerStore(addresses)) as second:
        write(first, "a.md", {"A": ["Alpha."]})
        with pytest.raises(StoreError, match="taken the writer's place"), first.writing(MANIFEST) as writing:
            writing.replace(make_document("b.md", {"B": ["Beta."]}))
            with closing(Servers(addresses)) as servers, servers.mongo.collection("state") as states:
                states.update_one({"_id": STATE_ID}, {"$set": {"writer.expires_at": 1.0}})
            write(second, "c.md", {"C": ["Gamma."]})
            writing.flush()
        assert [info.source for info in second.sections.documents()] == ["a.md", "c.md"]
        write(second, "c.md", {"C": ["Gamma."]})
        assert second.find_orphans().is_clean


def test_clients_are_shared_and_closed_with_their_last_owner(addresses: ServerAddresses) -> None:
    first, second = Servers(addresses), Servers(addresses)
    assert first.mongo is second.mongo and first.weaviate is second.weaviate
    third = Servers(addresses.but(mongodb_database="another"))
    assert third.mongo is not first.mongo
    for servers in (first, third):
        servers.close()
        servers.close()
    assert second.mongo.version() and second.weaviate.version()
    second.close()
    with pytest.raises(StoreError, match="closed"):
        second.mongo.version()
