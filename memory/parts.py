"""What one user's memory consists of: the stored rows, the turns, the options, the models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory.options import PRESETS, MemoryOptions, Preset
from memory.times import now
from pipeline.stores.memories import Memory, MemoryChanges

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

    def write(self, decide: Callable[[UserIndex], Iterable[Memory]]) -> Sequence[Memory]:
        """Write the memories that `decide` makes of the rows as they are at that moment."""
        changes = self.indexes.change(self.user, lambda index: MemoryChanges(memories=tuple(decide(index))))
        return changes.memories
