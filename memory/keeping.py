"""Keep facts and names of a message: what the user asks to remember, and what a model reads in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from memory.entities import Stated, entities_in, normalised, relations_in
from memory.facts import USER, Complete, Facts, Statement, read_facts
from memory.forgetting import named_by
from memory.guard import reads_as_instruction, secrets_in, without_secrets
from memory.ids import id_of, new_id, plain
from pipeline.errors import AthenaError, ModelError
from pipeline.stores.memories import (
    Entity,
    Memory,
    MemoryChanges,
    MemorySource,
    Mention,
    Relation,
)

if TYPE_CHECKING:
    from memory.index import Indexes, UserIndex
    from memory.options import Preset

MOST_CHARACTERS = 10_000  # of one memory
STATED = "You said it."
WAS_ASKED_FOR = "You asked to remember it."
QUESTION = "You asked it, and it was answered."
ASKED_IMPORTANCE = 0.8
SALIENCE: Mapping[int | None, float] = {1: 0.7, None: 0.6, -1: 0.5}
"""Importance of a question with its answer, by the reader's thumb."""
MOST_ANSWER = 300  # characters of an answer that are kept with its question
PASSAGE = 500  # characters of the best passage whose names are kept
LEAST_ASKED = 2  # words of a question that is kept
INSTRUCTION_NOTE = "It reads like an instruction: it is kept, and never acted on."


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message to read, with its answer where there is one."""

    message: str
    turn_id: str = ""
    at: float = 0.0
    answer: str = ""  # "" where it answers nothing, or came from the memory
    passage: str = ""  # the best passage of a document
    cited: tuple[MemorySource, ...] = ()
    feedback: int | None = None

    def source(self, quote: str) -> tuple[MemorySource, ...]:
        """Return the words in the turn; all of the message where they do not stand in it as they are."""
        if not self.turn_id:
            return ()
        start = self.message.find(quote)
        start, end = (start, start + len(quote)) if start >= 0 else (0, len(self.message))
        return (MemorySource(turn_id=self.turn_id, start=start, end=end, quote=self.message[start:end]),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What one write kept, by ids of memories."""

    status: Literal["ok", "skipped"] = "ok"
    detail: str = ""
    added: tuple[str, ...] = ()
    known: tuple[str, ...] = ()  # said again
    replaced: tuple[str, ...] = ()  # those of `added` that took another memory's place
    untrusted: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()  # kinds of secrets that were left out
    entities: int = 0
    relations: int = 0
    by: str = ""  # "model" where a model read the message


@dataclass(frozen=True, slots=True)
class Remembering:
    """Keeps messages of one user by a preset's policy; safe to use from several threads."""

    indexes: Indexes
    user: str
    preset: Preset
    complete: Complete | None  # asks a language model
    clock: Callable[[], float]

    def keep_asked(self, text: str, said: Said, *, tags: Sequence[str] = ()) -> Kept:
        """Keep a text that the user asks to remember, word for word; nothing where it has a secret.

        With a model, subject and predicate are read, so that a later statement can take its place.
        """
        if kinds := secret_kinds(text):
            return Kept(status="skipped", detail=left_out(kinds), secrets=kinds)
        facts = self._read(text, "")
        read = facts.statements[0] if facts and len(facts.statements) == 1 else Statement(text=text)
        trusted = not reads_as_instruction(text)
        memory = self._memory(
            replace(read, text=text),
            said,
            importance=ASKED_IMPORTANCE,
            why=WAS_ASKED_FOR if trusted else INSTRUCTION_NOTE,
            kind="fact",
            trusted=trusted,
            tags=tuple(tags),
        )
        return self._written([memory], said, facts=facts)

    def keep(self, said: Said) -> Kept:
        """Keep of a message what the preset keeps unasked; raises `TurnChanged` where its turn is gone."""
        preset, safe = self.preset, without_secrets(said.message)
        facts = self._read(safe, said.answer if preset.depth else "") if preset.statements else None
        memories = [self._stated(item, said) for item in facts.statements] if facts else []
        if preset.questions and not memories:
            memories += self._question(said)
        kept = self._written(memories, said, facts=facts, whole=preset.depth > 0)
        kinds = secret_kinds(said.message)
        return replace(kept, secrets=kinds, detail=left_out(kinds))

    def renamed(self, index: UserIndex, old: Memory, new: Memory) -> MemoryChanges:
        """Return the write that puts a reworded memory, and what it names, in the place of the old one."""
        writing = Writing(now=self.clock())
        writing.write(new)
        graph = Naming(index=index, said=Said(message=new.text, at=self.clock()))
        graph.read(None, [new], whole=False)
        changes = graph.changed(writing.changes)
        kept = {*graph.entities, *graph.mentions, *graph.relations}
        return replace(changes, removed=tuple(sorted(named_by(index, [old]) - kept)))

    def _read(self, message: str, answer: str) -> Facts | None:
        """Return what a model reads in a message; None without a model, or where its reply is no use."""
        if self.complete is None or not any(map(str.isalpha, message)):
            return None
        try:
            return read_facts(self.complete, message, answer=answer)
        except ModelError:
            return None

    def _stated(self, item: Statement, said: Said) -> Memory:
        reason = item.reason.strip().rstrip(".")
        return self._memory(
            item,
            said,
            importance=item.importance / 10,
            why=f"{STATED} Importance: {reason}." if reason else STATED,
            kind="observation" if self.preset.tier == "short_term" else "fact",
        )

    def _memory(self, item: Statement, said: Said, **given: Any) -> Memory:
        return Memory(
            id=new_id(),
            user=self.user,
            text=item.text,
            tier=self.preset.tier,
            subject=item.subject,
            predicate=item.predicate,
            object=item.object,
            created_at=self.clock(),
            sources=said.source(item.text),
            **given,
        )

    def _question(self, said: Said) -> list[Memory]:
        """Return the question with the beginning of its answer."""
        question, answer = said.message.strip(), " ".join(without_secrets(said.answer).split())[:MOST_ANSWER]
        if not answer or len(question.split()) < LEAST_ASKED or len(question) > MOST_CHARACTERS // 2:
            return []
        if secret_kinds(question):
            return []
        trusted = not any(map(reads_as_instruction, (question, answer)))
        read = Statement(
            text=f"{question} — {answer}", subject=plain(question), predicate="answered by", object=answer
        )
        memory = self._memory(
            read,
            said,
            kind="qa",
            origin="assistant",
            importance=SALIENCE[said.feedback],
            success={1: True, -1: False}.get(said.feedback or 0),
            why=QUESTION if trusted else INSTRUCTION_NOTE,
            trusted=trusted,
        )
        return [replace(memory, sources=(*memory.sources, *said.cited))]

    def _written(
        self,
        memories: Sequence[Memory],
        said: Said,
        *,
        facts: Facts | None,
        whole: bool = False,
    ) -> Kept:
        """Write all of it at once: memories, those that they replace, names and relations."""
        embedded = self.indexes.embedded(memories)
        writing = Writing()

        def decide(index: UserIndex) -> MemoryChanges:
            nonlocal writing
            writing = Writing(now=self.clock())
            for memory in embedded:
                writing.keep(index, memory)
            graph = Naming(index=index, said=said)
            graph.read(facts, writing.added, whole=whole)
            rests_on = (said.turn_id,) if said.turn_id else ()
            return graph.changed(replace(writing.changes, rests_on=rests_on))

        written = self.indexes.change(self.user, decide)
        return Kept(
            added=tuple(memory.id for memory in writing.added),
            known=tuple(writing.known),
            replaced=tuple(writing.replaced),
            untrusted=tuple(memory.id for memory in writing.added if not memory.trusted),
            entities=len(written.entities),
            relations=len(written.relations),
            by="model" if facts else "",
        )


def secret_kinds(text: str) -> tuple[str, ...]:
    """Return the kinds of a text's secrets, each once."""
    return tuple(dict.fromkeys(str(secret.kind) for secret in secrets_in(text)))


def left_out(kinds: Sequence[str]) -> str:
    """Return the sentence about secrets that are not kept; "" without one."""
    if not kinds:
        return ""
    names = [f"an {kind}" if kind[0] in "aeiou" else f"a {kind}" for kind in kinds]
    return f"Not kept: {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}."


def refuse_long(text: str, which: str = "This memory") -> None:
    """Raise `AthenaError` for a text that is too long for one memory."""
    if len(text) > MOST_CHARACTERS:
        raise AthenaError(
            f"{which} has {len(text):,} characters; the most is {MOST_CHARACTERS:,}.",
            "Shorten it, or add it as a document.",
        )


@dataclass(slots=True)
class Writing:
    """Changes of memories at one time."""

    now: float = 0.0
    memories: dict[str, Memory] = field(default_factory=dict)  # by id, as they will be
    added: list[Memory] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)

    def write(self, memory: Memory) -> None:
        """Add one memory as it will be."""
        self.memories[memory.id] = memory

    def keep(self, index: UserIndex, memory: Memory) -> None:
        """Add a memory unless it is known; end the live ones with its subject and predicate."""
        about = index.about(memory.subject, memory.predicate) if memory.predicate else []
        live = [item for item in index.with_text(memory.text) if item.live]
        same = [*live, *(item for item in about if _same_object(item, memory))]
        if same or any(plain(item.text) == plain(memory.text) for item in self.added):
            self.known += [item.id for item in same[:1]]
            return
        memory = replace(memory, created_at=self.now)
        self.added.append(memory)
        self.write(memory)
        for old in about:
            if old.id not in self.memories:
                self.write(replace(old, ended_at=self.now, replaced_by=memory.id))
                self.replaced.append(memory.id)

    @property
    def changes(self) -> MemoryChanges:
        """Return all of it as one write."""
        return MemoryChanges(memories=tuple(self.memories.values()))


def _same_object(old: Memory, new: Memory) -> bool:
    return bool(new.object) and plain(old.object) == plain(new.object)


@dataclass(slots=True, kw_only=True)
class Naming:
    """The entities, mentions and relations of one message, resolved against the known ones."""

    index: UserIndex
    said: Said
    entities: dict[str, Entity] = field(default_factory=dict)
    mentions: dict[str, Mention] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)

    def read(self, facts: Facts | None, memories: Iterable[Memory], *, whole: bool) -> None:
        """Add the names of the memories; of the `whole` turn also those of the answer and the passage."""
        for memory in memories:
            if memory.trusted:
                self._text(memory.text, memory_id=memory.id)
        if whole:
            self._text(without_secrets(self.said.message))
            self._text(without_secrets(self.said.answer))
            for named in entities_in(self.said.passage[:PASSAGE]):
                self._mention(named.name, named.kind)
        owner = next((memory.id for memory in memories), "")
        for item in facts.entities if facts and (whole or owner) else ():
            self._mention(item.name, item.type, memory_id=owner, attributes=item.attributes)
        for relation in facts.relations if facts and (whole or owner) else ():
            self._relate(relation, owner)

    def changed(self, changes: MemoryChanges) -> MemoryChanges:
        """Return the changes with what is new of the graph."""
        known = self.index
        return replace(
            changes,
            entities=tuple(item for item in self.entities.values() if known.entities.get(item.id) != item),
            mentions=tuple(item for item in self.mentions.values() if item.id not in known.mentions),
            relations=tuple(item for item in self.relations.values() if item.id not in known.relations),
        )

    def _text(self, text: str, *, memory_id: str = "") -> None:
        for named in entities_in(text):
            self._mention(named.name, named.kind, memory_id=memory_id)
        for stated in relations_in(text):
            self._relate(stated, memory_id)

    @property
    def _where(self) -> dict[str, Any]:
        return {"user": self.index.user, "at": self.said.at, "turn_id": self.said.turn_id}

    def _mention(
        self, name: str, kind: str, *, memory_id: str = "", attributes: Mapping[str, str] | None = None
    ) -> None:
        entity = self._resolved(name, kind, attributes or {})
        known = id_of(self.index.user, self.said.turn_id or memory_id, memory_id, entity)
        self.mentions[known] = Mention(id=known, entity_id=entity, memory_id=memory_id, **self._where)

    def _relate(self, stated: Stated, memory_id: str) -> None:
        subject, thing = (
            self._resolved(USER if normalised(end) == USER else end, "", {})
            for end in (stated.subject, stated.object)
        )
        known = id_of(self.index.user, subject, stated.label, thing)
        ends: dict[str, Any] = {"subject_id": subject, "label": stated.label, "object_id": thing}
        self.relations[known] = Relation(id=known, memory_id=memory_id, **ends, **self._where)

    def _resolved(self, name: str, kind: str, attributes: Mapping[str, str]) -> str:
        """Return the id of the entity with this normalised name; add it, or its new attributes."""
        user, key = self.index.user, normalised(name)
        found = self.index.entity_named(key)
        known = found.id if found else id_of(user, key)
        old = self.entities.get(known) or found or Entity(id=known, user=user, name=name, type=kind)
        merged = {**old.attributes, **attributes}
        self.entities[known] = replace(old, type=old.type or kind, attributes=merged)
        return known
