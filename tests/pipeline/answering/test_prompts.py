"""Prompts by snapshot: what is put in stands there as it is."""

from __future__ import annotations

from pipeline.answering.prompts import (
    CITING,
    CONDENSE,
    HYPOTHESIS,
    condense_prompt,
    hypothesis_prompt,
    system_prompt,
)
from pipeline.messages import Message


def test_the_system_prompt() -> None:
    prompt = system_prompt(" Header {a} ", "Tone.", "[1] fan.md\n{context_str}")
    assert prompt == f"Header {{a}}\n\nTone.\n\n{CITING}\n\nSources:\n\n[1] fan.md\n{{context_str}}"
    assert system_prompt("H", "T", "").endswith("(no source was found)")


def test_the_condensing_prompt() -> None:
    history = [Message("user", "{x}?"), Message("assistant", "Yes.")]
    assert condense_prompt(history, "{y}?") == (
        f"{CONDENSE}\n\nUser: {{x}}?\nAssistant: Yes.\n\nLast message: {{y}}?\n\nQuestion:"
    )


def test_the_hypothesis_prompt() -> None:
    assert hypothesis_prompt("{q}?") == f"{HYPOTHESIS}\n\nQuestion: {{q}}?\n\nParagraph:"
