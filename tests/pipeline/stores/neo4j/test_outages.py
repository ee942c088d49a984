"""A Neo4j that refuses, goes away and comes back: an error that names the setting, soon, and no password."""

from __future__ import annotations

import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.errors import AthenaError, ConfigurationError, StoreUnavailable
from pipeline.stores.embedded.memories import EmbeddedMemories
from pipeline.stores.memories import MemoryChanges
from pipeline.stores.neo4j.address import GraphAddress
from pipeline.stores.neo4j.graph import Neo4jGraph
from pipeline.stores.neo4j.memories import MemoriesWithGraph
from tests.pipeline.stores.neo4j.test_memories import FORGETTING, SAID
from tests.server_processes import PrivateNeo4j, free_ports

pytest.importorskip("neo4j")

PASSWORD = "r1ght/p@ssword"
QUOTED = "r1ght%2Fp%40ssword"
SOON_S = 10.0


def graph_at(url: str, **given: str) -> Neo4jGraph:
    return Neo4jGraph(GraphAddress(neo4j_url=url, **given))


def refused(graph: Neo4jGraph) -> AthenaError:
    """The error that asking gives, soon."""
    begun = time.monotonic()
    with closing(graph), pytest.raises(AthenaError) as error:
        graph.versions("store")
    assert time.monotonic() - begun < SOON_S
    return error.value


def test_nobody_there() -> None:
    error = refused(graph_at(f"bolt://ada:{QUOTED}@127.0.0.1:{free_ports(1)[0]}"))
    assert isinstance(error, StoreUnavailable)
    assert re.fullmatch(
        r"Neo4j at 'bolt://127\.0\.0\.1:\d+' does not answer \(Connection refused\)\.", error.problem
    )
    assert "ATHENA_NEO4J_URL" in error.fix
    assert "r1ght" not in str(error)


def test_a_name_that_nothing_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = refused(graph_at("bolt://graph.invalid:7687"))
    assert isinstance(error, StoreUnavailable) and "graph.invalid" in error.problem


@pytest.mark.slow
def test_one_that_says_nothing_is_not_waited_for_twice() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        graph = graph_at(f"bolt://127.0.0.1:{silent.getsockname()[1]}")
        error = refused(graph)
        assert isinstance(error, StoreUnavailable)
        begun = time.monotonic()
        with pytest.raises(StoreUnavailable, match=re.escape(error.problem)):
            graph.versions("store")
        assert time.monotonic() - begun < 1


def test_one_that_hangs_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        hanging_up = threading.Thread(target=lambda: other.accept()[0].close(), daemon=True)
        hanging_up.start()
        error = refused(graph_at(f"bolt://127.0.0.1:{other.getsockname()[1]}"))
        assert isinstance(error, StoreUnavailable)
        hanging_up.join()


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pipeline.stores.neo4j.connecting", raising=False)
    monkeypatch.setitem(sys.modules, "llama_index.graph_stores.neo4j", None)
    error = refused(graph_at("bolt://127.0.0.1"))
    assert isinstance(error, ConfigurationError) and "athena-docs[neo4j]" in error.fix


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateNeo4j]:
    """A Neo4j with a password."""
    server = PrivateNeo4j(tmp_path_factory.mktemp("neo4j"), password=PASSWORD)
    server.start()
    yield server
    server.kill()


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_right_password_lets_us_in_and_the_wrong_one_is_not_repeated(guarded: PrivateNeo4j) -> None:
    with closing(graph_at(guarded.url(f"neo4j:{QUOTED}@"))) as graph:
        assert graph.versions("store") == {}
    with closing(graph_at(guarded.url(), neo4j_password=PASSWORD)) as graph:
        assert graph.versions("store") == {}
    for wrong in (
        graph_at(guarded.url("neo4j:wr0ng-one@")),
        graph_at(guarded.url()),
        graph_at(guarded.url(), neo4j_user="ada", neo4j_password=PASSWORD),
    ):
        error = refused(wrong)
        assert "does not let us in" in error.problem and "ATHENA_NEO4J_PASSWORD" in error.fix
        assert "wr0ng" not in str(error) and "r1ght" not in str(error)
    error = refused(graph_at(guarded.url(f"neo4j:{QUOTED}@"), neo4j_database="elsewhere"))
    assert "'elsewhere'" in error.problem and "ATHENA_NEO4J_DATABASE" in error.fix
    assert isinstance(refused(graph_at(guarded.url().replace("bolt:", "bolt+s:"))), StoreUnavailable)


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.kill
@pytest.mark.timeout(600)
def test_one_that_is_killed_and_comes_back_is_used_again(tmp_path: Path) -> None:
    server = PrivateNeo4j(tmp_path / "neo4j")
    server.start()
    store = EmbeddedMemories(tmp_path / "athena.sqlite")
    with closing(MemoriesWithGraph(store, graph_at(server.url()))) as memories:
        memories.apply("ann", SAID)
        server.kill()
        for change in (
            lambda: memories.apply("ann", MemoryChanges(removed=("r",))),
            lambda: memories.forget("ann", FORGETTING),
            lambda: memories.around("ann", ["clara"], depth=2, most=9, version=1),
        ):
            begun = time.monotonic()
            with pytest.raises(StoreUnavailable, match="ATHENA_NEO4J_URL"):
                change()
            assert time.monotonic() - begun < SOON_S
        assert memories.version("ann") == 1
        server.start()
        memories.forget("ann", FORGETTING)
        assert memories.examine().entities == 0
    server.stop()
