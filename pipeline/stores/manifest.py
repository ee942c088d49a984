"""The guard against an index that was made with something else than what it is to be used with."""

from __future__ import annotations

from dataclasses import replace

from pipeline.errors import ManifestMismatch
from pipeline.stores.base import Manifest

FORMAT = 1
"""Rises when stored vectors or sentences would come out otherwise: what is embedded, how ids are made."""

REBUILD = "`athena ingest --rebuild`"


def check_manifest(stored: Manifest | None, wanted: Manifest) -> None:
    """Raise `ManifestMismatch` where an index that has documents was not made with `wanted`."""
    if stored is None or replace(stored, generation=0) == replace(wanted, generation=0):
        return
    differences = "; ".join(_differences(stored, wanted))
    raise ManifestMismatch(
        f"The index was made otherwise than it is to be used: {differences}.",
        f"Make it anew with {REBUILD}, or go back to the former settings.",
    )


def _differences(stored: Manifest, wanted: Manifest) -> list[str]:
    pairs = {
        "format": (stored.format, wanted.format),
        "embedding model": (stored.embedding_model, wanted.embedding_model),
        "dimensions": (stored.dimensions, wanted.dimensions),
        "splitter": (stored.splitter, wanted.splitter),
    }
    return [f"{name} {was}, now {now}" for name, (was, now) in pairs.items() if was != now]
