"""OpenAI's protocol with its official client, and the requests of Open WebUI."""

from __future__ import annotations

import json
import re
from typing import Any

import openai
import pytest

from tests.doors.conftest import HERE, Serve, Served
from tests.fake_llm import FakeLLM

QUESTION: Any = [{"role": "user", "content": "What feeds the cabin fan?"}]
FED = "The cabin fan is fed by the inverter of bus A [1]."


def client_of(served: Served, key: str = "none") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{HERE}/v1", api_key=key, max_retries=0, http_client=served.client())


@pytest.fixture
def quotes(serve: Serve) -> tuple[Served, openai.OpenAI]:
    """An API without a language model, and a client with a key."""
    served = serve()
    return served, client_of(served, served.key("ann"))


def text_of(chunks: list[Any]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def test_an_answer_has_its_citations_as_annotations_and_whole(quotes: tuple[Served, openai.OpenAI]) -> None:
    served, client = quotes
    assert [model.id for model in client.models.list()] == ["athena", "athena:quotes"]
    completion = client.chat.completions.create(model="athena", messages=QUESTION)
    message = completion.choices[0].message
    assert "fed by the inverter of bus A" in (message.content or "")
    cited = (message.annotations or [])[0].url_citation
    assert (message.content or "")[cited.start_index : cited.end_index] == "[1]"
    assert cited.title.startswith("fan.md › Cabin fan")
    whole: Any = completion.model_extra["athena"]  # type: ignore[index]
    assert whole["answer"] == message.content
    assert "fed by the inverter" in whole["citations"][0]["quote"]
    document = served.client(client.api_key).get(cited.url.removeprefix(HERE)).json()
    assert "fed by the inverter" in document["text"]


def test_a_question_that_is_not_stored_leaves_nothing_behind(quotes: tuple[Served, openai.OpenAI]) -> None:
    served, client = quotes
    completion = client.chat.completions.create(model="athena", messages=QUESTION)
    assert completion.model_extra["athena"]["conversation_id"] == ""  # type: ignore[index]
    assert served.athena.conversations.list() == []
    assert served.athena.private_conversations.list() == []


def test_markers_that_stand_in_a_document_are_no_citations(quotes: tuple[Served, openai.OpenAI]) -> None:
    served, client = quotes
    manuals = served.athena.settings.data_dir.parent / "manuals"
    pump = "# Pump\n\nThe coolant pump is fed by BUS-9 [2]. See `valve[1]`.\n"
    (manuals / "pump.md").write_text(pump, encoding="utf-8")
    served.athena.ingest([manuals])
    question: Any = [{"role": "user", "content": "What feeds the coolant pump?"}]
    message = client.chat.completions.create(model="athena", messages=question).choices[0].message
    spans = [note.url_citation for note in message.annotations or []]
    assert spans[0].title == "pump.md › Pump"
    for span in spans:
        before = (message.content or "")[span.start_index - 1]
        assert before not in "\\e"


def test_an_abstention_is_a_normal_answer(quotes: tuple[Served, openai.OpenAI]) -> None:
    asked: Any = [{"role": "user", "content": "Who won the 1998 football world cup?"}]
    completion = quotes[1].chat.completions.create(model="athena", messages=asked)
    assert completion.model_extra["athena"]["abstained"] is True  # type: ignore[index]
    assert completion.choices[0].finish_reason == "stop"


def test_a_stream_ends_with_the_citations_and_the_usage(serve: Serve) -> None:
    served = serve(llm=FakeLLM([FED]))
    stream = client_of(served, served.key("ann")).chat.completions.create(
        model="athena", messages=QUESTION, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert text_of(chunks).startswith(FED.partition(" [")[0])
    last: Any = chunks[-2]
    assert last.choices[0].finish_reason == "stop"
    assert last.choices[0].delta.annotations[0]["type"] == "url_citation"
    assert last.athena["mode"] == "generate"
    usage = chunks[-1].usage
    assert chunks[-1].choices == [] and usage is not None and usage.total_tokens > usage.completion_tokens > 0


def test_the_numbers_of_a_stream_are_those_of_its_sources(serve: Serve) -> None:
    """A model names its third source first: the client's [1] opens what the sentence rests on."""
    served = serve(llm=FakeLLM(["The cabin fan is fed by bus A [3]. A fan that stopped is restarted [1]."]))
    chunks = list(client_of(served).chat.completions.create(model="athena", messages=QUESTION, stream=True))
    text, last = text_of(chunks), chunks[-1]
    numbers = [int(number) for number in re.findall(r"\[(\d+)\]", text)]
    assert numbers[0] == 1
    whole: Any = last.model_extra["athena"]  # type: ignore[index]
    assert {citation["marker"] for citation in whole["citations"]} == {*numbers}
    for note in last.choices[0].delta.model_extra["annotations"]:  # type: ignore[index]
        cited = note["url_citation"]
        assert text[cited["start_index"] : cited["end_index"]] in ("[1]", "[2]")


def test_an_error_in_mid_stream_is_an_event(serve: Serve) -> None:
    served = serve(llm=FakeLLM(["The fan is fed by bus A. It hums. It stops."], fails_after=8))
    with pytest.raises(openai.APIError) as failed:
        list(client_of(served).chat.completions.create(model="athena", messages=QUESTION, stream=True))
    assert "fake" in str(failed.value)


def test_earlier_messages_are_the_history_and_system_messages_are_left_out(serve: Serve) -> None:
    llm = FakeLLM(["What feeds the cabin fan?", FED])
    client = client_of(serve(llm=llm))
    messages = [
        {"role": "system", "content": "Speak like a pirate."},
        {"role": "user", "content": "Hello there, is there a cabin fan?"},
        {"role": "assistant", "content": "There is."},
        *QUESTION,
    ]
    client.chat.completions.create(model="athena", messages=messages)
    assert "pirate" not in llm.prompts[-1]
    assert "is there a cabin fan?" in llm.prompts[-1]


IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


@pytest.mark.parametrize(
    ("given", "status", "param"),
    [
        ({"n": 2}, 400, "n"),
        ({"stream": "yes"}, 400, "stream"),
        ({"logprobs": True}, 400, "logprobs"),
        ({"audio": {"voice": "alloy"}}, 400, "audio"),
        ({"tool_choice": "required"}, 400, "tool_choice"),
        ({"response_format": {"type": "json_object"}}, 400, "response_format.type"),
        ({"model": "gpt-4o"}, 404, "model"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "?"}, IMAGE]}]},
            400,
            "messages",
        ),
        ({"messages": [{"role": "assistant", "content": "Hello."}]}, 400, "messages"),
    ],
)
def test_what_an_answer_cannot_do_is_refused_in_openais_shape(
    quotes: tuple[Served, openai.OpenAI], given: dict[str, Any], status: int, param: str | None
) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        quotes[1].chat.completions.create(**{"model": "athena", "messages": QUESTION} | given)
    assert (refused.value.status_code, refused.value.param) == (status, param)


def test_half_a_character_in_a_field_is_the_clients_mistake(serve: Serve) -> None:
    body = rb'{"question": "fan?", "conversation_id": "\ud800"}'
    sent = serve().client().post("/api/ask", content=body, headers={"Content-Type": "application/json"})
    assert sent.status_code in (400, 404)


def test_open_webuis_requests_with_tools_and_options_are_answered(serve: Serve) -> None:
    """Recorded from Open WebUI 0.6: native function calling sends its tools with every question."""
    tool = {"type": "function", "function": {"name": "web", "parameters": {"type": "object"}}}
    body = {
        "model": "athena", "stream": True, "messages": QUESTION, "tools": [tool], "tool_choice": "auto",
        "temperature": 0.3, "max_tokens": 50, "stream_options": {"include_usage": True},
    }  # fmt: skip
    client = serve().client()
    lines = client.post("/v1/chat/completions", json=body).text.split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]
    text = "".join(choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"])
    assert "fed by the inverter of bus A" in text
    noted = [note["url_citation"] for chunk in chunks for choice in chunk["choices"]
             for note in choice["delta"].get("annotations", ())]  # fmt: skip
    assert [text[note["start_index"] : note["end_index"]] for note in noted] == ["[1]"] * len(noted) != []
    assert not any("tool_calls" in choice["delta"] for chunk in chunks for choice in chunk["choices"])
    task = "### Task:\nGenerate a title.\n### Chat History:\nUSER: What feeds the cabin fan?"
    titled = {"model": "athena", "stream": False, "messages": [{"role": "user", "content": task}]}
    assert client.post("/v1/chat/completions", json=titled).json()["choices"][0]["message"]["content"]
