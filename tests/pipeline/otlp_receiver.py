"""A receiver of OpenTelemetry traces on the loopback: what Phoenix would get, over real HTTP."""

from __future__ import annotations

from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.loopback import LoopbackServer


@dataclass(frozen=True, slots=True)
class ReceivedSpan:
    """One span, decoded; times in nanoseconds."""

    name: str
    span_id: str
    parent_id: str  # "" for a root
    start: int
    end: int
    attributes: dict[str, Any]
    status: str  # "UNSET", "OK", "ERROR"
    message: str

    @property
    def kind(self) -> str:
        return str(self.attributes["openinference.span.kind"])


@dataclass
class Received:
    """All that has arrived."""

    spans: list[ReceivedSpan] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    @property
    def roots(self) -> list[ReceivedSpan]:
        return [span for span in self.spans if not span.parent_id]

    @property
    def root(self) -> ReceivedSpan:
        (found,) = self.roots
        return found

    def steps(self) -> dict[str, ReceivedSpan]:
        """The spans below the root, by name, in the order of their beginning."""
        below = [span for span in self.spans if span.parent_id == self.root.span_id]
        return {span.name: span for span in sorted(below, key=lambda span: span.start)}


class OtlpReceiver(LoopbackServer):
    """Serves `/v1/traces` until the block ends."""

    def __init__(self) -> None:
        self.received = Received()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver._take(self)

        super().__init__(Handler)

    def _take(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["content-length"]))
        self.received.paths.append(request.path)
        self._decode(body)
        request.send_response(200)
        request.send_header("content-length", "0")
        request.end_headers()

    def _decode(self, body: bytes) -> None:
        message = ExportTraceServiceRequest()
        message.ParseFromString(body)
        for group in message.resource_spans:
            self.received.resources.append(_attributes(group.resource.attributes))
            for scope in group.scope_spans:
                self.received.spans += [_span(span) for span in scope.spans]


def _span(span: Any) -> ReceivedSpan:
    return ReceivedSpan(
        span.name,
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.start_time_unix_nano,
        span.end_time_unix_nano,
        _attributes(span.attributes),
        ("UNSET", "OK", "ERROR")[span.status.code],
        span.status.message,
    )


def _attributes(items: Any) -> dict[str, Any]:
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in items}
