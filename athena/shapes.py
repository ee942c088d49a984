"""The JSON of `--json` and of HTTP, as pydantic models. Keys may be added, never renamed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from pipeline.answer import Answer, Mode, Passage, Retrieval, Support, TurnStatus, Unit, Usage, Verdict
from pipeline.finding.why import Why
from pipeline.steps.records import Step
from pipeline.stores.turns import scope_of

if TYPE_CHECKING:
    from memory.turn_index import Turn

NOTHING_RECALLED: Mapping[str, str] = {}


class Shape(BaseModel):
    """A frozen JSON object; pydantic also builds it from an object with these attributes."""

    model_config = ConfigDict(frozen=True, from_attributes=True)


class StepOut(Shape):
    """One step of a run; `data` is {} except for an agent's tool calls (`name` is "tool")."""

    name: str
    ms: float
    status: str
    detail: str = ""
    data: dict[str, Any] = {}

    @classmethod
    def of(cls, step: Step) -> Self:
        """Return the shape of a step."""
        data = dict(step.data) if step.name == "tool" else {}
        return cls(name=step.name, ms=round(step.ms, 3), status=step.status, detail=step.detail, data=data)


class SpanOut(Shape):
    """A place in a document: character offsets, and lines from 1."""

    source: str
    heading_path: list[str]
    start: int
    end: int
    start_line: int
    end_line: int


class ResultOut(SpanOut):
    """One search result: a whole section, or the best sentence that was found in it."""

    rank: int
    score: float
    section_id: str
    text: str
    merged: bool
    rerank_score: float | None
    members: list[str]

    @classmethod
    def of(cls, passage: Passage, rank: int) -> Self:
        """Return the shape of a passage; `rank` counts from 1."""
        node = passage.node
        return cls(
            rank=rank,
            score=round(passage.score, 6),
            source=node.metadata["source"],
            heading_path=list(node.metadata["heading_path"]),
            section_id=passage.section.node_id,
            start=node.start_char_idx,
            end=node.end_char_idx,
            start_line=node.metadata["start_line"],
            end_line=node.metadata["end_line"],
            text=node.text,
            merged=passage.merged,
            rerank_score=passage.rerank_score,
            members=list(passage.members),
        )


class AnswerableOut(Shape):
    """Whether the documents answer a question; `threshold` and `sure` divide `probability` into verdicts."""

    probability: float
    threshold: float
    answerable: bool
    sure: float
    verdict: Verdict


class SearchOut(Shape):
    """The result of a search; after a spelling correction, `query` and `corrected` are the new text."""

    query: str
    results: list[ResultOut]
    answerable: AnswerableOut
    corrected: str
    steps: list[StepOut]
    why: Why | None = None

    @classmethod
    def of(cls, retrieval: Retrieval) -> Self:
        """Return the shape of a retrieval."""
        return cls(
            query=retrieval.question,
            results=[ResultOut.of(passage, rank) for rank, passage in enumerate(retrieval.passages, start=1)],
            answerable=AnswerableOut.model_validate(retrieval.answerability),
            corrected=retrieval.question if retrieval.asked else "",
            steps=[StepOut.of(step) for step in retrieval.steps],
        )


class CitationOut(SpanOut):
    """One citation: the number of its marker, its exact span and its text."""

    marker: int
    quote: str


class RecalledOut(Shape):
    """A memory or an earlier message that was recalled."""

    id: str
    text: str


class AnswerOut(Shape):
    """An answer with its citations, checks and steps."""

    question: str
    condensed_question: str
    answer: str = Field(validation_alias=AliasChoices("answer", "text"))
    verdict: Verdict | None
    corrected: str
    abstained: bool
    mode: Mode
    model: str
    status: TurnStatus
    error: str = Field("", description="why the answer broke off")
    citations: list[CitationOut]
    units: list[Unit]
    nearest: list[CitationOut]
    support: list[Support]
    recalled: list[RecalledOut] = Field([], validation_alias="recalled_memories")
    notices: list[str]
    steps: list[StepOut]
    seconds: float
    usage: Usage | None
    scope: list[str] = []
    conversation_id: str
    turn_id: str

    @classmethod
    def of(cls, answer: Answer, recalled: Mapping[str, str] = NOTHING_RECALLED, *, error: str = "") -> Self:
        """Return the shape of an answer; `recalled` has the texts of the recalled memories, by id."""
        return cls.model_validate(answer).model_copy(
            update={
                "error": error,
                "recalled": [RecalledOut(id=known, text=text) for known, text in recalled.items()],
                "steps": [StepOut.of(step) for step in answer.steps],
                "seconds": round(answer.seconds, 3),
                "scope": list(scope_of(answer)),
            }
        )


class SaidOut(Shape):
    """A message of a conversation; `score` is None unless a search found it."""

    id: str
    kind: str = "turn"
    text: str
    speaker: str
    conversation_id: str
    created_at: datetime
    score: float | None = None

    @classmethod
    def of(cls, turn: Turn, *, score: float | None = None) -> Self:
        """Return the shape of a turn."""
        said = {"speaker": turn.speaker or turn.role, "conversation_id": turn.session, "created_at": turn.at}
        return cls(id=turn.id, text=turn.text, score=score and round(score, 6), **said)


class KeyOut(Shape):
    """An API key without its hash; a key without `expires_at` never expires."""

    name: str
    user: str
    rights: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
