"""The agent beside the question: which call is allowed."""

from __future__ import annotations

import threading

import pytest

from agent import function_tool
from ui.conversation import agents
from ui.conversation.agents import Waiting, answer_consent, consent_html


def order(part: str) -> str:
    """Order a part."""
    return part


def test_a_permission_is_for_the_call_that_was_shown() -> None:
    waiting, tool = agents._waiting(), function_tool(order)
    waiting["c"] = before = Waiting(tool, {"part": "<fan>\u202e"})  # it turns what follows round
    shown = consent_html("c")
    assert "&lt;fan&gt;\ufffd" in shown and before.id in shown
    answer_consent("c", before.id, allow=True)
    assert before.done.is_set() and before.allowed
    waiting["c"] = other = Waiting(tool, {"part": "ship"})
    answer_consent("c", before.id, allow=True)  # the button was pressed twice
    assert not other.done.is_set() and consent_html("c")
    waiting.clear()
    assert consent_html("c") == ""


def test_a_call_that_nobody_answers_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "LONGEST_WAIT_S", 0.0)
    waiting = {"c": Waiting(function_tool(order), {"part": "fan"})}
    assert not agents._permitted(waiting["c"], waiting, "c", threading.Event()) and not waiting
