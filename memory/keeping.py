"""Store facts and names from a message: texts that the user asks to keep, and facts that a model finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

import numpy as np

from memory.entities import normalised
from memory.facts import Facts, Statement, read_facts
from memory.forgetting import made_of, named_by
from memory.graph import Naming
from memory.guard import reads_as_instruction, secrets_in, without_secrets
from memory.questions import corrects
from pipeline.errors import AthenaError, ModelError
from pipeline.stores.memories import Memory, MemoryChanges, MemorySource

if TYPE_CHECKING:
    from memory.index import MemoryParts, UserIndex

ALIKE = 0.2  # added to the recall threshold: least cosine of two statements about the same thing
MOST_CHARACTERS = 10_000  # of one memory
LONGEST_JOINED = 1_000  # characters of a fact with everything that was said later about it
STATED = "You said it."
WAS_ASKED_FOR = "You asked to remember it."
QUESTION = "You asked it, and it was answered."
ASKED_IMPORTANCE = 0.8
SALIENCE: Mapping[int | None, float] = {1: 0.7, None: 0.6, -1: 0.5}
"""Importance of a question with its answer, by the reader's rating: 1, none or -1."""
MOST_ANSWER = 300  # characters of an answer that are kept with its question
LONGEST_ASKED = 1_000  # characters of a question that is kept
INSTRUCTION_NOTE = "It reads like an instruction: it is kept, and never acted on."


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message to find facts in, with its answer if there is one."""

    message: str
    turn_id: str = ""
    at: float = 0.0  # seconds since the epoch
    answer: str = ""  # "" if it answers nothing, or came from the memory
    passage: str = ""  # the best passage of a document; "" for none
    cited: tuple[MemorySource, ...] = ()

    def source(self, quote: str) -> tuple[MemorySource, ...]:
        """Return the span of a quote in the message, else the whole message; () without a `turn_id`."""
        if not self.turn_id:
            return ()
        start = self.message.find(quote)
        start, end = (start, start + len(quote)) if start >= 0 else (0, len(self.message))
        return (MemorySource(turn_id=self.turn_id, start=start, end=end, quote=self.message[start:end]),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The outcome of one write: ids of memories, and kinds of secrets that were left out."""

    status: Literal["ok", "skipped"] = "ok"
    detail: str = ""
    added: tuple[str, ...] = ()
    known: tuple[str, ...] = ()  # stated again, or extended
    replaced: tuple[str, ...] = ()  # ids in `added` of memories that replace others
    secrets: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the memories that state the kept facts: new ones, then those known before."""
        return (*self.added, *self.known)


def keep_asked(user: MemoryParts, text: str, said: Said) -> Kept:
    """Store a text that the user asks to remember, word for word; store nothing if it has a secret.

    A language model, if any, finds its subject and predicate, so that a later statement can replace it.
    """
    if kinds := secret_kinds(text):
        return Kept(status="skipped", detail=left_out(kinds), secrets=kinds)
    facts = _read(user, text)
    read = facts.statements[0] if facts and len(facts.statements) == 1 else Statement(text=text)
    read = replace(read, text=text)
    memory = _memory(user, read, said, importance=ASKED_IMPORTANCE, why=WAS_ASKED_FOR)
    return _written(user, [memory], said, facts=facts)


def keep(user: MemoryParts, said: Said) -> Kept:
    """Store what the preset keeps of every message; raises `TurnChanged` if its turn was deleted."""
    preset, kinds = user.preset, secret_kinds(said.message)
    if preset.statements and not kinds and corrects(said.message):
        return put_right(user, said)
    safe, answer = without_secrets(said.message), without_secrets(said.answer)
    facts = _read(user, safe, answer if preset.depth else "") if preset.statements else None
    memories = [_stated(user, item, said) for item in facts.statements] if facts else []
    if preset.questions and answer and not memories and len(safe) <= LONGEST_ASKED:
        memories = [_question(user, said, safe.strip(), " ".join(answer.split())[:MOST_ANSWER])]
    kept = _written(user, memories, said, facts=facts, whole=preset.depth > 0)
    return replace(kept, secrets=kinds, detail=left_out(kinds))


def put_right(user: MemoryParts, said: Said) -> Kept:
    """Append a correction ("sorry, 221") to the live memories from the message before it."""
    before = user.turns.before(said.turn_id)

    def decide(index: UserIndex) -> MemoryChanges:
        kept = [it for it in made_of(index, [before]) if it.live and _has_room(it, said.message)]
        put = [with_later(old, said.message, said.source(said.message)) for old in kept]
        return MemoryChanges(memories=tuple(put), rests_on=(said.turn_id,))

    if not before or reads_as_instruction(said.message):
        return Kept()
    changed = user.indexes.change(user.user, decide)
    return Kept(known=tuple(memory.id for memory in changed.memories))


def with_later(old: Memory, text: str, sources: Sequence[MemorySource]) -> Memory:
    """Return a memory with a later statement appended, without a vector: the next load embeds it again."""
    joined = f"{old.text} (later: {text})"
    trusted = old.trusted and not reads_as_instruction(f"{old.text} {text}")
    given: dict[str, Any] = {"text": joined, "trusted": trusted, "embedding": b"", "embedded_by": ""}
    return replace(old, sources=(*old.sources, *sources), **given)


def _has_room(old: Memory, text: str) -> bool:
    return len(old.text) + len(text) <= LONGEST_JOINED


def _read(user: MemoryParts, message: str, answer: str = "") -> Facts | None:
    """Return the facts that a model finds in a message; None without a model, letters or a usable reply."""
    complete = user.find_model()
    if complete is None or not any(map(str.isalpha, message)):
        return None
    try:
        return read_facts(complete, message, answer=answer)
    except ModelError:
        return None


def _stated(user: MemoryParts, item: Statement, said: Said) -> Memory:
    """Return a new memory for a statement that a model found."""
    reason = item.reason.strip().rstrip(".")
    return _memory(
        user,
        item,
        said,
        importance=item.importance / 10,
        why=f"{STATED} Importance: {reason}." if reason else STATED,
        kind="observation" if user.preset.tier == "short_term" else "fact",
    )


def _question(user: MemoryParts, said: Said, question: str, answer: str) -> Memory:
    """Return a new memory of a question with the beginning of its answer."""
    text = f"{question} — {answer}"
    item = Statement(text=text, subject=normalised(question), predicate="answered by", object=answer)
    given = {"kind": "qa", "origin": "assistant", "importance": SALIENCE[None], "why": QUESTION}
    memory = _memory(user, item, said, **given)
    return replace(memory, sources=(*said.source(question), *said.cited))


def _memory(user: MemoryParts, item: Statement, said: Said, **given: Any) -> Memory:
    """Return a memory that is not stored yet; it is not trusted if it reads as an instruction."""
    memory = Memory(
        id=str(uuid4()),
        user=user.user,
        text=item.text,
        tier=user.preset.tier,
        subject=item.subject,
        predicate=item.predicate,
        object=item.object,
        created_at=user.clock(),
        sources=said.source(item.text),
        **given,
    )
    if reads_as_instruction(item.text):
        return replace(memory, trusted=False, why=INSTRUCTION_NOTE)
    return memory


def _written(
    user: MemoryParts, memories: Sequence[Memory], said: Said, *, facts: Facts | None, whole: bool = False
) -> Kept:
    """Store memories, ended ones and graph rows in one write; with `whole`, also the turn's names."""
    embedded = user.indexes.embedded(memories)
    placed: Placed = [], [], []

    def decide(index: UserIndex) -> MemoryChanges:
        nonlocal placed
        added, ended, _ = placed = place(index, embedded, alike=user.threshold + ALIKE)
        names = Naming(index=index, turn_id=said.turn_id, at=said.at)
        names.add_memories(added)
        if whole:
            names.add_turn(said.message, said.answer, said.passage)
        if facts and (whole or added):
            names.add_facts(facts, memory_id=added[0].id if added else "")
        rests_on = (said.turn_id,) if said.turn_id else ()
        return names.changed(MemoryChanges(memories=(*added, *ended), rests_on=rests_on))

    user.indexes.change(user.user, decide)
    added, ended, known = placed
    return Kept(
        added=tuple(memory.id for memory in added),
        known=tuple(known),
        replaced=tuple(dict.fromkeys(old.replaced_by for old in ended if old.replaced_by)),
    )


Placed = tuple[list[Memory], list[Memory], list[str]]
"""New memories; old ones that are ended or extended; ids of memories that were known or extended."""


def place(index: UserIndex, memories: Sequence[Memory], *, alike: float = inf) -> Placed:
    """Separate new memories from known ones; a new one ends live ones with the same subject and predicate.

    If there are none, it is appended to the nearest one about its subject with a cosine of at least `alike`:
    "the visor is in bay 2 (later: the visor isn't in bay 2 anymore)".
    """
    added: dict[str, Memory] = {}  # by plain text
    ended: dict[str, Memory] = {}  # by id
    known: list[str] = []
    for memory in memories:
        about = index.about(memory.subject, memory.predicate) if memory.predicate else []
        same = [item for item in index.with_text(memory.text) if item.live]
        thing, text = normalised(memory.object), normalised(memory.text)
        same += [item for item in about if thing and normalised(item.object) == thing]
        if same or text in added:
            known += [item.id for item in same[:1]]
            continue
        if not about and (old := _alike(index, memory, least=alike)) and old.id not in ended:
            ended[old.id] = with_later(old, memory.text, memory.sources)
            known.append(old.id)
            continue
        added[text] = memory
        for old in about:
            ended.setdefault(old.id, replace(old, ended_at=memory.created_at, replaced_by=memory.id))
    return [*added.values()], [*ended.values()], known


def _alike(index: UserIndex, memory: Memory, *, least: float) -> Memory | None:
    """Return the nearest live memory about the same subject, or None if no cosine reaches `least`."""
    if not memory.subject or memory.why == WAS_ASKED_FOR:
        return None
    about = (memory.subject, memory.kind, memory.tier)
    cosines = index.texts.similarities(np.frombuffer(memory.embedding, dtype=np.float32))
    near = [
        (cosine, old)
        for old, cosine in zip(index.memories.values(), cosines.tolist(), strict=True)
        if cosine >= least
        and old.live
        and (old.subject, old.kind, old.tier) == about
        and old.why != WAS_ASKED_FOR
        and old.created_at < memory.created_at
        and _has_room(old, memory.text)
    ]
    return max(near, key=itemgetter(0), default=(0.0, None))[1]


def reworded(index: UserIndex, old: Memory, new: Memory) -> MemoryChanges:
    """Return the changes that replace a memory and its graph rows with a reworded memory of the same id."""
    names = Naming(index=index, at=new.created_at)
    names.add_memories([new])
    removed = named_by(index, [old.id]) - {*names.entities, *names.mentions, *names.relations}
    return replace(names.changed(MemoryChanges(memories=(new,))), removed=tuple(sorted(removed)))


def secret_kinds(text: str) -> tuple[str, ...]:
    """Return the kinds of a text's secrets, each once."""
    return tuple(dict.fromkeys(secret.kind for secret in secrets_in(text)))


def left_out(kinds: Sequence[str]) -> str:
    """Return a sentence with the kinds of secrets that are not kept; "" without kinds."""
    return f"Not kept: {' and '.join(kinds)}." if kinds else ""


def refuse(text: str) -> None:
    """Raise `AthenaError` for a text that cannot be a memory: without words, too long, or with a secret."""
    if not any(map(str.isalnum, text)):
        raise AthenaError(
            "There is nothing to remember: no words.", "Write a sentence. To delete a memory, forget it."
        )
    if len(text) > MOST_CHARACTERS:
        raise AthenaError(
            f"This memory has {len(text):,} characters; the most is {MOST_CHARACTERS:,}.",
            "Shorten it, or add it as a document.",
        )
    if kinds := secret_kinds(text):
        raise AthenaError(left_out(kinds), "Secrets are never kept: leave them out, or use a password safe.")
