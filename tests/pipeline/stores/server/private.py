"""Two servers of a test's own, and what an error of theirs must be like."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

import pytest

from pipeline.errors import StoreError
from pipeline.stores.base import SearchRequest
from pipeline.stores.server import ServerAddresses, ServerStore
from tests.contracts.documents import ENCODER, MANIFEST, make_document
from tests.server_processes import PrivateMongo, PrivateWeaviate

SOON_S = 8.0  # an error comes within this, whatever has happened
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
        mongodb_url=mongo.url, weaviate_url=weaviate.url, weaviate_grpc_port=weaviate.grpc_port
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


def ingest_again(store: ServerStore, text: str) -> None:
    """As `athena ingest` does: b.md, which is new, and a.md where the store has found it to be incomplete."""
    with store.writing(MANIFEST) as writing:
        (known,) = writing.documents()
        if not known.hash:
            writing.replace(make_document("a.md", {"a.md": ["Alpha."]}))
        writing.replace(make_document("b.md", {"b.md": [text]}))


def found(store: ServerStore) -> int:
    """How many sentences a search by vector finds: gRPC of Weaviate, and MongoDB."""
    return len(store.sentences.search(REQUEST).dense_sentences)


def fails_soon(
    call: Callable[[], object],
    *words: str,
    kind: type[StoreError] = StoreError,
    secrets: tuple[str, ...] = (),
) -> None:
    """The call raises one error with these words, soon; neither it nor what led to it tells a secret."""
    started = time.monotonic()
    with pytest.raises(kind) as caught:
        call()
    assert time.monotonic() - started < SOON_S, caught.value
    assert all(word in str(caught.value) for word in words), caught.value
    assert caught.value.fix
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert not any(secret in told for secret in secrets)


def refused(addresses: ServerAddresses, call: Callable[[ServerStore], object], *words: str) -> None:
    """A store of these addresses fails soon, and tells no secret."""
    with closing(ServerStore(addresses)) as store:
        fails_soon(lambda: call(store), *words, secrets=addresses.secrets)
