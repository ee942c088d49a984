"""Sentences do not repeat what their section has, whatever a file is made of."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.stores.base import NewDocument
from pipeline.stores.server.reading import document_fields, section_records
from pipeline.stores.server.schema import node_objects
from tests.contracts.tanks import document

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


def records(new: NewDocument) -> list[dict[str, Any]]:
    """What MongoDB gets of a document beside its text."""
    return [document_fields(new), *section_records(new, "version")]


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
