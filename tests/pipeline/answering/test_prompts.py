"""Prompts by snapshot: what is put in stands there as it is."""

from __future__ import annotations

import pytest

from pipeline.answering.prompts import (
    CITING,
    CONDENSE,
    HYPOTHESIS,
    asking_prompt,
    condense_prompt,
    escaped_markers,
    hypothesis_prompt,
    source_block,
    system_prompt,
)
from pipeline.messages import Message


def test_the_system_prompt() -> None:
    assert system_prompt(" Header {a} ", "Tone.") == f"Header {{a}}\n\nTone.\n\n{CITING}"


def test_sources_and_question_are_the_users_message() -> None:
    block = source_block(1, "fan.md", "{context_str}", word="w1")
    assert block == "<source 1 w1>\nfan.md\n{context_str}\n</source 1 w1>"
    prompt = asking_prompt(block, "{y}?", word="w1")
    assert prompt.startswith("Sources: each stands between <source NUMBER w1>")
    assert prompt.endswith(f"{block}\n\nQuestion: {{y}}?")
    assert "(no source was found)" in asking_prompt("", "Why?", word="w1")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("as [2] says", "as \\[2] says"),
        ("[Source 3] and 【4】", "\\[Source 3] and \\【4】"),
        ("`a[0]` and a link [1](x.md)", "`a[0]` and a link [1](x.md)"),
        ("plain", "plain"),
    ],
)
def test_what_reads_as_a_citation_is_escaped(text: str, escaped: str) -> None:
    assert escaped_markers(text) == escaped


def test_the_condensing_prompt() -> None:
    history = [Message("user", "{x}?"), Message("assistant", "Yes.")]
    assert condense_prompt(history, "{y}?") == (
        f"{CONDENSE}\n\nUser: {{x}}?\nAssistant: Yes.\n\nLast message: {{y}}?\n\nQuestion:"
    )


def test_the_hypothesis_prompt() -> None:
    assert hypothesis_prompt("{q}?") == f"{HYPOTHESIS}\n\nQuestion: {{q}}?\n\nParagraph:"
