"""The collections in Weaviate: two a build, with a schema of our own and vectors that we bring.

The words of a node come analysed (`pipeline.analysis`) and are only split at blanks, so that every backend
finds the same. Ids are single terms. Nothing else is indexed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from weaviate.classes.config import (
    Configure,
    DataType,
    Property,
    StopwordsPreset,
    Tokenization,
    VectorDistances,
)
from weaviate.client import WeaviateClient
from weaviate.collections import Collection
from weaviate.exceptions import UnexpectedStatusCodeError

from pipeline.options import ServerOptions
from pipeline.stores.base import Level

SEARCHED = "lexical"

# BM25 as tantivy, the embedded store's engine, has it.
BM25_K1 = 1.2
BM25_B = 0.75

# Measured on SciFact's 47,121 sentences: 5 ms a query, nDCG@10 .001 below exact search's.
HNSW_EF = 200
HNSW_EF_CONSTRUCTION = 128
HNSW_CONNECTIONS = 32


def collection_name(prefix: str, store: str, build: str, level: Level) -> str:
    """The name of a build's collection; `store` tells several databases on one server apart."""
    return f"{store_prefix(prefix, store)}{build}_{level}"


def store_prefix(prefix: str, store: str) -> str:
    """What the names of all collections of one store begin with."""
    return f"{prefix}_{store}_"


@dataclass(frozen=True, slots=True)
class Place:
    """A collection, and the tenant of it that is ours where it has tenants."""

    name: str
    tenant: str = ""

    def of(self, client: WeaviateClient) -> Collection[Any, Any]:
        """The collection, to be read or written."""
        opened = client.collections.use(self.name, skip_argument_validation=True)
        return opened.with_tenant(self.tenant) if self.tenant else opened


def create_collection(client: WeaviateClient, place: Place, level: Level, options: ServerOptions) -> None:
    """Make a collection, unless it is there, and our tenant of it."""
    if not client.collections.exists(place.name):
        try:
            _create(client, place, level, options)
        except UnexpectedStatusCodeError:  # whoever was killed had asked for it: it came to be meanwhile
            if not client.collections.exists(place.name):
                raise
    if place.tenant:  # whoever was interrupted may have made the collection only
        tenants = client.collections.use(place.name).tenants
        if not tenants.exists(place.tenant):
            tenants.create(place.tenant)


def _create(client: WeaviateClient, place: Place, level: Level, options: ServerOptions) -> None:
    client.collections.create(
        place.name,
        replication_config=Configure.replication(factor=options.weaviate_replicas),
        sharding_config=(
            Configure.sharding(desired_count=options.weaviate_shards) if options.weaviate_shards else None
        ),
        multi_tenancy_config=Configure.multi_tenancy(enabled=True) if place.tenant else None,
        properties=_PROPERTIES[level],
        inverted_index_config=Configure.inverted_index(
            bm25_k1=BM25_K1, bm25_b=BM25_B, stopwords_preset=StopwordsPreset.NONE
        ),
        vector_config=Configure.Vectors.self_provided(
            quantizer=_QUANTIZERS[options.weaviate_quantizer](),
            vector_index_config=Configure.VectorIndex.hnsw(
                distance_metric=VectorDistances.COSINE,
                ef=HNSW_EF,
                ef_construction=HNSW_EF_CONSTRUCTION,
                max_connections=HNSW_CONNECTIONS,
            ),
        ),
    )


# Compressed vectors are for finding candidates; those are then ordered by the whole ones, which are on disk.
_QUANTIZERS: Mapping[str, Callable[[], Any]] = {
    "none": Configure.VectorIndex.Quantizer.none,
    "rq": Configure.VectorIndex.Quantizer.rq,
    "bq": Configure.VectorIndex.Quantizer.bq,
}


def _id(name: str) -> Property:
    """An id: filtered by, as one term."""
    return Property(
        name=name,
        data_type=DataType.TEXT,
        tokenization=Tokenization.FIELD,
        index_filterable=True,
        index_searchable=False,
    )


def _kept(name: str, data_type: DataType) -> Property:
    """What is only given back."""
    return Property(
        name=name,
        data_type=data_type,
        index_filterable=False,
        index_searchable=False if data_type is DataType.TEXT else None,
    )


def _words(name: str) -> Property:
    """What is searched for words."""
    return Property(
        name=name,
        data_type=DataType.TEXT,
        tokenization=Tokenization.WHITESPACE,
        index_filterable=False,
        index_searchable=True,
    )


_COMMON = [_id("node"), _id("version"), _words(SEARCHED)]
_PROPERTIES: dict[Level, list[Property]] = {
    "section": _COMMON,
    "sentence": [
        *_COMMON,
        _id("section"),
        Property(name="position", data_type=DataType.INT, index_filterable=True, index_searchable=None),
        _kept("start", DataType.INT),
        _kept("end", DataType.INT),
        _kept("metadata", DataType.TEXT),
        _kept("text", DataType.TEXT),
    ],
}
