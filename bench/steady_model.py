"""A language model that streams the same words at a fixed rate, by Ollama's protocol: a load, not a mind.

`python -m bench.steady_model --words-per-second 30` prints its URL and serves until killed.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NAME = "steady:latest"
WORDS = (
    "The documentation answers this in the section that bears its name [1]. Set the option to the value "
    "that your version lists, then restart the service and read its log [2]. Where the value is "
    "missing, the default applies, and nothing is reported [1]. Two of the settings exclude each other: "
    "the later one in the file wins [3]. Before you change anything, keep a copy of the old file, "
    "because there is no way back [2]. The command shows what is in use at the moment, with the place "
    "that each value comes from [4]. An error here most often means that the name was written with a "
    "capital letter [3]. If the result is not the expected one, compare it with the example at the end "
    "of the page [1]. Larger installations should raise the limit step by step and watch the memory "
    "meanwhile [4]. "
)
ANSWER_WORDS = 90
SPREAD = 0.5
TAGS = {"models": [{"name": NAME, "model": NAME}]}


class SteadyModel(ThreadingHTTPServer):
    """Listens on loopback; each request is a thread that mostly sleeps."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        *,
        words_per_second: float,
        answer_words: int = ANSWER_WORDS,
        spread: float = 0.0,
        port: int = 0,
    ) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.pause_s = 1 / words_per_second
        self._answer_words = answer_words
        self._spread = spread

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.server_port}"

    def length_for(self, prompt: bytes) -> int:
        """Words of the answer to a prompt, always the same: up to `spread` (0..1) above and below the mean.

        Answers that all take as long would keep users in step, who would then all search at once.
        """
        deviation = 2 * zlib.crc32(prompt) / 0xFFFFFFFF - 1
        return round(self._answer_words * (1 + self._spread * deviation))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


def words(count: int, *, seed: int = 0) -> Iterator[str]:
    """`count` words of the text, from its beginning as often as it takes.

    A seed puts other words of it in the place of every fifth: answers should have no sentence in common.
    """
    text = WORDS.split()
    plain = [word for word in text if word.isalpha()]
    for number in range(count):
        word = text[number % len(text)]
        if seed and number % 5 == 2 and word.isalpha():
            word = plain[(seed // (number + 1) + number) % len(plain)]
        yield word + " "


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: SteadyModel

    def do_GET(self) -> None:
        self._whole(TAGS if self.path == "/api/tags" else {"version": "0"})

    def do_POST(self) -> None:
        prompt = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        due = time.monotonic()
        for word in words(self.server.length_for(prompt), seed=zlib.crc32(prompt)):
            due += self.server.pause_s  # by the clock, so that a late word does not make the next ones late
            time.sleep(max(0.0, due - time.monotonic()))
            self._chunk(_line(word, done=False))
        self._chunk(_line("", done=True))
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _whole(self, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Says nothing."""


def _line(word: str, *, done: bool) -> bytes:
    line: dict[str, Any] = {"model": NAME, "created_at": "2026-01-01T00:00:00Z", "done": done}
    line["message"] = {"role": "assistant", "content": word}
    if done:
        line |= {"done_reason": "stop", "prompt_eval_count": 1, "eval_count": 1}
    return json.dumps(line).encode() + b"\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words-per-second", type=float, default=30.0)
    parser.add_argument("--spread", type=float, default=SPREAD)
    options = parser.parse_args(arguments)
    server = SteadyModel(words_per_second=options.words_per_second, spread=options.spread)
    print(server.url, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
