"""What nodes share is stored once on the servers, too, whatever a file is made of."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.stores.base import NewDocument
from pipeline.stores.server import ServerStore
from pipeline.stores.server.reading import document_fields, section_records
from pipeline.stores.server.schema import node_objects
from tests.contracts.documents import MANIFEST
from tests.contracts.tanks import TEXT, document
from tests.made_files import size_of
from tests.pipeline.stores.server.private import running
from tests.server_processes import PrivateMongo, PrivateWeaviate

LENGTHY = "a " * 140
HOSTILE = {
    "a heading of 100 KB": f"# {'a ' * 50_000}\n\n" + "paragraph\n\n" * 300,
    "a long table header": f"| {LENGTHY} |\n|---|\n" + "| a |\n" * 1_000,
    "front matter": "---\n"
    + "".join(f"k{number}: {LENGTHY}\n" for number in range(13))
    + "---\n\n"
    + "# a\n\nb\n\n" * 1_000,
    "nested headings": "".join(f"{'#' * level} {LENGTHY}\n\n" for level in range(1, 7)) + "a\n\n" * 1_000,
}
NODE_BYTES = 4_000
"""Of a node beside its text, without its vector: ids, offsets, and the terms of its headings."""

DISK_BYTES = 6_000
"""Of a node on the disks of both servers, with its vector, which Weaviate keeps twice."""


def records(new: NewDocument) -> list[dict[str, Any]]:
    """What MongoDB gets of a document beside its text."""
    return [document_fields(new, 0.0), *section_records(new, "version")]


def stored(new: NewDocument) -> str:
    """All that is written of a document but its vectors, as JSON."""
    objects = (item.properties for level in node_objects(new, "version").values() for item in level)
    return json.dumps([*records(new), *objects])


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_stored_is_in_proportion_to_the_file(name: str) -> None:
    text = HOSTILE[name]
    new = document(text)
    nodes = len(new.sections) + len(new.sentences)
    assert len(stored(new)) < 10 * len(text) + NODE_BYTES * nodes


def test_names_and_the_description_stand_there_once() -> None:
    new = document(TEXT)
    rows = json.dumps(records(new))
    leaves = json.dumps([item.properties["metadata"] for item in node_objects(new, "v")["sentence"]])
    assert rows.count("note " * 49) == 1
    assert "heading_path" not in leaves
    assert "tanks.md" not in leaves


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize("name", ["a heading of 100 KB", "nested headings"])
def test_the_disks_of_both_servers_take_no_more_than_is_promised(name: str, tmp_path: Path) -> None:
    text = HOSTILE[name]
    new = document(text)
    directions = np.random.default_rng(1).standard_normal((len(new.vectors), 384), dtype=np.float32)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    new = replace(new, vectors=dict(zip(new.vectors, directions, strict=True)))
    servers = running(PrivateMongo(tmp_path / "mongo"), PrivateWeaviate(tmp_path / "weaviate"))
    with servers as private, closing(ServerStore(private.addresses)) as store:
        before = size_of(tmp_path)
        with store.writing(replace(MANIFEST, dimensions=384)) as writing:
            writing.replace(new)
    nodes = len(new.sections) + len(new.sentences)
    assert size_of(tmp_path) - before < 10 * len(text) + DISK_BYTES * nodes
