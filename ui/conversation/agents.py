"""Answer or Agent: the switch beside the question, the tools of a conversation, and asking before one writes.

Nothing of `agent/` is imported before somebody switches to it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from doors.keys import is_loopback
from pipeline.answering.written_answers import called_tools
from ui.conversation.model_picker import answering_model, models
from ui.shared import messages, process
from ui.shared.state import entered, kept

if TYPE_CHECKING:
    from agent import Agent, AgentTool
    from pipeline.stores.conversations import Conversation

ANSWER, AGENT = "Answer", "Agent"
NO_MODEL = "The agent needs a language model that chooses its tools, and none is connected. "
ADDED = "tool-to-add"
POLL_S = 0.2


@dataclass(slots=True)
class Switched:
    """What this session chose, by conversation ("" = the next one): the agent, and what it goes without."""

    on: dict[str, bool] = field(default_factory=dict)
    without: dict[str, set[str]] = field(default_factory=dict)


@dataclass(slots=True)
class Waiting:
    """A call that waits for the user's word."""

    tool: AgentTool
    arguments: Mapping[str, Any]
    done: threading.Event = field(default_factory=threading.Event)
    allowed: bool = False


@st.cache_resource(show_spinner=False)
def _waiting() -> dict[str, Waiting]:
    """The calls of all conversations that wait: any window of a conversation may answer."""
    return {}


def consent_view(conversation_id: str) -> dict[str, str] | None:
    """What is asked in a conversation; None where nothing is."""
    asked = _waiting().get(conversation_id)
    if asked is None:
        return None
    given = json.dumps(dict(asked.arguments), ensure_ascii=False, default=str)
    return {"tool": asked.tool.tool.name, "may": "may change something. Allow this call?", "given": given}


def answer_consent(conversation_id: str, *, allow: bool) -> None:
    """Let a call be made, or not."""
    if asked := _waiting().pop(conversation_id, None):
        asked.allowed = allow
        asked.done.set()


def _agent() -> Agent:
    from agent import agent_of

    return agent_of(process.athena())


def is_on(conversation_id: str, conversation: Conversation | None = None) -> bool:
    """Whether the agent answers in a conversation: as was chosen, else as its last answer was made."""
    last = conversation.turns[-1].answer if conversation and conversation.turns else None
    return kept(Switched).on.get(conversation_id, bool(last and called_tools(last)))


def agent_of_conversation(conversation_id: str, telemetry: Callable[[], str] | None = None) -> Agent | None:
    """The agent of a conversation, with its tools; None where it is not switched on or no model is there.

    What was chosen for the next conversation is this one's, where that begins. `telemetry` reads the ship's
    console, where a game is played in easy mode: it is a tool of this run.
    """
    chosen = kept(Switched)
    if conversation_id not in chosen.on and "" in chosen.on:
        chosen.on[conversation_id] = chosen.on.pop("")
        chosen.without[conversation_id] = chosen.without.pop("", set())
    if not (chosen.on.get(conversation_id) and answering_model()):
        return None
    waiting = _waiting()

    def consent(tool: AgentTool, arguments: Mapping[str, Any], stop: threading.Event) -> bool:
        asked = waiting[conversation_id] = Waiting(tool, arguments)
        while not asked.done.wait(POLL_S):
            if stop.is_set():
                waiting.pop(conversation_id, None)
                break
        return asked.allowed

    from agent.tools import telemetry_tool

    more = (telemetry_tool(telemetry),) if telemetry else ()
    return _agent().but(without=chosen.without.get(conversation_id, set()), consent=consent, more=more)


def agent_bar(conversation: Conversation | None, *, working: bool) -> None:
    """Draw the switch, and the tools while it is on."""
    current, chosen = conversation.info.id if conversation else "", kept(Switched)
    on = is_on(current, conversation) and bool(answering_model())
    if conversation:
        chosen.on.setdefault(current, on)
    with st.container(horizontal=True, vertical_alignment="center", key="agent-bar"):
        picked = st.segmented_control(
            "Who answers",
            [ANSWER, AGENT],
            default=AGENT if on else ANSWER,
            key=f"who-{current}-{on}",
            disabled=working or not answering_model(),
            label_visibility="collapsed",
            help=None if answering_model() else NO_MODEL + models()[0].fix,
        )
        if picked is not None and (picked == AGENT) != on and answering_model():
            chosen.on[current] = picked == AGENT
            st.rerun()
        if not answering_model():
            st.caption("Agent: needs a language model")
        elif on:
            _tools(current, working=working)


def _tools(current: str, *, working: bool) -> None:
    """The tools, each with what it may do; what was added can be removed."""
    agent, without = _agent(), kept(Switched).without.setdefault(current, set())
    tools = agent.all_tools
    with st.popover(f"{len(tools.keys() - without)} tools", icon=":material/build:", disabled=working):
        for name, tool in tools.items():
            wanted = st.checkbox(
                f"{name} · {tool.may}",
                name not in without,
                key=f"tool-{current}-{name}",
                help=tool.tool.says,
            )
            (without.discard if wanted else without.add)(name)
            if name in agent.tools:
                st.button("Remove", key=f"remove-{name}", on_click=agent.remove_tool, args=(name,))
        for problem in agent.servers.problems.values():
            st.warning(problem)
        if not may_add():
            return
        st.text_input("Add a function (module:name; =reads if it changes nothing)", key=ADDED)
        st.button("Add the tool", on_click=_add, icon=":material/add:")


def may_add() -> bool:
    """Whether tools are added on the page: a function may be any program, so from this machine alone."""
    settings = process.settings()
    return is_loopback(settings.host) and not settings.user_header


@messages.noticed
def _add() -> None:
    """Add what the field names to the process's tools."""
    from agent.tools import named_tools

    for tool in named_tools(entered(ADDED)) if may_add() else ():
        _agent().add_tool(tool)
