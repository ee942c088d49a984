"""Passages: what is fetched for a ranking, from a real store, and what fits."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.answer import Passage
from pipeline.finding.fusion import Fused
from pipeline.finding.passages import MARK_TOKENS, fetch_sections, fetched, gather, passage_leaves, select
from pipeline.nodes import Node
from pipeline.steps.records import Step
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.passages import ids, make_passage
from tests.pipeline.searching import section_named


def run(store: EmbeddedStore, *ranking: str, scores: dict[str, dict[str, float]]) -> list[Passage]:
    """The passages for a ranking of sections with found sentences."""
    fused = [Fused(section_id, 1.0 - n / 10) for n, section_id in enumerate(ranking)]
    found = fetch_sections(fused, "fan", store=store, depth=99)
    return gather(found, scores, nodes=store)


def leaves_of(store: EmbeddedStore, section_id: str) -> list[Node]:
    return passage_leaves([make_passage(section_id)], store=store)[section_id]


def test_passages_follow_the_ranking_and_what_vanished_meanwhile_is_left_out(manual: EmbeddedStore) -> None:
    fan, radio = section_named(manual, "Cabin fan"), section_named(manual, "Radio")
    passages = run(manual, radio, "gone", fan, scores={fan: {"gone too": 0.9}})
    assert [(p.section.node_id, p.score, p.sentences) for p in passages] == [(radio, 1.0, ()), (fan, 0.8, ())]
    assert passages[1].text.startswith("The cabin fan moves the air.")  # nothing finer was found


@pytest.mark.parametrize("merged", [True, False])
def test_enough_sentences_merge_into_their_section(manual: EmbeddedStore, merged: bool) -> None:
    tank = section_named(manual, "LN2 tank")
    one, two, _, _, five, _ = (leaf.node_id for leaf in leaves_of(manual, tank))
    (passage,) = run(manual, tank, scores={tank: {two: 0.7, one: 0.2} | ({five: 0.2} if merged else {})})
    # The best comes first, equal ones in reading order.
    assert [hit.node.node_id for hit in passage.sentences] == [two, one, five][: 2 + merged]
    assert passage.merged is merged
    assert passage.node.node_id == (tank if merged else two)
    where = {"section_id": tank, "source": "systems/ecs.md", "heading_path": ["ECS", "LN2 tank"]}
    assert fetched([passage]) == [where]


FRAME = MARK_TOKENS + len(["fan.md", ">", "Manual", ">", "Fan"])  # tokens of a source besides its text


def selected(
    sizes: list[int], *, top_k: int = 99, context_tokens: int = 10**9
) -> tuple[list[str], dict[str, Any]]:
    """The ids of the passages of these sizes that are kept, p00 and so on, and the record."""
    passages = [make_passage(f"p{number:02}", text="w " * size) for number, size in enumerate(sizes)]
    step = Step("select", data={"top_k": top_k, "context_tokens": context_tokens})
    kept = ids(select(step, passages, lambda text: len(text.split())))
    assert step.data["selected"] == kept
    return kept, step.data


def test_the_budget_may_be_used_up_and_a_smaller_one_further_down_may_fit() -> None:
    kept, record = selected([5, 6, 5, 1], context_tokens=10 + 2 * FRAME)
    assert (kept, record["tokens"]) == (["p00", "p02"], 10 + 2 * FRAME)
    dropped = record["dropped"][0]
    assert dropped["section_id"] == "p01" and f"{6 + FRAME} tokens" in dropped["why"]
    kept, record = selected([1, 1, 1], top_k=2)
    assert (kept, record["dropped"]) == (["p00", "p01"], [{"section_id": "p02", "why": "beyond the first 2"}])
    assert selected([50, 1], context_tokens=10 + FRAME)[0] == [
        "p00"
    ]  # the best is kept, even if it is too long
