"""What the memory does at a message to it, and answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory import replies
from memory.extracting import asked_of_memory, predicates_asked_for, statements_in
from memory.extracting.records import Command, MemoryCommand
from memory.remember import ASKING
from memory.said import Said
from pipeline.analysis import analyse
from pipeline.answering.recollection import MemoryReply
from pipeline.steps.records import RememberStep
from pipeline.terms import content_terms

if TYPE_CHECKING:
    from memory.hearing import Hearing
    from memory.recall import FoundMemory
    from memory.turns.index import Turn as SaidTurn
    from memory.user_memory import UserMemory
    from pipeline.stores.conversations import Conversations, Turn
    from pipeline.stores.memories import Memory

NOT_CONFIRMED = "what would be forgotten was not confirmed"
ASKED_FOR = 0.8  # share of the threshold: what is asked for by name is shown where it is nearly as near
NEAREST = 0.9  # share of the best one's relevance: what is less near is another matter
_LAST_SAID = re.compile(r"(?:that|this|it)\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replying:
    """Answers one message to a memory."""

    memory: UserMemory
    conversations: Conversations
    hearing: Hearing
    turn_id: str  # of the message
    private: str = ""  # why nothing is kept of the conversation
    why_nothing: str = ""  # a preset that takes no requests keeps nothing
    settle: Callable[[], object] = lambda: None  # what was said a moment ago is kept, too

    def reply(self) -> MemoryReply:
        """Do what the message asks of the memory, and say so."""
        command = self.hearing.command
        if command is None and self.hearing.shown is None:
            return self._restated()
        if command is None or command.kind is not Command.REMEMBER:
            self.settle()
        if command is None:
            return self._confirmed()
        step = RememberStep(preset=self.memory.preset.name)
        if not self.memory.preset.commands:
            text = replies.ONLY_THIS if self.memory.preset.history else replies.OFF
            return MemoryReply(text=text, step=replace(step, status="skipped", detail=self.why_nothing))
        match command.kind:
            case Command.REMEMBER if not command.query or _LAST_SAID.fullmatch(command.query):
                return self._asked_before()
            case Command.REMEMBER:
                return self._asked(self.hearing.message, command, turn_id=self.turn_id)
            case Command.KNOWN | Command.SAID:
                found = self._known(command)
                text = replies.known(found, topic=command.query)
                if command.kind is Command.SAID and (said := self._said(command)):
                    text = "\n\n".join([*([text] if found else []), replies.said(said, topic=command.query)])
            case Command.FORGET | Command.FORGET_ALL:
                found = self._to_forget(command)
                text = replies.would_forget(found, query=command.query, by_id=len(found) <= replies.MOST)
                if command.kind is Command.FORGET_ALL and not found and self.memory.index.entities:
                    text = replies.ONLY_NAMES
        return MemoryReply(
            text=text,
            recalled=tuple(memory.id for memory in found),
            step=replace(step, status="skipped", detail="a question to the memory: nothing new to keep"),
        )

    # -- keeping ------------------------------------------------------------------------------------

    def _restated(self) -> MemoryReply:
        """Keep a correction, as the rules read it: they have said that it is one."""
        if self.private:
            return self._not_kept()
        said = Said(turn_id=self.turn_id, question=self.hearing.message, at=self.memory.clock())
        return self._confirmation(replace(self.hearing.remembering, complete=None).kept(said))

    def _asked(
        self, message: str, command: MemoryCommand, *, turn_id: str, later: bool = False
    ) -> MemoryReply:
        if self.private:
            return self._not_kept()
        step = self.hearing.remembering.asked(
            message, turn_id=turn_id, start=command.start, end=command.end or None, later=later
        )
        return self._confirmation(step)

    def _asked_before(self) -> MemoryReply:
        """Keep what the turn before this one said: a bare "remember that"."""
        turn = self.hearing.turn_before
        asked = ASKING + turn.question if turn else ""
        said = [item for item in statements_in(asked, said_at=self.memory.clock()) if item.subject]
        if turn is None or not said or turn.answer.mode == "memory":
            return self._nothing_said()
        start, end = 0, len(turn.question)
        if "?" in turn.question:  # only what is stated is kept
            start, end = max(0, said[0].start - len(ASKING)), said[-1].end - len(ASKING)
        if "?" in turn.question[start:end]:
            return self._nothing_said()
        command = MemoryCommand(Command.REMEMBER, turn.question[start:end], start, end)
        return self._asked(turn.question, command, turn_id=turn.id, later=True)

    def _nothing_said(self) -> MemoryReply:
        step = RememberStep(preset=self.memory.preset.name, status="skipped", detail="nothing was said")
        return MemoryReply(text=replies.REMEMBER_WHAT, step=step)

    def _not_kept(self) -> MemoryReply:
        step = RememberStep(preset=self.memory.preset.name, status="skipped", detail=self.private)
        return MemoryReply(text=f"{self.private[0].upper()}{self.private[1:]}.", step=step)

    def _confirmation(self, step: RememberStep) -> MemoryReply:
        return MemoryReply(
            text=replies.kept(step, self.memory),
            recalled=tuple(dict.fromkeys((*step.added, *step.known, *step.touched))),
            step=step,
        )

    # -- telling ------------------------------------------------------------------------------------

    def _known(self, command: MemoryCommand) -> Sequence[Memory]:
        if not command.query:
            kept = [memory for memory in self.memory.list() if memory.tier != "static"]
            return sorted(kept, key=lambda memory: memory.kind == "qa")[: replies.MOST]  # questions last
        exact = self.memory.about_thing(command.thing) if command.thing else ()
        exact = exact or self.memory.about_user(predicates_asked_for(command.query))
        if exact:
            return exact[: replies.MOST]
        found = self.memory.search(command.query, limit=replies.MOST)
        asks_for_one = bool(command.thing) or command.kind is Command.SAID
        least = ASKED_FOR * self.memory.threshold if asks_for_one else 0.0
        return [item.memory for item in nearest(found, command.query, least=least)]

    def _said(self, command: MemoryCommand) -> Sequence[SaidTurn]:
        from memory.turns.said import messages_of, said_about

        messages = messages_of(self.conversations, self.memory.user, without=[self.turn_id])
        encoder = self.memory.indexes.encoder
        return said_about(command.query, messages, encoder=encoder, top_k=replies.MOST_SAID)

    # -- forgetting ---------------------------------------------------------------------------------

    def _to_forget(self, command: MemoryCommand) -> Sequence[Memory]:
        if command.kind is Command.FORGET_ALL:
            return self.memory.forgetting(everything=True).memories
        if command.query:
            return self.memory.forgetting(search=command.query).memories
        kept = [memory for memory in self.memory.list() if memory.tier != "static"]
        latest = max(kept, key=lambda memory: memory.created_at, default=None)
        return self.memory.forgetting([latest.id]).memories if latest else ()

    def _confirmed(self) -> MemoryReply:
        """Forget what was shown, or leave it, as the message says."""
        message = self.hearing.message
        if replies.NO.fullmatch(message.strip()):
            step = RememberStep(preset=self.memory.preset.name, status="skipped", detail=NOT_CONFIRMED)
            return MemoryReply(text=replies.NOT_FORGOTTEN, step=step)
        return self._forgotten(self.hearing.shown, words="keep" not in message.casefold())

    def _forgotten(self, shown: Turn | None, *, words: bool) -> MemoryReply:
        index, ids = self.memory.index, shown.answer.recalled if shown else ()
        command = asked_of_memory(shown.question) if shown else None
        everything = command is not None and command.kind is Command.FORGET_ALL
        left = self.memory.forgetting([known for known in ids if known in index.memories])
        self.memory.forget(left, words=words, everything=everything)
        step = RememberStep(preset=self.memory.preset.name, forgotten=len(left.memories))
        return MemoryReply(text=replies.forgotten(len(left.memories), words=words), step=step)


def nearest(found: Sequence[FoundMemory], query: str, *, least: float = 0.0) -> Sequence[FoundMemory]:
    """Those that share a word with the query, and those that are about as near as the best one.

    Where that has to be as near as `least`, only those share enough that have all the words.
    """
    wanted = set(content_terms(query))
    shared = max(1, len(wanted)) if least else 1
    best = max((item.relevance for item in found), default=0.0)
    near = max(least, NEAREST * best)
    return [
        item
        for item in found
        if len(wanted.intersection(analyse(item.memory.text))) >= shared or item.relevance >= near
    ]
