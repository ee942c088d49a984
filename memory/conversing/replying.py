"""What the memory does at a message to it, and answers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.conversing import replies
from memory.reading.asking import asks
from memory.reading.commands import asked_of_memory
from memory.reading.records import Command, MemoryCommand
from pipeline.answering.recollection import MemoryReply
from pipeline.steps.records import RememberStep

if TYPE_CHECKING:
    from memory.deciding.forgetting import Forgetting
    from memory.deciding.heard import Heard
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer

_FORGETTING = (Command.FORGET, Command.FORGET_ALL)


def shown_before(heard: Heard) -> Answer | None:
    """The answer that showed what would be forgotten, where the message says yes or no to that."""
    before, said = heard.before, heard.message.strip()
    if (
        before is None
        or before.mode != "memory"
        or not (replies.YES.fullmatch(said) or replies.NO.fullmatch(said))
    ):
        return None
    command = asked_of_memory(before.question)
    return before if command is not None and command.kind in _FORGETTING else None


NOT_CONFIRMED = "what would be forgotten was not confirmed"
ONLY_ASKED = "a question to the memory: nothing new to keep"
_LAST_SAID = re.compile(r"(?:that|this|it)\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replying:
    """Answers one message to a memory."""

    memory: UserMemory
    heard: Heard
    private: str = ""  # why nothing is kept of the conversation
    why_nothing: str = ""  # a preset that takes no requests keeps nothing
    settle: Callable[[], object] = lambda: None  # what was said a moment ago is kept, too

    def reply(self) -> MemoryReply:
        """Do what the message asks of the memory, and say so."""
        began, started = time.time(), time.perf_counter()
        reply = self._reply()
        step = replace(reply.step, started_at=began, ms=(time.perf_counter() - started) * 1000)
        return replace(reply, step=step)

    def _reply(self) -> MemoryReply:
        command, shown = self.heard.command, shown_before(self.heard)
        if command is None and shown is None:
            return self._restated()
        if command is None or command.kind is not Command.REMEMBER:
            self.settle()
        if command is None:
            return self._confirmed(shown)
        if not self.memory.preset.commands:
            return self._skipped(
                replies.ONLY_THIS if self.memory.preset.history else replies.OFF, self.why_nothing
            )
        match command.kind:
            case Command.REMEMBER if not command.query or _LAST_SAID.fullmatch(command.query):
                return self._asked_before()
            case Command.REMEMBER:
                return self._asked(self.heard, command.start, command.end or None)
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
        return self._confirmation(replace(self.memory.remembering, complete=None).keep(self.heard))

    def _asked(self, heard: Heard, start: int, end: int | None) -> MemoryReply:
        if self.private:
            return self._not_kept()
        return self._confirmation(self.memory.remembering.keep_asked(heard, start=start, end=end))

    def _asked_before(self) -> MemoryReply:
        """Keep what the turn before this one said: a bare "remember that"."""
        before = self.heard.before
        if before is None or before.mode == "memory":
            return self._nothing_said()
        heard = self.memory.remembering.hear(before.question, turn_id=before.turn_id, talk=(), asked_for=True)
        said = [item for item in heard.statements if item.subject]
        if not said:
            return self._nothing_said()
        start, end = 0, len(heard.message)
        if "?" in heard.message:  # only what is stated is kept
            start, end = said[0].start, said[-1].end
        if "?" in heard.message[start:end]:
            return self._nothing_said()
        return self._asked(heard, start, end)

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
        said = self.memory.turns.own(without=[self.heard.turn_id])
        return replies.known(found, turns=len(said)), tuple(memory.id for memory in found)

    def _last_said(self) -> tuple[str, tuple[str, ...]]:
        """The last messages, or the last questions where these are asked for."""
        questions = "ask" in self.heard.message.casefold()
        said = self.memory.turns.own(without=[self.heard.turn_id])
        shown = [turn for turn in said if asks(turn.text) or not questions][: replies.MOST_SAID]
        nothing = replies.NO_QUESTIONS if questions else replies.NOTHING
        opening = f"You {'asked' if questions else 'wrote'}, latest first:"
        return replies.quoted(opening, shown) if shown else nothing, tuple(turn.id for turn in shown)

    def _told(self, command: MemoryCommand) -> tuple[str, tuple[str, ...]]:
        without = [self.heard.turn_id]
        if command.kind is Command.SAID and (
            said := self.memory.turns.own(command.query, without=without)[: replies.MOST_SAID]
        ):
            opening = f"You said about “{command.query}”:"
            return replies.quoted(opening, said), tuple(turn.id for turn in said)
        told = self.memory.told(self.heard.message, without=without)
        return told.text or replies.not_known(command.query), told.shown

    # -- forgetting ---------------------------------------------------------------------------------

    def _would_forget(self, command: MemoryCommand) -> tuple[str, tuple[str, ...]]:
        found = self._to_forget(command)
        names = command.kind is Command.FORGET_ALL and bool(self.memory.index.entities)
        text = replies.would_forget(found, query=command.query, names=names)
        return text, (*(memory.id for memory in found.memories), *found.turn_ids)

    def _to_forget(self, command: MemoryCommand) -> Forgetting:
        without = [self.heard.turn_id]
        if command.kind is Command.FORGET_ALL:
            return self.memory.forgetting(everything=True, without=without)
        if command.query:
            return self.memory.forgetting(search=command.query, without=without)
        last = self.heard.before
        if last is None:
            return self.memory.forgetting()
        recalled, modes = last.recalled, {one.mode for one in last.each}
        meant = (
            recalled if recalled and "memory" in modes else (*recalled, last.turn_id)
        )  # else either is meant
        kept = [known for known in recalled if known in self.memory.index.memories]
        return self.memory.forgetting(kept, turns=meant, without=without)

    def _confirmed(self, shown: Answer | None) -> MemoryReply:
        """Forget what was shown, or leave it, as the message says."""
        if replies.NO.fullmatch(self.heard.message.strip()):
            return self._skipped(replies.NOT_FORGOTTEN, NOT_CONFIRMED)
        words = "keep" not in self.heard.message.casefold()
        index, ids = self.memory.index, shown.recalled if shown else ()
        command = asked_of_memory(shown.question) if shown else None
        everything = command is not None and command.kind is Command.FORGET_ALL
        left = self.memory.forgetting(
            [known for known in ids if known in index.memories],
            turns=(*ids, shown.turn_id)
            if shown and words
            else ids,  # the request names what it asks to forget
            without=[self.heard.turn_id],
        )
        self.memory.forget(left, words=words, everything=everything)
        number, turns = len(left.memories), len(left.turn_ids)
        step = RememberStep(preset=self.memory.preset.name, forgotten=number + turns)
        return MemoryReply(text=replies.forgotten(number, turns, words=words), step=step)
