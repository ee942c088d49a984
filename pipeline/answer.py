"""What a question comes back with: passages found, an answer, and its citations. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pipeline.nodes import Node, ScoredNode
from pipeline.steps.records import Step

Mode = Literal["quote", "generate"]
TurnStatus = Literal["complete", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class Passage:
    """One retrieved section: whole where it was merged, else through the sentences that were found."""

    section: Node
    sentences: tuple[ScoredNode, ...]  # those found, best first, each with its fused score
    merged: bool
    score: float  # 0..1, the order of the results
    rerank_score: float | None = None  # 0..1, the cross-encoder's, where one is available

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
    """Whether the documents answer the question: a calibrated probability and what it was made from."""

    probability: float
    threshold: float
    signals: Mapping[str, float] = field(default_factory=dict)

    @property
    def answerable(self) -> bool:
        """True where the probability reaches the threshold."""
        return self.probability >= self.threshold


@dataclass(frozen=True, slots=True)
class Retrieval:
    """All that one search found: passages best first, the verdict, and the steps with every detail."""

    question: str
    passages: tuple[Passage, ...]
    answerability: Answerability
    steps: tuple[Step, ...] = ()


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
    verified: bool
    section_id: str
    file_hash: str
    quote_hash: str
    section_text: str
    section_start: int


@dataclass(frozen=True, slots=True)
class Support:
    """One sentence of the answer, checked against what it cites; `start`/`end` are offsets in the answer."""

    start: int
    end: int
    markers: tuple[int, ...]
    supported: bool
    score: float  # 0..1
    missing: tuple[str, ...] = ()  # numbers, units, ids, commands, negations that no cited span has


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
