"""The JSON shapes of the command line: plain dicts, made in one place because others rely on them.

Keys may be added, never renamed or removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pipeline.answer import Answer, Citation, Passage, Retrieval, Unit
from pipeline.finding.why import Why
from pipeline.steps.records import Step, data_of
from pipeline.stores.conversations import scope_of

Shape = dict[str, Any]
NOTHING_RECALLED: Mapping[str, str] = {}
AGENT_FIELDS: Mapping[str, Mapping[str, Any]] = {  # of an agent's steps, by name, each with its default
    "think": {"thought": "", "wants": ""},
    "tool": {"tool": "", "kind": "", "origin": "", "arguments": {}, "found": "", "result": ""}
    | {"sections": [], "tokens": 0},
}


def search_shape(retrieval: Retrieval) -> Shape:
    """What `athena search --json` prints."""
    return {
        "query": retrieval.question,
        "results": [result_shape(passage, rank) for rank, passage in enumerate(retrieval.passages, start=1)],
        "answerable": {
            "probability": retrieval.answerability.probability,
            "threshold": retrieval.answerability.threshold,
            "answerable": retrieval.answerability.answerable,
            "sure": retrieval.answerability.sure,
            "verdict": retrieval.answerability.verdict,
        },
        "corrected": retrieval.question if retrieval.asked else "",
        "steps": steps_shape(retrieval.steps),
    }


def result_shape(passage: Passage, rank: int) -> Shape:
    """One result: the exact span of the merged section, or of the best sentence found in it."""
    node = passage.node
    return {
        "rank": rank,
        "score": round(passage.score, 6),
        "source": node.metadata["source"],
        "heading_path": list(node.metadata["heading_path"]),
        "section_id": passage.section.node_id,
        "start": node.start_char_idx,
        "end": node.end_char_idx,
        "start_line": node.metadata["start_line"],
        "end_line": node.metadata["end_line"],
        "page": node.metadata.get("page"),
        "text": node.text,
        "merged": passage.merged,
        "rerank_score": passage.rerank_score,
        "members": list(passage.members),
    }


def answer_shape(answer: Answer, recalled: Mapping[str, str] = NOTHING_RECALLED, *, error: str = "") -> Shape:
    """What `athena ask --json` prints.

    `recalled` has the texts of the recalled memories, `error` is why the answer broke off.
    """
    return {
        "question": answer.question,
        "condensed_question": answer.condensed_question,
        "carried": answer.carried,
        "answer": answer.text,
        "verdict": answer.verdict,
        "corrected": answer.corrected,
        "abstained": answer.abstained,
        "mode": answer.mode,
        "model": answer.model,
        "status": answer.status,
        "error": error,
        "citations": [citation_shape(citation) for citation in answer.citations],
        "units": [unit_shape(unit, answer) for unit in answer.units],
        "left_out": [
            {"marker": unit.marker, "parts": unit.parts, "count": unit.left_out}
            for unit in answer.units
            if unit.left_out
        ],
        "nearest": [citation_shape(citation) for citation in answer.nearest],
        "support": [asdict(support) for support in answer.support],
        "recalled": recalled_shape(answer, recalled),
        "notices": list(answer.notices),
        "steps": steps_shape(answer.steps),
        "seconds": round(answer.seconds, 3),
        "usage": asdict(answer.usage) if answer.usage else None,
        "scope": list(scope_of(answer)),
        "conversation_id": answer.conversation_id,
        "turn_id": answer.turn_id,
    }


def recalled_shape(answer: Answer, texts: Mapping[str, str]) -> list[Shape]:
    """The recalled memories and turns, best first, with their scores; forgotten ones are left out."""
    recalled = data_of(answer.steps, "recall")
    scores = {item["memory_id"]: item for item in recalled.get("recalled", ())}
    said = {item["memory_id"]: item for item in recalled.get("turns", ())}
    shapes = []
    for known, text in texts.items():
        shape: Shape = {"id": known, "text": text}
        if item := scores.get(known):
            shape |= {
                "score": round(item["score"], 6),
                "recency": round(item["recency"], 6),
                "importance": item["importance"],
                "relevance": round(item["relevance"], 6),
            }
        elif item := said.get(known):
            shape |= {"score": round(item["score"], 6), "relevance": round(item["relevance"], 6)}
        shapes.append(shape)
    return shapes


def citation_shape(citation: Citation) -> Shape:
    """One citation: the exact span and what it says."""
    return {
        "marker": citation.marker,
        "source": citation.source,
        "heading_path": list(citation.heading_path),
        "start": citation.start,
        "end": citation.end,
        "start_line": citation.start_line,
        "end_line": citation.end_line,
        "page": citation.page,
        "quote": citation.quote,
        "verified": citation.verified,
    }


def unit_shape(unit: Unit, answer: Answer) -> Shape:
    """One quote as it is shown: `text` is its lead and the quoted text."""
    quote = next((cited.quote for cited in answer.citations if cited.marker == unit.marker), "")
    return {
        **asdict(unit),
        "text": f"{unit.lead}\n{quote}" if unit.lead else quote,
        "parts": unit.parts,
        "left_out": unit.left_out,
    }


def steps_shape(steps: Sequence[Step]) -> list[Shape]:
    """Each step's name and milliseconds, and what is to be said of it; an agent's steps in full."""
    return [
        {"name": step.name, "ms": round(step.ms, 3), "status": step.status, "detail": step.detail}
        | {name: step.data.get(name, no) for name, no in AGENT_FIELDS.get(step.name, {}).items()}
        for step in steps
    ]


def why_shape(why: Why) -> Shape:
    """What `athena search --why --json` adds under `why`."""
    return asdict(why)
