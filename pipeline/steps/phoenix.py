"""Finished turns, sent to Phoenix as OpenTelemetry traces: in the background, and never in an answer's way.

Everything here is the tracer's own: no global provider, so that other instruments of the process see
nothing of it. The exporter takes headers (Phoenix's key), certificates and compression from
OpenTelemetry's own variables, `OTEL_EXPORTER_OTLP_HEADERS` and the like. Needs the extra `[tracing]`.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Sequence
from urllib.parse import urlsplit

import httpx
from openinference.semconv.resource import ResourceAttributes
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span, Status, StatusCode, set_span_in_context
from opentelemetry.util.re import parse_env_headers

from pipeline.answering.turn import FinishedTurn
from pipeline.errors import ConfigurationError
from pipeline.models.connections import client_options, within
from pipeline.models.failures import Misbehaviour, quoted
from pipeline.redaction import without_password
from pipeline.steps.spans import SpanRecord, turn_spans

logger = logging.getLogger(__name__)

TRACES = "/v1/traces"
PROJECT = "athena"
TIMEOUT_S = 3.0  # of one batch with its retries: what a dead Phoenix can hold up at the end of a process
DELAY_MS = 1000  # how soon a turn is to be seen
MOST_ATTRIBUTES = 1000  # OpenTelemetry's own 128 are too few for the messages and documents of one span
HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")


class PhoenixTracer:
    """Sends finished turns to the Phoenix at a URL; safe to use from several threads.

    Raises `ConfigurationError` where the URL cannot be one. A Phoenix that does not answer raises nothing.
    """

    def __init__(self, url: str) -> None:
        self._exporter = _Exporter(url)
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource.create({"service.name": "athena", ResourceAttributes.PROJECT_NAME: PROJECT}),
            shutdown_on_exit=False,
            span_limits=SpanLimits(max_span_attributes=MOST_ATTRIBUTES),
        )
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter, schedule_delay_millis=DELAY_MS))
        self._tracer = self._provider.get_tracer("athena")
        atexit.register(self.close)

    def record(self, turn: FinishedTurn) -> None:
        """Queue a turn's spans: milliseconds, whether Phoenix answers or not."""
        root, steps = turn_spans(turn)
        span = self._start(root, Context())
        below = set_span_in_context(span, Context())
        for step in steps:
            _end(self._start(step, below), step)
        _end(span, root)

    def _start(self, record: SpanRecord, context: Context) -> Span:
        return self._tracer.start_span(
            record.name, context=context, attributes=record.attributes, start_time=record.start
        )

    def close(self) -> None:
        """Send what is queued, for a few seconds at most, and stop; safe to call again."""
        atexit.unregister(self.close)
        self._exporter.closing = True
        self._provider.shutdown()


def check_phoenix(url: str) -> str:
    """That Phoenix takes traces, in words; raises `ConfigurationError` with what to do where it does not."""
    address = _address(url)
    try:
        answer = _post(f"{address}{TRACES}", b"", {"content-type": "application/x-protobuf"})
    except (httpx.HTTPError, Misbehaviour) as error:
        raise _no_phoenix(url, quoted(str(error)) or type(error).__name__) from error
    if not answer.is_success:
        raise _no_phoenix(url, quoted(f"HTTP {answer.status_code} {answer.reason_phrase}"))
    version = quoted(answer.headers.get("x-phoenix-server-version", ""))[:20]
    return f"Phoenix {version}".strip() + f" at {without_password(address)} takes traces"


def _post(url: str, content: bytes, headers: dict[str, str]) -> httpx.Response:
    """Send something to Phoenix with the user's own headers; raises httpx's errors and `Misbehaviour`."""
    given = dict(headers)
    for name in HEADERS:
        given |= parse_env_headers(os.environ.get(name, ""), liberal=True)
    options = client_options(connect_timeout_s=TIMEOUT_S, read_timeout_s=TIMEOUT_S, protocol="any")
    with within(TIMEOUT_S), httpx.Client(**options) as client:
        return client.post(url, content=content, headers=given)


class _Exporter(SpanExporter):
    """OpenTelemetry's exporter; a Phoenix that does not answer is logged once, until it answers again."""

    def __init__(self, url: str) -> None:
        self._shown = without_password(_address(url))
        self._sender = trace_exporter.OTLPSpanExporter(f"{_address(url)}{TRACES}", timeout=TIMEOUT_S)
        self._failing = False
        self._sending: int | None = None  # the thread
        self.closing = False
        logging.getLogger(trace_exporter.__name__).addFilter(self._is_anothers)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.closing and self._failing:
            return SpanExportResult.FAILURE  # the process shall end
        self._sending = threading.get_ident()
        try:
            result = self._sender.export(spans)
        finally:
            self._sending = None
        self._note(result is SpanExportResult.FAILURE)
        return result

    def _note(self, failing: bool) -> None:
        if failing and not self._failing:
            logger.warning(
                "Traces do not reach Phoenix at %s; answers go on without. `athena doctor` says why.",
                self._shown,
            )
        elif self._failing and not failing:
            logger.info("Phoenix at %s takes traces again.", self._shown)
        self._failing = failing

    def _is_anothers(self, record: logging.LogRecord) -> bool:
        """False for what OpenTelemetry's exporter logs of our batches: several lines each."""
        ours = self._sending is not None and record.thread == self._sending
        if ours:
            logger.debug("%s", record.getMessage())
        return not ours

    def shutdown(self) -> None:
        logging.getLogger(trace_exporter.__name__).removeFilter(self._is_anothers)
        self._sender.shutdown()  # type: ignore[no-untyped-call]


def _end(span: Span, record: SpanRecord) -> None:
    span.set_status(Status(StatusCode.ERROR, record.error) if record.error else Status(StatusCode.OK))
    span.end(record.end)


def _address(url: str) -> str:
    """Where Phoenix answers, without a slash at its end and without the path of traces."""
    try:
        parts = urlsplit(url.strip())
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or True)
    except ValueError:  # a port that is none
        known = False
    if not known:
        raise ConfigurationError(
            f"ATHENA_PHOENIX_URL cannot be '{without_password(url)}': it is not the address of a web server.",
            "Write it like http://127.0.0.1:6006, or leave it empty for no traces.",
        )
    return url.strip().rstrip("/").removesuffix(TRACES)


def _no_phoenix(url: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"ATHENA_PHOENIX_URL is {without_password(_address(url))}, but no Phoenix takes traces there: {why}.",
        "Start it (`docker compose --profile phoenix up -d`, or `phoenix serve`), mend the setting, or empty "
        "it. Answers go on without traces.",
    )
