"""Finished turns, exported as OpenTelemetry spans with OpenInference's attributes, for example to Phoenix."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from uuid import UUID

import httpx
from openinference.semconv.resource import ResourceAttributes
from openinference.semconv.trace import DocumentAttributes, OpenInferenceSpanKindValues, SpanAttributes
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Status, StatusCode, set_span_in_context
from opentelemetry.util.re import parse_env_headers

from pipeline.answering.turns import FinishedTurn
from pipeline.errors import ConfigurationError
from pipeline.redaction import redacted, without_password
from pipeline.steps.records import Step

logger = logging.getLogger(__name__)

LIMIT = 20_000  # characters of one attribute
TIMEOUT_S = 3.0  # of one export: the longest that a dead server delays the end of a process
KINDS = {
    **dict.fromkeys(("condense", "hyde", "generate", "think"), OpenInferenceSpanKindValues.LLM),
    **dict.fromkeys(("recall", "search", "select"), OpenInferenceSpanKindValues.RETRIEVER),
    "embed": OpenInferenceSpanKindValues.EMBEDDING,
    "rerank": OpenInferenceSpanKindValues.RERANKER,
    "tool": OpenInferenceSpanKindValues.TOOL,
}
Attributes = dict[str, str | int | float]


class TurnTracer:
    """Exports finished turns to `url` in the background; a server that does not answer raises nothing.

    Raises `ConfigurationError` for a URL that is not a web server's. `OTEL_EXPORTER_OTLP_HEADERS` has keys.
    """

    def __init__(self, url: str) -> None:
        self._url = _server(url)
        self._lock, self._ids = threading.Lock(), _TurnIds()
        names = {"service.name": "athena", ResourceAttributes.PROJECT_NAME: "athena"}
        self._provider = TracerProvider(resource=Resource.create(names), id_generator=self._ids)
        exporter = _Exporter(f"{self._url}/v1/traces", timeout=TIMEOUT_S)
        self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=1000))

    def record(self, turn: FinishedTurn) -> None:
        """Queue a span for the turn, and below it one for each of its steps."""
        tracer, start = self._provider.get_tracer("athena"), turn.started_at
        with self._lock:
            self._ids.turn_id = turn.answer.turn_id
            root = tracer.start_span("chat", Context(), start_time=_ns(start), attributes=_of_turn(turn))
            self._ids.turn_id = ""
        for step in turn.steps:
            at, within = max(start, step.started_at), set_span_in_context(root, Context())
            span = tracer.start_span(step.name, within, start_time=_ns(at), attributes=_of_step(step, turn))
            span.set_status(_status(step.status, step.detail))
            span.end(_ns(at + step.ms / 1000))
        root.set_status(_status(turn.answer.status, " ".join(turn.answer.notices[-1:])))
        root.end(_ns(start + turn.seconds))

    def link(self, turn_id: str) -> str:
        """Return the address where Phoenix shows a turn."""
        return f"{without_password(self._url)}/redirects/traces/{UUID(turn_id).hex}"

    def close(self) -> None:
        """Export what is queued, for `TIMEOUT_S` at most, and stop."""
        self._provider.shutdown()


class _TurnIds(RandomIdGenerator):
    """Gives the trace of a stored turn the turn's own id, so that a link to it needs no look-up."""

    turn_id = ""

    def generate_trace_id(self) -> int:
        return UUID(self.turn_id).int if self.turn_id else super().generate_trace_id()


class _Exporter(trace_exporter.OTLPSpanExporter):
    """Logs a server that does not answer once, until it answers again."""

    failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        failing = result is SpanExportResult.FAILURE
        if failing and not self.failing:
            logger.warning("Traces do not reach ATHENA_PHOENIX_URL. Start Phoenix, or empty the setting.")
        self.failing = failing
        return result


def _ns(seconds: float) -> int:
    return round(seconds * 1_000_000_000)


def _status(status: str, why: str) -> Status:
    return Status(StatusCode.ERROR, redacted(why)) if status == "failed" else Status(StatusCode.OK)


def _of_turn(turn: FinishedTurn) -> Attributes:
    answer = turn.answer
    about = {"settings": answer.settings, "verdict": answer.verdict, "notices": answer.notices}
    return {
        SpanAttributes.OPENINFERENCE_SPAN_KIND: OpenInferenceSpanKindValues.CHAIN.value,
        SpanAttributes.INPUT_VALUE: _cut(answer.question),
        SpanAttributes.OUTPUT_VALUE: _cut(answer.text),
        SpanAttributes.SESSION_ID: answer.conversation_id,
        SpanAttributes.METADATA: _json(about),
    }


def _of_step(step: Step, turn: FinishedTurn) -> Attributes:
    kind = KINDS.get(step.name, OpenInferenceSpanKindValues.CHAIN)
    found: Attributes = {
        SpanAttributes.OPENINFERENCE_SPAN_KIND: kind.value,
        SpanAttributes.OUTPUT_VALUE: _json(step.data),
        SpanAttributes.OUTPUT_MIME_TYPE: "application/json",
    }
    if kind is OpenInferenceSpanKindValues.LLM:
        found[SpanAttributes.LLM_MODEL_NAME] = turn.model
        found[SpanAttributes.LLM_TOKEN_COUNT_PROMPT] = step.data.get("prompt_tokens") or 0
        found[SpanAttributes.LLM_TOKEN_COUNT_COMPLETION] = step.data.get("answer_tokens") or 0
    if step.name == "select":
        for number, passage in enumerate(turn.passages):
            at = f"{SpanAttributes.RETRIEVAL_DOCUMENTS}.{number}"
            found[f"{at}.{DocumentAttributes.DOCUMENT_ID}"] = passage.section.node_id
            found[f"{at}.{DocumentAttributes.DOCUMENT_CONTENT}"] = _cut(passage.text)
            found[f"{at}.{DocumentAttributes.DOCUMENT_SCORE}"] = float(passage.score)
    return found


def _json(value: Mapping[str, object]) -> str:
    return _cut(json.dumps(value, ensure_ascii=False, default=str))


def _cut(text: str) -> str:
    """Return the text without secrets, at most `LIMIT` characters of it."""
    return redacted(text).encode("utf-8", "replace").decode()[:LIMIT]


def check_tracing(url: str) -> str:
    """Return that the server takes traces; raises `ConfigurationError` where it does not."""
    keys = parse_env_headers(os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", ""), liberal=True)
    headers = {**keys, "content-type": "application/x-protobuf"}
    try:
        httpx.post(f"{_server(url)}/v1/traces", headers=headers, timeout=TIMEOUT_S).raise_for_status()
    except httpx.HTTPError as error:
        why = redacted(str(error))
        if isinstance(error, httpx.HTTPStatusError):  # its message has the URL with a password
            why = f"HTTP {error.response.status_code}"
        raise ConfigurationError(
            f"No traces are taken at {without_password(url)}: {why}.",
            "Start it (`docker compose --profile phoenix up -d`), or empty ATHENA_PHOENIX_URL.",
        ) from error
    return f"{without_password(_server(url))} takes traces"


def _server(url: str) -> str:
    """Return the address of the server without a slash at its end."""
    try:
        parts = httpx.URL(url.strip())
    except httpx.InvalidURL:
        parts = httpx.URL()
    if parts.scheme not in ("http", "https") or not parts.host:
        raise ConfigurationError(
            f"ATHENA_PHOENIX_URL cannot be '{without_password(url)}': it is not the address of a web server.",
            "Write it like http://127.0.0.1:6006, or leave it empty for no traces.",
        )
    return url.strip().rstrip("/").removesuffix("/v1/traces")
