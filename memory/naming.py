"""Whom and what a turn names, as entities, mentions and relations: what is new of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.comparing import Candidate
from memory.extracting import entities_in, normalised
from memory.ids import id_of
from pipeline.stores.memories import Entity, MemoryChanges, Mention, Relation

if TYPE_CHECKING:
    from memory.extracting.records import Entity as Named
    from memory.extracting.records import Extraction
    from memory.extracting.records import Relation as Stated
    from memory.index import UserIndex
    from memory.said import Said

MOST_ENTITIES = 20  # of one answer


def named(
    index: UserIndex, said: Said, extraction: Extraction, *, kept: Iterable[Candidate], whole: bool
) -> MemoryChanges:
    """Entities, their mentions and relations: of the whole turn, or of what was kept of it alone."""
    spans = [(item.start, item.end, item.memory.id) for item in kept]
    graph = _Naming(index.user, index, at=said.at, turn_id=said.turn_id)
    for entity in extraction.entities:
        memory_id = next((known for start, end, known in spans if start <= entity.start < end), "")
        if whole or memory_id:
            graph.mention(entity, memory_id=memory_id)
    for relation in extraction.relations:
        memory_id = next((known for start, end, known in spans if start <= relation.start < end), "")
        if whole or memory_id:
            graph.relate(relation, memory_id=memory_id)
    if whole and said.answer and not said.from_memory:
        recalled = " ".join(
            normalised(index.memories[known].text) for known in said.recalled if known in index.memories
        )
        found = [item for item in entities_in(said.answer) if item.normalised not in recalled]
        for entity in found[:MOST_ENTITIES]:
            graph.mention(entity, part="answer")
    return graph.changes


class _Naming:
    """Entities, mentions and relations of one text, resolved against those that are known."""

    def __init__(self, user: str, index: UserIndex, *, at: float, turn_id: str) -> None:
        self._user, self._index = user, index
        self._at, self._turn_id = at, turn_id
        self._entities: dict[str, Entity] = {}
        self._mentions: dict[str, Mention] = {}
        self._relations: dict[str, Relation] = {}
        self._names: dict[str, str] = {}

    @property
    def changes(self) -> MemoryChanges:
        """What is new of them."""
        index = self._index
        return MemoryChanges(
            entities=tuple(item for item in self._entities.values() if index.entities.get(item.id) != item),
            mentions=tuple(item for item in self._mentions.values() if item.id not in index.mentions),
            relations=tuple(item for item in self._relations.values() if item.id not in index.relations),
        )

    def mention(self, named: Named, *, memory_id: str = "", part: str = "question") -> str:
        """Note that an entity was spoken of; its id."""
        entity_id = self._resolved(named.name, named.normalised, kind=str(named.kind), aliases=named.aliases)
        mention_id = id_of(self._user, self._turn_id, part, memory_id, entity_id)
        self._mentions[mention_id] = Mention(
            id=mention_id,
            user=self._user,
            entity_id=entity_id,
            at=self._at,
            memory_id=memory_id,
            turn_id=self._turn_id,
        )
        return entity_id

    def relate(self, stated: Stated, *, memory_id: str) -> None:
        """Note a relation; the same one is kept once."""
        subject = self._resolved(stated.subject, normalised(stated.subject))
        thing = self._resolved(stated.object, normalised(stated.object))
        relation_id = id_of(self._user, subject, stated.label, thing)
        self._relations[relation_id] = Relation(
            id=relation_id,
            user=self._user,
            subject_id=subject,
            label=stated.label,
            object_id=thing,
            at=self._at,
            memory_id=memory_id,
            turn_id=self._turn_id,
        )

    def _resolved(self, name: str, key: str, *, kind: str = "", aliases: Sequence[str] = ()) -> str:
        """The id of the entity of that exact name or alias; of a new one where there is none."""
        names = (key, *aliases)
        known = next((self._names[item] for item in names if item in self._names), "")
        if not known:
            found = (self._index.entity_named(item) for item in names)
            known = next((item.id for item in found if item), "") or id_of(self._user, key)
        old = self._entities.get(known) or self._index.entities.get(known)
        old = old or Entity(id=known, user=self._user, name=name, type=kind)
        others = [item for item in names if item not in (normalised(old.name), *old.aliases)]
        self._entities[known] = replace(
            old, type=old.type or kind, aliases=(*old.aliases, *dict.fromkeys(others))
        )
        for item in names:
            self._names[item] = known
        return known
