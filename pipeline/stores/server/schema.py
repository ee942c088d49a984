"""The collections in Weaviate: two a build, with a schema of our own and vectors that we bring.

The words of a node come analysed (`pipeline.analysis`) and are only split at blanks, so that every backend
finds the same. Ids are single terms. Nothing else is indexed.
"""

from __future__ import annotations

from weaviate.classes.config import (
    Configure,
    DataType,
    Property,
    StopwordsPreset,
    Tokenization,
    VectorDistances,
)
from weaviate.client import WeaviateClient

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


def create_collection(client: WeaviateClient, name: str, level: Level) -> None:
    """Make a collection, unless it is there."""
    if client.collections.exists(name):
        return
    client.collections.create(
        name,
        properties=_PROPERTIES[level],
        inverted_index_config=Configure.inverted_index(
            bm25_k1=BM25_K1, bm25_b=BM25_B, stopwords_preset=StopwordsPreset.NONE
        ),
        vector_config=Configure.Vectors.self_provided(
            quantizer=Configure.VectorIndex.Quantizer.none(),
            vector_index_config=Configure.VectorIndex.hnsw(
                distance_metric=VectorDistances.COSINE,
                ef=HNSW_EF,
                ef_construction=HNSW_EF_CONSTRUCTION,
                max_connections=HNSW_CONNECTIONS,
            ),
        ),
    )


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
