"""Requests to the memory are exact forms; everything else is a message."""

from __future__ import annotations

import time

import pytest

from memory.requests import is_tool_request, request_in


@pytest.mark.parametrize(
    ("message", "kind", "query"),
    [
        ("Remember that my bunk is B-2.", "remember", "my bunk is B-2"),
        ("pls remember: the pump hums", "remember", "the pump hums"),
        ("Remember that when it hums I close valve 3", "remember", "when it hums I close valve 3"),
        ("Note that I am Ann", "remember", "I am Ann"),
        ("don't forget that Karl is in Bergen, please", "remember", "Karl is in Bergen"),
        ("remember that", "remember", ""),
        ("What do you know about me?", "known", ""),
        ("show my memories", "known", ""),
        ("what did I say about the pump?", "recall", "the pump"),
        ("What do you remember about Karl?", "recall", "Karl"),
        ("Forget that my bunk is B-2.", "forget", "my bunk is B-2"),
        ("forget everything you know about me", "forget", ""),
    ],
)
def test_a_form_is_a_request_with_its_query(message: str, kind: str, query: str) -> None:
    found = request_in(message)
    assert found is not None
    assert (found.kind, found.query) == (kind, query)
    assert not query or query in message


@pytest.mark.parametrize(
    "message",
    [
        "Do you remember the pump?",
        "Remember to feed the cat.",
        "remember when we met?",
        "How do I forget a pairing?",
        "Yes, but leave the words",
        "yes",
        "I forget things",
        "Forget it.",
        "What do you know about the cabin fan?",
        "Recall the startup sequence",
        "What is my name?",
        "Remember that " + "x" * 2_000,
    ],
)
def test_every_other_message_is_none(message: str) -> None:
    assert request_in(message) is None


def test_a_message_full_of_blanks_takes_no_time() -> None:
    started = time.perf_counter()
    for message in ("remember that " + " ," * 480 + "x", "forget" + " " * 990, "please " * 140):
        request_in(message)
    assert time.perf_counter() - started < 1


def test_a_tool_request_is_told_by_its_form_and_not_by_words() -> None:
    assert is_tool_request("/restart pump")
    for message in ("which tools do I need", "what command did I say restarts it", "/usr/bin is full"):
        assert not is_tool_request(message)
