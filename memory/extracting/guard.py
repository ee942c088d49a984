"""What must not be kept, and what must never act: secrets, and text that reads like an instruction."""

from __future__ import annotations

from memory.extracting.records import Secret


def secrets_in(text: str) -> tuple[Secret, ...]:
    """Where keys, tokens, passwords, card and account numbers stand, in order, without overlaps."""
    del text
    return ()


def without_secrets(text: str) -> str:
    """The text with each secret overwritten by "•", at the same length: offsets stay."""
    characters = list(text)
    for secret in secrets_in(text):
        characters[secret.start : secret.end] = "•" * (secret.end - secret.start)
    return "".join(characters)


def reads_as_instruction(text: str) -> bool:
    """True for a text that tells the assistant how to behave, rather than something that is true."""
    del text
    return False
