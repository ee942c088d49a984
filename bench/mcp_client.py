"""`python -m bench.mcp_client`: what MCP over stdio costs, in the same run as what it is compared with.

A warm `search` by the official client against the same search in this process, in turns; the first answer of
`athena mcp` against that of an empty server of the same SDK, in turns. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from athena import Athena, load_settings, open_athena
from athena.searching import NO_BUDGET
from bench.table import median, p50, p95
from evals.datasets import load_queries

ROOT = Path(__file__).parents[1]
QUESTIONS = ROOT / "evals" / "data" / "relevance" / "manuals" / "test"
LIMIT = 8
WARM_UP = 20
STARTS = 7
EMPTY = "from mcp.server.mcpserver import MCPServer; MCPServer('empty').run()"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of an index")
    parser.add_argument("--times", type=int, default=200, help="searches of each kind")
    given = parser.parse_args()
    command = [sys.executable, "-m", "athena", "mcp", "--data-dir", str(given.data_dir)]
    questions = [query.text for query in load_queries(QUESTIONS)]
    with open_athena(load_settings(data_dir=given.data_dir)) as athena:
        found = asyncio.run(_searches(athena, command, questions, times=given.times))
    starts = [(_first_answer([sys.executable, "-c", EMPTY]), _first_answer(command)) for _ in range(STARTS)]
    found["first_answer_s"] = {
        "empty": median([empty for empty, _ in starts]),
        "athena": median([ours for _, ours in starts]),
        "more": median([ours - empty for empty, ours in starts]),
    }
    print(json.dumps(found, indent=2))


async def _searches(
    athena: Athena, command: Sequence[str], questions: Sequence[str], *, times: int
) -> dict[str, Any]:
    """Milliseconds of searches in this process and over stdio, one after the other in turns."""
    options = athena.options.but(top_k=LIMIT, context_tokens=NO_BUDGET)
    here: list[float] = []
    over: list[float] = []
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(os.environ))
    async with Client(stdio_client(parameters)) as client:
        for number in range(WARM_UP + times):
            question = questions[number % len(questions)]
            begun = time.perf_counter()
            athena.hybrid_search.search(question, options=options)
            between = time.perf_counter()
            result = await client.call_tool("search", {"query": question, "limit": LIMIT})
            assert not result.is_error
            here.append((between - begun) * 1000)
            over.append((time.perf_counter() - between) * 1000)
    here, over = here[WARM_UP:], over[WARM_UP:]
    more = [theirs - ours for ours, theirs in zip(here, over, strict=True)]
    return {
        "search_ms": {
            "in_process": {"p50": p50(here), "p95": p95(here)},
            "stdio": {"p50": p50(over), "p95": p95(over)},
            "p95_more": p95(over) - p95(here),
            "paired_more": {"p50": p50(more), "p95": p95(more)},
        }
    }


def _first_answer(command: Sequence[str]) -> float:
    """Seconds from the start of a server to its answer to `initialize`."""
    begun = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(INITIALIZE) + "\n")
        server.stdin.flush()
        server.stdout.readline()
        seconds = time.perf_counter() - begun
        server.stdin.close()
    return seconds


if __name__ == "__main__":
    main()
