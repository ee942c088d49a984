"""The tables of `athena eval` in a terminal of 80 columns: nothing is cut, and no line is longer."""

from __future__ import annotations

import io

import pytest
from rich.console import Console, RenderableType

from athena.cli import eval as cli_eval
from evals.passages import FIRST, WORDS_OF, PassagesReport, Variant
from evals.talks import TalksReport
from evals.turn_search import MemoryReport

CATEGORIES = ("contradiction_resolution", "multi_session_reasoning", "instruction_following")
SHARES = dict.fromkeys(("R@5", "R@10", "R@25", "hit@10", "MRR"), 0.8)
CHAT = dict.fromkeys(("R@5", "hit@10", "answered", "span", "tokens", "left_alone"), 0.667)
TIMES = {"p50": 1234.5, "p95": 2345.6}
WAYS = [
    Variant(name, dict.fromkeys(FIRST, 0.88), {}, dict.fromkeys(WORDS_OF, 1305.0), 1.17, TIMES)
    for name in ("sections", "merged up")
]
TALK = {"count": 143, "of": 1500}


def memory_report() -> MemoryReport:
    rows = {name: {"questions": 1540, **SHARES} for name in CATEGORIES}
    chat = {**CHAT, "by_category": {name: {"questions": 1540, **CHAT} for name in CATEGORIES}}
    made = {"ms_per_turn": 17.3, "bytes_per_turn": 12_987, "memories": 4321}
    return MemoryReport(
        conversations=10, turns=5882, questions=1540, left_out=446, never_said=444, metrics=SHARES,
        by_category=rows, ms_per_read=TIMES, chat={**chat, "ms_per_question": TIMES}, made=made,
    )  # fmt: skip


@pytest.mark.parametrize(
    "table",
    [
        cli_eval.passages_text(PassagesReport("opensearch-docs", 99, 91_000, 1000, tuple(WAYS), 1.0)),
        cli_eval.memory_text(memory_report()),
        cli_eval.talks_text(
            TalksReport({k: {"never kept violations": TALK} for k in ("hurried", "sessions", "unrelated")})
        ),
    ],
)
def test_a_table_fits(table: RenderableType) -> None:
    stream = io.StringIO()
    Console(file=stream, width=80, soft_wrap=True).print(table)
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in stream.getvalue()
