"""The tables of `athena eval` fit a terminal of 80 columns, uncut."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from athena import cli
from evals.chats import MemoryReport
from evals.commands import memory_text, talks_text
from evals.talks import TalksReport

CHAT = {"questions": 1540, **dict.fromkeys(("R@5", "hit@10", "answered", "left_alone"), 0.667)}
TIMES = {"p50": 1234.5, "p95": 2345.6}
TALK = {"count": 143, "of": 1500}
MEMORY = MemoryReport(
    10, 5882, 1540, 446, 444, {**CHAT, "by_category": {"multi_session_reasoning": CHAT}}, TIMES, 17.3
)


@pytest.mark.parametrize(
    "table",
    [
        memory_text(MEMORY),
        talks_text(
            TalksReport({k: {"never kept violations": TALK} for k in ("hurried", "sessions", "unrelated")})
        ),
    ],
)
def test_a_table_fits(table: RenderableType) -> None:
    stream = io.StringIO()
    Console(file=stream, width=80, soft_wrap=True).print(table)
    assert max(map(len, stream.getvalue().splitlines())) <= 80
    assert "…" not in stream.getvalue()


def test_every_evaluation_that_the_readme_names_is_a_command() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (evaluations,) = (one.typer_instance for one in cli.app.registered_groups if one.name == "eval")
    known = {command.callback.__name__ for command in evaluations.registered_commands if command.callback}
    assert set(re.findall(r"`athena eval (\w+)", readme)) <= known
    assert {"retrieval", "answers", "memory", "experiment"} <= known
