"""One message as the memory reads it, and what of a message is not kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from memory.reading.entities import entities_in, with_names
from memory.reading.guard import secrets_in, without_secrets
from memory.reading.relations import relations_in
from pipeline.errors import AthenaError
from pipeline.stores.memories import MemorySource

if TYPE_CHECKING:
    from memory.reading.records import Entity, MemoryCommand, Relation, Statement
    from pipeline.answer import Answer

LEAST_WORDS = 3  # of what is kept although no rule reads it


@dataclass(frozen=True, kw_only=True)
class Heard:
    """A message as it was read, once: what it asks of the memory, states, puts right and names.

    Rules read it before the answer, where there is a model that reads what it states after it. What it names
    is read where it is needed: that takes a tenth of a second in a long message.
    """

    message: str
    at: float = 0.0  # when it was said
    turn_id: str = ""  # its turn; "" where it is in none
    before: Answer | None = None  # what was answered before it in its conversation
    asked_for: bool = False  # all of it is to be remembered, whether it says so or not
    command: MemoryCommand | None = None
    statements: tuple[Statement, ...] = ()
    kept: tuple[Statement, ...] = ()  # those that the preset keeps
    changed: tuple[str, ...] = ()  # the memories that it puts right, whatever else it says or asks
    corrects: bool = False  # it states something else than what is remembered of the same, and asks nothing
    people: tuple[str, ...] = ()  # who were known by name
    version: int = 0  # of the memory that it was read with
    by: str = "rules"  # or "model": who read what it states

    @cached_property
    def safe(self) -> str:
        """The message without its secrets."""
        return without_secrets(self.message)

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The kinds of its secrets."""
        return tuple(dict.fromkeys(str(secret.kind) for secret in secrets_in(self.message)))

    @cached_property
    def entities(self) -> Sequence[Entity]:
        """Whom and what it names."""
        return entities_in(with_names(self.safe, self.people))

    @cached_property
    def relations(self) -> Sequence[Relation]:
        """How what it names relates."""
        return relations_in(with_names(self.safe, self.people))

    def span(self, start: int, end: int) -> tuple[MemorySource, ...]:
        """The exact words in its turn; none where they were not said in one."""
        if not self.turn_id:
            return ()
        return (MemorySource(turn_id=self.turn_id, start=start, end=end, quote=self.message[start:end]),)

    def unread(self, start: int, end: int) -> list[tuple[int, int]]:
        """Where between `start` and `end` nothing was read as a statement, for more than a word or two."""
        spans = [(item.start, item.end) for item in self.statements if start <= item.start < end]
        edges = [start, *(edge for span in sorted(spans) for edge in span), end]
        gaps = [
            (first, last)
            for first, last in zip(edges[::2], edges[1::2], strict=True)
            if len(self.message[first:last].split()) >= LEAST_WORDS or not spans
        ]
        return [(first, last) for first, last in gaps if any(map(str.isalnum, self.message[first:last]))]


MOST_CHARACTERS = 10_000  # of one memory


def refuse_long(text: str, which: str = "This memory") -> None:
    """Raise `AthenaError` for a text that is too long to be one memory."""
    if len(text) > MOST_CHARACTERS:
        raise AthenaError(
            f"{which} has {len(text):,} characters; the most is {MOST_CHARACTERS:,}.",
            "Shorten it, or add it as a document.",
        )


def left_out(kinds: Sequence[str]) -> str:
    """The sentence on what was not kept; "" where there was nothing."""
    if not kinds:
        return ""
    names = [f"an {kind}" if kind[0] in "aeiou" else f"a {kind}" for kind in kinds]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"Not kept: {listed}."
