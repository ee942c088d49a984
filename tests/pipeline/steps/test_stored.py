"""Turns of versions that kept steps as dicts with positional lists are read, and shown by the inspector."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.answer import Answer
from pipeline.messages import Message
from pipeline.steps.records import (
    AnswerableStep,
    CondenseStep,
    FetchedSection,
    FuseStep,
    GenerateStep,
    MergeStep,
    PromptStep,
    QuoteStep,
    Reranked,
    RerankStep,
    SearchStep,
    SelectStep,
)
from pipeline.steps.stored import read_steps
from pipeline.stores.conversations import answer_from, answer_json
from tests.pipeline.searching import the_step
from ui.inspector import flow

FAN = "934fd4a4-fc55-5144-80e5-5561006d1fc4"
DEDICATED = "210b8db0-5716-5797-bfca-d9f344073cc2"


@pytest.fixture
def answer() -> Answer:
    """An answer as it was stored, its lists shortened to three."""
    stored = Path(__file__).with_name("turn_of_dicts.json").read_text(encoding="utf-8")
    return answer_from(json.loads(stored))


def test_all_of_its_steps_are_there(answer: Answer) -> None:
    assert [step.name for step in answer.steps] == [
        "condense", "hyde", "embed", "search", "fuse", "merge", "rerank", "answerable", "select",
        "quote",
    ]  # fmt: skip
    assert all(step.started_at > 0 for step in answer.steps)
    assert (the_step(answer, CondenseStep).by, the_step(answer, QuoteStep).limit) == ("as asked", 5)
    assert the_step(answer, AnswerableStep).signals["margin"] == pytest.approx(0.3674, abs=1e-4)
    assert answer_from(json.loads(answer_json(answer))) == answer


def test_its_lists_are_ranks(answer: Answer) -> None:
    search, fuse = the_step(answer, SearchStep), the_step(answer, FuseStep)
    assert (search.text, search.candidates, search.sentences) == ("What feeds the cabin fan?", 100, 2078)
    assert (search.dense_sentences[0].node_id, search.dense_sentences[0].section_id) == (DEDICATED, FAN)
    assert search.hits == 12
    assert (fuse.ranking[0].id, fuse.sections, fuse.weights["dense_sentences"]) == (FAN, 3, 0.3125)
    assert fuse.ranking[0].contributions["dense_sections"] == 0.1875
    assert the_step(answer, MergeStep).sections[0] == FetchedSection(
        FAN, "systems/air-revitalisation.md", ("Air revitalisation", "Cabin fan"), 3, 3, merged=True
    )
    select = the_step(answer, SelectStep)
    assert (select.selected[0], select.dropped[0].why) == (FAN, "beyond the first 8")


def test_the_inspector_shows_it(answer: Answer) -> None:
    boxes = {box["label"]: box["count"] for box in flow.flow_view(answer.steps)["steps"]}
    assert boxes["Search"] == "12 hits in 2,078 sentences"
    assert (boxes["Merge"], boxes["Quote"]) == ("3 sections merged", "3 quotes")
    found = flow.ranks(answer.steps)
    assert found.name(FAN) == "Cabin fan"
    assert flow.bumps_view(found)["rows"][0]["ranks"] == [2, 2, 1, 1, 1, 1]
    assert flow.contributions(answer.steps, found)[0]["Dense sections"] == 0.1875
    assert {row["id"] for row in flow.sentence_rows(answer.steps, found)} >= {DEDICATED}


def test_steps_of_a_model_and_a_reranker() -> None:
    prompt, generate, rerank, unknown = (
        {"name": "prompt", "outputs": {"messages": [{"role": "user", "text": "Why?"}], "tokens": 3}},
        {"name": "generate", "inputs": {"model": "m"}, "outputs": {"text": 42, "answer_tokens": 5}},
        {"name": "rerank", "inputs": {"top_n": 2}, "outputs": {"before": ["a"], "after": [["a", 0.5, None]]}},
        {"name": "ponder", "outputs": {}},
    )
    assert read_steps([prompt, generate, rerank, unknown]) == (
        PromptStep(messages=(Message("user", "Why?"),), tokens=3),
        GenerateStep(model="m", characters=42, answer_tokens=5),
        RerankStep(top_n=2, before=("a",), after=(Reranked("a", 0.5, None),)),
    )
