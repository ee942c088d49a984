"""Records of a result: the passages found, the answer, and its citations. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pipeline.nodes import Node, ScoredNode
from pipeline.steps.records import Step
from pipeline.words import counted

Mode = Literal["quote", "generate", "reply", "memory"]
"""A "reply" is a fixed text, as to a greeting or a remark about the user; "memory", the memory's answer."""

Verdict = Literal["answered", "closest", "not in the documents"]
Role = Literal["system", "user", "assistant"]
UnitKind = Literal["sentence", "paragraph", "list", "steps", "table", "code"]
TurnStatus = Literal["complete", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message to or from a language model, independent of any client library."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrieved section: all of it if its sentences were merged, else the sentences that were found."""

    section: Node
    sentences: tuple[ScoredNode, ...]  # those found, best first, each with its fused score
    merged: bool
    score: float  # 0..1; results are sorted by it
    rerank_score: float | None = None  # 0..1; None if the cross-encoder did not read it
    members: Mapping[str, float] = field(default_factory=dict)
    """If `section` is a parent: its sections' own scores by id, in document order; 0 if it was not found."""

    @property
    def section_ids(self) -> tuple[str, ...]:
        """The ids of the sections that it covers, in the document's order."""
        return tuple(self.members) or (self.section.node_id,)

    def score_of(self, section_id: str) -> float:
        """Return the score that one of its sections had by itself; 0 if that section was not found."""
        return self.members.get(section_id, 0.0) if self.members else self.score

    @property
    def whole(self) -> bool:
        """Whether all of the section is the result: it was merged, or none of its sentences was found."""
        return self.merged or not self.sentences

    @property
    def node(self) -> Node:
        """The section if `whole`, else the best sentence."""
        return self.section if self.whole else self.sentences[0].node

    @property
    def text(self) -> str:
        """The section's text if `whole`, else the sentences found, best first, one per line."""
        return self.section.text if self.whole else "\n".join(hit.node.text for hit in self.sentences)


@dataclass(frozen=True, slots=True)
class Answerability:
    """Whether the documents answer the question: a calibrated probability and the signals behind it.

    Below `threshold` the documents do not answer; from `threshold` to below `sure` they may not.
    """

    probability: float
    threshold: float
    signals: Mapping[str, float] = field(default_factory=dict)
    sure: float = 0.0

    @property
    def answerable(self) -> bool:
        """Whether the probability reaches the threshold."""
        return self.probability >= self.threshold

    @property
    def verdict(self) -> Verdict:
        """The probability as one of three verdicts, by `threshold` and `sure`."""
        if not self.answerable:
            return "not in the documents"
        return "answered" if self.probability >= self.sure else "closest"


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The result of one search: passages, best first; the verdict; and the steps with their data."""

    question: str
    passages: tuple[Passage, ...]
    answerability: Answerability
    steps: tuple[Step, ...] = ()
    asked: str = ""  # the question before its spelling was corrected; "" if it was not


@dataclass(frozen=True, slots=True)
class Citation:
    """One exact span of one version of a file, with enough data to find it again after an edit.

    `start` and `end` are character offsets in the file (after a BOM); lines count from 1; `section_text` is
    the section's text when it was cited, and begins at offset `section_start`.
    """

    marker: int
    source: str
    heading_path: tuple[str, ...]
    start: int
    end: int
    start_line: int
    end_line: int
    quote: str
    file_hash: str
    section_text: str
    section_start: int

    @property
    def lines(self) -> str:
        """The cited lines in words: `line 5` or `lines 5-7`."""
        first, last = self.start_line, self.end_line
        return f"line {first}" if first == last else f"lines {first}-{last}"


@dataclass(frozen=True, slots=True)
class Unit:
    """How a quote is shown: as a self-contained unit (a list, a table, …), or as the part of it that fits.

    `lead` is the Markdown that introduces the unit, such as the sentence before a list. It is shown before
    a quote that leaves out the unit's beginning. Offsets are in the file, like the citation's.
    """

    marker: int  # of its citation, whose quote is shown after the lead
    kind: UnitKind
    start: int  # of the whole unit; the citation may be a part of it
    end: int
    lead: str = ""
    answer_start: int | None = None  # of the sentence, row or step that answers
    answer_end: int | None = None
    folded: bool = False  # hidden behind "3 more passages" until it is opened

    def cut(self, citation: Citation) -> tuple[str, str]:
        """Return two marks, before and after a quote: "…" if the unit continues on that side, else ""."""
        return "…" * (self.start < citation.start), "…" * (citation.end < self.end)


@dataclass(frozen=True, slots=True)
class Support:
    """One sentence of the answer, checked against the sources. `start`, `end`: offsets in the answer."""

    start: int
    end: int
    markers: tuple[int, ...]
    supported: bool
    score: float  # 0..1
    missing: tuple[str, ...] = ()  # numbers, ids and commands that the sources lack
    translation: str = ""  # the text that was checked if the sentence is in another language

    @property
    def problem(self) -> str:
        """The message to show if the sentence is not supported."""
        if self.missing:
            return f"The passages do not say: {', '.join(self.missing)}"
        return f"No passage says: “{self.translation}”" if self.translation else "No passage says this."


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that a language model read and wrote, and their `cost`; None if no price is set.

    Counts are `estimated` if the server did not report them all; missing ones were counted with cl100k.
    """

    tokens_in: int
    tokens_out: int
    estimated: bool = False
    cost: float | None = None
    model: str = ""  # full name as in settings: "ollama/llama3.2"


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one turn, as it is stored and shown. Citation markers in the text look like [1]."""

    question: str
    condensed_question: str
    text: str
    mode: Mode
    model: str  # "" unless the mode is "generate"
    abstained: bool
    citations: tuple[Citation, ...] = ()
    support: tuple[Support, ...] = ()
    nearest: tuple[Citation, ...] = ()  # the nearest sections, if it abstained
    steps: tuple[Step, ...] = ()
    notices: tuple[str, ...] = ()  # what the reader should know: a truncated prompt, a skipped step
    status: TurnStatus = "complete"
    seconds: float = 0.0
    conversation_id: str = ""
    turn_id: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    verdict: Verdict | None = None  # None without a search, and in turns of older versions
    corrected: str = ""  # the question searched for, if its spelling was corrected
    units: tuple[Unit, ...] = ()  # how its quotes are shown, best first; none in turns of older versions
    recalled: tuple[str, ...] = ()  # ids of the memories that were recalled; none is evidence
    usage: Usage | None = None  # None if no language model was called, and in older turns

    @property
    def unsupported(self) -> str:
        """How many sentences lack support: "2 of 5 sentences unsupported"; "" if none does."""
        lacking = sum(not item.supported for item in self.support)
        return f"{lacking} of {counted(len(self.support), 'sentence')} unsupported" if lacking else ""
