"""Whom and what a turn names, as entities, mentions and relations: what is new of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from memory.deciding import forgetting
from memory.ids import id_of
from memory.reading.entities import bare_name, entities_in, normalised, relatives_in, with_names
from memory.reading.relations import relations_in
from pipeline.errors import AthenaError
from pipeline.stores.memories import Entity, Memory, MemoryChanges, Mention, Relation

if TYPE_CHECKING:
    from memory.deciding.heard import Heard
    from memory.reading.records import Entity as Named
    from memory.reading.records import Relation as Stated
    from memory.reading.records import Statement
    from memory.recalling.user_index import UserIndex

OF_USER = "user's "
MOST_ENTITIES = 20  # of one answer
MOST_OF_DOCUMENT = 60  # entities, and as many relations
_HEADING = re.compile(r"^(?=#{1,6} )", re.MULTILINE)


def same_as(index: UserIndex, subject: str, role: str = "") -> Sequence[str]:
    """All names of a subject: "user's brother" is "karl" where one brother is known, and has that name."""
    entity = _holder(index, subject)
    roles = [role, *(entity.aliases if entity else ())]
    known = [
        item for item in roles if item.startswith(OF_USER) and _holder(index, item, but=subject) is entity
    ]
    return tuple(dict.fromkeys((subject, *([normalised(entity.name)] if entity else []), *known)))


def canonical(index: UserIndex, subject: str) -> str:
    """A subject by its name, where that is known of what it is to the user."""
    entity = _holder(index, subject) if subject.startswith(OF_USER) else None
    return normalised(entity.name) if entity else subject


def _holder(index: UserIndex, name: str, but: str = "") -> Entity | None:
    """The one entity of a name or a role; None where there is none, or several have it."""
    found = [
        item
        for item in index.entities.values()
        if name in item.aliases or normalised(item.name) in (name, but)
    ]
    return found[0] if len(found) == 1 else None


def merged(index: UserIndex, entity_id: str, other_id: str) -> MemoryChanges:
    """Two entities as one: the first with the names of both, and all that was said of either.

    Raises `AthenaError` where one of them is gone.
    """
    kept, other = index.entities.get(entity_id), index.entities.get(other_id)
    if kept is None or other is None:
        raise AthenaError("It is not spoken of any more.", "Choose another one.")
    own = normalised(kept.name)
    names = dict.fromkeys((*kept.aliases, normalised(other.name), *other.aliases))
    one = replace(
        kept,
        type=kept.type or other.type,
        aliases=tuple(name for name in names if name != own),
        attributes={**other.attributes, **kept.attributes},
    )
    before = list(index.relations_of(other.id))
    relations = {item.id: item for item in (_of_one(item, kept.id, other.id) for item in before)}
    return MemoryChanges(
        entities=(one,),
        mentions=tuple(replace(item, entity_id=kept.id) for item in index.mentions_of(other.id)),
        relations=tuple(item for item in relations.values() if item.subject_id != item.object_id),
        removed=(other.id, *(item.id for item in before)),
    )


def _of_one(relation: Relation, kept: str, other: str) -> Relation:
    """A relation of `kept` in the place of the other one."""
    subject, thing = (kept if end == other else end for end in (relation.subject_id, relation.object_id))
    known = id_of(relation.user, subject, relation.label, thing)
    return replace(relation, id=known, subject_id=subject, object_id=thing)


def named(
    index: UserIndex,
    heard: Heard,
    *,
    kept: Iterable[tuple[Memory, Statement]],
    whole: bool,
    answered: str = "",
    recalled: Iterable[str] = (),
) -> MemoryChanges:
    """Entities, their mentions and relations: of the whole turn, or of what was kept of it alone.

    What a correction says is wrong is not named by it, and what was recalled not by the answer.
    """
    spans, wrong = [(item.start, item.end, memory.id) for memory, item in kept], _put_right(heard)
    graph = _Naming(index=index, at=heard.at, turn_id=heard.turn_id)

    def said_in(start: int) -> str:
        return next((memory_id for begin, end, memory_id in spans if begin <= start < end), "")

    for entity in heard.entities:
        if (whole or said_in(entity.start)) and entity.normalised not in wrong:
            graph.mention(entity, memory_id=said_in(entity.start))
    for relation in heard.relations:
        if whole or said_in(relation.start):
            graph.relate(relation, memory_id=said_in(relation.start))
    for name, role in relatives_in(with_names(heard.message)):
        graph.relative(name, role)
    if whole and answered:
        known = [index.memories[each].text for each in recalled if each in index.memories]
        before = " ".join(map(normalised, known))
        new = [item for item in entities_in(answered) if item.normalised not in before]
        for entity in new[:MOST_ENTITIES]:
            graph.mention(entity, part="answer")
    return graph.changes


def _put_right(heard: Heard) -> set[str]:
    return {normalised(item.replaces) for item in heard.statements if item.replaces and item.corrects}


def misnamed(index: UserIndex, heard: Heard) -> set[str]:
    """The ids of what a turn named by what the next one puts right: "I met Tom", then "Tim, not Tom"."""
    wrong = {entity.id for name in _put_right(heard) if (entity := index.entity_named(name))}
    mentions = {
        item.id
        for item in index.mentions.values()
        if heard.before and item.turn_id == heard.before.turn_id and item.entity_id in wrong
        if not item.memory_id
    }
    return mentions | (forgetting.unnamed(index, without=mentions) & wrong) if mentions else set()


def named_by_document(
    index: UserIndex, *, source: str, text: str, file_hash: str, at: float
) -> MemoryChanges:
    """What a document names and how that relates, in the place of what it said when it was read before.

    A mention of the document itself, whose id is of its hash, says that it was read as it is.
    """
    graph = _Naming(index=index, at=at, source=source)
    graph.note(mark_of(index, source, file_hash), graph.resolved(source, normalised(source), kind="document"))
    sections = _HEADING.split(text)
    entities = {one.normalised: one for section in sections for one in entities_in(section)}
    for entity in islice(entities.values(), MOST_OF_DOCUMENT):
        graph.mention(entity)
    relations = (one for section in sections for one in relations_in(section))
    for relation in islice(relations, MOST_OF_DOCUMENT):
        graph.relate(relation)
    gone = of_document(index, source) - graph.ids
    unnamed = forgetting.unnamed(index, without=gone) - graph.ids
    return replace(graph.changes, removed=tuple(sorted(gone | unnamed)))


def of_document(index: UserIndex, source: str) -> set[str]:
    """The ids of the mentions and relations that a document made."""
    mentions = {row.id for row in index.mentions.values() if row.source == source}
    return mentions | {row.id for row in index.relations.values() if row.source == source}


def is_current(index: UserIndex, relation: Relation, hashes: Mapping[str, str]) -> bool:
    """Whether a relation stands as it was said: its document is as it was read."""
    read = hashes.get(relation.source, "")
    return not relation.source or mark_of(index, relation.source, read) in index.mentions


def mark_of(index: UserIndex, source: str, file_hash: str) -> str:
    """The id of the mention that says that a document was read with this hash."""
    return id_of(index.user, source, "read", file_hash)


@dataclass(slots=True, kw_only=True)
class _Naming:
    """Entities, mentions and relations of one text, resolved against those that are known."""

    index: UserIndex
    at: float
    turn_id: str = ""
    source: str = ""
    entities: dict[str, Entity] = field(default_factory=dict)
    mentions: dict[str, Mention] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def _said(self) -> dict[str, Any]:
        """By whom, when and where."""
        return {"user": self.index.user, "at": self.at, "turn_id": self.turn_id, "source": self.source}

    @property
    def changes(self) -> MemoryChanges:
        """What is new of them."""
        known = self.index
        return MemoryChanges(
            entities=tuple(item for item in self.entities.values() if known.entities.get(item.id) != item),
            mentions=tuple(item for item in self.mentions.values() if item.id not in known.mentions),
            relations=tuple(item for item in self.relations.values() if item.id not in known.relations),
        )

    @property
    def ids(self) -> set[str]:
        """The ids of all of them, new or known."""
        return {*self.entities, *self.mentions, *self.relations}

    def mention(self, named: Named, *, memory_id: str = "", part: str = "question") -> None:
        """Note that an entity was spoken of."""
        entity_id = self.resolved(named.name, named.normalised, kind=str(named.kind))
        where = self.turn_id or self.source
        self.note(id_of(self.index.user, where, part, memory_id, entity_id), entity_id, memory_id)

    def note(self, mention_id: str, entity_id: str, memory_id: str = "") -> None:
        """Note a mention of an entity under an id."""
        mention = Mention(id=mention_id, entity_id=entity_id, memory_id=memory_id, **self._said)
        self.mentions[mention_id] = mention

    def relative(self, name: str, role: str) -> None:
        """Note what somebody who was spoken of is to the user."""
        if known := self.names.get(name):
            entity = self.entities[known]
            self.entities[known] = replace(entity, aliases=tuple(dict.fromkeys((*entity.aliases, role))))

    def relate(self, stated: Stated, *, memory_id: str = "") -> None:
        """Note a relation; the same one is kept once."""
        subject, thing = (self.resolved(end, normalised(end)) for end in (stated.subject, stated.object))
        of_document = (self.source,) if self.source else ()
        known = id_of(self.index.user, *of_document, subject, stated.label, thing)
        ends: dict[str, Any] = {"subject_id": subject, "label": stated.label, "object_id": thing}
        self.relations[known] = Relation(id=known, memory_id=memory_id, **ends, **self._said)

    def resolved(self, name: str, key: str, *, kind: str = "") -> str:
        """The id of the entity of that exact name or alias; of a new one where there is none."""
        user, found = self.index.user, self.index.entity_named(key)
        known = self.names.get(key) or (found.id if found else id_of(user, key))
        old = self.entities.get(known) or self.index.entities.get(known)
        old = old or Entity(id=known, user=user, name=bare_name(name), type=kind)
        new = () if key in (normalised(old.name), *old.aliases) else (key,)
        self.entities[known] = replace(old, type=old.type or kind, aliases=(*old.aliases, *new))
        self.names[key] = known
        return known
