"""OpenAI's protocol, with its official client over real sockets."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from contextlib import suppress
from typing import Any

import httpx
import openai
import pytest

from athena import Athena
from doors import asking
from doors.completions import words_of
from doors.running import told_by
from pipeline.steps.events import AnswerFinished, SentencesCited, StepStarted
from tests.doors.conftest import Serve, Served
from tests.fake_llm import FakeLLM
from tests.made_answers import ANSWERED

QUESTION = [{"role": "user", "content": "What feeds the cabin fan?"}]
UNKNOWN = [{"role": "user", "content": "Who won the 1998 football world cup?"}]
FED = "The cabin fan is fed by the inverter of bus A [1]."


def client_of(served: Served, key: str = "none") -> openai.OpenAI:
    client = served.client()
    return openai.OpenAI(base_url=f"{served.address}/v1", api_key=key, max_retries=0, http_client=client)


@pytest.fixture
def here(serve: Serve) -> tuple[Served, openai.OpenAI]:
    """Doors that quote, and a client with a key."""
    served = serve()
    return served, client_of(served, served.key("ann"))


def test_a_persona_of_a_file_answers_and_is_looked_for_once(
    here: tuple[Served, openai.OpenAI], monkeypatch: pytest.MonkeyPatch
) -> None:
    served, client = here
    folder = served.athena.settings.data_dir / asking.PERSONAS
    folder.mkdir()
    (folder / "dry.toml").write_text('name = "Dry"\n', encoding="utf-8")
    looked, personas = list[Athena](), asking.personas

    def look(athena: Athena) -> Any:
        looked.append(athena)
        return personas(athena)

    monkeypatch.setattr(asking, "personas", look)
    completion = client.chat.completions.create(model="athena:dry", messages=QUESTION)  # type: ignore[arg-type]
    assert "inverter of bus A" in (completion.choices[0].message.content or "")
    assert len(looked) == 1
    with pytest.raises(openai.NotFoundError, match="There are: athena, athena:quotes, athena:dry"):
        client.chat.completions.create(model="other:dry", messages=QUESTION)  # type: ignore[arg-type]


def test_an_answer_has_its_citations_as_annotations_and_whole(here: tuple[Served, openai.OpenAI]) -> None:
    served, client = here
    assert [model.id for model in client.models.list()] == ["athena", "athena:quotes"]
    completion = client.chat.completions.create(model="athena", messages=QUESTION)  # type: ignore[arg-type]
    message = completion.choices[0].message
    assert "fed by the inverter of bus A" in (message.content or "")
    cited = (message.annotations or [])[0].url_citation
    assert (message.content or "")[cited.start_index : cited.end_index] == "[1]"
    assert cited.title.startswith("fan.md › Cabin fan")
    whole: Any = completion.model_extra["athena"]  # type: ignore[index]
    assert whole["answer"] == message.content
    assert "fed by the inverter" in whole["citations"][0]["quote"]
    assert not whole["conversation_id"]
    assert served.athena.conversations.list() == []
    assert served.athena.private_conversations.list() == []
    key = {"Authorization": f"Bearer {client.api_key}"}
    section = httpx.get(cited.url, headers=key, trust_env=False).json()
    assert "fed by the inverter" in section["text"]


def test_what_a_document_has_of_markers_is_no_citation(here: tuple[Served, openai.OpenAI]) -> None:
    served, client = here
    manuals = served.athena.settings.corpus
    (manuals / "pump.md").write_text(
        "# Pump\n\nThe coolant pump is fed by BUS-9 [2]. See [1]\n", encoding="utf-8"
    )
    (manuals / "care.md").write_text("# Pump care\n\nThe coolant pump is cleaned weekly.\n", encoding="utf-8")
    served.athena.ingest([manuals])
    question: Any = [{"role": "user", "content": "What feeds the coolant pump?"}]
    message = client.chat.completions.create(model="athena", messages=question).choices[0].message
    text = message.content or ""
    assert r"BUS-9 \[2]. See \[1] [1]" in text
    cited = [note.url_citation for note in message.annotations or []]
    assert cited[0].title == "pump.md › Pump"
    assert len(cited) == len({note.title for note in cited})


def test_the_event_loop_wakes_up_only_for_what_a_client_is_told() -> None:
    """Each time it does, it waits for a processor among the threads that make answers."""
    end = AnswerFinished(ANSWERED)
    events = [
        StepStarted("search", "Searching"),
        SentencesCited("A fan.", "", (), ()),
        StepStarted("x", "y"),
        end,
    ]
    stop = threading.Event()

    async def told() -> list[object]:
        work = lambda stop: words_of(lambda _: iter(events), stop)  # noqa: E731
        return [event async for batch in told_by(work, stop) for event in batch]

    assert asyncio.run(told()) == [events[1], end]


def test_an_abstention_is_a_normal_answer(here: tuple[Served, openai.OpenAI]) -> None:
    completion = here[1].chat.completions.create(model="athena", messages=UNKNOWN)  # type: ignore[arg-type]
    whole: Any = completion.model_extra["athena"]  # type: ignore[index]
    assert whole["abstained"] is True
    assert completion.choices[0].finish_reason == "stop"


def test_a_stream_ends_with_the_citations_and_the_usage(serve: Serve) -> None:
    served = serve(llm=FakeLLM([FED]))
    stream = client_of(served, served.key("ann")).chat.completions.create(
        model="athena",
        messages=[{"role": "system", "content": "Speak like a pirate."}, *QUESTION],  # type: ignore[list-item]
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text.startswith(FED.partition(" [")[0])
    assert "[1]" in text
    last = chunks[-2]
    assert last.choices[0].finish_reason == "stop"
    annotations = last.choices[0].delta.model_extra["annotations"]  # type: ignore[index]
    assert annotations[0]["type"] == "url_citation"
    assert last.model_extra["athena"]["mode"] == "generate"  # type: ignore[index]
    assert chunks[-1].choices == []


def test_the_numbers_of_a_stream_are_those_of_its_sources(serve: Serve) -> None:
    """A model names its third source first: the client's [1] opens what the sentence rests on."""
    served = serve(llm=FakeLLM(["The cabin fan is fed by bus A [3]. A fan that stopped is restarted [1]."]))
    stream = client_of(served, served.key("ann")).chat.completions.create(
        model="athena",
        messages=QUESTION,
        stream=True,  # type: ignore[arg-type]
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    cited = chunks[-1].choices[0].delta.model_extra["annotations"]  # type: ignore[index]
    numbers = [int(number) for number in re.findall(r"\[(\d+)\]", text)]
    assert numbers[0] == 1
    whole: Any = chunks[-1].model_extra["athena"]  # type: ignore[index]
    assert {citation["marker"] for citation in whole["citations"]} == {*numbers}
    for annotation in cited:
        assert text[annotation["url_citation"]["start_index"] : annotation["url_citation"]["end_index"]]


def test_a_system_message_is_data_for_the_tone_and_stands_before_the_rules(serve: Serve) -> None:
    llm = FakeLLM([FED])
    served = serve(llm=llm)
    messages = [
        {"role": "system", "content": "Speak like a pirate."},
        {"role": "user", "content": "Hello there, is there a cabin fan?"},
        {"role": "assistant", "content": "There is."},
        *QUESTION,
    ]
    assert served.client().post("/v1/chat/completions", json={"messages": messages}).is_success
    prompt = llm.prompts[-1]
    assert prompt.index("Speak like a pirate.") < prompt.index("Rules:")
    assert "is there a cabin fan?" in prompt


def test_open_webui_gets_its_own_events_with_the_exact_quotes(serve: Serve) -> None:
    """Of a stream, it passes `event` to its page as it is, and reads `choices` of the other chunks."""
    served = serve()
    body = {"messages": QUESTION, "stream": True}
    client = served.client(headers={"X-Athena-Events": "sources"})
    lines = client.post("/v1/chat/completions", json=body).text.split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    events = [chunk["event"] for chunk in chunks if "event" in chunk]
    assert events[0]["type"] == "source"
    data = events[0]["data"]
    assert "fed by the inverter of bus A" in data["document"][0]
    assert data["metadata"][0]["source"] == data["source"]["url"]
    assert all("choices" in chunk for chunk in chunks if "event" not in chunk)


def test_a_stored_conversation_goes_on(here: tuple[Served, openai.OpenAI]) -> None:
    served, client = here
    first = client.chat.completions.create(model="athena:quotes", messages=QUESTION, store=True)  # type: ignore[arg-type]
    known = first.model_extra["athena"]["conversation_id"]  # type: ignore[index]
    client.chat.completions.create(
        model="athena",
        messages=[{"role": "user", "content": "And the bearing?"}],
        metadata={"conversation_id": known},
    )
    kept = served.athena.conversations.get(known)
    assert (kept.info.user, len(kept.turns)) == ("ann", 2)


@pytest.mark.parametrize(
    ("given", "status", "param"),
    [
        ({"n": 2}, 400, "n"),
        ({"n": 0}, 400, "n"),
        ({"n": True}, 400, "n"),
        ({"n": "1"}, 400, "n"),
        ({"stream": "yes"}, 400, "stream"),
        ({"store": "on"}, 400, "store"),
        ({"logprobs": 0}, 400, "logprobs"),
        ({"top_logprobs": 3}, 400, "top_logprobs"),
        ({"audio": {"voice": "alloy"}}, 400, "audio"),
        ({"web_search_options": {}}, 400, "web_search_options"),
        ({"tool_choice": "required"}, 400, "tool_choice"),
        ({"messages": [{"role": "user", "content": 5}]}, 400, "messages.0.content"),
        ({"model": "athena:"}, 404, "model"),
        ({"model": "athena:agent"}, 404, "model"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, 400, "tools"),
        ({"response_format": {"type": "json_object"}}, 400, "response_format"),
        ({"model": "gpt-4o"}, 404, "model"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]},
         400, "messages"),
        ({"messages": [{"role": "assistant", "content": "Hello."}]}, 400, "messages"),
        ({"metadata": {"conversation_id": "nowhere"}}, 404, None),
    ],
)  # fmt: skip
def test_what_cannot_be_honoured_is_refused_in_openais_shape(
    here: tuple[Served, openai.OpenAI], given: dict[str, Any], status: int, param: str | None
) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        here[1].chat.completions.create(**{"model": "athena", "messages": QUESTION} | given)
    assert (refused.value.status_code, refused.value.param) == (status, param)


def test_a_conversations_id_of_half_a_character_is_the_clients_mistake(serve: Serve) -> None:
    body = rb'{"messages": [{"role": "user", "content": "fan?"}], "metadata": {"conversation_id": "\ud800"}}'
    headers = {"Content-Type": "application/json"}
    refused = serve().client().post("/v1/chat/completions", content=body, headers=headers)
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "metadata.conversation_id"


def test_fields_that_change_nothing_are_accepted(here: tuple[Served, openai.OpenAI]) -> None:
    def ask(**given: Any) -> Any:
        reply = here[1].chat.completions.create(model="athena", messages=QUESTION, **given)
        return reply.choices[0].message.content

    assert ask(temperature=0.3, top_p=1, max_tokens=50, seed=1, user="u", n=1) == ask()


def until(holds: Any, seconds: float = 20) -> None:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("streaming", [True, False])
def test_a_client_that_hangs_up_stops_the_answer_and_leaves_a_stopped_turn(
    serve: Serve, streaming: bool
) -> None:
    served = serve(llm=FakeLLM(["word " * 3000], pause_s=0.01))
    body = {"messages": QUESTION, "stream": streaming, "store": True}
    client = served.client()
    client.timeout = 2
    with suppress(httpx.ReadTimeout), client.stream("POST", "/v1/chat/completions", json=body) as response:
        next(line for line in response.iter_lines() if "word" in line)
    until(lambda: [info.turns for info in served.athena.conversations.list()] == [1])
    known = served.athena.conversations.list()[0].id
    until(lambda: served.athena.conversations.get(known).turns[0].answer.status == "stopped")
