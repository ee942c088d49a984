"""Records of MongoDB that an older version of the program wrote."""

from __future__ import annotations

from pipeline.stores.base import Manifest
from pipeline.stores.server.state import manifest_of, manifest_record


def test_a_manifest_from_before_fingerprints_is_of_an_unknown_file_and_recipe() -> None:
    record = {"format": 1, "embedding_model": "model", "dimensions": 3, "splitter": "s", "generation": 0}
    assert manifest_of(record) == Manifest(1, "model", 3, "s", fingerprint="", recipe=0)


def test_a_manifest_is_stored_whole_but_for_its_generation() -> None:
    manifest = Manifest(1, "model", 3, "s", fingerprint="file", recipe=2, generation=0)
    assert manifest_of(manifest_record(manifest)) == manifest
