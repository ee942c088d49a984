"""An agent: which tools it has, and one run of it over a question.

first look → (think → call)* → answer, or the pipeline's. The loop is ours, over LlamaIndex's formatter and
records (docs/decisions/agent.md).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from llama_index.core.agent.react.types import (
    ActionReasoningStep,
    BaseReasoningStep,
    ObservationReasoningStep,
    ResponseReasoningStep,
)

from agent.calling import Consent, Read, make_call, refuse
from agent.protocol import (
    ANSWER_NOW,
    CORRECTION,
    LONGEST_REPLY,
    Called,
    Corrected,
    StrictParser,
    answer_in,
    formatter,
    messages_of,
)
from agent.servers import Servers
from agent.tools import OWN, AgentTool, function_tool, named_tools, search_tool
from memory.recall import named_in
from pipeline.answering.citations import escaped_markers
from pipeline.answering.prompts import fitting_history, memory_text
from pipeline.answering.recollection import Recalled, Recollection
from pipeline.errors import ConfigurationError, ModelError
from pipeline.messages import Message
from pipeline.models.generation import ChatStream
from pipeline.models.tokens import count_tokens
from pipeline.steps.events import Emit, TokenArrived
from pipeline.steps.records import STOPPED, Step, ToolKind
from pipeline.stores.private import PrivateConversations

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.answering.prompts import Source
    from pipeline.answering.turns import ChatParts, RunningTurn
    from pipeline.steps.trace import RunningStep

MALFORMED = 2  # replies that are told how to write it; the next one ends the run
REPEATED = 2  # calls that are told that they were made; the next one ends the run
TOOL_SHARE = 1 / 3  # of the time, that one call may take
OTHERS = 8  # a part in so many of the tokens is not for documents: two searches would take all of them
KEEP_EVERY_S = 1.0
GAVE_UP = "The agent gave up, and this is the answer without it: {why}."
NOT_ALLOWED = "The user did not allow this call. Nothing was changed."
AGAIN = "This call was made already, and its result stands above. Call another tool, or answer."
NO_TOOL = "There is no tool '{name}'. There are {names}."
NOTHING_LEFT = "There is no room for more results: answer from what was read."
MOST_STEPS = 8  # calls of tools for an answer
RESULT_TOKENS = 4_000  # of results that the model reads
TIMEOUT_S = 60.0  # of a run
NO_MODEL = "The agent needs a language model that chooses its tools, and none is connected."


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An agent over one Athena; `athena.chat(agent=…)` asks it. Safe to use from several threads.

    A run has the tools that there are at its beginning: nothing that it reads can add one.
    """

    athena: Athena
    tools: dict[str, AgentTool] = field(default_factory=dict)
    without: Collection[str] = ()  # names of tools that this one does not use
    consent: Consent = refuse
    servers: Servers = field(default_factory=Servers)

    def add_tool(self, tool: AgentTool | Callable[..., Any], *, reads: bool = False) -> AgentTool:
        """Add a tool, or a function by `function_tool`; raises `ConfigurationError` for a known name."""
        added = tool if isinstance(tool, AgentTool) else function_tool(tool, reads=reads)
        if added.tool.name in self.all_tools:
            raise ConfigurationError(
                f"There is a tool '{added.tool.name}' already.", "Remove that one, or give this another name."
            )
        self.tools[added.tool.name] = added
        return added

    def remove_tool(self, name: str) -> None:
        """Remove a tool that was added; raises `ConfigurationError` where there is none of that name."""
        if self.tools.pop(name, None) is None:
            raise ConfigurationError(f"No tool '{name}' was added.", "See `Agent.all_tools`.")

    def but(
        self,
        *,
        without: Collection[str] = (),
        consent: Consent | None = None,
        more: Sequence[AgentTool] = (),
    ) -> Agent:
        """The same agent, with the same tools but these and some more, and who is asked before it writes."""
        tools = {**self.tools, **{tool.tool.name: tool for tool in more}} if more else self.tools
        return replace(self, tools=tools, without=frozenset(without), consent=consent or self.consent)

    @property
    def all_tools(self) -> Mapping[str, AgentTool]:
        """Every tool by name, Athena's own first; of servers those that are reached."""
        own = {tool.tool.name: tool for tool in (search_tool(_nothing), *OWN)}
        return {**own, **self.tools, **self.servers.tools()}

    # -- a run -------------------------------------------------------------------------------------

    def work(
        self, turn: RunningTurn, parts: ChatParts, *, emit: Emit, keep: Callable[[RunningTurn], None]
    ) -> Sequence[Source] | None:
        """Write `turn.text` and return the sources that it may cite; None where the agent gave up."""
        read = Read(self.athena, parts, turn)
        run = _Run(self._offered(parts, read), self.consent, read, keep, emit)
        try:
            why = run.go()
        except ModelError as error:
            if turn.text.strip():
                raise
            why = str(error).rstrip(".")
        turn.retrieval = read.retrieval()
        recalled = [known for step in run.calls() for known in step.data.get("recalled", ())]
        turn.recollection = _with_recalled(turn, parts, recalled)
        if why and not turn.stop.is_set():
            turn.notices += (GAVE_UP.format(why=why),)
            turn.text, turn.retrieval = "", None
            return None
        return tuple(read.sources.values())

    def _offered(self, parts: ChatParts, read: Read) -> Mapping[str, AgentTool]:
        self.servers.try_again()
        tools = {**self.all_tools, "search": search_tool(read.search)}
        private = isinstance(parts.conversations, PrivateConversations)
        left = {*self.without, *(("remember",) if private or parts.memory is None else ())}
        return {name: tool for name, tool in tools.items() if name not in left}


def _nothing(_query: str) -> Any:
    """The search of no turn."""
    raise ConfigurationError("This search belongs to no question.", "Use it by `athena.chat(agent=…)`.")


def _with_recalled(turn: RunningTurn, parts: ChatParts, ids: Sequence[str]) -> Recollection:
    """What came to mind, with what the agent recalled: shown as memory, and no evidence."""
    known = {item.id for item in turn.recollection.all}
    texts = parts.memory.texts([one for one in ids if one not in known]) if parts.memory and ids else {}
    more = tuple(Recalled(id=one, text=text) for one, text in texts.items())
    return replace(turn.recollection, memories=(*turn.recollection.memories, *more))


@dataclass
class _Run:
    """One run: what was said to and by the model, and what is left of its limits."""

    tools: Mapping[str, AgentTool]
    consent: Consent
    read: Read
    keep: Callable[[RunningTurn], None]
    emit: Emit
    reasoning: list[BaseReasoningStep] = field(default_factory=list)
    made: set[str] = field(default_factory=set)
    malformed: int = 0
    repeated: int = 0
    replies: int = 0

    def __post_init__(self) -> None:
        limits = self.read.parts.limits
        self.turn = self.read.turn
        self.steps_left = MOST_STEPS
        self.seconds = TIMEOUT_S
        self.deadline = time.monotonic() + self.seconds
        room = limits.context_window - limits.max_answer_tokens
        self.tokens_left = min(RESULT_TOKENS, room // 2)
        self.for_others = self.tokens_left // OTHERS
        persona = self.read.parts.persona
        offered = [tool.tool for tool in self.tools.values()]
        self.form = formatter(persona.system_header, persona.tone, offered)

    def calls(self) -> list[Step]:
        """What was called, in order."""
        return [step for step in self.turn.trace.steps if step.name == "tool"]

    def go(self) -> str:
        """Run it: "" where it answered or was stopped, else why it gave up."""
        self._look_first()
        while not self.turn.stop.is_set():
            if time.monotonic() >= self.deadline:
                return f"its {self.seconds:.0f} s were over"
            said = self._think()
            if self.turn.stop.is_set() or isinstance(said, ResponseReasoningStep):
                return "" if self._has_read() or self.turn.stop.is_set() else "it found nothing that answers"
            if isinstance(said, ActionReasoningStep):
                if self.steps_left <= 0:
                    return "it went on calling tools"
                self._act(said)
            if self.malformed > MALFORMED:
                return "its model did not write what could be read"
            if self.repeated > REPEATED:
                return "it repeated the same call"
        return ""

    def _has_read(self) -> bool:
        """Whether there is anything that an answer can rest on."""
        judged = self.read.judged
        found = judged is None or judged.verdict != "not in the documents"
        others = [step for step in self.calls() if step.data["kind"] != "documents" and step.status == "ok"]
        return bool(others) or (found and bool(self.read.sources))

    # -- before the model: what the memory or the manuals know ----------------------------------------

    def _look_first(self) -> None:
        """The look that comes before all others."""
        for name, arguments in self._first_looks():
            self._act(Called(thought="I look it up first.", action=name, action_input=arguments))

    def _first_looks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The memory where the question is personal; else the documents, then it where it knows more."""
        found, question = self.turn.recollection, self.turn.question or self.turn.message
        recall: tuple[str, dict[str, Any]] = ("recall", {"query": question, "limit": 5})
        own = (found.personal and found.asks) or self._names_of_talk(question)
        if own and "recall" in self.tools:
            yield recall
        elif "search" in self.tools:
            yield "search", {"query": question[:2_000]}
        if not own and self.read.judged and found.leads(self.read.judged) and "recall" in self.tools:
            yield recall

    def _names_of_talk(self, question: str) -> bool:
        """Whether it names somebody or something that the graph has from what the user said."""
        if self.read.parts.memory is None:
            return False
        index = self.read.athena.memory_of(self.read.parts.user).index
        with index.lock:
            named = named_in(index, question)
            return any(not mention.source for known in named for mention in index.mentions_of(known))

    # -- the model ---------------------------------------------------------------------------------

    def _think(self) -> BaseReasoningStep | None:
        """The model's next reply, read; None for one that could not be, which is answered with why."""
        self.replies += 1
        with self.turn.trace.step("think", number=self.replies) as step:
            return self._reply(step)

    def _reply(self, step: RunningStep) -> BaseReasoningStep | None:
        stop, left = self.turn.stop, max(1.0, self.deadline - time.monotonic())
        text, kept = "", time.monotonic()
        with closing(ChatStream(self.read.parts.llm, self._prompt(), stop=stop, deadline_s=left)) as stream:  # type: ignore[arg-type]
            for piece in stream:
                text = (text + piece.text)[:LONGEST_REPLY]
                # What rests on nothing is not shown: it is not taken either, and cannot be taken back.
                if self._has_read() and (new := answer_in(text)[len(self.turn.text) :]):
                    self.turn.text += new
                    self.emit(TokenArrived(new))
                if time.monotonic() - kept >= KEEP_EVERY_S:
                    self.keep(self.turn)
                    kept = time.monotonic()
                if len(text) == LONGEST_REPLY:  # what came of it is read as it stands
                    break
        if generation := stream.generation:
            step.data |= {
                "finish_reason": generation.finish_reason,
                "prompt_tokens": generation.prompt_tokens,
                "answer_tokens": generation.answer_tokens,
            }
        if stop.is_set():
            step.skip(STOPPED)
            return None
        return self._understood(step, text)

    def _understood(self, step: RunningStep, text: str) -> BaseReasoningStep | None:
        try:
            said = StrictParser().parse(text)
        except ValueError as error:
            step.fail(f"The reply could not be read: {error}.")
            self.malformed += 1
            correction = CORRECTION.format(why=error, names=", ".join(self.tools))
            self.reasoning += [Corrected(observation=text[:500]), Corrected(observation=correction)]
            return None
        wants = said.action if isinstance(said, ActionReasoningStep) else ""
        thought = str(getattr(said, "thought", ""))
        step.data |= {"thought": thought, "wants": wants}
        return said

    def _prompt(self) -> list[Message]:
        """Rules and tools, as much history as fits, the question, and what was done so far."""
        limits, turn = self.read.parts.limits, self.turn
        asked = Message("user", f"Question: {escaped_markers(turn.question or turn.message)}")
        known = memory_text(turn.recollection)
        memory = [Message("user", known)] if known else []
        prompt = messages_of(self.form, [*memory, asked], self._said())
        used = sum(count_tokens(message.text) for message in prompt)
        room = max(0, limits.context_window - limits.max_answer_tokens - used)
        history = fitting_history(turn.history, budget=min(limits.history_tokens, room))
        return [prompt[0], *history, *prompt[1:]]

    def _said(self) -> list[BaseReasoningStep]:
        if self.steps_left > 0 and self.tokens_left > 0:
            return self.reasoning
        return [*self.reasoning, Corrected(observation=ANSWER_NOW)]

    # -- the tools ---------------------------------------------------------------------------------

    def _act(self, said: ActionReasoningStep) -> None:
        self.steps_left -= 1
        tool = self.tools.get(said.action)
        begun = {
            "tool": said.action[:100],
            "kind": tool.kind if tool else "tool",
            "origin": tool.origin if tool else "",
            "arguments": _shortened(said.action_input),
        }
        with self.turn.trace.step("tool", **begun) as step:
            observed = self._called(step, tool, said)
        self._told(said, observed)
        self.keep(self.turn)

    def _called(self, step: RunningStep, tool: AgentTool | None, said: ActionReasoningStep) -> str:
        """What the model reads of a call, once it is made or why it is not."""
        self._call(step, tool, said)
        observed = self._observed(step)
        step.data["tokens"] = count_tokens(observed)
        return observed

    def _call(self, step: RunningStep, tool: AgentTool | None, said: ActionReasoningStep) -> None:
        key = json.dumps([said.action, said.action_input], sort_keys=True, default=str)
        if tool is None:
            return step.fail(NO_TOOL.format(name=step.data["tool"], names=", ".join(self.tools)))
        if key in self.made:
            self.repeated += 1
            return step.skip(AGAIN)
        self.made.add(key)
        if self._room_for(tool.kind) <= 0:
            return step.skip(NOTHING_LEFT)
        if tool.writes and not self._may(tool, said.action_input):
            return step.skip(STOPPED if self.turn.stop.is_set() else NOT_ALLOWED)
        left = min(self.deadline - time.monotonic(), self.seconds * TOOL_SHARE)
        make_call(step, tool, said.action_input, self.read, seconds=max(0.1, left))
        return None

    def _may(self, tool: AgentTool, arguments: Mapping[str, Any]) -> bool:
        """Whether the user lets it; their time is not the agent's."""
        asked = time.monotonic()
        try:
            return self.consent(tool, arguments, self.turn.stop)
        finally:
            self.deadline += time.monotonic() - asked

    def _room_for(self, kind: ToolKind) -> int:
        """The tokens that a result may have; documents leave some for what tools and the memory say."""
        return max(0, self.tokens_left - (self.for_others if kind == "documents" else 0))

    def _observed(self, step: RunningStep) -> str:
        """What the model reads of a call, in the tokens that are left."""
        said = step.status in ("ok", "failed")
        text = self.read.observation(step, tokens=self._room_for(step.data["kind"])) if said else step.detail
        self.tokens_left -= count_tokens(text)
        return text or "Nothing came of it."

    def _told(self, said: ActionReasoningStep, observed: str) -> None:
        self.reasoning += [said, ObservationReasoningStep(observation=observed)]


def _shortened(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as they are kept: long ones without their end."""
    text = json.dumps(arguments, default=str)
    if len(text) <= 2_000:
        return dict(arguments)
    return {name[:100]: str(value)[:200] for name, value in list(arguments.items())[:20]}


def why_not(athena: Athena, llm: Any = None) -> str:
    """Why the agent is not offered; "" where it is."""
    model, choice = athena.models.language_model(llm)
    return "" if model is not None else f"{NO_MODEL} {choice.fix}".strip()


@lru_cache(maxsize=4)
def agent_of(athena: Athena) -> Agent:
    """The agent of a process that serves: one, so that its servers are started once; nobody is asked."""
    return open_agent(athena)


def open_agent(athena: Athena, *, consent: Consent = refuse) -> Agent:
    """The agent with the tools that the settings name; servers are reached at the first run.

    `consent` is asked before a call that may change something; without it none is made.
    """
    settings = athena.settings
    agent = Agent(athena=athena, consent=consent, servers=Servers.of(settings.mcp_servers))
    for tool in named_tools(settings.tools):
        agent.add_tool(tool)
    return agent
