"""Several processes at one store, on every backend: one writer, any number of readers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest

from pipeline.errors import StoreError
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded import store as store_module
from tests.contracts.conftest import BACKENDS, OpenStore
from tests.contracts.documents import MANIFEST, delete, make_document
from tests.server_stores import leftovers, server_addresses

pytestmark = pytest.mark.slow

ROUNDS = 8

OPEN = """
import json, sys, time
from pathlib import Path
from pipeline.errors import UnknownDocument
from pipeline.stores.base import SearchRequest
from tests.contracts.documents import ENCODER, MANIFEST, make_document
from tests.contracts.documents import OTHER_ENCODER, OTHER_MANIFEST
place = json.loads(sys.argv[1])
"""
OPEN_EMBEDDED = """
from pipeline.stores.embedded import EmbeddedStore
store = EmbeddedStore(Path(place))
"""
OPEN_SERVER = """
from pipeline.stores.server import ServerAddresses, ServerStore
store = ServerStore(ServerAddresses(**place))
"""

WRITE = f"""
for round in range(1, {ROUNDS} + 1):
    with store.writing(MANIFEST) as writing:
        for number in range(8):
            writing.replace(make_document(f"{{number}}.md", {{
                "Version": [f"Marker round{{round}} of all."] * 3, f"Own {{round}}": ["Something else."]}}))
        if round % 3 == 0:
            writing.delete("7.md")
store.close()
"""

READ = f"""
vector = ENCODER.encode_query("Manual > Version: Marker round of all.")
newest = searches = 0
seen = {{}}
while newest < {ROUNDS}:
    response = store.search(SearchRequest("marker round", vector, 100))
    dense = {{hit.node_id for hit in response.dense_sections}}
    assert len(dense) == len(response.dense_sections), "two versions"
    assert len(dense) % 2 == 0, "half a document"
    assert len(response.dense_sentences) == 2 * len(dense), "half a document"
    assert {{hit.node_id for hit in response.bm25_sections}} <= dense, "words of what is gone"
    assert not searches or len(dense) >= len(last) - 2, "a document was gone"
    last = dense
    for info in store.documents():
        try:
            version, own = store.document(info.source).sections
        except UnknownDocument:
            continue  # deleted since it was listed
        round = int(own.metadata["heading_path"][-1].removeprefix("Own "))
        assert version.text.count(f"round{{round}} ") == 3, "two versions mixed"
        assert round >= seen.get(info.source, 0), "back to an old version"
        seen[info.source] = round
        newest = max(newest, round)
    searches += 1
for _ in range(200):
    found = store.search(SearchRequest("round{ROUNDS}", vector, 100)).bm25_sections
    if len(found) == 8:
        break
    time.sleep(0.05)
assert len(found) == 8, found
print(searches)
store.close()
"""

HOLD = """
with store.writing(MANIFEST) as writing:
    writing.replace(make_document("held.md", {"Held": ["Held."]}))
    print("writing", flush=True)
    sys.stdin.read()
store.close()
"""

Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture(params=BACKENDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[OpenStore, Start]]:
    """What opens a store over the same data in this process, and what starts a script with one in another."""

    def start(opening: str, where: object, script: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", OPEN + opening + script, json.dumps(where, default=str)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    with ExitStack() as stack:
        make: OpenStore = partial(EmbeddedStore, tmp_path)
        started = partial(start, OPEN_EMBEDDED, tmp_path)
        if request.param == "server":
            from pipeline.stores.server import ServerStore

            addresses = stack.enter_context(server_addresses())
            make = partial(ServerStore, addresses)
            started = partial(start, OPEN_SERVER, addresses.model_dump())
        yield lambda: stack.enter_context(closing(make())), started


def test_two_readers_and_a_writer_at_once(place: tuple[OpenStore, Start]) -> None:
    opened, start = place
    store = opened()
    with store.writing(MANIFEST) as writing:
        for number in range(8):
            content = {"Version": ["Marker round0 of all."] * 3, "Own 0": ["Something else."]}
            writing.replace(make_document(f"{number}.md", content))
    readers = [start(READ) for _ in range(2)]
    writer = start(WRITE)
    assert (writer.communicate(timeout=120)[1], writer.returncode) == ("", 0)
    for reader in readers:
        output, errors = reader.communicate(timeout=120)
        assert (errors, reader.returncode) == ("", 0)
        assert int(output) > 0
    assert leftovers(store) == []


def test_a_second_writer_is_told_who_the_first_is_and_follows_when_it_is_dead(
    place: tuple[OpenStore, Start], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, start = place
    if not isinstance(opened(), EmbeddedStore):
        pytest.skip("on the servers, several processes write at once")
    holder = start(HOLD)
    assert holder.stdout and holder.stdout.readline() == "writing\n"
    monkeypatch.setattr(store_module, "LOCK_WAIT_S", 0.2)
    second = opened()
    assert [info.source for info in second.documents()] == ["held.md"]
    with pytest.raises(StoreError, match=r"writing to it"), second.writing(MANIFEST):
        pass
    with pytest.raises(StoreError, match="writing to it"):
        delete(second, "held.md")
    holder.kill()
    holder.communicate()
    with second.writing(MANIFEST):  # of this machine, and dead: nobody waits for it any longer
        pass
    assert [info.source for info in second.documents()] == ["held.md"]
