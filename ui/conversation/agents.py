"""Answer or Agent: the switch beside the question, the tools of a conversation, and asking before one writes.

Nothing of `agent/` is imported before somebody switches to it.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import streamlit as st

from doors.keys import is_loopback
from pipeline.errors import ConfigurationError, ModelError
from pipeline.words import harmless
from ui.conversation.model_picker import MODELS_KEPT, answering_model, models, picked_model
from ui.shared import messages, process
from ui.shared.state import entered, kept
from ui.shared.words import plain

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from agent import Agent, AgentTool
    from athena import Athena
    from pipeline.stores.conversations import Conversation

ANSWER, AGENT = "Answer", "Agent"
NO_MODEL = "The agent needs a language model that chooses its tools, and none is connected. "
ADDED = "tool-to-add"
POLL_S = 0.2
LONGEST_WAIT_S = 600.0  # for the user's word: the window may be closed


@dataclass(slots=True)
class Switched:
    """What this session chose, by conversation ("" = the next one): the agent, and what it goes without."""

    on: dict[str, bool] = field(default_factory=dict)
    without: dict[str, set[str]] = field(default_factory=dict)
    image: bytes = b""  # that goes with the next question
    images: int = 0  # that went with one


@dataclass(slots=True)
class Waiting:
    """A call that waits for the user's word, which names it: no other may have come in its place."""

    tool: AgentTool
    arguments: Mapping[str, Any]
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
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
    given = harmless(json.dumps(dict(asked.arguments), ensure_ascii=False, default=str))
    may = "may change something. Allow this call?"
    return {"id": asked.id, "tool": asked.tool.tool.name, "may": may, "given": given}


def answer_consent(conversation_id: str, call: str, *, allow: bool) -> None:
    """Let the call of an id be made, or not; nothing where another one is asked about by now."""
    asked = _waiting().get(conversation_id)
    if asked and asked.id == call:
        del _waiting()[conversation_id]
        asked.allowed = allow
        asked.done.set()


def _word_on(
    asked: Waiting, waiting: dict[str, Waiting], conversation_id: str, stop: threading.Event
) -> bool:
    """Whether the user lets the call be made; not where the run is stopped or no word comes."""
    deadline = time.monotonic() + LONGEST_WAIT_S
    while not asked.done.wait(POLL_S):
        if stop.is_set() or time.monotonic() >= deadline:
            waiting.pop(conversation_id, None)
            break
    return asked.allowed


def _agent() -> Agent:
    from agent import agent_of

    return agent_of(process.athena())


def is_on(conversation_id: str, conversation: Conversation | None = None) -> bool:
    """Whether the agent answers in a conversation: as was chosen, else as its last answer was made."""
    last = conversation.turns[-1].answer if conversation and conversation.turns else None
    return kept(Switched).on.get(conversation_id, bool(last and last.used_tools))


def left_out(conversation_id: str) -> Set[str]:
    """The tools that this session left out of a conversation."""
    return kept(Switched).without.get(conversation_id, set())


def agent_of_conversation(conversation_id: str) -> Agent | None:
    """The agent of a conversation, with its tools; None where it is not switched on or no model is there.

    The switch and tools that were chosen for the next conversation apply to this one where it begins.
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
        return _word_on(asked, waiting, conversation_id, stop)

    from agent.images import image_tool

    more: list[AgentTool] = []
    if image := chosen.image:
        chosen.image, chosen.images = b"", chosen.images + 1
        more.append(image_tool(image, _model()))
    return _agent().but(without=left_out(conversation_id), consent=consent, more=more)


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
            if _sees(process.athena(), answering_model()):
                _image(working=working)


def _model() -> LLM | None:
    return process.athena().models.language_model(picked_model())[0]


@st.cache_resource(ttl=MODELS_KEPT, show_spinner=False)
def _sees(_athena: Athena, name: str) -> bool:  # noqa: ARG001  (what it is kept by)
    """Whether the picked model is shown images; looked up at most once a minute."""
    from agent.images import why_blind

    llm = _model()
    try:
        return llm is not None and not why_blind(llm)
    except ModelError:  # the question will say what is wrong with its server
        return False


def _image(*, working: bool) -> None:
    """The field for an image that goes with the next question."""
    chosen = kept(Switched)
    key = f"image-{chosen.images}"
    with st.popover("1 image" if entered(key) else "Image", icon=":material/image:", disabled=working):
        sent = st.file_uploader("An image for the next question", type=["png", "jpg", "jpeg"], key=key)
        st.caption("The model looks at it with the tool “look”. It is not kept.")
    chosen.image = sent.getvalue() if sent else b""


@messages.shown
def _tools(current: str, *, working: bool) -> None:
    """The tools, each with what it may do; what was added can be removed."""
    agent, without = _agent(), kept(Switched).without.setdefault(current, set())
    tools = agent.all_tools
    with st.popover(f"{len(tools.keys() - without)} tools", icon=":material/build:", disabled=working):
        for name, tool in tools.items():
            with st.container(
                horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
            ):
                wanted = st.checkbox(
                    f"{name} · {tool.may}",
                    name not in without,
                    key=f"tool-{current}-{name}",
                    help=tool.tool.says,
                )
                if name in agent.tools:
                    st.button(
                        "Remove",
                        key=f"remove-{name}",
                        on_click=agent.remove_tool,
                        args=(name,),
                        type="tertiary",
                    )
            (without.discard if wanted else without.add)(name)
        for problem in list(agent.servers.problems.values()):
            st.warning(problem)
        if known := open_modules():
            st.text_input("Add a function (module:name; =reads if it changes nothing)", key=ADDED)
            st.caption(plain(f"Of the modules that ATHENA_TOOLS names: {', '.join(sorted(known))}."))
            st.button("Add the tool", on_click=_add, icon=":material/add:")


def open_modules() -> Set[str]:
    """The modules whose functions may be added on the page, from this machine alone.

    Those that the setting names and no other: a function of any module is any program, and whoever reaches
    the port could run it.
    """
    settings = process.settings()
    if not is_loopback(settings.host) or settings.user_header:
        return frozenset()
    return {entry.partition(":")[0].strip() for entry in settings.tools.split(",")} - {""}


@messages.noticed
def _add() -> None:
    """Add what the field names to the process's tools."""
    from agent.tools import named_tools

    wanted, known = entered(ADDED), open_modules()
    if any(entry.partition(":")[0].strip() not in known for entry in wanted.split(",")):
        raise ConfigurationError(
            f"'{wanted:.80}' is of no module that ATHENA_TOOLS names.", "Name it there, and start again."
        )
    for tool in named_tools(wanted):
        _agent().add_tool(tool)
