"""The records of a result: passages found, an answer, and its citations. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pipeline.nodes import Node, ScoredNode
from pipeline.steps.records import Step
from pipeline.words import counted

Mode = Literal["quote", "generate", "reply", "memory"]
"""A "reply" is the fixed one to a greeting or thanks; "memory" is what the memory answers about itself."""

Verdict = Literal["answered", "closest", "not in the documents"]
Role = Literal["system", "user", "assistant"]
UnitKind = Literal["sentence", "paragraph", "list", "steps", "table", "code"]
TurnStatus = Literal["complete", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message to or from a language model, in no library's types."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrieved section: whole where it was merged, else through the sentences that were found."""

    section: Node
    sentences: tuple[ScoredNode, ...]  # those found, best first, each with its fused score
    merged: bool
    score: float  # 0..1, the order of the results
    rerank_score: float | None = None  # 0..1, the cross-encoder's, where one is available
    members: Mapping[str, float] = field(default_factory=dict)
    """Sections that a parent stands for, by id, in order: the score that each had itself, 0 if not found."""

    @property
    def section_ids(self) -> tuple[str, ...]:
        """The sections whose sentences are in it, in the document's order."""
        return tuple(self.members) or (self.section.node_id,)

    def score_of(self, section_id: str) -> float:
        """The score that one of its sections had by itself; 0 where only its parent brought it."""
        return self.members.get(section_id, 0.0) if self.members else self.score

    @property
    def whole(self) -> bool:
        """True where the section stands for itself: it was merged, or nothing finer was found."""
        return self.merged or not self.sentences

    @property
    def node(self) -> Node:
        """The section where it is whole, else its best sentence."""
        return self.section if self.whole else self.sentences[0].node

    @property
    def text(self) -> str:
        """The section's text where it is whole, else that of the sentences found, best first."""
        return self.section.text if self.whole else "\n".join(hit.node.text for hit in self.sentences)


@dataclass(frozen=True, slots=True)
class Answerability:
    """Whether the documents answer the question: a calibrated probability and what it was made from.

    Below `threshold` they do not; from there to below `sure` what was found may be beside the point.
    """

    probability: float
    threshold: float
    signals: Mapping[str, float] = field(default_factory=dict)
    sure: float = 0.0

    @property
    def answerable(self) -> bool:
        """True where the probability reaches the threshold."""
        return self.probability >= self.threshold

    @property
    def verdict(self) -> Verdict:
        """One of three."""
        if not self.answerable:
            return "not in the documents"
        return "answered" if self.probability >= self.sure else "closest"


@dataclass(frozen=True, slots=True)
class Retrieval:
    """All that one search found: passages best first, the verdict, and the steps with every detail."""

    question: str
    passages: tuple[Passage, ...]
    answerability: Answerability
    steps: tuple[Step, ...] = ()
    asked: str = ""  # the question as it was asked, where its spelling was corrected


@dataclass(frozen=True, slots=True)
class Citation:
    """One exact span of one exact file, with what is needed to find it again after an edit.

    `start`/`end` are character offsets in the file (after a BOM), lines count from 1; `section_text` is
    the section as it was when cited, starting at offset `section_start`.
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
    """How a quote is shown: a whole that can be understood, or the part of it that fits.

    `lead` is Markdown that stands before the quoted text and belongs to it: the header of a table whose
    first rows are left out, the sentence that introduces a list. Offsets are in the file, as the citation's.
    """

    marker: int  # its citation's, whose quote is what is shown after the lead
    kind: UnitKind
    start: int  # of the whole, of which the citation may be a part
    end: int
    lead: str = ""
    answer_start: int | None = None  # of the sentence, row or step that answers
    answer_end: int | None = None
    folded: bool = False  # behind "3 more passages"

    def cut(self, citation: Citation) -> tuple[str, str]:
        """Return the marks before and after a quote: "…" where the unit goes on there, else ""."""
        return "…" * (self.start < citation.start), "…" * (citation.end < self.end)


@dataclass(frozen=True, slots=True)
class Support:
    """One sentence of the answer, checked against what it cites; `start`/`end` are offsets in the answer."""

    start: int
    end: int
    markers: tuple[int, ...]
    supported: bool
    score: float  # 0..1
    missing: tuple[str, ...] = ()  # numbers, ids, commands that no cited span has
    translation: str = ""  # what was checked of a sentence in another language than the documents'

    @property
    def problem(self) -> str:
        """What to say of it where no passage bears it out."""
        if self.missing:
            return f"The passages do not say: {', '.join(self.missing)}"
        return f"No passage says: “{self.translation}”" if self.translation else "No passage says this."


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that a language model read and wrote, and what they cost; None where no price is set.

    They are `estimated` where its server did not report all of them: the others were counted with cl100k.
    """

    tokens_in: int
    tokens_out: int
    estimated: bool = False
    cost: float | None = None
    model: str = ""  # by its full name, as settings write it


@dataclass(frozen=True, slots=True)
class Answer:
    """One turn's outcome, as it is stored, shown and printed. Markers in the text look like [1]."""

    question: str
    condensed_question: str
    text: str
    mode: Mode
    model: str  # "" in quote mode
    abstained: bool
    citations: tuple[Citation, ...] = ()
    support: tuple[Support, ...] = ()
    nearest: tuple[Citation, ...] = ()  # where it abstained: the nearest sections
    steps: tuple[Step, ...] = ()
    notices: tuple[str, ...] = ()  # what the reader should know: a truncated prompt, a skipped step
    status: TurnStatus = "complete"
    seconds: float = 0.0
    conversation_id: str = ""
    turn_id: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    verdict: Verdict | None = None  # None in turns of older versions
    corrected: str = ""  # the message as it was searched for, where its spelling was corrected
    units: tuple[Unit, ...] = ()  # how its quotes are shown, best first; none in turns of older versions
    recalled: tuple[str, ...] = ()  # ids of the memories that were recalled; none is evidence
    usage: Usage | None = None  # of language models; None where none was asked, or in turns of older versions

    @property
    def unsupported(self) -> str:
        """How many of its sentences lack support, in a few words; "" where none does."""
        lacking = sum(not item.supported for item in self.support)
        return f"{lacking} of {counted(len(self.support), 'sentence')} unsupported" if lacking else ""
