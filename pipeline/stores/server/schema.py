"""The collections in Weaviate: two a build, an object for each section or sentence, with vectors of our own.

The words of a node come analysed (`pipeline.analysis`) and are only split at blanks, so that every backend
finds the same. Ids are single terms. Nothing else is indexed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from weaviate.classes.config import (
    Configure,
    DataType,
    Property,
    StopwordsPreset,
    Tokenization,
    VectorDistances,
)
from weaviate.classes.data import DataObject
from weaviate.client import WeaviateClient
from weaviate.collections import Collection
from weaviate.exceptions import UnexpectedStatusCodeError
from weaviate.util import generate_uuid5

from pipeline.analysis import lexical_terms
from pipeline.nodes import Node
from pipeline.options import ServerOptions
from pipeline.stores.base import Level, NewDocument
from pipeline.stores.metadata import sentence_metadata

SEARCHED = "lexical"

# BM25 as tantivy, the embedded store's engine, has it.
BM25_K1 = 1.2
BM25_B = 0.75

# Measured on SciFact's 47,121 sentences: 5 ms a query, nDCG@10 .001 below exact search's.
HNSW_EF = 200
HNSW_EF_CONSTRUCTION = 128
HNSW_CONNECTIONS = 32

Properties = Mapping[str, Any]
NodeObject = DataObject[Properties, None]


def collection_name(prefix: str, store: str, build: str, level: Level) -> str:
    """The name of a build's collection; `store` tells several databases on one server apart."""
    return f"{store_prefix(prefix, store)}{build}_{level}"


def store_prefix(prefix: str, store: str) -> str:
    """What the names of all collections of one store begin with."""
    return f"{prefix}_{store}_"


def opened(client: WeaviateClient, name: str, tenant: str) -> Collection[Any, Any]:
    """A collection, or our tenant of it where it has tenants, to be read or written."""
    collection = client.collections.use(name, skip_argument_validation=True)
    return collection.with_tenant(tenant) if tenant else collection


def create_collection(client: WeaviateClient, name: str, level: Level, options: ServerOptions) -> None:
    """Make a collection, unless it is there, and our tenant of it."""
    if not client.collections.exists(name):
        try:
            _create(client, name, level, options)
        except UnexpectedStatusCodeError:  # whoever was killed had asked for it: it came to be meanwhile
            if not client.collections.exists(name):
                raise
    if tenant := options.weaviate_tenant:  # whoever was interrupted may have made the collection only
        tenants = client.collections.use(name).tenants
        if not tenants.exists(tenant):
            tenants.create(tenant)


def node_objects(document: NewDocument, version: str) -> dict[Level, list[NodeObject]]:
    """The objects of a document's version; raises `StoreError` where a node has no section or no vector."""
    by_section = document.sentences_by_section()
    return {
        "section": [_object(document, version, node) for node in document.sections],
        "sentence": [
            _object(document, version, node, **_of_sentence(node, section, position))
            for section in document.sections
            for position, node in enumerate(by_section[section.node_id])
        ],
    }


def _object(document: NewDocument, version: str, node: Node, **properties: Any) -> NodeObject:
    return DataObject(
        uuid=generate_uuid5(node.node_id, version),  # written again, it takes its own place
        properties={
            "node": node.node_id,
            "version": version,
            SEARCHED: lexical_terms(node.text, node.metadata),
            **properties,
        },
        vector=document.vector(node).tolist(),
    )


def _of_sentence(node: Node, section: Node, position: int) -> dict[str, Any]:
    return {
        "section": section.node_id,
        "position": position,
        "start": node.start_char_idx,
        "end": node.end_char_idx,
        "metadata": sentence_metadata(node, section),
        "text": node.text,
    }


def _create(client: WeaviateClient, name: str, level: Level, options: ServerOptions) -> None:
    client.collections.create(
        name,
        replication_config=Configure.replication(factor=options.weaviate_replicas),
        sharding_config=(
            Configure.sharding(desired_count=options.weaviate_shards) if options.weaviate_shards else None
        ),
        multi_tenancy_config=Configure.multi_tenancy(enabled=True) if options.weaviate_tenant else None,
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
