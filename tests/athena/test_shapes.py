"""The JSON shapes of the command line and of HTTP: others rely on their keys."""

from __future__ import annotations

from athena.shapes import AnswerOut, SearchOut
from pipeline.answer import Answer, Answerability, Citation, Retrieval, Support, Unit
from pipeline.steps.records import Step
from tests.pipeline.passages import make_passage

STEP = Step("search", ms=12.34567, status="failed", detail="no words", data={"text": "fan", "hits": 3})
STEP_SHAPE = {"name": "search", "ms": 12.346, "status": "failed", "detail": "no words", "data": {}}

CITATION = Citation(
    marker=1, source="fan.md", heading_path=("Manual", "Fan"), start=5, end=12, start_line=2, end_line=3,
    quote="It hums.", file_hash="f", section_text="It hums.",
    section_start=5,
)  # fmt: skip
CITATION_SHAPE = {
    "marker": 1, "source": "fan.md", "heading_path": ["Manual", "Fan"], "start": 5, "end": 12,
    "start_line": 2, "end_line": 3, "quote": "It hums.",
}  # fmt: skip


def test_search() -> None:
    passages = (
        make_passage("a", score=0.12345678, sentences=[(2, "It hums.", 0.9), (0, "Fan.", 0.1)]),
        make_passage("b", score=0.1, text="Whole.", sentences=[(0, "Whole.", 0.9)], merged=True),
    )
    shape = SearchOut.of(Retrieval("Why?", passages, Answerability(0.7, 0.4, sure=0.9), (STEP,)))
    assert shape.model_dump(mode="json") == {
        "query": "Why?",
        "results": [
            {
                "rank": 1, "score": 0.123457, "source": "fan.md", "heading_path": ["Manual", "Fan"],
                "section_id": "a", "start": 20, "end": 28, "start_line": 4, "end_line": 4,
                "text": "It hums.",
                "merged": False, "rerank_score": None, "members": [],
            },
            {
                "rank": 2, "score": 0.1, "source": "fan.md", "heading_path": ["Manual", "Fan"],
                "section_id": "b", "start": 0, "end": 100, "start_line": 3, "end_line": 9,
                "text": "Whole.",
                "merged": True, "rerank_score": None, "members": [],
            },
        ],
        "answerable": {"probability": 0.7, "threshold": 0.4, "answerable": True, "sure": 0.9,
                       "verdict": "closest"},
        "corrected": "",
        "steps": [STEP_SHAPE],
        "why": None,
    }  # fmt: skip


def test_answer() -> None:
    answer = Answer(
        question="And then?", condensed_question="What then?", text="It hums [1].", mode="quote", model="",
        abstained=False, citations=(CITATION,), support=(Support(0, 12, (1,), False, 0.5, ("12 V",)),),
        nearest=(CITATION,), steps=(STEP,), notices=("cut",), seconds=1.23456, conversation_id="c",
        turn_id="t", verdict="answered", corrected="What then?",
        units=(Unit(1, "table", 0, 90, lead="| Part |", answer_start=5, answer_end=12),),
    )  # fmt: skip
    assert AnswerOut.of(answer, {"m": "I am Ada."}).model_dump(mode="json") == {
        "question": "And then?", "condensed_question": "What then?", "answer": "It hums [1].",
        "verdict": "answered", "corrected": "What then?",
        "units": [
            {
                "marker": 1, "kind": "table", "start": 0, "end": 90, "lead": "| Part |", "answer_start": 5,
                "answer_end": 12, "folded": False,
            }
        ],
        "abstained": False, "mode": "quote", "model": "", "status": "complete",
        "error": "",
        "citations": [CITATION_SHAPE], "nearest": [CITATION_SHAPE],
        "support": [{
            "start": 0, "end": 12, "markers": [1], "supported": False, "score": 0.5, "missing": ["12 V"],
            "translation": "",
        }],
        "recalled": [{"id": "m", "text": "I am Ada."}],
        "scope": [], "notices": ["cut"], "steps": [STEP_SHAPE], "seconds": 1.235,
        "conversation_id": "c", "turn_id": "t", "usage": None,
    }  # fmt: skip
