"""The guard against an index that was made with something else than it is to be used with.

What somebody chose (model and splitter) may differ by mistake: such an index is remade only on request. What
comes with the program or the model may not: such an index is outdated, and the next ingest remakes it.
"""

from __future__ import annotations

from pipeline.errors import ManifestMismatch
from pipeline.stores.base import Manifest, SearchRequest

FORMAT = 3
"""Rises when the same files would make other documents or ids; what is embedded has a number of its own,
`pipeline.analysis.EMBEDDING_RECIPE`."""

REBUILD = "`athena ingest --rebuild`"
INGEST = (
    "Embed everything again: `athena ingest FOLDER`, or 'Index again what changed' on the Documents page."
)


def check_manifest(stored: Manifest | None, wanted: Manifest | None) -> None:
    """Raise `ManifestMismatch` where an index that has documents was not made with `wanted`."""
    if stored is None or wanted is None:
        return
    if chosen := _other_choices(stored, wanted):
        raise ManifestMismatch(
            f"The index was made with other settings: {'; '.join(chosen)}.",
            f"Rebuild it with {REBUILD}, or go back to the former settings.",
        )
    if outdated := why_outdated(stored, wanted):
        raise ManifestMismatch(f"The index is outdated: it was made with {outdated}.", INGEST)


def check_search(stored: Manifest, wanted: Manifest | None, request: SearchRequest) -> None:
    """Raise `ManifestMismatch` where an index cannot be searched with `wanted`, if given, or the vector."""
    check_manifest(stored, wanted or stored)
    if request.vector is not None and len(request.vector) != stored.dimensions:
        raise ManifestMismatch(
            f"The index was made with {stored.embedding_model} ({stored.dimensions} dimensions), "
            f"the question was embedded with {len(request.vector)}.",
            f"Choose that model again, or rebuild the index with {REBUILD}.",
        )


def why_outdated(stored: Manifest | None, wanted: Manifest) -> str:
    """What an index was made with that has changed since, though nobody chose another model or splitter.

    Empty where nothing has changed, there is no index, or somebody did choose another.
    """
    if stored is None or _other_choices(stored, wanted):
        return ""
    others = {
        f"format {stored.format}": stored.format != wanted.format,
        f"vectors of {stored.dimensions} dimensions": stored.dimensions != wanted.dimensions,
        "another model file": stored.fingerprint != wanted.fingerprint,
        "another recipe of embedding": stored.recipe != wanted.recipe,
    }
    return " and ".join(name for name, differs in others.items() if differs)


def _other_choices(stored: Manifest, wanted: Manifest) -> list[str]:
    pairs = {
        "embedding model": (stored.embedding_model, wanted.embedding_model),
        "splitter": (stored.splitter, wanted.splitter),
    }
    return [f"{name} {was}, now {now}" for name, (was, now) in pairs.items() if was != now]
