"""Athena's own tools: an agent searches and opens documents, and reads and changes the user's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.tools import AgentTool, function_tool
from pipeline.answer import Answerability, Passage
from pipeline.errors import UnknownDocument
from pipeline.stores.globs import as_scope, matches
from pipeline.words import counted

if TYPE_CHECKING:
    from memory.user_memory import UserMemory
    from pipeline.answering.turns import RunningTurn
    from pipeline.retrieve import HybridSearch

MOST_MEMORIES, MOST_RELATIONS = 10, 30


@dataclass(slots=True)
class OwnTools:
    """The tools of one turn: each returns passages, memories' texts by id, or a text."""

    turn: RunningTurn
    hybrid_search: HybridSearch
    memory: UserMemory
    judged: Answerability | None = field(default=None, init=False)  # the most probable verdict of a search

    def search(self, query: str) -> Sequence[Passage]:
        """Search the documentation for a question or words; returns the sections that answer it best."""
        options = self.turn.options.but(hyde=False)
        found = self.hybrid_search.search(query, options=options, stop=self.turn.stop)
        if self.judged is None or found.answerability.probability > self.judged.probability:
            self.judged = found.answerability
        return found.passages

    def open_section(self, section_id: str) -> Sequence[Passage]:
        """Read a section whole by the id that stands beside its source."""
        node = self.hybrid_search.store.sections.get_many([section_id]).get(section_id)
        scope = as_scope(self.turn.options.paths)
        if node is None or (scope and not matches(node.metadata["source"], scope)):
            raise UnknownDocument(f"No section has the id '{section_id:.100}'.", "Ids stand beside sources.")
        return (Passage(section=node, sentences=(), merged=True, score=0.0),)

    def recall(self, query: str) -> Mapping[str, str]:
        """Search what the user asked to remember."""
        found = self.memory.search(query, limit=MOST_MEMORIES)
        return {one.memory.id: one.memory.text for one in found}

    def neighbourhood(self, name: str) -> Mapping[str, str]:
        """List the relations around a person, part or place."""
        return self.memory.relations_around(name, limit=MOST_RELATIONS)

    def remember(self, text: str) -> Mapping[str, str]:
        """Keep a fact about the user, word for word."""
        return {known: self.memory.get(known).text for known in self.memory.add(text).ids}

    def forget(self, memory_ids: list[str]) -> str:
        """Forget memories by the ids that recall gave, for good."""
        forgotten = self.memory.forgetting(memory_ids)
        self.memory.forget(forgotten)
        return f"{counted(len(forgotten.ids), 'memory')} forgotten"

    def listed(self, *, private: bool) -> list[AgentTool]:
        """Return them as a model is offered them; a `private` conversation changes no memory."""
        documents, memory = (self.search, self.open_section), (self.recall, self.neighbourhood)
        writing = () if private else (self.remember, self.forget)
        return [
            *(function_tool(one, reads=True, kind="documents", origin="") for one in documents),
            *(function_tool(one, reads=True, kind="memory", origin="") for one in memory),
            *(function_tool(one, kind="memory", origin="") for one in writing),
        ]
