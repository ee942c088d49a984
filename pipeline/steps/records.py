"""The record of each step: one frozen class per step, with what went in and what came out.

A list of ranks keeps its first `KEPT_RANKS`: with all of them an answer was 100 kB. Whoever needs more
searches again (`pipeline/finding/why.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from pipeline.finding.fusion import LISTS, AlternativeQuery, Fused
from pipeline.messages import Message
from pipeline.stores.base import Hit
from pipeline.words import counted

KEPT_RANKS = 30
LINE = 80  # characters of arguments that a line shows
DONE = {"search": "searched", "recall": "recalled", "remember": "remembered", "neighbourhood": "around"}
STOPPED = "stopped"  # why a step was skipped once the user had stopped the answer

StepStatus = Literal["ok", "skipped", "failed"]
AnyStep = TypeVar("AnyStep", bound="Step")


class Reranked(NamedTuple):
    """One section after reranking; `rerank_score` is None where the cross-encoder did not read it."""

    section_id: str
    score: float
    rerank_score: float | None


class Dropped(NamedTuple):
    """One section that was not selected, and why."""

    section_id: str
    why: str


class MergedUp(NamedTuple):
    """One parent in the place of its sections, under the id of the best of them."""

    section_id: str
    heading_path: tuple[str, ...]
    members: tuple[str, ...]  # ids of all its sections
    found: int  # of its sections among the passages


class Quoted(NamedTuple):
    """One quote by its first sentence; the score is that of its best."""

    node_id: str
    score: float


class Corrected(NamedTuple):
    """One corrected word: where it begins in the question, as it was written, and what it was read as."""

    start: int
    wrong: str
    right: str


MemoryVerdict = Literal["remembered", "closest", "not remembered"]
ToolKind = Literal["documents", "memory", "tool"]
"""What a tool brings: passages, which are evidence; what is remembered; or what only it says."""


class RecalledId(NamedTuple):
    """One recalled memory by its id, with what its score is made of; no importance = it has none."""

    memory_id: str
    score: float
    recency: float
    importance: float | None
    relevance: float


@dataclass(frozen=True, slots=True)
class FetchedSection:
    """One fetched section: how many of its sentences were found, and whether it replaced them."""

    section_id: str
    source: str
    heading_path: tuple[str, ...]
    siblings: int
    found: int = 0
    merged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What every step says: how long it took, and how it ended."""

    name: str = ""
    ms: float = 0.0
    status: StepStatus = "ok"
    detail: str = ""  # why it was skipped or failed
    started_at: float = 0.0  # Unix seconds; 0 = not known, as in turns of older versions
    WORKING: ClassVar[str] = ""  # what a page shows meanwhile
    INPUTS: ClassVar[tuple[str, ...]] = ()  # the fields that are known before; the others come out
    RANKED: ClassVar[tuple[str, ...]] = ()  # the fields of which the first ranks are kept

    @property
    def working(self) -> str:
        """What it does, in a few words."""
        return self.WORKING


@dataclass(frozen=True, slots=True, kw_only=True)
class CondenseStep(Step):
    """History and message became one question."""

    name: Literal["condense"] = "condense"
    message: str = ""
    messages: int = 0  # of the history
    question: str = ""
    carried: str = ""  # the topic that rules took from the history
    by: str = ""  # "as asked", "rules", "model"
    WORKING: ClassVar[str] = "Reading the conversation"
    INPUTS: ClassVar[tuple[str, ...]] = ("message", "messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectStep(Step):
    """Misspelt words of the question were corrected."""

    name: Literal["correct"] = "correct"
    question: str = ""
    corrected: str = ""  # "" = as it was asked
    words: tuple[Corrected, ...] = ()
    WORKING: ClassVar[str] = "Reading the question"
    INPUTS: ClassVar[tuple[str, ...]] = ("question",)


@dataclass(frozen=True, slots=True, kw_only=True)
class HydeStep(Step):
    """A hypothetical answer was written."""

    name: Literal["hyde"] = "hyde"
    question: str = ""
    hypothesis: str = ""
    prompt: str = ""
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    WORKING: ClassVar[str] = "Writing a hypothetical answer"
    INPUTS: ClassVar[tuple[str, ...]] = ("question",)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedStep(Step):
    """Question and hypothesis became a vector."""

    name: Literal["embed"] = "embed"
    model: str = ""
    dimensions: int = 0
    WORKING: ClassVar[str] = "Embedding the question"
    INPUTS: ClassVar[tuple[str, ...]] = ("model",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStep(Step):
    """Four lists were searched."""

    name: Literal["search"] = "search"
    text: str = ""
    alternative: str = ""  # another wording of the question, in a conversation
    alternative_share: float = 0.0  # of each list, 0..1
    alpha: float = 0.0  # as it was used: less where documents are in other languages than the model's
    candidates: int = 0
    paths: str | tuple[str, ...] | None = None
    sentences: int = 0  # searched
    hits: int = 0  # of all four lists
    bm25_sections: tuple[Hit, ...] = ()
    bm25_sentences: tuple[Hit, ...] = ()
    dense_sections: tuple[Hit, ...] = ()
    dense_sentences: tuple[Hit, ...] = ()
    INPUTS: ClassVar[tuple[str, ...]] = (
        "text", "alternative", "alternative_share", "alpha", "candidates", "paths"
    )  # fmt: skip
    RANKED: ClassVar[tuple[str, ...]] = LISTS

    @property
    def working(self) -> str:
        """What it does, in a few words."""
        return f"Searching {counted(self.sentences, 'sentence')}"

    @property
    def alternative_query(self) -> AlternativeQuery | None:
        """The other wording that was searched for."""
        return AlternativeQuery(self.alternative, self.alternative_share) if self.alternative else None

    @property
    def lists(self) -> Mapping[str, tuple[Hit, ...]]:
        """The four lists by name, best first."""
        return {name: getattr(self, name) for name in LISTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class FuseStep(Step):
    """Four lists became one ranking of sections."""

    name: Literal["fuse"] = "fuse"
    weights: Mapping[str, float] = field(default_factory=dict)
    sections: int = 0
    ranking: tuple[Fused, ...] = ()
    WORKING: ClassVar[str] = "Fusing the rankings"
    INPUTS: ClassVar[tuple[str, ...]] = ("weights",)
    RANKED: ClassVar[tuple[str, ...]] = ("ranking",)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeStep(Step):
    """The best sections were fetched; some replaced their sentences."""

    name: Literal["merge"] = "merge"
    simple_ratio_thresh: float = 0.0
    sections: tuple[FetchedSection, ...] = ()  # in the order of the fused ranking
    WORKING: ClassVar[str] = "Merging sentences into sections"
    INPUTS: ClassVar[tuple[str, ...]] = ("simple_ratio_thresh",)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankStep(Step):
    """A cross-encoder reordered the best passages."""

    name: Literal["rerank"] = "rerank"
    top_n: int = 0
    weight: float = 0.0
    model: str = ""
    before: tuple[str, ...] = ()  # ids of sections
    after: tuple[Reranked, ...] = ()
    WORKING: ClassVar[str] = "Reranking"
    INPUTS: ClassVar[tuple[str, ...]] = ("top_n", "weight")
    RANKED: ClassVar[tuple[str, ...]] = ("after",)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerableStep(Step):
    """It was judged whether the passages answer the question."""

    name: Literal["answerable"] = "answerable"
    probability: float = 0.0
    threshold: float = 0.0
    sure: float = 0.0
    verdict: str = ""  # "answered", "closest", "not in the documents"; "" in turns of older versions
    signals: Mapping[str, float] = field(default_factory=dict)
    WORKING: ClassVar[str] = "Judging whether this answers it"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeUpStep(Step):
    """Parents took the place of their sections."""

    name: Literal["merge_up"] = "merge_up"
    ratio: float = 0.0
    within: int = 0  # the first passages, which count
    parents: tuple[MergedUp, ...] = ()
    WORKING: ClassVar[str] = "Merging sections into their parents"
    INPUTS: ClassVar[tuple[str, ...]] = ("ratio", "within")


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectStep(Step):
    """The passages that the answer may rest on were chosen."""

    name: Literal["select"] = "select"
    top_k: int = 0
    context_tokens: int = 0
    selected: tuple[str, ...] = ()  # ids of sections
    dropped: tuple[Dropped, ...] = ()
    tokens: int = 0
    WORKING: ClassVar[str] = "Selecting passages"
    INPUTS: ClassVar[tuple[str, ...]] = ("top_k", "context_tokens")
    RANKED: ClassVar[tuple[str, ...]] = ("dropped",)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptStep(Step):
    """The prompt was put together."""

    name: Literal["prompt"] = "prompt"
    messages: tuple[Message, ...] = ()
    tokens: int = 0
    history_left_out: int = 0  # messages
    WORKING: ClassVar[str] = "Writing the prompt"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateStep(Step):
    """A language model wrote the answer."""

    name: Literal["generate"] = "generate"
    model: str = ""
    characters: int = 0
    finish_reason: str = ""
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    prompt_truncated: bool = False
    seconds: float = 0.0
    WORKING: ClassVar[str] = "Writing the answer"
    INPUTS: ClassVar[tuple[str, ...]] = ("model",)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuoteStep(Step):
    """Quotes were chosen as the answer."""

    name: Literal["quote"] = "quote"
    limit: int = 0
    quotes: tuple[Quoted, ...] = ()
    WORKING: ClassVar[str] = "Choosing quotes"
    INPUTS: ClassVar[tuple[str, ...]] = ("limit",)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyStep(Step):
    """Every sentence of the answer was checked against what it cites."""

    name: Literal["verify"] = "verify"
    sentences: int = 0
    supported: int = 0
    WORKING: ClassVar[str] = "Checking the citations"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallStep(Step):
    """It was looked up what is remembered; memories by id, never by text."""

    name: Literal["recall"] = "recall"
    preset: str = ""
    threshold: float = 0.0  # of relevance
    considered: int = 0
    static: tuple[str, ...] = ()  # ids, of what the persona brings
    recalled: tuple[RecalledId, ...] = ()  # best first
    graph: tuple[str, ...] = ()  # ids of relations and entities
    turns: tuple[RecalledId, ...] = ()  # what was said, best first: turns; "-answer" is the assistant's
    verdict: MemoryVerdict | None = None  # whether what was said and kept answers the message
    probability: float = 0.0  # that it does
    tokens: int = 0
    WORKING: ClassVar[str] = "Remembering"
    INPUTS: ClassVar[tuple[str, ...]] = ("preset", "threshold")


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberStep(Step):
    """What is worth it was kept, after the answer was shown; memories by id, never by text."""

    name: Literal["remember"] = "remember"
    preset: str = ""
    added: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()  # said again, in other words
    known: tuple[str, ...] = ()  # said again
    replaced: tuple[str, ...] = ()  # those that took another's place
    disputed: tuple[str, ...] = ()
    forgotten: int = 0
    untrusted: tuple[str, ...] = ()  # those that read like an instruction
    secrets: tuple[str, ...] = ()  # kinds of what was left out
    entities: int = 0
    relations: int = 0
    by: str = ""  # "rules", "model"
    pending: bool = False  # not done yet: the answer does not wait for it
    WORKING: ClassVar[str] = "Keeping what to remember"
    INPUTS: ClassVar[tuple[str, ...]] = ("preset",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkStep(Step):
    """A model said which tool it calls next, or began to answer."""

    name: Literal["think"] = "think"
    number: int = 0  # of its replies, from 1
    thought: str = ""
    wants: str = ""  # name of the tool; "" = it answers, or could not be read
    finish_reason: str = ""
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    WORKING: ClassVar[str] = "Thinking"
    INPUTS: ClassVar[tuple[str, ...]] = ("number",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStep(Step):
    """A tool was called; sections by id, and memories named in `result`, never by text."""

    name: Literal["tool"] = "tool"
    tool: str = ""
    kind: ToolKind = "tool"
    origin: str = ""  # whose tool it is; "" = Athena's
    arguments: Mapping[str, Any] = field(default_factory=dict)
    found: str = ""  # in a few words: "8 sections"
    result: str = ""  # as the model reads it, without the passages of `sections`
    sections: tuple[str, ...] = ()  # ids of those that were read, best first
    titles: tuple[str, ...] = ()  # of them
    recalled: tuple[str, ...] = ()  # ids of memories
    tokens: int = 0  # of what the model reads of it
    attempts: int = 0
    WORKING: ClassVar[str] = "Calling a tool"
    INPUTS: ClassVar[tuple[str, ...]] = ("tool", "kind", "origin", "arguments")

    @property
    def working(self) -> str:
        """What it does, in a few words."""
        return f"Calling {self.tool}"

    @property
    def line(self) -> str:
        """What was done and found, as one line of plain text."""
        given = " ".join(" · ".join(str(value) for value in self.arguments.values()).split())
        done = DONE.get(self.tool, self.tool) if self.status == "ok" else self.tool
        about = f" “{given[:LINE]}{'…' if len(given) > LINE else ''}”" if given else ""
        return f"{done}{about}: {self.found or self.detail or self.status}"


KINDS: Mapping[str, type[Step]] = {
    "think": ThinkStep,
    "tool": ToolStep,
    "condense": CondenseStep,
    "recall": RecallStep,
    "correct": CorrectStep,
    "hyde": HydeStep,
    "embed": EmbedStep,
    "search": SearchStep,
    "fuse": FuseStep,
    "merge": MergeStep,
    "rerank": RerankStep,
    "answerable": AnswerableStep,
    "merge_up": MergeUpStep,
    "select": SelectStep,
    "prompt": PromptStep,
    "generate": GenerateStep,
    "quote": QuoteStep,
    "verify": VerifyStep,
    "remember": RememberStep,
}


def step_of(steps: Iterable[Step], kind: type[AnyStep]) -> AnyStep:
    """The last step of a kind; an empty record where it was not taken."""
    return next((step for step in reversed([*steps]) if isinstance(step, kind)), kind())
