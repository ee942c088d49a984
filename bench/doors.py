"""`python -m bench.doors`: what HTTP costs, against the same work in a process of its own, in the same run.

The first words of a quoted answer by 20 clients at once, and a warm `/api/search`, in turns with the same in
this process; and the memory of an idle page with all doors and with none. Prints JSON.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx

from athena import Athena, load_settings, open_athena
from bench.processes import resident_bytes
from bench.table import p50, p95
from evals.datasets import load_queries

ROOT = Path(__file__).parents[1]
QUESTIONS = ROOT / "evals" / "data" / "relevance" / "manuals" / "test"
CLIENTS = 20
LIMIT = 8
PORT = 8790
ADDRESS = f"http://127.0.0.1:{PORT}"
SETTLED_S = 10
SETTINGS = {"ATHENA_LLM": "none", "ATHENA_DOORS_A_MINUTE": "1000000", "ATHENA_DOORS_AT_ONCE": "100"}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of an index")
    parser.add_argument("--times", type=int, default=200, help="requests of each kind")
    given = parser.parse_args()
    questions = [query.text for query in load_queries(QUESTIONS)]
    with (
        open_athena(load_settings(data_dir=given.data_dir, llm="none")) as athena,
        served(given.data_dir) as at,
    ):
        athena.warm_up(serving=True)
        with httpx.Client(base_url=at, timeout=60, trust_env=False) as client:
            asked = list(islice(cycle(questions), given.times))
            ways = [_finish(athena), _first_words]
            answers = [_at_once(way, asked) for way in (*ways, *ways)][2:]  # the first round warms up
            found = _searches(athena, client, asked)
    times = {"first_words_ms": _compared(*answers), "search_ms": _compared(*found)}
    idle = {doors: _idle_mb(given.data_dir, doors) for doors in ("none", "all")}
    print(json.dumps({**times, "idle_mb": {**idle, "more": idle["all"] - idle["none"]}}, indent=2))


@contextmanager
def served(data_dir: Path) -> Iterator[str]:
    """The address of doors in a process of their own."""
    with _serving(data_dir, "--no-page", doors="api", ready="/health"):
        yield ADDRESS


@contextmanager
def _serving(data_dir: Path, *options: str, doors: str, ready: str) -> Iterator[int]:
    """The number of a process that answers at a path."""
    command = [sys.executable, "-m", "athena", "serve", *options, "--port", str(PORT)]
    environment = {**os.environ, **SETTINGS, "ATHENA_DOORS": doors}
    with subprocess.Popen(
        [*command, "--data-dir", str(data_dir)], env=environment, stdout=subprocess.DEVNULL
    ) as process:
        try:
            while True:
                try:
                    httpx.get(f"{ADDRESS}{ready}", trust_env=False)
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            yield process.pid
        finally:
            process.terminate()


def _idle_mb(data_dir: Path, doors: str) -> float:
    """What a page that nobody has opened has in memory, ten seconds after it is there."""
    with _serving(data_dir, doors=doors, ready="/_stcore/health") as pid:
        time.sleep(SETTLED_S)
        return resident_bytes(pid) / 1e6


def _finish(athena: Athena) -> Callable[[str], None]:
    def finish(question: str) -> None:
        for _ in athena.chat(private=True).run(question):
            pass

    return finish


def _first_words(question: str) -> None:
    """Read until the first words; by a plain client, as it takes its time from the same cores."""
    body = json.dumps({"stream": True, "messages": [{"role": "user", "content": question}]})
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    with closing(connection):
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        while line := response.readline():
            if line.startswith(b"data: {") and json.loads(line[6:])["choices"][0]["delta"].get("content"):
                return
    raise ValueError(f"no words came: {response.status}")


def _at_once(way: Callable[[str], None], questions: Sequence[str]) -> list[float]:
    """Milliseconds of each, asked by so many clients at once."""
    with ThreadPoolExecutor(CLIENTS) as clients:
        return list(clients.map(lambda question: _timed(way, question), questions))


def _searches(
    athena: Athena, client: httpx.Client, questions: Sequence[str]
) -> tuple[list[float], list[float]]:
    """Milliseconds of searches here and over HTTP, in turns."""

    def over(question: str) -> None:
        body = {"query": question, "limit": LIMIT}
        client.post("/api/search", json=body).raise_for_status()

    both = [(_timed(athena.search, question), _timed(over, question)) for question in questions]
    return [here for here, _ in both], [there for _, there in both]


def _timed(work: Callable[[str], Any], question: str) -> float:
    begun = time.perf_counter()
    work(question)
    return (time.perf_counter() - begun) * 1000


def _compared(here: Sequence[float], over: Sequence[float]) -> dict[str, Any]:
    paired = [theirs - ours for ours, theirs in zip(here, over, strict=True)]
    return {
        "in_process": {"p50": p50(here), "p95": p95(here)},
        "http": {"p50": p50(over), "p95": p95(over)},
        "p95_more": p95(over) - p95(here),
        "paired_more_p50": p50(paired),
    }


if __name__ == "__main__":
    main()
