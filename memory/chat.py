"""One user's memory in a chat: fulfils the pipeline's `ChatMemory`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from memory import graph, replies
from memory.after import AfterAnswers
from memory.extracting import about_tools, asked_of_memory, secrets_in, statements_in
from memory.extracting.records import Command, MemoryCommand
from memory.guard import left_out
from memory.in_hand import TurnsInHand
from memory.recall import Reading, within
from memory.remember import NOTHING_ASKED, Heard, Remembering, TurnBefore
from memory.said import Said
from memory.upkeep.evicting import summary_of_left
from memory.user_memory import UserMemory
from pipeline.answering.citations import without_markers
from pipeline.answering.remembering import MemoryReply, Recalled, Recollection, nothing_left
from pipeline.errors import AthenaError, TurnChanged, UnknownConversation
from pipeline.steps.records import RememberStep
from pipeline.stores.memories import MemoryChanges

if TYPE_CHECKING:
    from memory.turns.records import Turn as SaidTurn
    from pipeline.answer import Answer
    from pipeline.answering.turn import FinishedTurn
    from pipeline.messages import Message
    from pipeline.stores.conversations import Conversations, Turn
    from pipeline.stores.memories import Memory

PRIVATE = "the conversation is private: nothing of it is kept"
NOTHING_KEPT = "the memory is switched off"
ONLY_THIS = "only the conversation is remembered, and nothing after it"
UNWRITABLE = "the data folder can only be read: nothing is kept"
TOOLS = "the message is about tools"
NOT_CONFIRMED = "what would be forgotten was not confirmed"
AFTER = "after the answer is shown"
_LAST_SAID = re.compile(r"(?:that|this|it)\W*", re.IGNORECASE)
PATIENCE_S = 10.0  # for what was said before, where a model is still reading it
TRIES = 8  # of reading a turn whose words others forget meanwhile


@dataclass(frozen=True, slots=True)
class RememberingChat:
    """Recalls before an answer and remembers after it; a private one keeps nothing."""

    memory: UserMemory
    conversations: Conversations
    after: AfterAnswers
    private: Conversations | None = None  # where a private conversation is kept
    why_private: str = PRIVATE
    in_hand: TurnsInHand = field(default_factory=TurnsInHand)
    elsewhere_s: float = 0  # how long another machine, whose turns in hand are not seen, may be answering
    heard: dict[str, Heard] = field(default_factory=dict)  # of the last message
    left_undone: Callable[[], None] = lambda: None  # is called where a turn could not be remembered

    @property
    def conversations_of(self) -> Conversations:
        """Where the turns of this chat are."""
        return self.private or self.conversations

    @property
    def uses_history(self) -> bool:
        """Whether what was said before belongs to a message."""
        return self.memory.preset.history

    @property
    def _why_nothing(self) -> str:
        """Why a preset that takes no requests keeps and recalls nothing."""
        return ONLY_THIS if self.memory.preset.history else NOTHING_KEPT

    def concerns(self, message: str, *, conversation_id: str) -> bool:
        """Whether a message is about the memory.

        "Yes" is, after what would be forgotten was shown; so is what corrects something that was asked to be
        remembered.
        """
        self.heard.clear()  # the same message may be another matter the second time
        return (
            asked_of_memory(message) is not None
            or self._confirmed(message, conversation_id) is not None
            or self._corrected(message, conversation_id)
        )

    def texts(self, ids: Sequence[str]) -> Mapping[str, str]:
        """What memories say; forgotten ones are left out."""
        return self.memory.texts(ids)

    # -- before the answer --------------------------------------------------------------------------

    def recall(self, message: str, *, history: Sequence[Message]) -> Recollection:
        """What a message brings to mind."""
        preset, memory = self.memory.preset, self.memory
        left = summary_of_left(history) if preset.history else ""
        static = tuple(_named(item) for item in memory.static) if preset.name != "none" else ()
        if not preset.recalls:
            return Recollection(preset=preset.name, static=static, left=left, detail=self._why_nothing)
        if preset.skips_tools and about_tools(message):
            return Recollection(preset=preset.name, static=static, left=left, detail=TOOLS)
        found, reading = memory.read(message)
        around = self._around(reading)
        tokens = memory.options.memory_tokens
        recalled = tuple(item.recalled for item in found)
        fitting = within([item.text for item in (*static, *recalled, *around)], tokens=tokens)
        spare = max(0, fitting - len(static) - len(found))
        return Recollection(
            preset=preset.name,
            static=static,
            memories=recalled,
            graph=around[:spare],
            exchange=preset.exchange,
            considered=reading.considered,
            threshold=memory.threshold,
            left=left,
        )

    def _around(self, reading: Reading) -> tuple[Recalled, ...]:
        """Relations, latest first, and entities without one, nearest first; as many as the preset reads."""
        preset, index = self.memory.preset, self.memory.index
        relations = reading.around.relations[: preset.relations]
        related = {end for relation in relations for end in (relation.subject_id, relation.object_id)}
        alone = [item for item in reading.around.entities if item.id not in related]
        return (
            *(Recalled(id=item.id, text=graph.sentence(index, item)) for item in relations),
            *(Recalled(id=item.id, text=item.name) for item in alone[: preset.entities]),
        )

    # -- messages to the memory itself --------------------------------------------------------------

    def reply(self, message: str, *, conversation_id: str, turn_id: str) -> MemoryReply:
        """Do what the message asks of the memory, and say so."""
        command = asked_of_memory(message)
        if command is None and self._corrected(message, conversation_id, turn_id):
            return self._restated(message, conversation_id, turn_id=turn_id)
        asks = command is None or command.kind is not Command.REMEMBER
        if asks and self.private is None:
            self.after.finish(within_s=PATIENCE_S)  # what was said a moment ago is known and forgotten, too
        if command is None:
            if replies.NO.fullmatch(message.strip()):
                step = RememberStep(preset=self.memory.preset.name, status="skipped", detail=NOT_CONFIRMED)
                return MemoryReply(text=replies.NOT_FORGOTTEN, step=step)
            shown = self._confirmed(message, conversation_id, turn_id=turn_id)
            return self._forgotten(shown, words="keep" not in message.casefold())
        step = RememberStep(preset=self.memory.preset.name)
        if not self.memory.preset.commands:
            text = replies.ONLY_THIS if self.memory.preset.history else replies.OFF
            return MemoryReply(text=text, step=replace(step, status="skipped", detail=self._why_nothing))
        match command.kind:
            case Command.REMEMBER if _LAST_SAID.fullmatch(command.query):
                return self._asked_before(conversation_id, turn_id)
            case Command.REMEMBER:
                return self._asked(message, command, conversation_id, turn_id=turn_id)
            case Command.KNOWN | Command.SAID:
                found = self._known(command)
                text = replies.known(found, topic=command.query)
                if command.kind is Command.SAID and (said := self._said(command, turn_id)):
                    text = "\n\n".join([*([text] if found else []), replies.said(said, topic=command.query)])
            case Command.FORGET | Command.FORGET_ALL:
                found = self._to_forget(command)
                text = replies.would_forget(found, query=command.query, by_id=self._by_id(found))
                if command.kind is Command.FORGET_ALL and not found and self.memory.index.entities:
                    text = replies.ONLY_NAMES
        return MemoryReply(
            text=text,
            recalled=tuple(memory.id for memory in found),
            step=replace(step, status="skipped", detail="a question to the memory: nothing new to keep"),
        )

    def _confirmed(self, message: str, conversation_id: str, *, turn_id: str = "") -> Turn | None:
        """The last turn, where it showed what would be forgotten and the message says yes or no to that."""
        answers = (replies.YES, replies.NO)
        if not conversation_id or not any(answer.fullmatch(message.strip()) for answer in answers):
            return None
        turns = [turn for turn in self.conversations_of.get(conversation_id).turns if turn.id != turn_id]
        if not turns or turns[-1].answer.mode != "memory" or not turns[-1].answer.recalled:
            return None
        command = asked_of_memory(turns[-1].question)
        wanted = command is not None and command.kind in (Command.FORGET, Command.FORGET_ALL)
        return turns[-1] if wanted else None

    def _corrected(self, message: str, conversation_id: str, turn_id: str = "") -> bool:
        preset = self.memory.preset
        try:
            return (
                preset.commands
                and not preset.statements
                and self._heard(message, conversation_id, turn_id).corrects
            )
        except AthenaError:  # the memory cannot be read: recalling says so, and the answer goes without
            return False

    def _keeps(self, message: str) -> bool:
        preset = self.memory.preset
        return preset.unasked or (preset.commands and bool(self._heard(message)))

    def _heard(self, message: str, conversation_id: str = "", turn_id: str = "") -> Heard:
        """What a message is to the memory, the same from its first step to its last."""
        heard = self.heard.get(message)
        if heard is None:
            heard = self._remembering(conversation_id, turn_id).heard(message)
            self.heard.clear()
            self.heard[message] = heard
        return heard

    def _remembering(self, conversation_id: str, turn_id: str) -> Remembering:
        """What keeps turns, of this one in a conversation."""

        def before() -> TurnBefore:
            turn = self._turn_before(conversation_id, turn_id)
            if turn is None:
                return TurnBefore()
            return TurnBefore(turn.id, turn.answer.recalled if turn.answer.mode == "memory" else ())

        return replace(self.memory.remembering, before=before)

    def _turn_before(self, conversation_id: str, turn_id: str) -> Turn | None:
        """The last turn of a conversation, or the one before `turn_id`; None where there is none."""
        try:
            turns = self.conversations_of.get(conversation_id).turns if conversation_id else ()
        except UnknownConversation:
            return None
        number = next((number for number, turn in enumerate(turns) if turn.id == turn_id), len(turns))
        return turns[number - 1] if number else None

    def _restated(self, message: str, conversation_id: str, *, turn_id: str) -> MemoryReply:
        if self.private is not None:
            return self._not_kept()
        said = Said(turn_id=turn_id, question=message, at=self.memory.clock())
        step = self._remembering(conversation_id, turn_id).kept(said)
        return self._confirmation(step)

    def _forgotten(self, shown: Turn | None, *, words: bool) -> MemoryReply:
        index, ids = self.memory.index, shown.answer.recalled if shown else ()
        command = asked_of_memory(shown.question) if shown else None
        everything = command is not None and command.kind is Command.FORGET_ALL
        left = self.memory.forgetting([known for known in ids if known in index.memories])
        self.memory.forget(left, words=words, everything=everything)
        step = RememberStep(preset=self.memory.preset.name, forgotten=len(left.memories))
        return MemoryReply(text=replies.forgotten(len(left.memories), words=words), step=step)

    def _asked(
        self, message: str, command: MemoryCommand, conversation_id: str, *, turn_id: str
    ) -> MemoryReply:
        if self.private is not None:
            return self._not_kept()
        step = self._remembering(conversation_id, turn_id).asked(
            message, turn_id=turn_id, start=command.start, end=command.end or None
        )
        return self._confirmation(step)

    def _asked_before(self, conversation_id: str, turn_id: str) -> MemoryReply:
        """Keep what the turn before this one said: a bare "remember that"."""
        turn = self._turn_before(conversation_id, turn_id)
        read = statements_in(turn.question, said_at=self.memory.clock()) if turn else ()
        said = any(not item.only_of_known for item in read)
        if turn is None or not said or turn.answer.mode == "memory" or "?" in turn.question:
            step = RememberStep(preset=self.memory.preset.name, status="skipped", detail="nothing was said")
            return MemoryReply(text=replies.REMEMBER_WHAT, step=step)
        whole = MemoryCommand(Command.REMEMBER, turn.question, 0, len(turn.question))
        return self._asked(turn.question, whole, conversation_id, turn_id=turn.id)

    def _not_kept(self) -> MemoryReply:
        step = RememberStep(preset=self.memory.preset.name, status="skipped", detail=self.why_private)
        return MemoryReply(text=f"{self.why_private[0].upper()}{self.why_private[1:]}.", step=step)

    def _confirmation(self, step: RememberStep) -> MemoryReply:
        return MemoryReply(
            text=replies.kept(step, self.memory),
            recalled=tuple(dict.fromkeys((*step.added, *step.known, *step.touched))),
            step=step,
        )

    def _known(self, command: MemoryCommand) -> list[Memory]:
        if not command.query:
            kept = [memory for memory in self.memory.list() if memory.tier != "static"]
            return sorted(kept, key=lambda memory: memory.kind == "qa")[: replies.MOST]  # questions last
        found = self.memory.search(command.query, limit=replies.MOST)
        return [item.memory for item in found]

    def _said(self, command: MemoryCommand, turn_id: str) -> list[SaidTurn]:
        from memory.turns.said import messages_of, said_about

        messages = messages_of(self.conversations_of, self.memory.user, without=[turn_id])
        encoder = self.memory.indexes.encoder
        return said_about(command.query, messages, encoder=encoder, top_k=replies.MOST_SAID)

    def _to_forget(self, command: MemoryCommand) -> list[Memory]:
        if command.kind is Command.FORGET_ALL:
            return list(self.memory.forgetting(everything=True).memories)
        if command.query:
            return list(self.memory.forgetting(search=command.query).memories)
        kept = [memory for memory in self.memory.list() if memory.tier != "static"]
        latest = max(kept, key=lambda memory: memory.created_at, default=None)
        return list(self.memory.forgetting([latest.id]).memories) if latest else []

    @staticmethod
    def _by_id(found: Sequence[Memory]) -> bool:
        return len(found) <= replies.MOST

    # -- after the answer ---------------------------------------------------------------------------

    def planned(self, message: str) -> RememberStep:
        """The step that will follow the answer, as far as it is known before."""
        preset = self.memory.preset
        kinds = tuple(dict.fromkeys(str(secret.kind) for secret in secrets_in(message)))
        step = RememberStep(preset=preset.name, secrets=kinds)
        if self.private is not None:
            return replace(step, status="skipped", detail=self.why_private)
        try:
            keeps = self._keeps(message)
        except AthenaError as error:  # it is tried again after the answer, and at the next start
            return replace(step, status="failed", detail=str(error))
        if not keeps:
            why = NOTHING_ASKED if preset.commands else self._why_nothing
            return replace(step, status="skipped", detail=" ".join(filter(None, [why, left_out(kinds)])))
        return replace(step, pending=True, detail=" ".join(filter(None, [AFTER, left_out(kinds)])))

    def begin(self, turn_id: str) -> None:
        """A turn is about to be stored: until it is remembered, no other process catches up on it."""
        if self.private is None:
            self.in_hand.take(turn_id)

    def give_up(self, turn_id: str) -> None:
        """It could not be stored."""
        self.in_hand.leave(turn_id)

    def remember(self, turn: FinishedTurn) -> None:
        """Keep of a turn what there is to keep, soon."""
        answer = turn.answer
        if self.private is not None or not answer.turn_id:
            return
        if nothing_left(answer):
            self.in_hand.leave(answer.turn_id)
        else:
            self.after.add(partial(self._finish, answer, at=turn.started_at))

    def catch_up(self) -> None:
        """Remember the turns that an earlier process did not come to: at once, or soon with a model."""
        if self.private is not None:
            return
        if self.memory.remembering.complete is None:
            self._caught_up()
        else:
            self.after.add(self._caught_up)

    def _caught_up(self) -> None:
        with self._noted_where_undone():
            self._look_for_unremembered()

    def _look_for_unremembered(self) -> None:
        remembering, done = self.memory.remembering, []
        for turn in self.conversations.unremembered(self.memory.user):
            if self._is_answered_elsewhere(turn):
                continue
            if remembering.keeps(turn.question):
                self.after.add(partial(self._finish_left, turn.answer, at=turn.created_at))
            elif self.in_hand.take(turn.id):
                done.append(turn.id)
                self.in_hand.leave(turn.id)
        if done:
            changes = MemoryChanges(remembered=tuple(done))
            self.memory.indexes.change(self.memory.user, lambda _: changes)

    def _is_answered_elsewhere(self, turn: Turn) -> bool:
        """Whether another machine may be answering it at this moment; a later start looks at it again."""
        young = self.memory.clock() - turn.created_at < self.elsewhere_s
        return young and turn.answer.status == "stopped" and not self.in_hand.began_here(turn.id)

    def _finish_left(self, answer: Answer, *, at: float) -> None:
        """Remember what another process left, unless that is answering or remembering it at this moment."""
        if self.in_hand.take(answer.turn_id):
            self._finish(answer, at=at)

    def _finish(self, answer: Answer, *, at: float) -> None:
        """Remember a turn that is in hand, and have it no longer."""
        with self._noted_where_undone():
            try:
                self._read_until_kept(answer.turn_id, at=at)
            finally:
                self.in_hand.leave(answer.turn_id)

    @contextmanager
    def _noted_where_undone(self) -> Iterator[None]:
        """Say of a block that raises that something was left undone: it is looked at again."""
        try:
            yield
        except BaseException:
            self.left_undone()
            raise

    def _read_until_kept(self, turn_id: str, *, at: float) -> None:
        for _ in range(TRIES - 1):
            with suppress(TurnChanged):  # words of it were forgotten while it was read: it is read again
                self._remembered(turn_id, at=at)
                return
        self._remembered(turn_id, at=at)

    def _remembered(self, turn_id: str, *, at: float) -> None:
        """Keep what there is to keep of a turn as it is stored now: all or words of it may be gone since.

        What was recalled for it counts once it is kept: a turn that is read again counts once.
        """
        turn = self._stored(turn_id)
        if turn is None or turn.remembered:
            return
        answer = turn.answer
        text = without_markers(answer.text)
        said = Said.of(answer, text=text, at=at, feedback=turn.feedback)

        def is_read() -> bool:
            now = self._stored(turn_id)
            return now is None or now.remembered

        step = replace(self._remembering(answer.conversation_id, turn_id), is_read=is_read).turn(said)
        if any(isinstance(item, RememberStep) and item.pending for item in answer.steps):
            self._note(turn_id, step)
        if answer.recalled and answer.mode != "memory":
            self.memory.used(answer.recalled)
        if self.memory.preset.tier == "short_term":
            self.memory.migrate()

    def _note(self, turn_id: str, done: RememberStep) -> None:
        """Put what was done in the place of what was planned, in the turn as it is stored at that moment."""

        def noted(answer: Answer) -> Answer:
            steps = tuple(done if isinstance(item, RememberStep) else item for item in answer.steps)
            return replace(answer, steps=steps)

        self.conversations.change_answer(turn_id, noted)

    def _stored(self, turn_id: str) -> Turn | None:
        """A turn as it is stored now; None where it was deleted."""
        try:
            return self.conversations.turn(turn_id)
        except UnknownConversation:
            return None


def _named(memory: Memory) -> Recalled:
    return Recalled(id=memory.id, text=memory.text, importance=memory.importance)
