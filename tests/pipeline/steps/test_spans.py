"""Turns as traces: what arrives at a receiver of OpenTelemetry's protocol, over real HTTP."""

from __future__ import annotations

import itertools
import json
import logging
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace as global_trace

from athena import Athena
from athena.settings import Settings
from athena.watching import check_tracing
from pipeline.answer import Answer
from pipeline.answering.turns import FinishedTurn
from pipeline.chat import UNEXPECTED
from pipeline.errors import ConfigurationError, ModelError, StoreError
from pipeline.finding.hyde import Hypothesis
from pipeline.models.llm import invocation_of, ollama_model, openai_model
from pipeline.options import LanguageModelOptions
from pipeline.steps.events import AnswerFinished, TokenArrived
from pipeline.steps.openinference import LIMIT, inputs, outputs, step_attributes
from pipeline.steps.phoenix import PhoenixTracer, check_phoenix
from pipeline.steps.records import (
    CondenseStep,
    FuseStep,
    GenerateStep,
    HydeStep,
    RememberStep,
    SearchStep,
    SelectStep,
)
from pipeline.stores.embedded import EmbeddedStore
from pipeline.stores.embedded.conversations import EmbeddedConversations
from tests.fake_llm import FakeLLM
from tests.fakes import FakeCrossEncoder
from tests.pipeline.chat_runs import Chat, NewChat, stop_after
from tests.pipeline.otlp_receiver import OtlpReceiver, Received, ReceivedSpan
from tests.pipeline.searching import RETRIEVING, make_search, the_step

ROOT = Path(__file__).parents[3]
QUESTION = "At how many rpm does the cabin fan hum?"
REPLY = "The fan hums at 4000 rpm [1]."


@contextmanager
def traced(new_chat: NewChat, **given: Any) -> Iterator[tuple[Chat, Received]]:
    """A chat whose turns go to a receiver; they have arrived when the block is left."""
    with OtlpReceiver() as receiver, closing(PhoenixTracer(receiver.url)) as tracer:
        yield new_chat(listeners=[tracer.record], **given), receiver.received


def one_turn(new_chat: NewChat, message: str = QUESTION, **given: Any) -> Received:
    with traced(new_chat, **given) as (chat, received):
        chat.ask(message)
    return received


def value(span: ReceivedSpan, side: str) -> Any:
    assert span.attributes[f"{side}.mime_type"] == "application/json"
    return json.loads(span.attributes[f"{side}.value"])


def nobody() -> str:
    """An address where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


# -- the tree ----------------------------------------------------------------------------------------------


def test_a_turn_is_a_root_with_its_steps_below(new_chat: NewChat) -> None:
    received = one_turn(new_chat)
    root, steps = received.root, received.steps()
    assert list(steps) == ["condense", *RETRIEVING, "quote"]
    assert len(received.spans) == len(steps) + 1
    assert {span.trace_id for span in received.spans} == {root.trace_id}
    assert {span.status for span in received.spans} == {"OK"}
    assert received.paths == ["/v1/traces"]


def test_the_root_says_what_was_asked_and_answered(new_chat: NewChat) -> None:
    with traced(new_chat) as (chat, received):
        answer = chat.answer(QUESTION)
    said = received.root.attributes
    assert (said["input.value"], said["output.value"]) == (QUESTION, answer.text)
    assert (received.root.name, received.root.kind) == ("chat", "CHAIN")
    assert said["session.id"] == answer.conversation_id == chat.engine.conversation_id
    assert said["athena.turn_id"] == answer.turn_id
    assert (said["athena.mode"], said["athena.status"], said["athena.abstained"]) == (
        "quote",
        "complete",
        False,
    )
    metadata = json.loads(said["metadata"])
    assert metadata["settings"]["top_k"] == 8
    assert metadata["notices"] == list(answer.notices)


def test_steps_lie_within_the_turn_one_after_the_other_as_long_as_they_took(new_chat: NewChat) -> None:
    before = time.time_ns()
    with traced(new_chat, llm=FakeLLM([REPLY], pause_s=0.02)) as (chat, received):
        answer = chat.answer(QUESTION)
    root, steps = received.root, list(received.steps().values())
    assert before - 1e6 <= root.start <= steps[0].start
    assert max(step.end for step in steps) <= root.end <= time.time_ns() + 1e6
    for earlier, later in itertools.pairwise(steps):
        assert earlier.end <= later.start + 1000  # rounded
    recorded = {step.name: step.ms for step in answer.steps}
    for step in steps:
        assert (step.end - step.start) / 1e6 == pytest.approx(recorded[step.name], abs=0.001)
    assert recorded["generate"] > 100


def test_turns_of_a_conversation_are_traces_of_a_session(new_chat: NewChat) -> None:
    with traced(new_chat) as (chat, received):
        chat.ask(QUESTION)
        chat.ask("And what does a broken one show?")
    first, second = sorted(received.roots, key=lambda span: span.start)
    assert first.trace_id != second.trace_id
    assert first.attributes["session.id"] == second.attributes["session.id"]
    assert value(received.steps(second)["condense"], "input")["messages"] == 2


# -- kinds and what they have of their own -----------------------------------------------------------------


def test_kinds_without_a_model(new_chat: NewChat) -> None:
    steps = one_turn(new_chat).steps()
    assert {name: span.kind for name, span in steps.items()} == {
        "condense": "CHAIN",
        "correct": "CHAIN",
        "hyde": "CHAIN",
        "embed": "EMBEDDING",
        "search": "RETRIEVER",
        "fuse": "RETRIEVER",
        "merge": "RETRIEVER",
        "rerank": "CHAIN",
        "answerable": "CHAIN",
        "merge_up": "CHAIN",
        "select": "RETRIEVER",
        "quote": "CHAIN",
    }
    assert steps["hyde"].attributes["athena.status"] == "skipped"
    assert steps["hyde"].attributes["athena.detail"] == "switched off"
    assert steps["embed"].attributes["embedding.model_name"] == "fake-encoder"
    assert steps["embed"].attributes["embedding.embeddings.0.embedding.text"] == QUESTION


def test_kinds_with_models(new_chat: NewChat, manual: EmbeddedStore) -> None:
    reranker = FakeCrossEncoder(lambda text: 3.0 if "4000" in text else -3.0)
    hybrid_search = make_search(
        manual,
        hyde=True,
        hypothesize=lambda question, stop: Hypothesis("It hums at 3000 rpm.", "Write it.", 7, 6),
        cross_encoder=reranker,
    )
    llm = FakeLLM([REPLY, "At how many rpm does the cabin fan hum when it is new?", REPLY])
    with traced(new_chat, llm=llm, hybrid_search=hybrid_search) as (chat, received):
        chat.ask(QUESTION)
        chat.ask("And when it is new?")
    first, second = (received.steps(root) for root in sorted(received.roots, key=lambda span: span.start))
    assert first["condense"].kind == "CHAIN"  # nothing to condense
    assert second["condense"].kind == first["hyde"].kind == first["generate"].kind == "LLM"
    for span in (second["condense"], first["hyde"], first["generate"]):
        assert span.attributes["llm.model_name"] == "fake-llm"
    assert first["hyde"].attributes["llm.output_messages.0.message.content"] == "It hums at 3000 rpm."
    reranking = first["rerank"]
    assert reranking.kind == "RERANKER"
    assert reranking.attributes["reranker.model_name"] == "fake-cross-encoder"
    assert reranking.attributes["reranker.query"] == QUESTION
    best = reranking.attributes["reranker.output_documents.0.document.id"]
    assert first["select"].attributes["retrieval.documents.0.document.id"] == best


def test_the_generation_has_its_prompt_and_its_words(new_chat: NewChat) -> None:
    llm = FakeLLM([REPLY])
    said = one_turn(new_chat, llm=llm).steps()["generate"].attributes
    sent = llm.messages[0]
    for number, message in enumerate(sent):
        at = f"llm.input_messages.{number}.message"
        assert (said[f"{at}.role"], said[f"{at}.content"]) == (message.role.value, message.content)
    assert f"llm.input_messages.{len(sent)}.message.role" not in said
    assert said["llm.output_messages.0.message.role"] == "assistant"
    assert said["llm.output_messages.0.message.content"] == REPLY
    assert not [name for name in said if name.startswith("llm.token_count")]  # this model does not count


def test_tokens_are_those_that_the_model_counted() -> None:
    step = GenerateStep(prompt_tokens=12, answer_tokens=5, finish_reason="length")
    answer = Answer("q", "q", "a", "generate", "ollama/x", False)
    said = step_attributes(step, FinishedTurn(answer, (step,), (), "a", "ollama/x", 0.0, 1.0))
    assert said["llm.token_count.prompt"] == 12
    assert said["llm.token_count.completion"] == 5
    assert said["llm.token_count.total"] == 17
    assert said["llm.finish_reason"] == "length"


def test_a_hypothesis_has_its_prompt_and_its_tokens(new_chat: NewChat, manual: EmbeddedStore) -> None:
    written = Hypothesis("It hums at 3000 rpm.", "Write a passage.", 7, 6)
    search = make_search(manual, hyde=True, hypothesize=lambda *_: written)
    said = one_turn(new_chat, llm=FakeLLM([REPLY]), hybrid_search=search).steps()["hyde"].attributes
    assert said["llm.input_messages.0.message.content"] == "Write a passage."
    assert [said[f"llm.token_count.{name}"] for name in ("prompt", "completion", "total")] == [7, 6, 13]


def test_every_generation_says_by_whom_and_with_what() -> None:
    options = LanguageModelOptions(temperature=0.3, max_answer_tokens=77, context_window=4096)
    answer = Answer("q", "q", "a", "generate", "ollama/x", False)
    for model, llm in (("ollama/x", ollama_model("x", options)), ("openai/y", openai_model("y", options))):
        steps = (GenerateStep(), HydeStep(), CondenseStep(messages=2))
        turn = FinishedTurn(answer, steps, (), "a", model, 0.0, 1.0, invocation_of(llm))
        for step in steps:
            said = step_attributes(step, turn)
            assert said["llm.provider"] == model.partition("/")[0]
            asked = {"temperature": 0.3, "max_tokens": 77}
            expected = asked | ({"num_ctx": 4096} if model == "ollama/x" else {})
            assert json.loads(str(said["llm.invocation_parameters"])) == expected


def test_what_was_searched_fused_merged_and_selected_are_documents(new_chat: NewChat) -> None:
    with traced(new_chat) as (chat, received):
        answer = chat.answer(QUESTION)
    spans = received.steps()
    search = the_step(answer, SearchStep)
    first = json.loads(spans["search"].attributes["retrieval.documents.0.document.metadata"])
    assert (first["list"], first["rank"]) == ("bm25_sections", 1)
    found = spans["search"].attributes
    assert found["retrieval.documents.0.document.id"] == search.bm25_sections[0].node_id
    assert found["retrieval.documents.0.document.score"] == search.bm25_sections[0].score
    fused = spans["fuse"].attributes
    best = the_step(answer, FuseStep).ranking[0]
    assert fused["retrieval.documents.0.document.id"] == best.id
    assert "4000 rpm" in fused["retrieval.documents.0.document.content"]
    merged = json.loads(spans["merge"].attributes["retrieval.documents.0.document.metadata"])
    assert merged["source"] == "systems/ecs.md"
    assert received.root.attributes["athena.verdict"] == answer.verdict == "answered"
    selected = spans["select"].attributes
    ids = [selected[name] for name in sorted(selected) if name.endswith(".document.id")]
    assert ids == list(the_step(answer, SelectStep).selected)
    assert 0 <= selected["retrieval.documents.0.document.score"] <= 1
    passage = json.loads(selected["retrieval.documents.0.document.metadata"])
    assert (passage["source"], passage["heading_path"]) == ("systems/ecs.md", ["ECS", "Cabin fan"])


def test_a_thumb_is_an_annotation_of_its_trace(new_chat: NewChat) -> None:
    with OtlpReceiver() as receiver:
        with closing(PhoenixTracer(receiver.url)) as tracer:
            answer = new_chat(listeners=[tracer.record]).answer(QUESTION)
        with closing(PhoenixTracer(receiver.url)) as later:  # after a restart
            later.annotate(answer.turn_id, -1, "The fan is new.")
        with closing(PhoenixTracer(receiver.url)) as later:
            later.annotate(answer.turn_id, None, "")
    given, taken_back = receiver.received.annotations
    assert given["trace_id"] == receiver.received.root.trace_id
    assert given["result"] == {"label": "down", "score": 0.0, "explanation": "The fan is new."}
    assert (given["annotator_kind"], given["name"]) == ("HUMAN", "thumb")
    assert taken_back["identifier"] == given["identifier"]
    assert taken_back["result"]["score"] is None


def test_scores_of_an_evaluation_are_annotations_of_its_trace(new_chat: NewChat) -> None:
    with OtlpReceiver() as receiver, closing(PhoenixTracer(receiver.url)) as tracer:
        answer = new_chat(listeners=[tracer.record]).answer(QUESTION)
        tracer.score(answer.turn_id, {"case": 0.0, "Groundedness": 1.0}, why="It abstained.")
    found = receiver.received.annotations
    assert [(one["name"], one["annotator_kind"], one["result"]["score"]) for one in found] == [
        ("case", "CODE", 0.0),
        ("Groundedness", "CODE", 1.0),
    ]
    assert {one["trace_id"] for one in found} == {receiver.received.root.trace_id}
    assert found[0]["result"]["explanation"] == "It abstained."


def test_many_scores_are_sent_together_to_a_slow_phoenix() -> None:
    with OtlpReceiver(delay_s=0.5) as receiver, closing(PhoenixTracer(receiver.url)) as tracer:
        for number in range(200):
            tracer.score(f"turn {number}", {"case": 1.0})
    assert len(receiver.received.annotations) == 200
    assert len(receiver.received.paths) < 20  # those that wait go together


def test_what_is_remembered_is_a_span_of_its_turn_once_it_is_done(new_chat: NewChat) -> None:
    planned = RememberStep(preset="inject", pending=True)
    with OtlpReceiver() as receiver, closing(PhoenixTracer(receiver.url)) as tracer:
        chat = new_chat(listeners=[lambda turn: tracer.record(replace(turn, steps=(*turn.steps, planned)))])
        answer = chat.answer(QUESTION)
        done = replace(planned, pending=False, added=("m1",), started_at=1_000_000_000.5, ms=20.0)
        tracer.remembered(answer.turn_id, done)
    span = receiver.received.steps()["remember"]
    assert len([one for one in receiver.received.spans if one.name == "remember"]) == 1
    assert (span.trace_id, span.parent_id) == (
        receiver.received.root.trace_id,
        receiver.received.root.span_id,
    )
    assert (span.start, span.end - span.start) == (1_000_000_000_500_000_000, 20_000_000)
    assert value(span, "output") == {"added": ["m1"]} and value(span, "input") == {"preset": "inject"}


def test_a_thumb_that_phoenix_does_not_take_is_logged(
    new_chat: NewChat, caplog: pytest.LogCaptureFixture
) -> None:
    with OtlpReceiver(status=404) as receiver, closing(PhoenixTracer(receiver.url)) as tracer:
        tracer.annotate("x", 1, "")
    assert "Phoenix does not accept a rating: HTTP 404" in caplog.text


def test_what_went_in_and_out_of_a_step_is_json(new_chat: NewChat) -> None:
    with traced(new_chat) as (chat, received):
        answer = chat.answer(QUESTION)
    for step in answer.steps:
        span = received.steps()[step.name]
        for side, content in (("input", inputs(step)), ("output", outputs(step))):
            if content:
                assert value(span, side) == json.loads(json.dumps(content))
            else:
                assert f"{side}.value" not in span.attributes


# -- other ends --------------------------------------------------------------------------------------------


def test_an_abstention_says_so(new_chat: NewChat) -> None:
    root = one_turn(new_chat, "Who won the chess championship?").root
    assert root.attributes["athena.abstained"] is True
    assert root.status == "OK"


def test_a_stopped_turn_has_what_had_arrived(new_chat: NewChat) -> None:
    with traced(new_chat, llm=FakeLLM(["It hums " + "on and on " * 200], pause_s=0.01)) as (
        chat,
        received,
    ):
        events = stop_after(chat.engine, QUESTION, TokenArrived, 3)
    assert isinstance(events[-1], AnswerFinished)
    root = received.root
    assert (root.status, root.attributes["athena.status"]) == ("OK", "stopped")
    assert root.attributes["output.value"] == events[-1].answer.text
    generated = received.steps()["generate"].attributes
    assert generated["llm.finish_reason"] == "stopped"
    assert generated["llm.output_messages.0.message.content"].startswith("It hums on")


def test_a_turn_that_breaks_off_is_an_error_with_its_reason(new_chat: NewChat) -> None:
    with traced(new_chat, llm=FakeLLM([REPLY], fails_after=3)) as (chat, received):
        failure = chat.failure(QUESTION)
    root, steps = received.root, received.steps()
    assert (root.status, root.attributes["athena.status"]) == ("ERROR", "failed")
    assert failure.message in root.message
    assert (steps["generate"].status, steps["generate"].attributes["athena.status"]) == ("ERROR", "failed")
    assert steps["generate"].message
    assert steps["select"].status == "OK"
    assert root.attributes["output.value"].startswith("The fan hums")


def test_a_step_that_fails_in_a_turn_that_goes_on(new_chat: NewChat, manual: EmbeddedStore) -> None:
    hybrid_search = make_search(manual, cross_encoder=FakeCrossEncoder(ModelError("The reranker is gone.")))
    received = one_turn(new_chat, hybrid_search=hybrid_search)
    assert received.root.status == "OK"
    reranking = received.steps()["rerank"]
    assert (reranking.kind, reranking.status) == ("RERANKER", "ERROR")
    assert reranking.message == "The reranker is gone."


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (StoreError("The disk is gone.", "Find it."), "The disk is gone. Find it."),
        (KeyError("x"), UNEXPECTED),
    ],
)
def test_a_turn_that_never_found_anything(
    new_chat: NewChat, manual: EmbeddedStore, error: Exception, message: str
) -> None:
    hybrid_search = make_search(manual)

    def fail(*args: object, **given: object) -> None:
        raise error

    hybrid_search.search = fail  # type: ignore[method-assign, assignment]
    with traced(new_chat, hybrid_search=hybrid_search) as (chat, received), suppress(KeyError):
        chat.ask(QUESTION)
    assert (received.root.status, received.root.message) == ("ERROR", message)
    assert list(received.steps()) == ["condense"]


def test_a_turn_that_could_not_be_stored_is_traced_as_it_was_shown(
    new_chat: NewChat, conversations: EmbeddedConversations, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **given: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(conversations, "save_turn", fail)
    received = one_turn(new_chat)
    assert received.root.status == "OK"
    assert any("The disk is full." in str(item) for item in received.root.attributes.values())
    assert "quote" in received.steps()


# -- size --------------------------------------------------------------------------------------------------


def test_no_value_is_longer_than_the_limit(new_chat: NewChat) -> None:
    received = one_turn(new_chat, "The cabin fan moves the air. " + "é " * 9_900, llm=FakeLLM([REPLY]))
    texts = [item for span in received.spans for item in span.attributes.values() if isinstance(item, str)]
    assert max(len(text.encode()) for text in texts) <= LIMIT
    asked = received.root.attributes["input.value"]
    assert asked.startswith("The cabin fan")
    assert asked.endswith(" bytes)")
    assert value(received.steps()["condense"], "input")["message"].startswith("The cabin fan")


# -- a Phoenix that is not there ---------------------------------------------------------------------------


@pytest.mark.slow
def test_a_dead_phoenix_neither_slows_nor_breaks_a_turn_and_is_said_once(
    new_chat: NewChat, conversations: EmbeddedConversations, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    new_chat().ask(QUESTION)
    tracer = PhoenixTracer(nobody())
    chat = new_chat(listeners=[tracer.record])
    tracer_seconds = 0.0
    for _ in range(3):
        assert chat.answer(QUESTION).text
        started = time.perf_counter()
        tracer._provider.force_flush()  # a batch a turn
        tracer_seconds += time.perf_counter() - started
    assert tracer._exporter._failing
    turns = conversations.get(chat.engine.conversation_id).turns
    assert sum(turn.answer.seconds for turn in turns) < tracer_seconds, "which tries a few times for seconds"
    tracer.close()
    said = [
        record
        for record in caplog.records
        if record.name.startswith(("pipeline.steps.phoenix", "opentelemetry"))
    ]
    assert [(record.levelname, "do not reach Phoenix" in record.getMessage()) for record in said] == [
        ("WARNING", True)
    ]
    assert not any(record.exc_info for record in said)


def test_recording_takes_milliseconds_though_phoenix_takes_seconds(new_chat: NewChat) -> None:
    with OtlpReceiver(delay_s=1.0) as receiver, closing(PhoenixTracer(receiver.url)) as tracer:
        times = []

        def timed(turn: FinishedTurn) -> None:
            started = time.perf_counter()
            tracer.record(turn)
            times.append(time.perf_counter() - started)

        chat = new_chat(listeners=[timed])
        for _ in range(3):
            chat.ask(QUESTION)
    assert len(times) == 3
    assert min(times) < 1.0, "Phoenix' delay"  # each would wait for it; the machine may be busy
    assert len(receiver.received.roots) == 3  # closing waited for them


@pytest.mark.slow
def test_closing_does_not_wait_for_ever(new_chat: NewChat) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        tracer = PhoenixTracer(f"http://127.0.0.1:{silent.getsockname()[1]}")
        new_chat(listeners=[tracer.record]).ask(QUESTION)
        started = time.perf_counter()
        tracer.close()
        tracer.close()
        assert time.perf_counter() - started < 9, "the exporter's own limit is 10 s"


def test_a_phoenix_that_comes_back_is_used_again(new_chat: NewChat, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pipeline.steps.phoenix")
    with OtlpReceiver(status=500) as receiver, closing(PhoenixTracer(receiver.url)) as tracer:
        chat = new_chat(listeners=[tracer.record])
        for receiver.status in (500, 500, 200, 200, 500):
            chat.ask(QUESTION)
            tracer._provider.force_flush()
    assert len(receiver.received.roots) == 2
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO", "WARNING"]


def test_a_listener_that_fails_takes_no_answer_along(new_chat: NewChat) -> None:
    def fail(turn: FinishedTurn) -> None:
        raise RuntimeError("no")

    events = new_chat(listeners=[fail]).recipe.run(QUESTION)
    assert next(event for event in events if isinstance(event, AnswerFinished)).answer.text
    with pytest.raises(RuntimeError, match="no"):
        next(events)


# -- its own, and only where it is asked for ---------------------------------------------------------------


def test_the_provider_is_not_the_global_one(new_chat: NewChat) -> None:
    provider = global_trace.get_tracer_provider()
    with traced(new_chat) as (chat, received):
        with global_trace.use_span(global_trace.NonRecordingSpan(_FOREIGN)):
            chat.ask(QUESTION)
        assert global_trace.get_tracer_provider() is provider
    assert received.root.trace_id != f"{_FOREIGN.trace_id:032x}"
    (resource,) = received.resources
    assert resource["service.name"] == "athena"
    assert resource["openinference.project.name"] == "athena"


_FOREIGN = global_trace.SpanContext(
    trace_id=7, span_id=7, is_remote=False, trace_flags=global_trace.TraceFlags(1)
)


def test_phoenixs_key_goes_along(new_chat: NewChat, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer k")
    with traced(new_chat) as (chat, received):
        chat.ask(QUESTION)
    assert received.headers[0]["authorization"] == "Bearer k"


@pytest.mark.parametrize("end", ["", "/", "/v1/traces"])
def test_the_check_says_that_phoenix_takes_traces(end: str) -> None:
    with OtlpReceiver() as receiver:
        assert check_phoenix(receiver.url + end) == f"Phoenix 1.2.3 at {receiver.url} takes traces"
        assert receiver.received.paths == ["/v1/traces"]
        assert receiver.received.spans == []


def test_the_check_says_why_not() -> None:
    with pytest.raises(ConfigurationError, match=r"no Phoenix takes traces there: .*refused"):
        check_phoenix(nobody())
    refused = pytest.raises(ConfigurationError, match="HTTP 401 Unauthorized")
    with OtlpReceiver(status=401) as receiver, refused as caught:
        check_phoenix(receiver.url.replace("//", "//user:secret@"))
    assert "secret" not in str(caught.value)
    assert "phoenix serve" in caught.value.fix


@pytest.mark.parametrize(
    "url", ["localhost:6006", "ftp://phoenix", "http://", "http://phoenix:many", "phoenix"]
)
def test_an_address_that_is_none_is_said_at_once(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^ATHENA_PHOENIX_URL cannot be "):
        PhoenixTracer(url)
    with pytest.raises(ConfigurationError, match=r"^ATHENA_PHOENIX_URL cannot be "):
        check_phoenix(url)


def test_athena_makes_one_tracer_and_only_where_one_is_set(tmp_path: Path) -> None:
    with OtlpReceiver() as receiver:
        athena = Athena(Settings(data_dir=tmp_path, phoenix_url=receiver.url))
        assert isinstance(athena.tracer, PhoenixTracer)
        assert athena.tracer is athena.tracer
        assert check_tracing(receiver.url).endswith("takes traces")
        athena.close()
    without = Athena(Settings(data_dir=tmp_path))
    assert without.tracer is None
    without.close()


def test_what_to_install_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    athena = Athena(Settings(data_dir=tmp_path, phoenix_url="http://127.0.0.1:9"))
    for needs_it in (lambda: athena.tracer, lambda: check_tracing(athena.settings.phoenix_url)):
        with pytest.raises(ConfigurationError, match=r"athena-docs\[tracing\]"):
            needs_it()


RUN = """
import sys
sys.path.insert(0, {root!r})
from athena import cli
for command in ("ingest manual --json", "ask hums? --json", "doctor --json"):
    try:
        cli.app(command.split())
    except SystemExit as end:
        assert not end.code, end.code
print("LOADED", *{{name.split(".")[0] for name in sys.modules}} & {{"opentelemetry", "openinference"}})
"""


@pytest.mark.slow
@pytest.mark.parametrize("switched_on", [False, True])
def test_a_short_command_sends_its_turn_and_loads_nothing_without_an_address(
    tmp_path: Path, switched_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "manual").mkdir()
    (tmp_path / "manual" / "fan.md").write_text("# Fan\n\nThe fan hums.\n", encoding="utf-8")
    with OtlpReceiver() as receiver:
        monkeypatch.setenv("ATHENA_PHOENIX_URL", receiver.url if switched_on else "")
        monkeypatch.setenv("ATHENA_LLM", "none")
        done = subprocess.run(
            [sys.executable, "-c", RUN.format(root=str(ROOT))],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    loaded = done.stdout.rpartition("LOADED")[2].split()
    assert sorted(loaded) == (["openinference", "opentelemetry"] if switched_on else [])
    assert ("takes traces" in done.stdout) is switched_on
    assert [root.attributes["input.value"] for root in receiver.received.roots] == ["hums?"] * switched_on
