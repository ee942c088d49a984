"""Connections on which no request comes are closed, as one whose body does not come is refused."""

from __future__ import annotations

import asyncio

from uvicorn.config import HTTP_PROTOCOLS
from uvicorn.protocols.http.h11_impl import H11Protocol

SERVED = "auto"  # what uvicorn serves by where nobody names a protocol: also Streamlit names none


class PatientProtocol(H11Protocol):
    """Waits so long for the head of a request, from its first byte on or from the beginning."""

    patience_s = 20.0
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Go on waiting where this was no whole head."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering or self.transport.get_protocol() is not self:  # which a WebSocket has then
            self._stop_waiting()
        elif self._waiting is None:
            self._waiting = self.loop.call_later(self.patience_s, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


def close_silent(patience_s: float) -> None:
    """Close connections that are silent for so long, in whatever is served from now on."""
    PatientProtocol.patience_s = patience_s
    HTTP_PROTOCOLS[SERVED] = f"{__name__}:{PatientProtocol.__name__}"
