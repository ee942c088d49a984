"""Which documents a search by vector does not find, though their objects are there.

Weaviate (1.36) keeps the last 64 KB of the log of its vector index in memory: killed, or without power, it
starts again without these entries and says nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pipeline.stores.base import Level
from pipeline.stores.server.objects import NodeObjects
from pipeline.stores.server.records import Record

NEWEST_NODES = 500
"""Nodes that are looked at before writing: 64 KB are the links of some hundred."""


def newest(records: Collection[Record]) -> list[Record]:
    """The records that were written last."""
    found: list[Record] = []
    nodes = 0
    for record in sorted(records, key=lambda record: -record.number):
        if nodes >= NEWEST_NODES:
            break
        found.append(record)
        nodes += record.info.sections + record.info.sentences if record.info else 0
    return found


def unsearchable(objects: NodeObjects, records: Collection[Record], *, dimensions: int) -> set[str]:
    """The sources of visible documents of which a search by vector would not find every node."""
    expected: Mapping[Level, dict[str, int]] = {"section": {}, "sentence": {}}
    sources: dict[str, str] = {}
    for record in records:
        if record.version is not None and record.info is not None:
            sources[record.version] = record.source
            expected["section"][record.version] = record.info.sections
            expected["sentence"][record.version] = record.info.sentences
    lacking: set[str] = set()
    for level, numbers in expected.items():
        found = objects.searchable(level, numbers, dimensions)
        lacking.update(sources[version] for version, number in numbers.items() if found[version] < number)
    return lacking
