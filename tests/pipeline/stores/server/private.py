"""Two servers of a test's own, and what an error of theirs must be like."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

import pytest

from pipeline.errors import StoreError
from pipeline.redaction import secrets_in
from pipeline.stores.base import SearchRequest
from pipeline.stores.server import ServerAddresses, ServerStore
from tests.contracts.documents import ENCODER, MANIFEST, make_document
from tests.server_processes import PrivateMongo, PrivateWeaviate

SOON = "serverSelectionTimeoutMS=1500"  # the driver's default is 30 s
REQUEST = SearchRequest("alpha", ENCODER.encode_query("alpha"), 5)


@dataclass(frozen=True)
class Private:
    """Both servers, and the addresses that let one in."""

    mongo: PrivateMongo
    weaviate: PrivateWeaviate
    addresses: ServerAddresses


@contextmanager
def running(
    mongo: PrivateMongo, weaviate: PrivateWeaviate, addresses: ServerAddresses | None = None
) -> Iterator[Private]:
    """Both servers for the block, by plain addresses unless others are given; killed at its end."""
    addresses = addresses or ServerAddresses(
        mongodb_url=f"{mongo.url}/?{SOON}", weaviate_url=weaviate.url, weaviate_grpc_port=weaviate.grpc_port
    )
    try:
        mongo.start()
        weaviate.start()
        yield Private(mongo, weaviate, addresses)
    finally:
        mongo.kill()
        weaviate.kill()


def write(store: ServerStore, source: str, text: str = "Alpha.") -> None:
    """Ingest one document of one sentence."""
    with store.writing(MANIFEST) as writing:
        writing.replace(make_document(source, {source: [text]}))


def found(store: ServerStore) -> int:
    """How many sentences a search by vector finds: gRPC of Weaviate, and MongoDB."""
    return len(store.search(REQUEST).dense_sentences)


def fails(
    call: Callable[[], object], *words: str, kind: type[StoreError] = StoreError, secrets: Sequence[str] = ()
) -> None:
    """The call raises an error with these words and with advice, and shows no secret."""
    with pytest.raises(kind) as caught:
        call()
    assert all(word in str(caught.value) for word in words), caught.value
    assert caught.value.fix
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert not any(secret in shown for secret in secrets)


def refused(addresses: ServerAddresses, call: Callable[[ServerStore], object], *words: str) -> None:
    """A store of these addresses fails with these words, and shows no secret."""
    with closing(ServerStore(addresses)) as store:
        fails(lambda: call(store), *words, secrets=[*filter(None, secrets_in(addresses.model_dump()))])
