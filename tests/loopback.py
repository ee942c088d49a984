"""Web servers on the loopback, each for as long as a block lasts."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class LoopbackServer:
    """Answers by a handler on a free port, and logs nothing; no request that hangs holds up its end."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        quiet = type("Quiet", (handler,), {"log_message": lambda *_: None})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), quiet)
        self._http.daemon_threads, self._http.block_on_close = True, False
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
