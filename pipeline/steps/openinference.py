"""A step, and a whole turn, in OpenInference's words: what Phoenix shows, counts and filters by.

The names are those of OpenInference's semantic conventions; `athena.*` is what they have no word for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.answer import Passage
from pipeline.answering.turn import FinishedTurn
from pipeline.steps.events import Step

LIMIT = 20_000
"""Bytes that a value may have: a step's rankings are longer, and Phoenix keeps every one."""

LENGTHS = (100, 50, 20, 5, 1)
CHARACTERS = 200  # of a text in a value that is too long, for each item that its lists keep
MOST_DOCUMENTS = 50

KINDS = {
    "hyde": "LLM",
    "embed": "EMBEDDING",
    "search": "RETRIEVER",
    "fuse": "RETRIEVER",
    "merge": "RETRIEVER",
    "rerank": "RERANKER",
    "select": "RETRIEVER",
    "generate": "LLM",
}

Attributes = dict[str, str | bool | int | float]


def turn_attributes(turn: FinishedTurn) -> Attributes:
    """What is said of a whole turn."""
    answer = turn.answer
    known: Attributes = {
        "openinference.span.kind": "CHAIN",
        "input.value": bounded(answer.question),
        "input.mime_type": "text/plain",
        "output.value": bounded(answer.text),
        "output.mime_type": "text/plain",
        "athena.abstained": answer.abstained,
        "athena.mode": answer.mode,
        "athena.status": answer.status,
        "athena.turn_id": answer.turn_id,
        "metadata": bounded_json(
            {
                "model": turn.model,
                "searched_for": answer.condensed_question,
                "citations": len(answer.citations),
                "notices": answer.notices,
                "settings": answer.settings,
            }
        ),
    }
    return known | ({"session.id": answer.conversation_id} if answer.conversation_id else {})


def step_attributes(step: Step, turn: FinishedTurn) -> Attributes:
    """What is said of one step of a turn."""
    kind = kind_of(step, turn)
    known: Attributes = {"openinference.span.kind": kind, "athena.status": step.status}
    if step.detail:
        known["athena.detail"] = bounded(step.detail)
    for side, value in (("input", step.inputs), ("output", step.outputs)):
        if value:
            known |= {f"{side}.value": bounded_json(value), f"{side}.mime_type": "application/json"}
    if step.status == "skipped":
        return known
    match step.name:
        case "condense" if kind == "LLM":
            known |= _model(turn) | _messages("output", [_said(step.outputs.get("question"))])
        case "hyde":
            known |= _model(turn) | _messages("output", [_said(step.outputs.get("hypothesis"))])
        case "embed":
            known |= {
                "embedding.model_name": str(step.inputs.get("model", "")),
                "embedding.embeddings.0.embedding.text": bounded(turn.answer.condensed_question),
            }
        case "rerank":
            known |= _reranking(step, turn)
        case "select":
            known |= _documents("retrieval.documents", turn.passages)
        case "generate":
            known |= _generation(step, turn)
    return known


def kind_of(step: Step, turn: FinishedTurn) -> str:
    """OpenInference's kind of span; a step that was skipped is of none, and neither are most of ours."""
    if step.status == "skipped":
        return "CHAIN"
    if step.name == "condense":  # a model is asked where there is one, and something to condense
        return "LLM" if turn.model and step.inputs.get("messages") else "CHAIN"
    return KINDS.get(step.name, "CHAIN")


# -- what kinds of spans have of their own -----------------------------------------------------------------


def _model(turn: FinishedTurn) -> Attributes:
    return {"llm.model_name": turn.model} if turn.model else {}


def _generation(step: Step, turn: FinishedTurn) -> Attributes:
    known = _model(turn)
    counts = {"prompt": step.outputs.get("prompt_tokens"), "completion": step.outputs.get("answer_tokens")}
    found = {name: count for name, count in counts.items() if isinstance(count, int)}
    known |= {f"llm.token_count.{name}": count for name, count in found.items()}
    if found:
        known["llm.token_count.total"] = sum(found.values())
    if reason := step.outputs.get("finish_reason"):
        known["llm.finish_reason"] = str(reason)
    asked = next((item.outputs.get("messages", ()) for item in turn.steps if item.name == "prompt"), ())
    return known | _messages("input", asked) | _messages("output", [_said(turn.generated)])


def _said(text: object) -> Mapping[str, str]:
    return {"role": "assistant", "text": str(text or "")}


def _messages(side: str, messages: Iterable[Mapping[str, Any]]) -> Attributes:
    """Messages with a role and a text; those without a text are left out."""
    known: Attributes = {}
    for number, message in enumerate(item for item in messages if item["text"]):
        at = f"llm.{side}_messages.{number}.message"
        known |= {f"{at}.role": str(message["role"]), f"{at}.content": bounded(str(message["text"]))}
    return known


def _reranking(step: Step, turn: FinishedTurn) -> Attributes:
    known: Attributes = {"reranker.query": bounded(turn.answer.condensed_question)}
    if "model" in step.outputs:
        known["reranker.model_name"] = str(step.outputs["model"])
    if "top_n" in step.inputs:
        known["reranker.top_k"] = int(step.inputs["top_n"])
    for number, node_id in enumerate(step.outputs.get("before", ())[:MOST_DOCUMENTS]):
        known[f"reranker.input_documents.{number}.document.id"] = str(node_id)
    for number, (node_id, score, _) in enumerate(step.outputs.get("after", ())[:MOST_DOCUMENTS]):
        at = f"reranker.output_documents.{number}.document"
        known |= {f"{at}.id": str(node_id), f"{at}.score": float(score)}
    return known


def _documents(prefix: str, passages: Sequence[Passage]) -> Attributes:
    """Passages as documents, best first: whole sections, or the sentences that were found of one."""
    known: Attributes = {}
    for number, passage in enumerate(passages[:MOST_DOCUMENTS]):
        section, at = passage.section, f"{prefix}.{number}.document"
        whole = passage.merged or not passage.sentences
        text = section.text if whole else "\n".join(hit.node.text for hit in passage.sentences)
        about = {
            "source": section.metadata.get("source", ""),
            "heading_path": section.metadata.get("heading_path", []),
            "merged": passage.merged,
            "rerank_score": passage.rerank_score,
        }
        known |= {
            f"{at}.id": section.node_id,
            f"{at}.content": bounded(text),
            f"{at}.score": float(passage.score),
            f"{at}.metadata": bounded_json(about),
        }
    return known


# -- values of a size that may be sent ---------------------------------------------------------------------


def bounded(text: str) -> str:
    """The text as UTF-8 can have it, cut at `LIMIT` bytes; where it was cut, that is said at its end."""
    data = text.encode("utf-8", errors="replace")
    if len(data) <= LIMIT:
        return data.decode()
    note = f" … (cut: {len(data):,} bytes)"
    return data[: LIMIT - len(note.encode())].decode(errors="ignore") + note


def bounded_json(value: object) -> str:
    """The value as JSON of at most `LIMIT` bytes: of long lists and texts only the beginning is kept."""
    text = _json(value)
    for length in LENGTHS:
        if _size(text) <= LIMIT:
            break
        text = _json(_shortened(value, length, top=True))
    return bounded(text)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str, skipkeys=True)


def _size(text: str) -> int:
    return len(text.encode("utf-8", errors="replace"))


def _shortened(value: object, length: int, *, top: bool = False) -> object:
    """Lists and mappings with their first items only (the mapping at the top keeps all), texts shorter."""
    if isinstance(value, str):
        most = length * CHARACTERS
        return value if len(value) <= most else f"{value[:most]} … ({len(value):,} characters)"
    if isinstance(value, Mapping):
        kept = list(value.items())[: None if top else length]
        more = {"…": f"{len(value) - len(kept):,} more"} if len(kept) < len(value) else {}
        return {key: _shortened(item, length) for key, item in kept} | more
    if isinstance(value, list | tuple):
        items = [_shortened(item, max(length, 3)) for item in value[:length]]
        return [*items, f"… {len(value) - length:,} more"] if len(value) > length else items
    return value
