"""An agent: LlamaIndex's agents over our tools, with the user's consent and numbered sources."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agent.own_tools import OwnTools
from agent.run import AgentRun
from agent.servers import McpServers, agent_loop, read_servers
from agent.tools import AgentTool, Consent, function_tool
from pipeline.answering.recollection import Recalled
from pipeline.answering.replies import MAY_NOT_ANSWER
from pipeline.errors import AthenaError
from pipeline.models.failures import translate
from pipeline.models.llm import server_of
from pipeline.stores.private import PrivateConversations

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.answering.prompts import Source
    from pipeline.answering.turns import ChatParts, RunningTurn
    from pipeline.steps.events import Emit

SERVERS_WAIT_S = 3.0  # that a run waits for MCP servers
STOP_POLL_S = 0.1
GAVE_UP = "The agent gave up, and this is the answer without it: {why}."
NO_MODEL = "The agent needs a language model that chooses its tools, and none is connected."

logger = logging.getLogger(__name__)


def _refuse(*_: object) -> bool:
    """Allow no call: the consent where nobody can be asked."""
    return False


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent over one Athena; `athena.chat(agent=…)` asks it. Safe to use from several threads.

    `functions` are the user's tools by name. A call that may change something is made only where `consent`
    allows it.
    """

    athena: Athena
    servers: McpServers
    consent: Consent = _refuse
    functions: dict[str, AgentTool] = field(default_factory=dict)

    def add_tool(self, function: Callable[..., Any], *, reads: bool = False) -> None:
        """Add a function as a tool; raises `ConfigurationError` for one that cannot be called by names."""
        added = function_tool(function, reads=reads)
        self.functions[added.name] = added

    def work(
        self, turn: RunningTurn, parts: ChatParts, *, emit: Emit, keep: Callable[[RunningTurn], None]
    ) -> Sequence[Source] | None:
        """Write `turn.text` and return the sources that it may cite; None where the agent gave up.

        A notice says why it gave up, and which MCP servers were not reached. `keep` is called with the turn
        after each call of a tool. Raises `AthenaError` where the model fails in mid-answer.
        """
        self.servers.connect(wait_s=SERVERS_WAIT_S)
        turn.notices += tuple(self.servers.problems)
        private = parts.memory is None or isinstance(parts.conversations, PrivateConversations)
        own = OwnTools(turn, parts.hybrid_search, self.athena.memory_of(parts.user))
        tools = dict[str, AgentTool]()
        for tool in (*own.listed(private=private), *self.functions.values(), *self.servers.tools):
            tools.setdefault(tool.name, tool)  # a name belongs to the first that has it
        run = AgentRun(turn, parts, own, [*tools.values()], self.consent, emit, keep)
        if why := _why_it_ended(run):
            turn.notices += (GAVE_UP.format(why=why),)
            return None
        turn.retrieval = run.retrieval()
        if own.judged and own.judged.verdict != "answered" and not run.used_tools:
            turn.notices += (MAY_NOT_ANSWER,)
        known = {item.id for item in turn.recollection.all}
        recalled = parts.memory.texts(run.recalled) if parts.memory and run.recalled else {}
        more = tuple(Recalled(id=one, text=text) for one, text in recalled.items() if one not in known)
        turn.recollection = replace(turn.recollection, memories=(*turn.recollection.memories, *more))
        return tuple(run.sources.values())


def _why_it_ended(run: AgentRun) -> str:
    """Do a run on the agents' event loop; return why it gave up, "" where it answered or was stopped.

    Raises `AthenaError` where the model fails after the answer began.
    """
    future = asyncio.run_coroutine_threadsafe(run.answer(), agent_loop())
    while not wait([future], timeout=STOP_POLL_S).done:
        if run.turn.stop.is_set():
            future.cancel()
    if run.turn.stop.is_set():
        return ""
    error = future.exception()
    if error is None:
        return "" if run.turn.text.strip() else "its model wrote no answer"
    if isinstance(error, TimeoutError):
        return f"its {run.parts.limits.answer_timeout_s:.0f} s were over"
    if not isinstance(error, Exception):
        raise error
    logger.warning("the agent failed", exc_info=error)
    begun, server = bool(run.turn.text), server_of(run.llm)
    failed = error if isinstance(error, AthenaError) else translate(error, server=server, begun=begun)
    if begun:
        raise failed from error
    return str(failed).rstrip(".")


def why_not(athena: Athena, llm: Any = None) -> str:
    """Return why the agent cannot be offered; "" where it can."""
    model, choice = athena.models.language_model(llm)
    return "" if model is not None else f"{NO_MODEL} {choice.fix}".strip()


def open_agent(athena: Athena, *, consent: Consent = _refuse) -> Agent:
    """Return an agent; the MCP servers that the settings name are reached in the background."""
    agent = Agent(athena=athena, servers=read_servers(athena.settings.mcp_servers), consent=consent)
    agent.servers.connect()
    return agent


agent_of = lru_cache(maxsize=4)(open_agent)
"""Returns the agent of a process that serves: one, so that its servers are reached once."""
