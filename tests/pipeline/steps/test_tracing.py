"""Turns as traces: what arrives at a receiver of OpenTelemetry's protocol, over real HTTP."""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest

from pipeline.answer import Answer
from pipeline.errors import ConfigurationError
from pipeline.steps.records import Step
from pipeline.steps.tracing import LIMIT, TurnTracer
from tests.pipeline.otlp_receiver import OtlpReceiver, Received
from tests.pipeline.passages import make_passage


def turn(*steps: Step, **given: Any) -> Answer:
    known: dict[str, Any] = {
        "question": "Does it hum?",
        "condensed_question": "Does it hum?",
        "text": "It hums.",
        "mode": "generate",
        "model": "ollama/x",
        "abstained": False,
        "conversation_id": "c1",
        "turn_id": str(uuid4()),
        "steps": steps,
        "seconds": 2.0,
    }
    return Answer(**(known | given))


def sent(*turns: Answer, end: str = "") -> Received:
    """What arrives of some turns."""
    with OtlpReceiver() as receiver:
        with closing(TurnTracer(receiver.url + end)) as tracer:
            for one in turns:
                tracer.record(one, [make_passage("a", text="The fan hums.")])
        return receiver.received


def test_a_turn_is_a_root_with_a_span_for_each_step_as_long_as_it_took() -> None:
    now = time.time()
    select = Step("select", 500.0, started_at=now, data={"selected": ["a"]})
    failed = Step("rerank", 1.0, "failed", "The reranker is gone.", now + 1)
    made = turn(select, failed)
    received = sent(made)
    root, steps = received.root, received.steps()
    assert (root.kind, root.status) == ("CHAIN", "OK")
    assert root.end - root.start == pytest.approx(2_000_000_000, abs=1000)
    assert (root.attributes["input.value"], root.attributes["output.value"]) == ("Does it hum?", "It hums.")
    assert root.attributes["session.id"] == "c1"
    kinds = [(name, span.kind) for name, span in steps.items()]
    assert kinds == [("select", "RETRIEVER"), ("rerank", "RERANKER")]
    assert steps["select"].start == round(now * 1e9)
    assert steps["select"].end - steps["select"].start == pytest.approx(500_000_000, abs=1000)
    assert json.loads(steps["select"].attributes["output.value"]) == {"selected": ["a"]}
    assert (steps["rerank"].status, steps["rerank"].message) == ("ERROR", "The reranker is gone.")
    assert received.resources[0]["openinference.project.name"] == "athena"


def test_a_generation_has_its_model_and_tokens_and_a_failed_turn_its_reason() -> None:
    generate = Step("generate", data={"model": "ollama/x", "prompt_tokens": 321, "answer_tokens": 7})
    failed = turn(generate, status="failed", notices=("One.", "The model is gone."))
    received = sent(failed, end="/v1/traces")
    assert received.paths == ["/v1/traces"]
    attributes = received.steps()["generate"].attributes
    assert (attributes["openinference.span.kind"], attributes["llm.model_name"]) == ("LLM", "ollama/x")
    assert (attributes["llm.token_count.prompt"], attributes["llm.token_count.completion"]) == (321, 7)
    assert (received.root.status, received.root.message) == ("ERROR", "The model is gone.")


def test_values_have_no_secrets_and_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.steps.tracing.redacted", lambda text: text.replace("hunter2", "***"))
    long = Step("condense", data={"message": "hunter2 " * LIMIT, "half": "\ud800"})
    received = sent(turn(long, question="Is it hunter2?"))
    assert received.root.attributes["input.value"] == "Is it ***?"
    value = received.steps()["condense"].attributes["output.value"]
    assert len(value) == LIMIT and "hunter2" not in value


@pytest.mark.parametrize("url", ["localhost:6006", "ftp://phoenix", "http://", "me:secret@nowhere"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be") as caught:
        TurnTracer(url)
    assert "secret" not in str(caught.value)
