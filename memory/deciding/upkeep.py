"""The upkeep of one user's memories: each is one write, decided on what is there by then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.deciding import planning, rating, reflecting, summarizing
from memory.deciding.candidates import WAS_ASKED_FOR
from memory.deciding.decisions import Deciding
from memory.deciding.edits import changeable
from memory.deciding.made import believed, made_of
from memory.deciding.writing import Writing
from memory.ids import id_of
from memory.reading import entities_in, reads_as_instruction
from memory.reading.importance import Importance
from memory.reading.records import Statement
from memory.recalling.user_index import plain
from pipeline.errors import ModelError
from pipeline.stores.memories import Memory, MemoryChanges, MemorySource

if TYPE_CHECKING:
    from memory.recalling.user_index import UserIndex
    from memory.user_memory import UserMemory
    from pipeline.stores.conversations import Conversation

KEPT = 10  # short-term memories
LEAST = 0.3  # importance of what moves to long-term memory
REFLECTION_IMPORTANCE = 0.6
TOPICS = 5  # of a conversation


def rate(
    user: UserMemory, ids: Iterable[str] = (), *, go_on: Callable[[], None] = lambda: None
) -> Sequence[Memory]:
    """Rate memories 1 to 10, all of them or some; those whose rating changed.

    Rules know no better than who asked for a memory to be kept. `go_on` is called before each and may raise.
    """

    def rated(text: str) -> Importance:
        go_on()
        return rating.rate(text, complete=complete)

    chosen = [changeable(user, given) for given in ids] or [
        memory for memory in user.list() if memory.tier != "static"
    ]
    complete = user.complete
    ratings = {
        memory.id: rated(memory.text)
        for memory in chosen
        if complete is not None or memory.why != WAS_ASKED_FOR
    }

    def decide(index: UserIndex) -> MemoryChanges:
        writing = Writing(user.clock())
        for known, found in ratings.items():
            if memory := index.memories.get(known):
                after = replace(memory, importance=found.rating / 10, why=found.explanation)
                if after != memory:
                    writing.write("UPDATE", after)
        return writing.changes

    return user.indexes.change(user.user, decide).memories


def migrate(user: UserMemory) -> Sequence[Memory]:
    """Where there are more than ten short-term memories, the oldest leave; those that moved.

    Those at least .3 important become long-term under their ids; the others expire, but for pinned ones. One
    that is known for long ends as the same.
    """

    def decide(index: UserIndex) -> MemoryChanges:
        live = [item for item in index.memories.values() if item.live]
        known = {plain(item.text): item for item in live if item.tier == "long_term"}
        short = sorted(
            (item for item in live if item.tier == "short_term"), key=lambda item: (item.created_at, item.id)
        )
        writing = Writing(user.clock())
        for memory in short[: max(0, len(short) - KEPT)]:
            same = known.get(plain(memory.text))
            if same is None and (memory.pinned or memory.importance is None or memory.importance >= LEAST):
                writing.write("MIGRATE", replace(memory, tier="long_term"))
            else:
                expired = replace(memory, expired_at=writing.now)
                writing.write("EVICT", expired, other=same.id if same else "")
        return writing.changes

    changes = user.indexes.change(user.user, decide)
    return [memory for memory in changes.memories if memory.tier == "long_term"]


def reflect(user: UserMemory) -> Sequence[Memory]:
    """Reflect on the latest memories; what came of it."""

    def recalled(question: str) -> Sequence[Memory]:
        return [found.memory for found in user.read(question)[0]]

    memories, complete = reflecting.latest(believed(user)), user.complete
    if not memories or complete is None:
        return []
    try:
        text, rests_on = reflecting.reflect(memories, complete=complete, recall=recalled)
    except ModelError:
        return []
    if not text:
        return []
    made = made_of(
        user,
        rests_on,
        text=text,
        kind="reflection",
        importance=REFLECTION_IMPORTANCE,
        why="It is a reflection on what you said.",
        subject="reflection",
        predicate="insight",
        object=text,
    )
    return _kept(user, made)


def plan(user: UserMemory) -> Sequence[Memory]:
    """Plan the rest of the day; the plan takes the place of the one before. Raises without a model."""
    chosen = planning.matters_most(believed(user))
    text = planning.make_plan(chosen, complete=user.complete, now=user.clock(), zone=user.zone)
    made = made_of(
        user,
        chosen,
        text=text,
        kind="plan",
        importance=chosen[0].importance,
        why="It is the plan for today.",
        subject="plan",
        predicate="today",
        object=text,
    )
    return _kept(user, made)


def summarize(user: UserMemory) -> Sequence[Memory]:
    """Put two lines in the place of the five memories that matter least, with their mean importance."""
    chosen = summarizing.least_important(believed(user))
    if not chosen:
        return []
    made = made_of(
        user,
        chosen,
        text=summarizing.two_lines(chosen, complete=user.complete),
        kind="summary",
        importance=round(sum(map(summarizing.importance, chosen)) / len(chosen), 6),
        why="It stands for memories that matter least.",
        tags=tuple(dict.fromkeys(item.predicate for item in chosen if item.predicate)),
        valid_at=min(item.created_at for item in chosen),
    )
    [made] = user.indexes.embedded([made])

    def decide(index: UserIndex) -> MemoryChanges:
        writing = Writing(made.created_at)
        if all(index.memories.get(memory.id) == memory for memory in chosen):
            writing.write("ADD", made)
            for memory in chosen:
                writing.write("EVICT", replace(memory, expired_at=writing.now), other=made.id)
        return writing.changes

    return user.indexes.change(user.user, decide).memories[:1]


def summarize_conversation(user: UserMemory, conversation: Conversation) -> Sequence[Memory]:
    """Keep a past conversation in at most 50 words, its topics as tags; longer again, it is replaced.

    Its id is of the conversation and what was said: the same again adds nothing.
    """
    turns = summarizing.telling_turns(conversation)
    text = summarizing.conversation_in_words(turns, complete=user.complete) if turns else ""
    if not text:
        return []
    names = Counter(entity.name for turn in turns for entity in entities_in(turn.question))
    made = made_of(
        user,
        (),
        id=id_of(user.user, "conversation", conversation.info.id, str(len(turns))),
        text=text,
        kind="summary",
        tags=tuple(name for name, _ in names.most_common(TOPICS)),
        importance=summarizing.UNRATED,
        trusted=not reads_as_instruction(text),
        why="It stands for a past conversation.",
        subject=conversation.info.id,
        predicate="summary",
        valid_at=turns[0].created_at,
        sources=tuple(
            MemorySource(turn_id=turn.id, start=0, end=len(turn.question), quote=turn.question)
            for turn in turns
        ),
    )
    return _kept(user, made)


def _kept(user: UserMemory, memory: Memory) -> Sequence[Memory]:
    """Keep what was made of other memories, in the place of what was made like it before."""
    [memory] = user.indexes.embedded([memory])

    def decide(index: UserIndex) -> MemoryChanges:
        if any(source.memory_id not in {"", *index.memories} for source in memory.sources):
            return MemoryChanges()  # of something that was forgotten while this was made
        deciding = Deciding(index=index, now=user.clock())
        deciding.decide(
            memory, Statement(subject=memory.subject, predicate=memory.predicate, object=memory.object)
        )
        return deciding.changes

    written = user.indexes.change(user.user, decide).memories
    return [item for item in written if item.id == memory.id]
