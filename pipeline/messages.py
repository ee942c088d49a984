"""A message to or from a language model, in no library's types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class MessageWithImage(Message):
    """One that shows a model an image, too; messages that are stored have none."""

    image: bytes
    media_type: str  # "image/png" or "image/jpeg"
