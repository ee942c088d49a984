"""Both servers by TLS, with an authority of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from pipeline.stores.server import ServerAddresses, ServerStore
from tests.certificates import Authority, Certificate
from tests.pipeline.stores.server.private import SOON, Private, found, refused, running, write
from tests.server_processes import PrivateMongo, PrivateWeaviate

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """An authority that nobody trusts."""
    return Authority(tmp_path_factory.mktemp("stranger"))


@pytest.fixture(scope="module")
def certificate(authority: Authority) -> Certificate:
    return authority.sign("server")


@pytest.fixture(scope="module")
def private(
    tmp_path_factory: pytest.TempPathFactory, authority: Authority, certificate: Certificate
) -> Iterator[Private]:
    folder = tmp_path_factory.mktemp("servers")
    mongo = PrivateMongo(folder / "mongo", certificate=certificate)
    weaviate = PrivateWeaviate(folder / "weaviate", certificate=certificate)
    addresses = ServerAddresses(
        mongodb_url=f"{mongo.url}/?tls=true&{SOON}&tlsCAFile={authority.file}",
        weaviate_url=weaviate.url,
        weaviate_grpc_port=weaviate.grpc_port,
    )
    with running(mongo, weaviate, addresses) as servers:
        yield servers


@pytest.fixture(autouse=True, scope="module")
def trusted(authority: Authority) -> Iterator[None]:
    """What docs/server.md says about a private authority; gRPC reads its variable once a process."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SSL_CERT_FILE", str(authority.file))
        environment.setenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", str(authority.file))
        yield


@pytest.fixture
def store(private: Private) -> Iterator[ServerStore]:
    with closing(ServerStore(private.addresses)) as opened:
        write(opened, "a.md")
        yield opened


def test_with_their_authority_both_servers_are_used_by_tls(private: Private, store: ServerStore) -> None:
    assert private.addresses.weaviate_is_secure
    assert found(store) == 1
    assert store.versions()[1].startswith("1.")
    assert [info.source for info in store.documents()] == ["a.md"]


def test_a_mongodb_that_is_not_trusted_is_told_with_the_setting(
    private: Private, stranger: Authority, store: ServerStore
) -> None:
    refused(
        private.addresses.but(mongodb_url=f"{private.mongo.url}/?tls=true&{SOON}&tlsCAFile={stranger.file}"),
        lambda other: other.documents(),
        f"MongoDB at '{private.mongo.url}",
        "not trusted",
        "tlsCAFile=FILE",
        "ATHENA_MONGODB_URL",
    )


def test_without_tls_at_our_end_it_is_said_that_mongodb_wants_it(
    private: Private, store: ServerStore
) -> None:
    refused(
        private.addresses.but(mongodb_url=f"{private.mongo.url}/?{SOON}"),
        lambda other: other.documents(),
        "does not answer",
        "tls=true",
        "ATHENA_MONGODB_URL",
    )
