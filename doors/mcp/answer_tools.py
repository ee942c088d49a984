"""The tools that answer a question, and that say what there is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from pydantic import Field

from athena.tools.cutting import ROOM, cut_lines, fitting
from athena.tools.document_tools import CONTENT
from athena.tools.tool import Call, Parameters, Refused, Tool
from pipeline.errors import AthenaError
from pipeline.steps.events import AnswerFinished, RunFailed, StepStarted

if TYPE_CHECKING:
    from pipeline.answer import Answer, Citation

NOTHING: tuple[str, ...] = ()


class Ask(Parameters):
    """What `ask` takes."""

    question: str = Field(
        min_length=1, max_length=10_000, description="the question, whole: nothing is kept of it"
    )


@dataclass(frozen=True, slots=True)
class Cited:
    """What the answer cites: the exact words and where they stand."""

    marker: int
    id: str
    title: str
    url: str
    source: str
    lines: str
    quote: str
    verified: bool = True


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer; where it abstained, the nearest sections."""

    answer: str
    verdict: str
    abstained: bool
    mode: str
    citations: Sequence[Cited]
    model: str = ""
    nearest: Sequence[Cited] = ()
    notices: Sequence[str] = NOTHING
    corrected: str = ""
    notice: str = ""
    more: str = ""


def _ask(call: Call, given: Ask) -> Answered:
    if not any(map(str.isalnum, given.question)):
        raise Refused("The question has no word in it.", ASK.right_call)
    from doors.asking import Asked, answers

    run = answers(call.athena, call.caller, Asked(given.question))
    for event in run(call.stop):
        match event:
            case StepStarted(text=text):
                call.tell(text.rstrip(" …."))
            case AnswerFinished(answer=answer):
                return _answered(call, call.athena.with_memories(answer, user=call.caller.user)[0])
            case RunFailed(message=message, fix=fix):
                raise AthenaError(message, fix)
    raise AthenaError("The answer ended unexpectedly.", "Ask again.")


def _answered(call: Call, answer: Answer) -> Answered:
    text = cut_lines(answer.text, room=ROOM // 2)
    cited = [
        _cited(call, citation) for citation in (answer.nearest if answer.abstained else answer.citations)
    ]
    kept = fitting(cited, room=ROOM // 2)
    cut = bool(text.rest) or len(kept) < len(cited)
    return Answered(
        answer=text.text,
        verdict=answer.verdict or "",
        abstained=answer.abstained,
        mode=answer.mode,
        citations=[] if answer.abstained else kept,
        model=answer.model,
        nearest=tuple(kept) if answer.abstained else (),
        notices=answer.notices,
        corrected=answer.corrected,
        notice=CONTENT,
        more="Cut to stay within 25 kB. Read what is cited with get." if cut else "",
    )


def _cited(call: Call, citation: Citation) -> Cited:
    return Cited(
        marker=citation.marker,
        id=citation.section_id,
        title=" › ".join(citation.heading_path) or citation.source,
        url=call.addresses.citation(citation),
        source=citation.source,
        lines=f"{citation.start_line}-{citation.end_line}",
        quote=citation.quote,
        verified=citation.verified,
    )


ASK = Tool(
    name="ask",
    title="Ask the documents",
    says="Answer a question from the documents, with citations of the exact sentences.",
    takes=Ask,
    gives=Answered,
    run=_ask,
    example={"question": "What feeds the cabin fan?"},
)


class Status(Parameters):
    """`status` takes nothing."""


@dataclass(frozen=True, slots=True)
class State:
    """What there is, and what the caller may do."""

    documents: int
    sentences: int
    language_model: str
    user: str
    may: Sequence[str]
    version: str
    embedding_model: str = ""


def _status(call: Call, _: Status) -> State:
    athena = call.athena
    manifest = athena.store.sections.statistics().manifest
    name = athena.models.language_model()[1].name
    return State(
        documents=len(athena.store.sections.documents()),
        sentences=athena.store.sections.statistics().sentences,
        language_model=name or "none: answers are quotes",
        user=call.caller.user,
        may=sorted(call.caller.rights),
        version=version("athena-docs"),
        embedding_model=manifest.embedding_model if manifest else "",
    )


STATUS = Tool(
    name="status",
    title="What is connected",
    says="Say what is indexed, which models answer, and what you may do.",
    takes=Status,
    gives=State,
    run=_status,
    example={},
)

TOOLS = (ASK, STATUS)
