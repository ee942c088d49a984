"""Reading and writing at many memories, and a search over as many turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bench.memory_player import AthenaMemory
from evals.conversations import spoken
from memory.ids import new_id
from memory.options import PresetName
from memory.recalling.turn_index import Turn, TurnIndex
from memory.recalling.turn_search import look_up
from pipeline.stores.memories import Memory, MemoryChanges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pipeline.models.base import Encoder

USER = "local"
START = 1_735_689_600.0  # 2025-01-01
HOUR = 3600.0
SEED = 7
THINGS = (
    "tea",
    "city",
    "book",
    "tool",
    "film",
    "river",
    "editor",
    "dish",
    "sport",
    "song",
    "planet",
    "valve",
)
VERBS = ("read about", "bought", "repaired", "painted", "lost", "described", "tested", "sold")
WORDS = ("green", "small", "heavy", "northern", "broken", "silver", "quiet", "second", "paper", "cold")
TURN_WORDS = 20  # of what is said in a turn


class Took(NamedTuple):
    """One call in milliseconds: by the clock, and of the processors' time, to which others do not add."""

    ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Times:
    """How long each read and each write took."""

    reads: Sequence[Took]
    writes: Sequence[Took]


def fill(memory: AthenaMemory, *, count: int, encoder: Encoder) -> None:
    """Store as many memories of one user, with random vectors: times do not depend on them."""
    random = np.random.default_rng(SEED)
    vectors = _vectors(random, count, encoder.dimensions)
    rows = tuple(
        Memory(
            id=new_id(),
            user=USER,
            text=f"{text} ({number})",
            importance=float(random.random()),
            subject=USER,
            predicate=f"predicate {number}",
            object=str(number),
            valid_at=START + number,
            created_at=START + number,
            embedding=vectors[number].tobytes(),
            embedded_by=encoder.name,
        )
        for number, text in zip(range(count), sentences(random), strict=False)
    )
    memory.indexes.memories.apply(USER, MemoryChanges(memories=rows))


def read_and_write(folder: Path, *, preset: PresetName, encoder: Encoder, count: int, times: int) -> Times:
    """Times at `count` memories: what a message recalls, and keeping a new fact; embedding included."""
    memory = AthenaMemory(folder, preset=preset, encoder=encoder)
    try:
        fill(memory, count=count, encoder=encoder)
        at = START + count + HOUR
        memory.recalled(USER, "Which tea did I buy?", at=at)  # reads the rows into the process
        reads, writes = [], []
        for number in range(times):
            thing = THINGS[number % len(THINGS)]
            asked = f"Which {thing} did I describe {number}?"
            said = f"My favourite {thing} of shelf {number} is number {number * 7}."
            reads.append(_took(partial(memory.recalled, USER, asked, at=at)))
            writes.append(_took(partial(memory.remember, USER, said, at=at, fact=True)))
        return Times(reads, writes)
    finally:
        memory.close()


RECALL_FACTS = 5  # of as many turns, one is a fact


def recall(folder: Path, *, encoder: Encoder, turns: int, times: int) -> Sequence[Took]:
    """What a message brings to mind of stored turns, twenty to a conversation, and a fifth as many facts.

    With the preset that is the default; the embedding of the message is included.
    """
    memory = AthenaMemory(folder, preset="inject", encoder=encoder)
    try:
        fill(memory, count=turns // RECALL_FACTS, encoder=encoder)
        random = np.random.default_rng(SEED)
        said = (f"{text} {' '.join(random.choice(WORDS, TURN_WORDS))}" for text in sentences(random))
        memory.store(
            USER, list(islice(said, turns)), at=START, vectors=_vectors(random, turns, encoder.dimensions)
        )
        at = START + turns * HOUR
        memory.recalled(USER, "Which tea did I buy?", at=at)  # reads all of it into the process
        asked = [f"Which {THINGS[number % len(THINGS)]} did I describe {number}?" for number in range(times)]
        return [_took(partial(memory.recalled, USER, question, at=at)) for question in asked]
    finally:
        memory.close()


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """How long an index of turns took to build without its vectors, and each search in milliseconds."""

    build_seconds: float
    searches: Sequence[Took]


def search_in_turns(*, encoder: Encoder, count: int, times: int) -> TurnTimes:
    """Times at `count` turns, twenty to a session, between two people."""
    random = np.random.default_rng(SEED)
    told = sentences(random)
    turns = [
        Turn(
            id=str(number),
            session=str(number // 20),
            speaker=("Ada", "Ben")[number % 2],
            text=" ".join([f"{next(told)}.", *random.choice(WORDS, TURN_WORDS)]),
            at=START + number * HOUR,
        )
        for number in range(count)
    ]
    started = time.perf_counter()
    index = TurnIndex(spoken(turns, embed=lambda texts: _vectors(random, len(texts), encoder.dimensions)))
    seconds = time.perf_counter() - started
    look_up(index, "What did Ada paint?", encoder=encoder)
    asked = [f"When was Ben's {THINGS[number % len(THINGS)]} {number} sold?" for number in range(times)]
    searches = [_took(partial(look_up, index, question, encoder=encoder)) for question in asked]
    return TurnTimes(seconds, searches)


def sentences(random: np.random.Generator) -> Iterator[str]:
    """Statements without an end, of few words."""
    while True:
        verb, word, thing = (str(random.choice(words)) for words in (VERBS, WORDS, THINGS))
        yield f"I {verb} the {word} {thing} number {random.integers(100_000)}"


def _vectors(random: np.random.Generator, count: int, dimensions: int) -> NDArray[np.float32]:
    found = random.standard_normal((count, dimensions), dtype=np.float32)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def _took(work: Callable[[], object]) -> Took:
    started, cpu = time.perf_counter(), time.process_time()
    work()
    return Took((time.perf_counter() - started) * 1000, (time.process_time() - cpu) * 1000)
