"""The conversation so far, as condensing and prompting read it."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.answering.citations import without_markers
from pipeline.messages import Message
from pipeline.stores.conversations import Conversation

NO_HISTORY = ("reply", "memory")
"""Modes of answers that no question refers to, and no prompt repeats."""


class History:
    """The messages of one conversation; filled from what is stored, added to after each answer.

    A failed turn without text is left out: its question would be answered twice; so are small talk and what
    the memory answered, which no question refers to. Markers are removed: their numbers mean nothing in the
    next prompt.
    """

    def __init__(self) -> None:
        self._said: list[Message] = []

    @classmethod
    def of(cls, conversation: Conversation | None) -> History:
        """The history of a stored conversation."""
        history = cls()
        for turn in conversation.turns if conversation else ():
            if turn.answer.mode in NO_HISTORY:
                continue
            history.remember(turn.question, turn.answer.text)
        return history

    def remember(self, question: str, answer: str) -> None:
        """Add a turn, unless it has no answer: the model would answer it with the next."""
        if not answer.strip():
            return
        self.add(Message("user", question))
        self.add(Message("assistant", without_markers(answer)))

    def said(self) -> list[Message]:
        """All messages."""
        return list(self._said)

    def add(self, said: Message) -> None:
        """Add a message."""
        self._said.append(said)

    def replace(self, said: Sequence[Message]) -> None:
        """Replace all messages."""
        self._said = list(said)
