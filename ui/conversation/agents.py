"""The switch between Answer and Agent, and tool calls that wait for the user's permission.

The package `agent` is imported only after somebody has switched to the agent.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from pipeline.words import harmless
from ui.shared import process
from ui.shared.markdown import icon, tag
from ui.shared.process import answering_model
from ui.shared.state import shared

if TYPE_CHECKING:
    from agent import Agent, AgentTool

ANSWER, AGENT = "Answer", "Agent"
POLL_S = 0.2
LONGEST_WAIT_S = 600.0  # for the user's permission: nobody answers if the window is closed


@dataclass(slots=True)
class Waiting:
    """A tool call that waits for permission; the reply names its id, as another call may wait by then."""

    tool: AgentTool
    arguments: Mapping[str, Any]
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    done: threading.Event = field(default_factory=threading.Event)
    allowed: bool = False


@st.cache_resource(show_spinner=False)
def _waiting() -> dict[str, Waiting]:
    """Return the waiting calls by conversation id, for all sessions: any window can allow or refuse one."""
    return {}


def consent_html(conversation_id: str) -> str:
    """Return the HTML that asks to allow the waiting call; "" if no call waits."""
    asked = _waiting().get(conversation_id)
    if asked is None:
        return ""
    given = harmless(json.dumps(dict(asked.arguments), ensure_ascii=False, default=str))
    text = f"{tag('strong', escape(asked.tool.name))} may change something. Allow this call?"
    buttons = (
        tag("button", label, class_="tool framed", data_act="consent", data_call=asked.id, data_allow=allow)
        for label, allow in (("Allow once", "yes"), ("Refuse", "no"))
    )
    inside = tag("div", text, tag("pre", escape(given), tabindex="0"))
    return tag("div", icon("build"), inside, *buttons, class_="note consent", role="alertdialog",
               aria_label="Allow this call?")  # fmt: skip


def answer_consent(conversation_id: str, call: str, *, allow: bool) -> None:
    """Allow or refuse the waiting call with this id; do nothing if it no longer waits."""
    asked = _waiting().get(conversation_id)
    if asked and asked.id == call:
        del _waiting()[conversation_id]
        asked.allowed = allow
        asked.done.set()


def _permitted(
    asked: Waiting, waiting: dict[str, Waiting], conversation_id: str, stop: threading.Event
) -> bool:
    """Wait for the user's permission; return False if the run is stopped or nobody answers."""
    deadline = time.monotonic() + LONGEST_WAIT_S
    while not asked.done.wait(POLL_S):
        if stop.is_set() or time.monotonic() >= deadline:
            waiting.pop(conversation_id, None)
            break
    return asked.allowed


def agent_of_conversation(conversation_id: str) -> Agent | None:
    """Return the agent for a conversation; None if it is switched off, or no model is connected."""
    if not (shared().agent and answering_model()):
        return None
    waiting = _waiting()

    def consent(tool: AgentTool, arguments: Mapping[str, Any], stop: threading.Event) -> bool:
        asked = waiting[conversation_id] = Waiting(tool, arguments)
        return _permitted(asked, waiting, conversation_id, stop)

    from agent import agent_of

    return replace(agent_of(process.athena()), consent=consent)


def agent_bar(*, working: bool) -> None:
    """Draw the switch between Answer and Agent, if a model is connected."""
    if not answering_model():
        return
    now = AGENT if shared().agent else ANSWER
    picked = st.segmented_control("Who answers", [ANSWER, AGENT], default=now, key=f"who-{now}",
                                  required=True, disabled=working, label_visibility="collapsed",
                                  help="The agent calls tools before it answers.")  # fmt: skip
    if picked != now:
        shared().agent = picked == AGENT
        st.rerun()
