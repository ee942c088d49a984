"""Why not this page? Each step that can drop a section, on a real store."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.finding.why import NOT_INDEXED, Why, why
from pipeline.stores.embedded import EmbeddedStore
from tests.fakes import FakeCrossEncoder
from tests.pipeline.searching import make_search

QUESTION = "Why does the LN2 tank show OFFLINE?"
FANS = "\n".join(f"# Fan {n}\n\nFan {n} hums{' and hums' * n}.\n" for n in range(40))


def ask(store: EmbeddedStore, source: str, heading: str, *, question: str = QUESTION, **given: object) -> Why:
    retrieval = make_search(store, **given).search(question, ranks=None)
    return why(retrieval, store=store, source=source, heading=heading)


@pytest.mark.parametrize("heading", ["LN2 tank", " ln2 TANK ", "ecs > LN2 tank"])
def test_a_selected_section_by_its_heading_or_its_path(manual: EmbeddedStore, heading: str) -> None:
    reason = ask(manual, "systems/ecs.md", heading)
    assert (reason.source, reason.heading_path) == ("systems/ecs.md", ("ECS", "LN2 tank"))
    assert reason.dropped_by == ""
    assert "in place 1" in reason.explanation


@pytest.mark.parametrize(
    ("source", "heading", "text"),
    [("pump.md", "Pump", "pump.md"), ("systems/ecs.md", "tank", "'Cabin fan', 'LN2 tank'")],
)
def test_what_is_not_indexed(manual: EmbeddedStore, source: str, heading: str, text: str) -> None:
    reason = ask(manual, source, heading)
    assert reason.dropped_by == NOT_INDEXED
    assert text in reason.explanation


@pytest.mark.parametrize(
    ("options", "dropped_by", "text"),
    [
        ({"candidates": 1, "alpha": 0.0}, "search", "its 1 candidates"),
        ({"paths": "systems/*"}, "search", "Only other documents"),
        ({"top_k": 1}, "select", "beyond the first"),
        ({"context_tokens": 1}, "select", "do not fit"),
    ],
)
def test_the_step_that_dropped_it(
    manual: EmbeddedStore, options: dict[str, Any], dropped_by: str, text: str
) -> None:
    reason = ask(manual, "comms.md", "Radio", **options)
    assert reason.dropped_by == dropped_by
    assert text in reason.explanation


def test_the_reranker_pushed_it_out(manual: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.finding.reranking.WEIGHT", 3.0)  # a third of it is all
    reranker = FakeCrossEncoder(lambda text: -9.0 if "LN2" in text else 9.0)
    reason = ask(manual, "systems/ecs.md", "LN2 tank", cross_encoder=reranker, top_k=1)
    assert reason.dropped_by == "rerank"
    assert "place 1 after fusion, 5" in reason.explanation
