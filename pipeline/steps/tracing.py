"""Export of finished turns as OpenTelemetry spans with OpenInference's attributes, for example to Phoenix."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence

from openinference.semconv.resource import ResourceAttributes
from openinference.semconv.trace import OpenInferenceSpanKindValues as Kind
from openinference.semconv.trace import SpanAttributes
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, Status, StatusCode, set_span_in_context

from pipeline.answer import Answer, Passage
from pipeline.errors import ConfigurationError
from pipeline.redaction import redacted, without_password
from pipeline.steps.records import Step

PATH = "/v1/traces"
NS = 1_000_000_000  # nanoseconds per second
LIMIT = 20_000  # most characters of one attribute
TIMEOUT_S = 3.0  # of one export; a server that does not answer delays the process's end by at most this
KINDS = {
    **dict.fromkeys(("condense", "generate"), Kind.LLM),
    **dict.fromkeys(("recall", "search", "select"), Kind.RETRIEVER),
    "embed": Kind.EMBEDDING,
    "rerank": Kind.RERANKER,
    "tool": Kind.TOOL,
}
Attributes = dict[str, str | int | float]


class TurnTracer:
    """Exports finished turns in the background to a server that accepts OpenTelemetry's OTLP over HTTP.

    OpenTelemetry's environment variables set headers, certificates and compression; it logs failed exports.
    Raises `ConfigurationError` if `url` is not an http or https URL.
    """

    def __init__(self, url: str) -> None:
        if not re.fullmatch(r"https?://[^\s/]+\S*", url):
            problem = f"ATHENA_PHOENIX_URL cannot be '{without_password(url)}': it is no http or https URL."
            raise ConfigurationError(problem, "Write it like http://127.0.0.1:6006, or leave it empty.")
        address = url.rstrip("/").removesuffix(PATH)
        names = {"service.name": "athena", ResourceAttributes.PROJECT_NAME: "athena"}
        exporter = OTLPSpanExporter(f"{address}{PATH}", timeout=TIMEOUT_S)
        self._provider = TracerProvider(resource=Resource.create(names))
        self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=1000))

    def record(self, answer: Answer, _: Sequence[Passage]) -> None:
        """Queue a span for a turn that has just ended, with a child span for each of its steps."""
        tracer, start = self._provider.get_tracer("athena"), time.time() - answer.seconds
        root = tracer.start_span("chat", Context(), start_time=round(start * NS), attributes=_of_turn(answer))
        below = set_span_in_context(root, Context())
        for step in answer.steps:
            at, attributes = max(start, step.started_at), _of_step(step)
            span = tracer.start_span(step.name, below, start_time=round(at * NS), attributes=attributes)
            _end(span, step.status, step.detail, at=at + step.ms / 1000)
        _end(root, answer.status, " ".join(answer.notices[-1:]), at=start + answer.seconds)

    def close(self) -> None:
        """Export the queued spans, for about `TIMEOUT_S` at most, and stop."""
        self._provider.shutdown()


def _end(span: Span, status: str, why: str, *, at: float) -> None:
    span.set_status(Status(StatusCode.ERROR, redacted(why)) if status == "failed" else Status(StatusCode.OK))
    span.end(round(at * NS))


def _of_turn(answer: Answer) -> Attributes:
    return {
        SpanAttributes.OPENINFERENCE_SPAN_KIND: Kind.CHAIN.value,
        SpanAttributes.INPUT_VALUE: _cut(answer.question),
        SpanAttributes.OUTPUT_VALUE: _cut(answer.text),
        SpanAttributes.SESSION_ID: answer.conversation_id,
    }


def _of_step(step: Step) -> Attributes:
    kind = KINDS.get(step.name, Kind.CHAIN)
    found: Attributes = {
        SpanAttributes.OPENINFERENCE_SPAN_KIND: kind.value,
        SpanAttributes.OUTPUT_VALUE: _cut(json.dumps(step.data, ensure_ascii=False, default=str)),
        SpanAttributes.OUTPUT_MIME_TYPE: "application/json",
    }
    if step.name == "generate":
        found[SpanAttributes.LLM_MODEL_NAME] = step.data.get("model", "")
        found[SpanAttributes.LLM_TOKEN_COUNT_PROMPT] = step.data.get("prompt_tokens") or 0
        found[SpanAttributes.LLM_TOKEN_COUNT_COMPLETION] = step.data.get("answer_tokens") or 0
    return found


def _cut(text: str) -> str:
    """Return the first `LIMIT` characters of the text, with secrets redacted."""
    return redacted(text).encode("utf-8", "replace").decode()[:LIMIT]
