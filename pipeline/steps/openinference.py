"""A finished turn as a tree of spans in OpenInference's terms: what Phoenix shows, counts and filters by.

The turn, and below it its steps as they were recorded: nothing is measured here, and nothing is sent
(`pipeline/steps/phoenix.py` does that). `athena.*` is what OpenInference has no word for. Its names come with
the extra `[tracing]`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import islice, zip_longest

from openinference.semconv import trace as semconv

from pipeline.answer import Passage
from pipeline.answering.turns import FinishedTurn
from pipeline.messages import Message
from pipeline.redaction import redacted
from pipeline.steps.records import (
    CondenseStep,
    EmbedStep,
    FetchedSection,
    FuseStep,
    GenerateStep,
    HydeStep,
    MergeStep,
    MergeUpStep,
    PromptStep,
    RecallStep,
    RememberStep,
    RerankStep,
    SearchStep,
    SelectStep,
    Step,
    ThinkStep,
    ToolStep,
    step_of,
)

names = semconv.SpanAttributes
Document = semconv.DocumentAttributes
Embedding = semconv.EmbeddingAttributes
MessageNames = semconv.MessageAttributes
Reranker = semconv.RerankerAttributes
Kind = semconv.OpenInferenceSpanKindValues
Mime = semconv.OpenInferenceMimeTypeValues

LIMIT = 20_000
"""Bytes that a value may have: prompts are longer, and Phoenix keeps every one."""

LENGTHS = (100, 50, 20, 5, 1)
CHARACTERS = 200  # of a text in a value that is too long, for each item that its lists keep
MOST_DOCUMENTS = 50
MOST_CONTENT = 1000  # characters of a document that a step before the selection found

KINDS: Mapping[type[Step], Kind] = {
    HydeStep: Kind.LLM,
    EmbedStep: Kind.EMBEDDING,
    RecallStep: Kind.RETRIEVER,
    SearchStep: Kind.RETRIEVER,
    FuseStep: Kind.RETRIEVER,
    MergeStep: Kind.RETRIEVER,
    MergeUpStep: Kind.RETRIEVER,
    RerankStep: Kind.RERANKER,
    SelectStep: Kind.RETRIEVER,
    GenerateStep: Kind.LLM,
    ThinkStep: Kind.LLM,
    ToolStep: Kind.TOOL,
}
COMMON = tuple(field.name for field in fields(Step))
TURN = "chat"
NS_A_SECOND = 1_000_000_000
NS_A_MS = 1_000_000

Attributes = dict[str, str | bool | int | float]


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """One span, times in nanoseconds since 1970; `error` is empty where all went well."""

    name: str
    start: int
    end: int
    attributes: Attributes
    error: str = ""


def turn_spans(turn: FinishedTurn) -> tuple[SpanRecord, tuple[SpanRecord, ...]]:
    """The span of a turn, and those of its steps in order, all of them within it.

    What is remembered of it is a span once that is done: `remembered_span`.
    """
    steps = tuple(
        _of_step(step, turn) for step in turn.steps if not (isinstance(step, RememberStep) and step.pending)
    )
    start = _nanoseconds(turn.started_at)
    end = max([start + round(turn.seconds * NS_A_SECOND), *(step.end for step in steps)])
    return SpanRecord(TURN, start, end, turn_attributes(turn), _why_failed(turn)), steps


def _of_step(step: Step, turn: FinishedTurn) -> SpanRecord:
    start = max(_nanoseconds(turn.started_at), _nanoseconds(step.started_at))
    error = bounded(step.detail or step.name) if step.status == "failed" else ""
    return SpanRecord(step.name, start, start + round(step.ms * NS_A_MS), step_attributes(step, turn), error)


def remembered_span(step: RememberStep) -> SpanRecord:
    """The span of what was remembered after an answer: memories by id, never by text."""
    start = _nanoseconds(step.started_at)
    return SpanRecord(step.name, start, start + round(step.ms * NS_A_MS), _described(step, Kind.CHAIN))


def _why_failed(turn: FinishedTurn) -> str:
    """A failed turn's last notice says why it ended."""
    if turn.answer.status != "failed":
        return ""
    return bounded(turn.answer.notices[-1]) if turn.answer.notices else "failed"


def _nanoseconds(seconds: float) -> int:
    return round(seconds * NS_A_SECOND)


def turn_attributes(turn: FinishedTurn) -> Attributes:
    """The attributes of a whole turn."""
    answer = turn.answer
    known: Attributes = {
        names.OPENINFERENCE_SPAN_KIND: Kind.CHAIN.value,
        names.INPUT_VALUE: bounded(answer.question),
        names.INPUT_MIME_TYPE: Mime.TEXT.value,
        names.OUTPUT_VALUE: bounded(answer.text),
        names.OUTPUT_MIME_TYPE: Mime.TEXT.value,
        "athena.abstained": answer.abstained,
        "athena.mode": answer.mode,
        "athena.status": answer.status,
        "athena.verdict": answer.verdict or "",
        "athena.turn_id": answer.turn_id,
        names.METADATA: bounded_json(
            {
                "model": turn.model,
                "searched_for": answer.corrected or answer.condensed_question,
                "citations": len(answer.citations),
                "notices": answer.notices,
                "settings": answer.settings,
            }
        ),
    }
    return known | ({names.SESSION_ID: answer.conversation_id} if answer.conversation_id else {})


def step_attributes(step: Step, turn: FinishedTurn) -> Attributes:
    """The attributes of one step of a turn."""
    known = _described(step, kind_of(step, turn))
    return known if step.status == "skipped" else known | _of_kind(step, turn)


def _described(step: Step, kind: Kind) -> Attributes:
    """What every step says of itself."""
    known: Attributes = {names.OPENINFERENCE_SPAN_KIND: kind.value, "athena.status": step.status}
    if step.detail:
        known["athena.detail"] = bounded(step.detail)
    if given := inputs(step):
        known |= {names.INPUT_VALUE: bounded_json(given), names.INPUT_MIME_TYPE: Mime.JSON.value}
    if found := outputs(step):
        known |= {names.OUTPUT_VALUE: bounded_json(found), names.OUTPUT_MIME_TYPE: Mime.JSON.value}
    return known


def _of_kind(step: Step, turn: FinishedTurn) -> Attributes:
    match step:
        case CondenseStep() if kind_of(step, turn) is Kind.LLM:
            return _model(turn) | _messages(names.LLM_OUTPUT_MESSAGES, [_said(step.question)])
        case HydeStep():
            return _hypothesis(step, turn)
        case EmbedStep():
            text = f"{names.EMBEDDING_EMBEDDINGS}.0.{Embedding.EMBEDDING_TEXT}"
            return {
                names.EMBEDDING_MODEL_NAME: step.model,
                text: bounded(turn.answer.corrected or turn.answer.condensed_question),
            }
        case RecallStep():
            found = (*step.recalled, *step.turns)
            return _found(((it.memory_id, it.score, {"relevance": it.relevance}) for it in found), turn)
        case SearchStep():
            return _searched(step, turn)
        case FuseStep():
            return _found(((item.id, item.score, item.contributions) for item in step.ranking), turn)
        case MergeStep():
            return _found(((item.section_id, None, _about(item)) for item in step.sections), turn)
        case RerankStep():
            return _reranking(step, turn)
        case SelectStep():
            return _documents(names.RETRIEVAL_DOCUMENTS, turn.passages)
        case GenerateStep():
            return _generation(step, turn)
        case ThinkStep():
            return _model(turn) | _counts(step.prompt_tokens, step.answer_tokens)
        case ToolStep():
            arguments = bounded_json(step.arguments)
            return {names.TOOL_NAME: bounded(step.tool), names.TOOL_PARAMETERS: arguments}
    return {}


def kind_of(step: Step, turn: FinishedTurn) -> Kind:
    """OpenInference's kind of span; a step that was skipped is of none, and neither are most of ours."""
    if step.status == "skipped":
        return Kind.CHAIN
    if isinstance(step, CondenseStep):  # a model is asked where there is one, and something to condense
        return Kind.LLM if turn.model and step.messages else Kind.CHAIN
    return KINDS.get(type(step), Kind.CHAIN)


def inputs(step: Step) -> Mapping[str, object]:
    """What was known before the step, by name."""
    return {name: value for name, value in asdict(step).items() if name in step.INPUTS}


def outputs(step: Step) -> Mapping[str, object]:
    """What came out of the step, by name; a field that it left as it was is left out."""
    untouched = asdict(type(step)())
    return {
        name: value
        for name, value in asdict(step).items()
        if name not in (*step.INPUTS, *COMMON) and value != untouched[name]
    }


# -- what kinds of spans have of their own -----------------------------------------------------------------


def _model(turn: FinishedTurn) -> Attributes:
    """The model that was asked, where it is, and with what."""
    if not turn.model:
        return {}
    provider, slash, _ = turn.model.partition("/")
    return {
        names.LLM_MODEL_NAME: turn.model,
        **({names.LLM_PROVIDER: provider} if slash else {}),
        **({names.LLM_INVOCATION_PARAMETERS: bounded_json(turn.invocation)} if turn.invocation else {}),
    }


def _counts(prompt: int | None, answer: int | None) -> Attributes:
    counts = {names.LLM_TOKEN_COUNT_PROMPT: prompt, names.LLM_TOKEN_COUNT_COMPLETION: answer}
    known: Attributes = {name: count for name, count in counts.items() if count is not None}
    return known | ({names.LLM_TOKEN_COUNT_TOTAL: (prompt or 0) + (answer or 0)} if known else {})


def _generation(step: GenerateStep, turn: FinishedTurn) -> Attributes:
    known = _model(turn) | _counts(step.prompt_tokens, step.answer_tokens)
    if step.finish_reason:
        known[names.LLM_FINISH_REASON] = step.finish_reason
    return (
        known
        | _messages(names.LLM_INPUT_MESSAGES, step_of(turn.steps, PromptStep).messages)
        | _messages(names.LLM_OUTPUT_MESSAGES, [_said(turn.generated)])
    )


def _hypothesis(step: HydeStep, turn: FinishedTurn) -> Attributes:
    return (
        _model(turn)
        | _counts(step.prompt_tokens, step.answer_tokens)
        | _messages(names.LLM_INPUT_MESSAGES, [Message("user", step.prompt)])
        | _messages(names.LLM_OUTPUT_MESSAGES, [_said(step.hypothesis)])
    )


def _said(text: str) -> Message:
    return Message("assistant", text)


def _messages(prefix: str, messages: Iterable[Message]) -> Attributes:
    """Messages with a role and a text; those without a text are left out."""
    known: Attributes = {}
    for number, message in enumerate(item for item in messages if item.text):
        known[f"{prefix}.{number}.{MessageNames.MESSAGE_ROLE}"] = message.role
        known[f"{prefix}.{number}.{MessageNames.MESSAGE_CONTENT}"] = bounded(message.text)
    return known


def _reranking(step: RerankStep, turn: FinishedTurn) -> Attributes:
    known: Attributes = {
        Reranker.RERANKER_QUERY: bounded(turn.answer.corrected or turn.answer.condensed_question),
        Reranker.RERANKER_TOP_K: step.top_n,
    }
    if step.model:
        known[Reranker.RERANKER_MODEL_NAME] = step.model
    for number, section_id in enumerate(step.before):
        known[f"{Reranker.RERANKER_INPUT_DOCUMENTS}.{number}.{Document.DOCUMENT_ID}"] = section_id
    for number, item in enumerate(step.after):
        at = f"{Reranker.RERANKER_OUTPUT_DOCUMENTS}.{number}"
        known |= {
            f"{at}.{Document.DOCUMENT_ID}": item.section_id,
            f"{at}.{Document.DOCUMENT_SCORE}": item.score,
        }
    return known


def _searched(step: SearchStep, turn: FinishedTurn) -> Attributes:
    """The best of all four lists, in turns: each list's first, then each one's second."""
    lists = [[(name, place, hit) for place, hit in enumerate(hits)] for name, hits in step.lists.items()]
    in_turns = (item for items in zip_longest(*lists) for item in items if item)
    return _found(
        (
            (hit.node_id, hit.score, {"list": name, "rank": place + 1, "section": hit.section_id})
            for name, place, hit in in_turns
        ),
        turn,
    )


def _about(section: FetchedSection) -> Mapping[str, object]:
    return asdict(section)


def _found(items: Iterable[tuple[str, float | None, Mapping[str, object]]], turn: FinishedTurn) -> Attributes:
    """What a step found as documents, best first; with a text where it became a passage of the turn."""
    texts = {passage.section.node_id: passage.text for passage in turn.passages}
    known: Attributes = {}
    for number, (node_id, score, about) in enumerate(islice(items, MOST_DOCUMENTS)):
        at = f"{names.RETRIEVAL_DOCUMENTS}.{number}"
        known |= {
            f"{at}.{Document.DOCUMENT_ID}": node_id,
            f"{at}.{Document.DOCUMENT_METADATA}": bounded_json(about),
        }
        if score is not None:
            known[f"{at}.{Document.DOCUMENT_SCORE}"] = float(score)
        if text := texts.get(str(about.get("section", node_id))):
            known[f"{at}.{Document.DOCUMENT_CONTENT}"] = bounded(text)[:MOST_CONTENT]
    return known


def _documents(prefix: str, passages: Sequence[Passage]) -> Attributes:
    """Passages as documents, best first: whole sections, or the sentences that were found of one."""
    known: Attributes = {}
    for number, passage in enumerate(passages[:MOST_DOCUMENTS]):
        section, at = passage.section, f"{prefix}.{number}"
        about = {
            "source": section.metadata.get("source", ""),
            "heading_path": section.metadata.get("heading_path", []),
            "merged": passage.merged,
            "rerank_score": passage.rerank_score,
            "members": list(passage.members),
        }
        known |= {
            f"{at}.{Document.DOCUMENT_ID}": section.node_id,
            f"{at}.{Document.DOCUMENT_CONTENT}": bounded(passage.text),
            f"{at}.{Document.DOCUMENT_SCORE}": float(passage.score),
            f"{at}.{Document.DOCUMENT_METADATA}": bounded_json(about),
        }
    return known


# -- values of a size that may be sent ---------------------------------------------------------------------


def bounded(text: str) -> str:
    """The text as UTF-8 can have it, without secrets, cut at `LIMIT` bytes, which is said at its end."""
    data = redacted(text).encode("utf-8", errors="replace")
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
    return redacted(json.dumps(value, ensure_ascii=False, default=str, skipkeys=True))


def _size(text: str) -> int:
    return len(text.encode("utf-8", errors="replace"))


def _shortened(value: object, length: int, *, top: bool = False) -> object:
    """Lists and mappings with their first items only (the mapping at the top keeps all), texts shorter."""
    if isinstance(value, str):
        value, most = redacted(value), length * CHARACTERS
        return value if len(value) <= most else f"{value[:most]} … ({len(value):,} characters)"
    if isinstance(value, Mapping):
        kept = list(value.items())[: None if top else length]
        more = {"…": f"{len(value) - len(kept):,} more"} if len(kept) < len(value) else {}
        return {key: _shortened(item, length) for key, item in kept} | more
    if isinstance(value, list | tuple):
        items = [_shortened(item, max(length, 3)) for item in value[:length]]
        return [*items, f"… {len(value) - length:,} more"] if len(value) > length else items
    return value
