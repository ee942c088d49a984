"""Ids: stable, distinct, and the same on every machine."""

from __future__ import annotations

from uuid import UUID, uuid5

from readers.levels import NAMESPACE, document_id, section_id, sentence_id


def test_ids_are_those_of_every_earlier_index() -> None:
    document = document_id("systems/ecs.md")
    section = section_id(document, ["ECS", "Cabin fan"], 0)
    assert document == str(uuid5(NAMESPACE, '["systems/ecs.md"]'))
    assert section == str(uuid5(UUID(document), '[["ECS", "Cabin fan"], 0]'))
    assert sentence_id(section, 3) == str(uuid5(UUID(section), "[3]"))


def test_parts_do_not_run_into_each_other() -> None:
    document = document_id("a.md")
    paths = [[], [""], ["a", "b"], ["a/b"], ["a b"], ["a", "b", ""], ['a", "b']]
    ids = {section_id(document, path, occurrence) for path in paths for occurrence in (0, 1, 11)}
    assert len(ids) == 3 * len(paths)


def test_any_text_has_an_id() -> None:
    assert document_id("\udcff.md") != document_id("\udcfe.md")
    assert section_id(document_id("a.md"), ["\ud800"], 0) != section_id(document_id("a.md"), ["\ud801"], 0)


def test_ids_of_nodes_made_elsewhere_need_not_be_uuids() -> None:
    assert sentence_id("node-1", 0) != sentence_id("node-2", 0)
