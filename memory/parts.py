"""One user's memory as its parts: what is stored, the turns, the options, the models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory import recall
from memory.options import PRESETS, MemoryOptions, Preset
from memory.recall import Reading
from memory.times import now
from pipeline.stores.memories import Memory, MemoryChanges
from pipeline.words import well_formed

if TYPE_CHECKING:
    from memory.facts import Complete
    from memory.index import Indexes, UserIndex
    from memory.turns import UserTurns


@dataclass(frozen=True, slots=True)
class MemoryParts:
    """The parts of one user's memory; safe to use from several threads."""

    indexes: Indexes
    user: str
    turns: UserTurns  # of conversations that are not private
    options: MemoryOptions = field(default_factory=lambda: MemoryOptions())
    static: tuple[Memory, ...] = ()  # of the persona
    find_model: Callable[[], Complete | None] = lambda: None  # asks a language model, where there is one
    hashes: Callable[[], Mapping[str, str]] = dict  # of the documents, by source
    clock: Callable[[], float] = now

    @property
    def preset(self) -> Preset:
        """The policy: what is kept, and how it is recalled."""
        return PRESETS[self.options.memory]

    @property
    def index(self) -> UserIndex:
        """All rows as the store has them now."""
        return self.indexes.of(self.user)

    @property
    def threshold(self) -> float:
        """The least cosine of a recalled memory."""
        return self.options.threshold_for(self.indexes.encoder.name)

    def searched(
        self, query: str, *, threshold: float, keep: Callable[[Memory], bool], depth: int = 0
    ) -> Reading:
        """Return the memories about a query that `keep` accepts; `memory.recall.search` has the arguments."""
        return recall.search(
            self.index,
            well_formed(query),
            encoder=self.indexes.encoder,
            options=self.options,
            now=self.clock(),
            threshold=threshold,
            keep=keep,
            depth=depth,
        )

    def write(self, decide: Callable[[UserIndex], Iterable[Memory]]) -> Sequence[Memory]:
        """Write the memories that `decide` makes of the rows as they are at that moment."""

        def changes(index: UserIndex) -> MemoryChanges:
            return MemoryChanges(memories=tuple(decide(index)))

        return self.indexes.change(self.user, changes).memories
