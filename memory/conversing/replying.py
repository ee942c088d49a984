"""What the memory does at a message to it, and answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.conversing import replies
from memory.deciding.remember import ASKING
from memory.deciding.said import Said
from memory.reading import asked_of_memory, statements_in
from memory.reading.asking import asks
from memory.reading.records import Command, MemoryCommand
from pipeline.answering.recollection import MemoryReply
from pipeline.steps.records import RememberStep

if TYPE_CHECKING:
    from memory.conversing.hearing import Hearing
    from memory.deciding.forgetting import Forgetting
    from memory.user_memory import UserMemory
    from pipeline.stores.conversations import Turn

NOT_CONFIRMED = "what would be forgotten was not confirmed"
ONLY_ASKED = "a question to the memory: nothing new to keep"
_LAST_SAID = re.compile(r"(?:that|this|it)\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replying:
    """Answers one message to a memory."""

    memory: UserMemory
    hearing: Hearing
    private: str = ""  # why nothing is kept of the conversation
    why_nothing: str = ""  # a preset that takes no requests keeps nothing
    settle: Callable[[], object] = lambda: None  # what was said a moment ago is kept, too

    def reply(self) -> MemoryReply:
        """Do what the message asks of the memory, and say so."""
        command = self.hearing.command
        if self.hearing.lapsed:
            return self._skipped(replies.LAPSED, NOT_CONFIRMED)
        if command is None and self.hearing.shown is None:
            return self._restated()
        if command is None or command.kind is not Command.REMEMBER:
            self.settle()
        if command is None:
            return self._confirmed()
        if not self.memory.preset.commands:
            return self._skipped(
                replies.ONLY_THIS if self.memory.preset.history else replies.OFF, self.why_nothing
            )
        match command.kind:
            case Command.REMEMBER if not command.query or _LAST_SAID.fullmatch(command.query):
                return self._asked_before()
            case Command.REMEMBER:
                return self._asked(self.hearing.message, command, turn_id=self.hearing.turn_id)
            case Command.SAID if not command.query:
                text, recalled = self._last_said()
            case Command.KNOWN if not command.query:
                text, recalled = self._all_known()
            case Command.KNOWN | Command.SAID:
                text, recalled = self._told(command)
            case Command.FORGET | Command.FORGET_ALL:
                text, recalled = self._would_forget(command)
        return replace(self._skipped(text, ONLY_ASKED), recalled=recalled)

    def _skipped(self, text: str, why: str) -> MemoryReply:
        """A reply after which nothing is kept."""
        step = RememberStep(preset=self.memory.preset.name, status="skipped", detail=why)
        return MemoryReply(text=text, step=step)

    # -- keeping ------------------------------------------------------------------------------------

    def _restated(self) -> MemoryReply:
        """Keep a correction, as the rules read it: they have said that it is one."""
        if self.private:
            return self._not_kept()
        said = Said(turn_id=self.hearing.turn_id, question=self.hearing.message, at=self.memory.clock())
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
        return self._skipped(replies.REMEMBER_WHAT, "nothing was said")

    def _not_kept(self) -> MemoryReply:
        return self._skipped(f"{self.private[0].upper()}{self.private[1:]}.", self.private)

    def _confirmation(self, step: RememberStep) -> MemoryReply:
        return MemoryReply(
            text=replies.kept(step, self.memory),
            recalled=tuple(dict.fromkeys((*step.added, *step.known, *step.touched))),
            step=step,
        )

    # -- telling ------------------------------------------------------------------------------------

    def _all_known(self) -> tuple[str, tuple[str, ...]]:
        kept = [memory for memory in self.memory.list() if memory.tier != "static"]
        found = sorted(kept, key=lambda memory: memory.kind == "qa")[: replies.MOST]  # questions last
        said = self.memory.last_said(without=[self.hearing.turn_id])
        return replies.known(found, turns=len(said)), tuple(memory.id for memory in found)

    def _last_said(self) -> tuple[str, tuple[str, ...]]:
        """The last messages, or the last questions where these are asked for."""
        questions = "ask" in self.hearing.message.casefold()
        said = self.memory.last_said(without=[self.hearing.turn_id])
        shown = [turn for turn in said if asks(turn.text) or not questions][: replies.MOST_SAID]
        return replies.last_said(shown, questions=questions), tuple(turn.id for turn in shown)

    def _told(self, command: MemoryCommand) -> tuple[str, tuple[str, ...]]:
        without = [self.hearing.turn_id]
        if command.kind is Command.SAID and (
            said := self.memory.said_about(command.query, without=without)[: replies.MOST_SAID]
        ):
            return replies.said_about(said, topic=command.query), tuple(turn.id for turn in said)
        told = self.memory.told(self.hearing.message, without=without)
        return told.text or replies.not_known(command.query), told.shown

    # -- forgetting ---------------------------------------------------------------------------------

    def _would_forget(self, command: MemoryCommand) -> tuple[str, tuple[str, ...]]:
        found = self._to_forget(command)
        names = command.kind is Command.FORGET_ALL and bool(self.memory.index.entities)
        text = replies.would_forget(found, query=command.query, names=names)
        return text, (*(memory.id for memory in found.memories), *found.turn_ids)

    def _to_forget(self, command: MemoryCommand) -> Forgetting:
        without = [self.hearing.turn_id]
        if command.kind is Command.FORGET_ALL:
            return self.memory.forgetting(everything=True, without=without)
        if command.query:
            return self.memory.forgetting(search=command.query, without=without)
        last = self.hearing.turn_before
        if last is None:
            return self.memory.forgetting()
        told = last.answer.recalled if last.answer.mode == "memory" else ()
        kept = [known for known in told if known in self.memory.index.memories]
        return self.memory.forgetting(kept, turns=told or [last.id], without=without)

    def _confirmed(self) -> MemoryReply:
        """Forget what was shown, or leave it, as the message says."""
        message = self.hearing.message
        if replies.NO.fullmatch(message.strip()):
            return self._skipped(replies.NOT_FORGOTTEN, NOT_CONFIRMED)
        return self._forgotten(self.hearing.shown, words="keep" not in message.casefold())

    def _forgotten(self, shown: Turn | None, *, words: bool) -> MemoryReply:
        index, ids = self.memory.index, shown.answer.recalled if shown else ()
        command = asked_of_memory(shown.question) if shown else None
        everything = command is not None and command.kind is Command.FORGET_ALL
        left = self.memory.forgetting(
            [known for known in ids if known in index.memories],
            turns=(*ids, shown.id) if shown and words else ids,  # the request names what it asks to forget
            without=[self.hearing.turn_id],
        )
        self.memory.forget(left, words=words, everything=everything)
        number, turns = len(left.memories), len(left.turn_ids)
        step = RememberStep(preset=self.memory.preset.name, forgotten=number + turns)
        return MemoryReply(text=replies.forgotten(number, turns, words=words), step=step)
