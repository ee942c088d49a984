"""Finished turns, sent to Phoenix as OpenTelemetry traces: in the background, and never in an answer's way.

Everything here is the tracer's own: no global provider, so that other instruments of the process see
nothing of it. The exporter takes headers (Phoenix's key), certificates and compression from
OpenTelemetry's own variables, `OTEL_EXPORTER_OTLP_HEADERS` and the like. Needs the extra `[tracing]`.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

import httpx
from openinference.semconv.resource import ResourceAttributes
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from opentelemetry.util.re import parse_env_headers

from pipeline.answering.turns import FinishedTurn
from pipeline.errors import ConfigurationError
from pipeline.models.failures import Misbehaviour, quoted
from pipeline.models.wire import client_options, within
from pipeline.redaction import redacted, without_password
from pipeline.steps.openinference import SpanRecord, remembered_span, turn_spans
from pipeline.steps.records import RememberStep

logger = logging.getLogger(__name__)

TRACES = "/v1/traces"
ANNOTATIONS = "/v1/trace_annotations"
PAGE = "/redirects/traces/"  # of Phoenix: leads to the trace in its project, whose id only Phoenix knows
THUMBS = {1: ("up", 1.0), -1: ("down", 0.0), None: ("taken back", None)}
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
        self._annotations = f"{_address(url)}{ANNOTATIONS}"
        self._page = without_password(f"{_address(url)}{PAGE}")
        self._waiting: list[Mapping[str, object]] = []  # annotations, for the one thread that sends them
        self._annotating: threading.Thread | None = None
        self._lock = threading.Lock()
        self._ids = _TurnIds()
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            id_generator=self._ids,
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
        with self._ids.of(turn.answer.turn_id):
            span = self._start(root, Context())
        below = set_span_in_context(span, Context())
        for step in steps:
            _end(self._start(step, below), step)
        _end(span, root)

    def remembered(self, turn_id: str, step: RememberStep) -> None:
        """Queue the span of what was remembered of a turn, as soon as that is done, in the turn's trace."""
        record = remembered_span(step)
        root = SpanContext(trace_id_of(turn_id), _root_id_of(turn_id), False, TraceFlags(TraceFlags.SAMPLED))
        _end(self._start(record, set_span_in_context(NonRecordingSpan(root), Context())), record)

    def link(self, turn_id: str) -> str:
        """Where Phoenix shows the trace of a turn."""
        return f"{self._page}{trace_id_of(turn_id):032x}"

    def _start(self, record: SpanRecord, context: Context) -> Span:
        return self._tracer.start_span(
            record.name, context=context, attributes=record.attributes, start_time=record.start
        )

    def annotate(self, turn_id: str, value: int | None, word: str) -> None:
        """Say in the trace of a turn what its reader thought: 1, -1, or None where that was taken back.

        In the background; a Phoenix that does not take it is logged.
        """
        label, score = THUMBS[value]
        result = {"label": label, "score": score, "explanation": redacted(word)}
        self._send([_annotation(turn_id, "thumb", result, by="HUMAN")])

    def score(self, turn_id: str, scores: Mapping[str, float], *, why: str = "") -> None:
        """Say in the trace of a turn what an evaluation found by rule, 0..1 by name; as `annotate` does."""
        self._send(
            [
                _annotation(turn_id, name, {"score": value, "explanation": redacted(why)}, by="CODE")
                for name, value in scores.items()
            ]
        )

    def _send(self, annotations: Sequence[Mapping[str, object]]) -> None:
        with self._lock:
            self._waiting += annotations
            if self._annotating is None:
                self._annotating = threading.Thread(target=self._annotate, name="annotate", daemon=True)
                self._annotating.start()

    def _annotate(self) -> None:
        """Send what waits, all at once, until nothing does: a slow Phoenix has one request at a time."""
        while True:
            with self._lock:
                waiting, self._waiting = self._waiting, []
                if not waiting:
                    self._annotating = None
                    return
            self._provider.force_flush(int(TIMEOUT_S * 1000))  # annotations belong to traces that are there
            self._post_annotations(waiting)

    def _post_annotations(self, annotations: Sequence[Mapping[str, object]]) -> None:
        body = json.dumps({"data": annotations}).encode()
        try:
            answer = _post(self._annotations, body, {"content-type": "application/json"})
        except (httpx.HTTPError, Misbehaviour) as error:
            logger.warning("A rating does not reach Phoenix: %s", quoted(str(error)))
            return
        if not answer.is_success:
            logger.warning("Phoenix does not accept a rating: HTTP %s", answer.status_code)

    def close(self) -> None:
        """Send what is queued, for a few seconds at most, and stop; safe to call again."""
        atexit.unregister(self.close)
        if annotating := self._annotating:
            annotating.join(TIMEOUT_S)
        self._exporter.closing = True
        self._provider.shutdown()


class _TurnIds(RandomIdGenerator):
    """Ids of a turn's trace and root that anybody finds again who knows the turn; steps' ids are random."""

    def __init__(self) -> None:
        self._turn = threading.local()

    @contextlib.contextmanager
    def of(self, turn_id: str) -> Iterator[None]:
        """A root that begins in the block is that of this turn; "" = of one that is not stored."""
        self._turn.id = turn_id
        yield
        self._turn.id = ""

    def generate_trace_id(self) -> int:
        turn_id = getattr(self._turn, "id", "")
        return trace_id_of(turn_id) if turn_id else super().generate_trace_id()

    def generate_span_id(self) -> int:
        turn_id = getattr(self._turn, "id", "")
        return _root_id_of(turn_id) if turn_id else super().generate_span_id()


def trace_id_of(turn_id: str) -> int:
    """The id of a turn's trace, 128 bits."""
    return int.from_bytes(hashlib.sha256(turn_id.encode()).digest()[:16], "big")


def _root_id_of(turn_id: str) -> int:
    """The id of the span that is the turn, 64 bits."""
    return int.from_bytes(hashlib.sha256(turn_id.encode()).digest()[16:24], "big")


def _annotation(turn_id: str, name: str, result: Mapping[str, object], *, by: str) -> dict[str, object]:
    return {
        "trace_id": f"{trace_id_of(turn_id):032x}",
        "name": name,
        "annotator_kind": by,
        "result": result,
        "identifier": turn_id,  # the next of the same name and turn takes this one's place
    }


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
                "Traces do not reach Phoenix at %s; answers continue without them. `athena doctor` says why.",
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
    except ValueError:  # a port that is not a number
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
        "it. Answers continue without traces.",
    )
