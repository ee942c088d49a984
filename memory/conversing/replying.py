"""What the memory does at a message to it, and answers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.deciding.decisions import sides_of
from memory.reading.asking import asks
from memory.reading.commands import asked_of_memory
from memory.reading.records import Command, MemoryCommand
from pipeline.answering.recollection import MemoryReply, named
from pipeline.steps.records import Step, ids_of
from pipeline.words import counted

if TYPE_CHECKING:
    from memory.deciding.forgetting import Forgetting
    from memory.deciding.heard import Heard
    from memory.recalling.turn_index import Turn
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer
    from pipeline.stores.memories import Memory

_AGREED = r"y|yes|yep|yeah|yup|ya|sure|ok|okay|do it|go ahead"
_WHAT = r"(?:it|that|them|all|everything)"
YES = re.compile(
    rf"(?:(?:{_AGREED})(?:,? (?:please|pls|plz)(?: do(?: it)?)?)?|yes,? (?:forget|do) {_WHAT}"
    r"|(?:forget|do) (?:it|them)"
    r"|yes,? but (?:keep|leave) the words)[.!]*",
    re.IGNORECASE,
)
_KEEP = r"(?:don['’]?t|keep (?:it|them))"
NO = re.compile(rf"(?:n|no|nope|nah|no,? (?:thanks|{_KEEP})|cancel|{_KEEP})[.!]*", re.IGNORECASE)
MOST = 20  # memories in a reply
MOST_SAID = 6  # messages in a reply
NOTHING = "Nothing is remembered about you yet. To have something kept, say “remember that …”."
NO_FACT = "No fact about you is kept. {turns} found again when you ask about it."
ALSO_SAID = "{turns} found again as well, when you ask about it."
NO_QUESTIONS = "You have not asked me anything before."
ONLY_KEPT = "Only what was kept as a fact is recalled: the memory's settings say so."
SECRETS = (
    "Secrets are never remembered. Your message still has it: it stands in this conversation until you "
    "delete that."
)
REMEMBER_WHAT = "Remember what? Say it in the same message: “remember that …”."
_ASKED = re.compile(
    r"(?:[\w-]+ ){0,2}?(?:do|did|am|was|have) i\b", re.IGNORECASE
)  # a question, no name of anything


def shown_before(heard: Heard) -> Answer | None:
    """The answer that showed what would be forgotten, where the message says yes or no to that."""
    before, said = heard.before, heard.message.strip()
    if before is None or before.mode != "memory" or not (YES.fullmatch(said) or NO.fullmatch(said)):
        return None
    command = asked_of_memory(before.question)
    return before if command is not None and command.kind in (Command.FORGET, Command.FORGET_ALL) else None


_LAST_SAID = re.compile(r"(?:that|this|it)\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replying:
    """Answers one message to a memory."""

    memory: UserMemory
    heard: Heard
    private: str = ""  # why nothing is kept of the conversation
    why_nothing: str = ""  # why the preset takes no requests
    settle: Callable[[], object] = lambda: None  # what was said a moment ago is kept, too

    def reply(self) -> MemoryReply:
        """Do what the message asks of the memory, and say so."""
        began, started = time.time(), time.perf_counter()
        reply = self._reply()
        step = replace(reply.step, started_at=began, ms=(time.perf_counter() - started) * 1000)
        return replace(reply, step=step)

    def _reply(self) -> MemoryReply:
        command, shown = self.heard.command, shown_before(self.heard)
        if command is None and shown is not None:
            self.settle()
            return self._confirmed(shown)
        keeps = command is None or command.kind is Command.REMEMBER
        if why := self.why_nothing or (self.private if keeps else ""):
            return self._skipped(f"{why[0].upper()}{why[1:]}.", why)
        if command is None:  # a correction, as the rules read it: they have said that it is one
            return self._confirmation(replace(self.memory.remembering, complete=None).keep(self.heard))
        if command.kind is not Command.REMEMBER:
            self.settle()
        match command.kind:
            case Command.REMEMBER if not command.query or _LAST_SAID.fullmatch(command.query):
                return self._asked_before()
            case Command.REMEMBER:
                return self._confirmation(
                    self.memory.remembering.keep_asked(
                        self.heard, start=command.start, end=command.end or None
                    )
                )
            case Command.SAID if not command.query:
                text, recalled = self._last_said()
            case Command.KNOWN if not command.query:
                text, recalled = self._all_known()
            case Command.KNOWN | Command.SAID:
                text, recalled = self._told(command)
            case Command.FORGET | Command.FORGET_ALL:
                text, recalled = self._would_forget(command)
        return replace(
            self._skipped(text, "a question to the memory: nothing new to keep"), recalled=recalled
        )

    def _skipped(self, text: str, why: str) -> MemoryReply:
        """A reply after which nothing is kept."""
        data = {"preset": self.memory.preset.name}
        step = Step("remember", status="skipped", detail=why, data=data)
        return MemoryReply(text=text, step=step)

    # -- keeping ------------------------------------------------------------------------------------

    def _asked_before(self) -> MemoryReply:
        """Keep what the turn before this one said: a bare "remember that"."""
        nothing = self._skipped(REMEMBER_WHAT, "nothing was said")
        before, remembering = self.heard.before, self.memory.remembering
        if before is None or before.mode == "memory":
            return nothing
        heard = remembering.hear(before.question, turn_id=before.turn_id, talk=(), asked_for=True)
        said = [item for item in heard.statements if item.subject]
        if not said:
            return nothing
        start, end = 0, len(heard.message)
        if "?" in heard.message:  # only what is stated is kept
            start, end = said[0].start, said[-1].end
        if "?" in heard.message[start:end]:
            return nothing
        return self._confirmation(remembering.keep_asked(heard, start=start, end=end))

    def _confirmation(self, step: Step) -> MemoryReply:
        return MemoryReply(
            text=_kept(step, self.memory),
            recalled=tuple(dict.fromkeys(ids_of(step, "added", "known", "touched"))),
            step=step,
        )

    # -- telling ------------------------------------------------------------------------------------

    def _own(self, topic: str = "") -> Sequence[Turn]:
        """The user's other messages, latest first; none where these are not recalled."""
        if not self.memory.recalls_turns:
            return ()
        return self.memory.turns.own(topic, without=[self.heard.turn_id])

    def _all_known(self) -> tuple[str, tuple[str, ...]]:
        """All that is known of the user, and how much was said beside it."""
        kept = [memory for memory in self.memory.list() if memory.tier != "static"]
        found = sorted(kept, key=lambda memory: memory.kind == "qa")[:MOST]  # questions last
        turns = len(self._own())
        said = f"{counted(turns, 'message')} of yours {'is' if turns == 1 else 'are'}"
        if not found:
            return NO_FACT.format(turns=said) if turns else NOTHING, ()
        parts = [
            "I remember:",
            "\n".join(map(_line, found)),
            *([ALSO_SAID.format(turns=said)] if turns else []),
        ]
        return "\n\n".join(parts), tuple(memory.id for memory in found)

    def _last_said(self) -> tuple[str, tuple[str, ...]]:
        """The last messages, or the last questions where these are asked for."""
        if not self.memory.recalls_turns:
            return ONLY_KEPT, ()
        questions = "ask" in self.heard.message.casefold()
        said = self._own()
        ids = tuple(turn.id for turn in said if asks(turn.text) or not questions)[:MOST_SAID]
        if not ids:
            return NO_QUESTIONS if questions else NOTHING, ()
        return f"You {'asked' if questions else 'wrote'}, latest first:\n\n{_lines(ids)}", ids

    def _told(self, command: MemoryCommand) -> tuple[str, tuple[str, ...]]:
        if command.kind is Command.SAID and (said := self._own(command.query)[:MOST_SAID]):
            ids = tuple(turn.id for turn in said)
            return f"You said about “{command.query}”:\n\n{_lines(ids)}", ids
        told = self.memory.told(self.heard.message, without=[self.heard.turn_id])
        of = "that" if not command.query or _ASKED.match(command.query) else f"“{command.query}”"
        return told.text or f"Nothing is remembered about {of}.", told.shown

    # -- forgetting ---------------------------------------------------------------------------------

    def _would_forget(self, command: MemoryCommand) -> tuple[str, tuple[str, ...]]:
        """What a request to forget would take, and how to go on."""
        found, query, lines = self._to_forget(command), command.query, list[str]()
        names = command.kind is Command.FORGET_ALL and bool(self.memory.index.entities)
        if not (found or names):
            return f"Nothing is remembered about “{query}”." if query else "There is nothing to forget.", ()
        said = [f"- {named(turn.id)}" for turn in found.turns if turn.role == "user"]
        for each, more in ((list(map(_line, found.memories)), "more memory"), (said, "more message")):
            lines += each[:MOST]
            lines += [f"- and {counted(len(each) - MOST, more)}"] if len(each) > MOST else []
        lines += ["- names of whom and what you spoke of"] if not found.memories and names else []
        listed = "\n".join(lines)
        turns = " Messages are deleted with their answers." if found.turns else ""
        return (
            f"This would be forgotten:\n\n{listed}\n\n"
            f"Nothing is forgotten yet. Answer “yes”, and the words in the conversations go, too.{turns} "
            "“Yes, but keep the words” leaves them to read, and they are not found again."
        ), (*(memory.id for memory in found.memories), *found.turn_ids)

    def _to_forget(self, command: MemoryCommand) -> Forgetting:
        without = [self.heard.turn_id]
        if command.kind is Command.FORGET_ALL:
            return self.memory.forgetting(everything=True, without=without)
        if command.query:
            return self.memory.forgetting(search=command.query, without=without)
        last = self.heard.before
        if last is None:
            return self.memory.forgetting()
        recalled, told = last.recalled, last.mode == "memory"
        meant = recalled if recalled and told else (*recalled, last.turn_id)  # else either is meant
        kept = [known for known in recalled if known in self.memory.index.memories]
        return self.memory.forgetting(kept, turns=meant, without=without)

    def _confirmed(self, shown: Answer) -> MemoryReply:
        """Forget what was shown, or leave it, as the message says."""
        if NO.fullmatch(self.heard.message.strip()):
            return self._skipped("Nothing was forgotten.", "what would be forgotten was not confirmed")
        words = "keep" not in self.heard.message.casefold()
        command, ids = asked_of_memory(shown.question), shown.recalled
        left = self.memory.forgetting(
            [known for known in ids if known in self.memory.index.memories],
            turns=(*ids, shown.turn_id) if words else ids,  # the request names what it asks to forget
            without=[self.heard.turn_id],
            everything=command is not None and command.kind is Command.FORGET_ALL,
        )
        self.memory.forget(left, words=words)
        number, turns = len(left.memories), len(left.turn_ids)
        gone = [counted(each, name) for each, name in ((number, "memory"), (turns, "message")) if each]
        where = "the words in the conversations, too" if words else "the words in the conversations stay"
        text = f"Forgotten: {' and '.join(gone)}; {where}." if gone else "There was nothing left to forget."
        data = {"preset": self.memory.preset.name, "forgotten": number + turns}
        step = Step("remember", data=data)
        return MemoryReply(text=text, step=step)


# -- in words; memories stand in it as `[memory ID]` ----------------------------------------------------


def _kept(step: Step, memory: UserMemory) -> str:
    """The confirmation of what was asked to be remembered."""
    if step.data.get("secrets"):
        return f"{step.detail} {SECRETS}"
    said = [f"Remembered:\n\n{_lines(added)}"] if (added := ids_of(step, "added")) else []
    if instead := [old.id for new in ids_of(step, "replaced") for old in memory.replaced_by(new)]:
        said.append(f"Instead of:\n\n{_lines(dict.fromkeys(instead))}")
    if again := ids_of(step, "known", "touched"):
        said.append(f"Known already:\n\n{_lines(again)}")
    if ids_of(step, "untrusted"):
        said.append("It reads like an instruction, so it is kept but never acted on.")
    for known in ids_of(step, "disputed"):
        others = _lines(side.id for side in sides_of(memory.index, memory.get(known)) if side.id != known)
        said.append(f"This contradicts what I knew; both are kept until you say which is right:\n\n{others}")
    return "\n\n".join(said)


def _lines(ids: Iterable[str]) -> str:
    return "\n".join(f"- {named(known)}" for known in ids)


def _line(memory: Memory) -> str:
    notes = ["disputed"] if memory.disputed else []
    notes += ["no longer in the document"] if memory.stale else []
    notes += [] if memory.trusted else ["reads like an instruction: never acted on"]
    return f"- {named(memory.id)}" + (f" ({', '.join(notes)})" if notes else "")
