"""One call of a tool: its arguments, its time, its result as the model, the page and the store have it."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agent.tools import AgentTool, Related
from athena.tools.addresses import Addresses
from athena.tools.document_tools import Results, Text
from athena.tools.memory_tools import Facts
from athena.tools.places import place_of, title_of
from athena.tools.tool import Call, Caller, Refused, shape_of
from pipeline.answer import Answerability, Passage, Retrieval
from pipeline.answering.citations import escaped_markers
from pipeline.answering.prompts import Source, fitting_message, source_block
from pipeline.answering.recollection import filled_in, named
from pipeline.errors import AthenaError
from pipeline.models.tokens import count_tokens
from pipeline.redaction import redacted
from pipeline.steps.records import STOPPED
from pipeline.stores.globs import as_scope, matches
from pipeline.words import counted, well_formed

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.answering.turns import ChatParts, RunningTurn
    from pipeline.nodes import Node
    from pipeline.steps.trace import RunningStep

POLL_S = 0.05  # how soon a stop is noticed
CHARACTERS_A_TOKEN = 8  # more than any text has: what is longer is cut before its tokens are counted
MOST_TOKENS = 4_000  # of a result that is kept at all
SECTION_TOKENS = 240  # of a section that a search found, which most have whole: `read` gives the rest
LONGEST_ERROR = 500  # characters
LONGEST_SECRET = 4_000  # characters, in whatever form
CONTROL = {code: None for code in range(32) if chr(code) not in "\t\n\r"}

Found = Mapping[str, Any]  # data of a step
Consent = Callable[[AgentTool, Mapping[str, Any], threading.Event], bool]
"""Asks the user whether a tool that writes may be called so; ends early where the event is set."""


def refuse(_tool: AgentTool, _arguments: Mapping[str, Any], _stop: threading.Event) -> bool:
    """The consent of nobody: where there is no one to ask, nothing is written."""
    return False


@dataclass(slots=True)
class Read:
    """What was read in a run: each section once, under the number that it is cited by."""

    athena: Athena
    parts: ChatParts
    turn: RunningTurn
    sources: dict[str, Source] = field(default_factory=dict)  # by id of section
    judged: Answerability | None = None  # the best that a search was judged
    word: str = field(default_factory=lambda: secrets.token_hex(4))

    def retrieval(self) -> Retrieval | None:
        """The passages as one search would have found them; None where no section was read or looked for."""
        if self.judged is None and not self.sources:
            return None
        passages = tuple(source.passage for source in self.sources.values())
        judged = self.judged or Answerability(1.0, 0.0)
        return Retrieval(self.turn.question or self.turn.message, passages, judged)

    def search(self, query: str) -> Retrieval:
        """What a search of this turn finds."""
        found = self.parts.hybrid_search.search(query, options=self.turn.options.but(hyde=False))
        if self.judged is None or found.answerability.probability > self.judged.probability:
            self.judged = found.answerability
        return found

    # -- what the model reads ----------------------------------------------------------------------

    def observation(self, step: RunningStep, *, tokens: int) -> str:
        """A call's result as the model reads it, in so many tokens; its sections are numbered by this."""
        if step.status == "failed":  # in words of the tool, maybe
            return self._framed(step.detail, tokens)
        sections, recalled = step.data.get("sections", ()), step.data.get("recalled", ())
        parts = [step.data["found"], *self._sections(sections, tokens)] if sections else []
        if result := step.data.get("result"):
            texts = self.parts.memory.texts(recalled) if self.parts.memory and recalled else {}
            parts.append(self._framed(filled_in(result, texts), tokens))
        return "\n".join(parts)

    def _framed(self, told: str, tokens: int) -> str:
        return f"<result {self.word}>\n{cut(escaped_markers(told), tokens)}\n</result {self.word}>"

    def _sections(self, ids: Sequence[str], tokens: int) -> list[str]:
        nodes = self.parts.hybrid_search.store.sections.get_many(ids)
        each = tokens if len(ids) == 1 else SECTION_TOKENS
        blocks = []
        scope = as_scope(self.turn.options.paths)
        for node in (nodes[known] for known in ids if known in nodes):
            if scope and not matches(node.metadata["source"], scope):
                continue
            if tokens < SECTION_TOKENS // 4:
                break
            if len(ids) > 1 and (known := self.sources.get(node.node_id)):
                blocks.append(f"[{known.number}] again: it stands above")
                continue
            block = self._block(node, min(each, tokens))
            tokens -= count_tokens(block)
            blocks.append(block)
        return blocks

    def _block(self, node: Node, tokens: int) -> str:
        known = self.sources.get(node.node_id)
        number = known.number if known else len(self.sources) + 1
        place = escaped_markers(f"{node.metadata['source']} › {title_of(node)} (id {node.node_id})")
        text = source_block(number, place, cut(escaped_markers(node.text), tokens), word=self.word)
        passage = Passage(section=node, sentences=(), merged=True, score=1.0 / number)
        self.sources[node.node_id] = Source(number, passage, text)
        return text


def cut(text: str, tokens: int) -> str:
    """The text, at most so many tokens of it."""
    return fitting_message(text[: tokens * CHARACTERS_A_TOKEN], budget=tokens)


# -- the call ----------------------------------------------------------------------------------------------


class ToolFailed(Exception):
    """A call came to nothing; `str` is what the model is told."""


class ToolTimeout(ToolFailed):
    """It did not end in time."""


def make_call(
    step: RunningStep, tool: AgentTool, arguments: Mapping[str, Any], read: Read, *, seconds: float
) -> None:
    """Make the call and record what came of it; one that failed is made once more, unless it writes."""
    for attempt in range(1 if tool.writes else 2):
        step.data["attempts"] = attempt + 1
        try:
            found = _in_time(tool, arguments, read, seconds=seconds)
        except (Refused, ToolTimeout) as error:  # the same again would end the same way
            return step.fail(str(error))
        except (AthenaError, ToolFailed) as error:
            step.fail(str(error))
        else:
            step.data |= found
            step.status, step.detail = "ok", ""
            return None
        if read.turn.stop.is_set():
            return step.skip(STOPPED)
    return None


def _in_time(
    tool: AgentTool, arguments: Mapping[str, Any], read: Read, *, seconds: float
) -> Mapping[str, Any]:
    """What a call comes to, made in a thread that is left behind where it is stopped or takes too long."""
    given, stop, done = tool.tool.read(arguments), threading.Event(), threading.Event()
    call = Call(read.athena, Caller(read.parts.user), Addresses(), stop, lambda _: None)
    came: list[Found | BaseException] = []

    def work() -> None:
        try:
            came.append(_found(tool.tool.run(call, given), call))
        except BaseException as error:  # noqa: BLE001  (the run tells the model)
            came.append(error)
        done.set()

    threading.Thread(target=copy_context().run, args=(work,), name="tool", daemon=True).start()
    deadline = time.monotonic() + seconds
    while not done.wait(POLL_S):
        if read.turn.stop.is_set() or time.monotonic() >= deadline:
            stop.set()
            late = f"{tool.tool.name} was not done within {seconds:.0f} s."
            raise ToolFailed(STOPPED) if read.turn.stop.is_set() else ToolTimeout(late)
    match came[0]:
        case AthenaError() as error:
            raise error
        case BaseException() as error:
            raise ToolFailed(as_text(f"{type(error).__name__}: {error}")[:LONGEST_ERROR]) from error
        case found:
            return found


def _found(value: Any, call: Call) -> Found:
    """The data of a step that say what a call gave."""
    match value:
        case Retrieval(passages=passages):
            read = [known for passage in passages for known in passage.section_ids]
            nodes = call.athena.store.sections.get_many(read)
            return _sections([(known, title_of(nodes[known])) for known in read if known in nodes])
        case Results(results=results):
            return _sections([(item.id, item.title) for item in results])
        case Text():
            return _sections(_read_in(value, call))
        case Facts(memories=memories, outcome=outcome):
            return _memories([item.id for item in memories], outcome)
        case Related(relations=relations):
            return _memories(list(relations), "")
    text = as_text(value)
    return {"result": text, "found": counted(len(text), "character")}


def _sections(read: list[tuple[str, str]]) -> Found:
    """Of sections, by id and title."""
    ids, titles = tuple(known for known, _ in read), tuple(title for _, title in read)
    found = {"sections": ids, "titles": titles, "found": counted(len(ids), "section")}
    return found if ids else {**found, "result": "No section was found."}


def _read_in(text: Text, call: Call) -> list[tuple[str, str]]:
    """The sections that some lines of a document are of."""
    first, last = map(int, text.lines.split("-"))
    return [
        (node.node_id, title_of(node))
        for node in place_of(call.athena, text.id).document.sections
        if node.metadata["start_line"] <= last and node.metadata["end_line"] >= first
    ]


def _memories(ids: list[str], outcome: str) -> Found:
    lines = [*([outcome] if outcome else []), *(f"- {named(known)}" for known in ids)]
    said = outcome or counted(len(ids), "memory")
    return {"recalled": tuple(ids), "result": "\n".join(lines) or "Nothing is remembered.", "found": said}


def as_text(value: Any) -> str:
    """What a tool gave as a text without secrets: JSON where it is no text, and of bytes how many."""
    if isinstance(value, bytes | bytearray | memoryview):
        return f"({len(value):,} bytes that are no text)"
    if not isinstance(value, str):
        value = json.dumps(shape_of(value), ensure_ascii=False, default=repr)
    most = MOST_TOKENS * CHARACTERS_A_TOKEN
    rest = f" … ({len(value):,} characters)" if len(value) > most else ""
    told = redacted(well_formed(value[: most + LONGEST_SECRET].translate(CONTROL)))
    if len(value) > most + LONGEST_SECRET:  # what is half a secret at the end is not known as one
        told = told[: max(0, len(told) - LONGEST_SECRET)]
    return told[:most] + rest
