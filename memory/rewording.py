"""A text that is to take the place of a memory's: read once, however often its write is decided again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.comparing import Candidate
from memory.naming import named
from memory.said import Said
from pipeline.errors import AthenaError
from pipeline.stores.memories import Memory, MemoryChanges

if TYPE_CHECKING:
    from memory.extracting.records import Extraction
    from memory.index import UserIndex


@dataclass(frozen=True, slots=True)
class Rewording:
    """What a text says, as an extraction of it as a request to remember it has it."""

    text: str
    said: Said
    extraction: Extraction
    read: Candidate

    def of(self, memory: Memory) -> Memory:
        """The memory, saying this; without a vector of its own."""
        names = ("subject", "predicate", "object", "trusted")
        values = {name: getattr(self.read.memory, name) for name in names}
        return replace(memory, text=self.text, stale=False, **values)

    def changes(self, index: UserIndex, after: Memory, *, whole_graph: bool) -> MemoryChanges:
        """The memory as it is `after` this, and whom and what it names now; raises `AthenaError` for a twin.

        A store keeps no two live memories of one tier and text.
        """
        for other in index.with_text(self.text):
            if after.live and other.live and other.tier == after.tier and other.id != after.id:
                raise AthenaError(
                    f"That is remembered already: {other.id}.",
                    f"To keep it once, use `athena memory forget {after.id}`.",
                )
        candidate = replace(self.read, memory=after, start=0, end=len(self.said.question))
        new = named(index, self.said, self.extraction, kept=[candidate], whole=whole_graph)
        return replace(new, memories=(after,))
