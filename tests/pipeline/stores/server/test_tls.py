"""Both servers by TLS, with an authority of one's own; what Weaviate's ports tell: `test_weaviate.py`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.stores.server import ServerAddresses, ServerStore
from tests.certificates import Authority, Certificate
from tests.pipeline.stores.server.private import Private, fails_soon, found, refused, running, write
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
        mongodb_url=f"{mongo.url}/?tls=true&tlsCAFile={authority.file}",
        weaviate_url=weaviate.url,
        weaviate_grpc_port=weaviate.grpc_port,
        weaviate_ca_file=authority.file,
    )
    with running(mongo, weaviate, addresses) as servers:
        yield servers


@pytest.fixture
def store(private: Private) -> Iterator[ServerStore]:
    with closing(ServerStore(private.addresses)) as opened:
        write(opened, "a.md")
        yield opened


def test_with_their_authority_both_servers_are_used_by_tls(private: Private, store: ServerStore) -> None:
    assert private.addresses.weaviate_is_secure
    assert found(store) == 1
    assert store.versions().weaviate.startswith("1.")
    assert [info.source for info in store.sections.documents()] == ["a.md"]


def test_a_mongodb_that_is_not_trusted_is_told_with_the_setting(
    private: Private, stranger: Authority, store: ServerStore
) -> None:
    for option in ("", f"&tlsCAFile={stranger.file}"):
        refused(
            private.addresses.but(mongodb_url=f"{private.mongo.url}/?tls=true{option}"),
            lambda other: other.sections.documents(),
            f"The certificate of MongoDB at '{private.mongo.url}",
            "is not trusted",
            "tlsCAFile=FILE",
            "ATHENA_MONGODB_URL",
        )


def test_without_tls_at_our_end_it_is_said_that_mongodb_wants_it(
    private: Private, store: ServerStore
) -> None:
    refused(
        private.addresses.but(mongodb_url=private.mongo.url),
        lambda other: other.sections.documents(),
        f"MongoDB at '{private.mongo.url}' does not answer",
        "tls=true",
        "ATHENA_MONGODB_URL",
    )


def test_a_certificate_that_changes_while_we_run(
    private: Private, stranger: Authority, certificate: Certificate, tmp_path: Path, store: ServerStore
) -> None:
    for file in (certificate.file, certificate.key):
        shutil.copy(file, tmp_path)
    other = stranger.sign("other")
    _restart_with(private.weaviate, other, certificate)
    words = ("is not trusted", "ATHENA_WEAVIATE_CA_FILE")
    fails_soon(lambda: found(store), *words)
    fails_soon(store.versions, *words)
    fails_soon(lambda: write(store, "b.md"), *words)
    before = Certificate(tmp_path / certificate.file.name, tmp_path / certificate.key.name)
    _restart_with(private.weaviate, before, certificate)
    assert found(store) == 1
    write(store, "b.md")
    assert found(store) == 2
    assert store.find_orphans().is_clean
    store.delete_document("b.md")


def _restart_with(weaviate: PrivateWeaviate, other: Certificate, certificate: Certificate) -> None:
    weaviate.stop()
    shutil.copy(other.file, certificate.file)
    shutil.copy(other.key, certificate.key)
    weaviate.start()
