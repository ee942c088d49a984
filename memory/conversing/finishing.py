"""What is done of a turn after its answer: in this process, or at the next start where that was ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from memory.conversing.after import TurnsInHand
from memory.deciding.forgetting import made_of
from memory.deciding.upkeep import migrate
from pipeline.answering.recollection import nothing_left
from pipeline.errors import TurnChanged, UnknownConversation
from pipeline.steps.records import Step, last_step
from pipeline.steps.spending import Spent, spending, usage_of

if TYPE_CHECKING:
    from memory.conversing.after import AfterAnswers
    from memory.deciding.heard import Heard
    from memory.user_memory import UserMemory
    from pipeline.answer import Answer
    from pipeline.stores.conversations import Conversations, Turn

TRIES = 8  # of reading a turn whose words others forget meanwhile
LOOKED_UP = "the program was ended before it noted this: it was looked up afterwards"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finishing:
    """Keeps what there is to keep of one user's turns."""

    memory: UserMemory
    conversations: Conversations
    after: AfterAnswers
    in_hand: TurnsInHand = field(default_factory=TurnsInHand)
    elsewhere_s: float = 0  # how long another machine, whose turns in hand are not seen, may be answering
    left_undone: Callable[[], None] = lambda: None  # is called where a turn could not be remembered

    def remember(self, answer: Answer, heard: Heard | None = None) -> None:
        """Keep of a turn what there is to keep, soon; as its message was heard."""
        if nothing_left(answer):
            self.in_hand.leave(answer.turn_id)
        else:
            self.after.add(partial(self._finish, answer.turn_id, heard))

    # -- what an earlier process left -----------------------------------------------------------------

    def catch_up(self) -> None:
        """Remember, soon, the turns that an earlier process did not come to.

        Note, too, what was remembered where a process was ended before it did.
        """
        with self._noted_where_undone():
            unread = self.conversations.unremembered(self.memory.user)
            left = [turn.id for turn in unread if not self._is_answered_elsewhere(turn)]
            for turn_id in (*left, *filter(self._is_to_note, self.in_hand.left())):
                self.after.add(partial(self._finish_left, turn_id))

    def _is_answered_elsewhere(self, turn: Turn) -> bool:
        """Whether another machine may be answering it at this moment; a later start looks at it again."""
        young = self.memory.clock() - turn.created_at < self.elsewhere_s
        return young and turn.answer.status == "stopped" and not self.in_hand.began_here(turn.id)

    def _finish_left(self, turn_id: str) -> None:
        """Finish what another process left, unless that is answering or remembering it at this moment."""
        if self.in_hand.take(turn_id):
            self._finish(turn_id)

    def _is_to_note(self, turn_id: str) -> bool:
        """Whether a turn of the user was remembered, or is gone, although a process has it in hand yet."""
        turn, mine = self._stored(turn_id), self.memory.user
        of = self.conversations.get(turn.answer.conversation_id).info.user if turn else mine
        return of == mine and (turn is None or turn.remembered)

    # -- one turn -------------------------------------------------------------------------------------

    def _finish(self, turn_id: str, heard: Heard | None = None) -> None:
        """Remember a turn that is in hand, and have it no longer."""
        with self._noted_where_undone():
            try:
                for _ in range(TRIES - 1):
                    with suppress(TurnChanged):  # words of it were forgotten while it was read: once more
                        return self._remembered(turn_id, heard)
                return self._remembered(turn_id, heard)
            finally:
                self.in_hand.leave(turn_id)

    @contextmanager
    def _noted_where_undone(self) -> Iterator[None]:
        """Say of a block that raises that something was left undone: it is looked at again."""
        try:
            yield
        except BaseException:
            self.left_undone()
            raise

    def _remembered(self, turn_id: str, heard: Heard | None) -> None:
        """Keep what there is to keep of a turn as it is stored now: all or words of it may be gone since.

        What was recalled for it counts once it is kept: a turn that is read again counts once.
        """
        turn = self._stored(turn_id)
        if turn is None:
            return
        answer, steps = turn.answer, turn.answer.steps
        planned = last_step(steps, "remember")
        if planned and not planned.data.get("pending"):
            planned = None
        if turn.remembered:
            if planned:
                kept = [*made_of(self.memory.index, [turn_id])]
                data = {**planned.data, "pending": False, "added": kept}
                self._note(turn_id, replace(planned, detail=LOOKED_UP, data=data))
            return

        def is_over() -> bool:
            now = self._stored(turn_id)
            return now is None or now.remembered

        if heard is None or (heard.message, heard.version) != (turn.question, self.memory.index.version):
            talk = turns_before(self.conversations, answer.conversation_id, turn_id)
            heard = self.memory.remembering.hear(
                turn.question, turn_id=turn_id, at=turn.created_at, talk=talk
            )
        began, started = time.time(), time.perf_counter()
        with spending() as spent:
            step = self.memory.remembering.keep(heard, turn, is_over=is_over)
        step = replace(step, started_at=began, ms=(time.perf_counter() - started) * 1000)
        if planned:
            self._note(turn_id, step, spent)
        if answer.recalled and answer.mode != "memory":
            self.memory.used(answer.recalled)
        if self.memory.preset.tier == "short_term":
            migrate(self.memory)

    def _note(self, turn_id: str, done: Step, spent: Sequence[Spent] = ()) -> None:
        """Put what was done in the place of what was planned, in the turn as it is stored at that moment."""

        def noted(answer: Answer) -> Answer:
            steps = tuple(done if item.name == "remember" else item for item in answer.steps)
            usage = usage_of(spent, self.memory.prices, before=answer.usage)
            return replace(answer, steps=steps, usage=usage)

        self.conversations.change_answer(turn_id, noted)

    def _stored(self, turn_id: str) -> Turn | None:
        """A turn as it is stored now; None where it was deleted."""
        try:
            return self.conversations.turn(turn_id)
        except UnknownConversation:
            return None


def turns_before(conversations: Conversations, conversation_id: str, turn_id: str) -> Sequence[Turn]:
    """The turns of a conversation before this one, or all where it is not stored yet."""
    try:
        turns = conversations.get(conversation_id).turns if conversation_id else ()
    except UnknownConversation:
        return ()
    return turns[: next((number for number, turn in enumerate(turns) if turn.id == turn_id), len(turns))]
