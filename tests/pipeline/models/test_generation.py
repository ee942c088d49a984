"""Generation over real HTTP, against a server that streams, stalls, breaks off and refuses."""

from __future__ import annotations

import json
import threading
import time
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.answer import Message
from pipeline.errors import ModelError, ModelTimeout, ModelUnavailable
from pipeline.llamaindex.llms import GivenModel, language_model_of, llama_index_llm
from pipeline.models.clients import LanguageModel, OllamaModel, OpenAIModel, Piece
from pipeline.models.failures import Server
from pipeline.models.generation import ChatStream, complete
from pipeline.options import LanguageModelOptions
from pipeline.redaction import hide
from tests.fake_llm import FakeLLM, PiecesModel
from tests.scripted_server import HANG, ScriptedServer, Sent, chunk, said, sse, told

KEY = "sk-9f8e7d6c5b4a/39"
QUESTION = [Message("system", "Be brief."), Message("user", "Which valve?")]
ANSWERS = {"ollama": told([{"content": "Close "}, {"content": "B7."}]), "openai": said("Close ", "B7.")}
KINDS = pytest.mark.parametrize("kind", ["ollama", "openai"])
JSON = {"content-type": "application/json"}


def model(kind: str, server: ScriptedServer, *, path: str = "/v1", **changes: Any) -> LanguageModel:
    defaults = {"context_window": 4096, "max_answer_tokens": 256, "request_timeout_s": 20.0}
    urls = {"ollama_url": server.url, "openai_base_url": server.url + path, "openai_api_key": KEY}
    options = LanguageModelOptions(**urls | defaults | changes)
    hide(dict(options))
    if kind == "ollama":
        return OllamaModel(Server("ollama", server.url, "m", options.request_timeout_s), options)
    return OpenAIModel(Server("openai", options.openai_url, "m", options.request_timeout_s), options)


def stream_of(llm: LanguageModel, **options: Any) -> ChatStream:
    return ChatStream(llm, QUESTION, **{"stop": threading.Event(), **options})


def read(kind: str, *bodies: tuple[Any, ...], **changes: Any) -> ChatStream:
    """The stream of a server that sends these bodies, read to its end."""
    with ScriptedServer(*(Sent(body) for body in bodies)) as server:
        stream = stream_of(model(kind, server, **changes))
        deltas = list(stream)
    assert "".join(delta.text for delta in deltas) == stream.text
    assert "".join(delta.thinking for delta in deltas) == stream.thinking
    return stream


def error_of(kind: str, *responses: Sent, **changes: Any) -> ModelError:
    """What a user is told where a server sends these responses."""
    with ScriptedServer(*responses) as server, pytest.raises(ModelError) as raised:
        list(stream_of(model(kind, server, **changes)))
    assert KEY not in str(raised.value)
    return raised.value


def refusal(status: int, message: str, **headers: str) -> Sent:
    return Sent((json.dumps({"error": {"message": message}}).encode(),), status, {**JSON, **headers})


@KINDS
def test_an_answer_streams_and_is_counted(kind: str) -> None:
    usage = {"prompt_tokens": 21, "completion_tokens": 3, "total_tokens": 24}
    counted = {
        "ollama": told([{"content": "B7."}], prompt_eval_count=21, eval_count=3),
        "openai": said("B7.", usage=usage),
    }
    stream = read(kind, counted[kind])
    ended = stream.end
    assert stream.text == "B7."
    assert (ended.finish_reason, ended.prompt_tokens, ended.answer_tokens) == ("stop", 21, 3)
    assert stream.notice == ""


ALLOWED: dict[str, tuple[object, ...]] = {
    "lines that are no data": (b": hi\n\nid: 4\n: x\n\nretry: 9\n\nx-odd: 1\n\n", chunk({"content": "B7"})),
    "an event of another name": (b"event: ping\ndata: {}\n\n", chunk({"content": "B7"})),
    "a last chunk without delta": (chunk({"content": "B7"}), {"choices": [{"finish_reason": "stop"}]}),
    "usage without choices": (chunk({"content": "B7"}), {"usage": {"prompt_tokens": 3}}),
    "usage with choices null": (chunk({"content": "B7"}), {"choices": None, "usage": None}),
    "content in parts": (chunk({"content": [{"type": "text", "text": "B"}, {"type": "text", "text": "7"}]}),),
    "content null": (chunk({"content": None, "role": "assistant"}), chunk({"content": "B7"})),
    "delta null": ({"choices": [{"delta": None}]}, chunk({"content": "B7"})),
    "only the content": ({"choices": [{"delta": {"content": "B7"}}]},),
    "carriage returns": (b'data: {"choices": [{"delta": {"content": "B7"}}]}\r\n\r\n',),
}  # fmt: skip


@pytest.mark.parametrize("done", [True, False], ids=["[DONE]", "no [DONE]"])
@pytest.mark.parametrize("events", ALLOWED.values(), ids=ALLOWED)
def test_streams_that_the_protocol_allows(events: tuple[object, ...], done: bool) -> None:
    assert read("openai", sse(*events, done=done)).text == "B7"


@KINDS
def test_a_slow_reader_gets_all_that_the_server_sent(kind: str) -> None:
    with ScriptedServer(Sent(ANSWERS[kind])) as server:
        stream = stream_of(model(kind, server, request_timeout_s=0.3), deadline_s=0.8)
        text = next(stream).text
        time.sleep(1.0)
        assert text + "".join(delta.text for delta in stream) == "Close B7."


THOUGHTS: dict[str, tuple[str, tuple[bytes, ...]]] = {
    "tags": ("openai", said("<think>hm</think>\n\nB7.")),
    "tags in pieces": ("openai", said("<th", "ink>", "h", "m</", "think", ">B7.")),
    "tags of Ollama's": ("ollama", told([{"content": "<think>h"}, {"content": "m</think>B7."}])),
    "reasoning_content": ("openai", sse(chunk({"reasoning_content": "hm"}), chunk({"content": "B7."}))),
    "reasoning": ("openai", sse(chunk({"reasoning": "hm"}), chunk({"content": "B7."}))),
    "parts": ("openai", sse(chunk({"content": [{"thinking": [{"text": "hm"}]}, {"text": "B7."}]}))),
    "Ollama's thinking": ("ollama", told([{"thinking": "h"}, {"thinking": "m"}, {"content": "B7."}])),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "body"), THOUGHTS.values(), ids=THOUGHTS)
def test_thoughts_are_no_part_of_the_answer(kind: str, body: tuple[bytes, ...]) -> None:
    stream = read(kind, body)
    assert (stream.text, stream.thinking) == ("B7.", "hm")


@settings(max_examples=40)
@given(st.lists(st.text("<>/think` aé", max_size=9), max_size=12))
def test_splitting_thoughts_does_not_depend_on_the_pieces(pieces: list[str]) -> None:
    whole = "".join(pieces)

    def split(*parts: str) -> tuple[str, str]:
        stream = stream_of(PiecesModel(parts))
        list(stream)
        return stream.text, stream.thinking

    assert split("B7 ", *pieces) == split("B7 " + whole)
    if "think>" not in whole:
        assert split("B7 ", *pieces) == ("B7 " + whole, "")
    assert split("Models write `<think", ">` first.") == ("Models write `<think>` first.", "")


def test_a_key_in_pieces_is_taken_out_of_the_answer() -> None:
    whole = f"It is {KEY}, or {quote(KEY, safe='')}; a valve: skip."
    pieces = [whole[at : at + 5] for at in range(0, len(whole), 5)]
    assert read("openai", said(*pieces)).text == "It is [secret], or [secret]; a valve: skip."


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (told([{"thinking": "hm"}], reason="length"), "ATHENA_MAX_ANSWER_TOKENS"),
        (told([{"content": "<think>hm"}], reason="length"), "no answer"),
        (told([{"content": "B"}], reason="length"), "cut off"),
        (told([{"thinking": "hm"}]), "no answer"),
    ],
)
def test_an_answer_that_was_cut_or_thought_away_says_so(body: tuple[bytes, ...], says: str) -> None:
    assert says in read("ollama", body).notice


def test_ollama_gets_its_window_and_does_not_think_unless_told_to() -> None:
    with ScriptedServer(Sent(ANSWERS["ollama"])) as server:
        list(stream_of(model("ollama", server)))
        list(stream_of(model("ollama", server, think=True)))
        quiet, thinking = (request.body for request in server.requests)
    assert quiet["options"] == {"temperature": 0.0, "num_ctx": 4096, "num_predict": 256}
    assert (quiet["think"], thinking["think"], quiet["keep_alive"]) == (False, True, "15m")


@KINDS
@pytest.mark.parametrize("silence", ["before", "within"])
def test_a_stop_ends_a_silent_answer_within_a_second(kind: str, silence: str) -> None:
    sent = Sent(before_headers=HANG) if silence == "before" else Sent((ANSWERS[kind][0], HANG))
    with ScriptedServer(sent) as server:
        stop = threading.Event()
        stream = stream_of(model(kind, server), stop=stop)
        threading.Timer(0.5, stop.set).start()
        started = time.monotonic()
        list(stream)
        assert time.monotonic() - started < 1.5
        assert server.hung_up.wait(10)
    assert stream.end.finish_reason == "stopped"


@KINDS
def test_silence_and_endless_answers_time_out(kind: str) -> None:
    silent = error_of(kind, Sent((ANSWERS[kind][0], HANG)), request_timeout_s=0.3)
    assert isinstance(silent, ModelTimeout) and "ATHENA_REQUEST_TIMEOUT_S" in silent.fix
    with ScriptedServer(Sent((*[ANSWERS[kind][0], 0.02] * 500,))) as server:
        with pytest.raises(ModelTimeout, match="finish"):
            complete(model(kind, server), "say it", timeout_s=0.3)
        assert server.hung_up.wait(10)


@KINDS
def test_an_answer_that_breaks_off_keeps_its_text(kind: str) -> None:
    cut = Sent((ANSWERS[kind][0],), headers={"content-length": "9000"})
    with ScriptedServer(cut) as server:
        stream = stream_of(model(kind, server))
        with pytest.raises(ModelError, match="connection was cut") as raised:
            list(stream)
        assert len(server.requests) == 1
    assert stream.text == "Close "
    assert server.url in str(raised.value) and raised.value.fix


@KINDS
def test_an_error_within_the_answer_is_told_in_the_servers_words(kind: str) -> None:
    failed = {
        "ollama": b'{"error": "out of memory"}\n',
        "openai": sse({"error": {"message": "out of memory"}})[0],
    }
    assert "out of memory" in str(error_of(kind, Sent((ANSWERS[kind][0], failed[kind]))))


LONG = "This model's maximum context length is 4096 tokens. Please reduce the length of the messages."


@KINDS
@pytest.mark.parametrize(
    ("sent", "error", "fix"),
    [
        (refusal(401, f"Not {KEY}"), ModelUnavailable, {"ollama": "URL", "openai": "ATHENA_OPENAI_API_KEY"}),
        (refusal(404, "no such model"), ModelUnavailable, {"ollama": "pull m", "openai": "ATHENA_LLM"}),
        (refusal(429, "slow down", **{"retry-after": "1"}), ModelError, "Wait"),
        (refusal(400, LONG), ModelError, "ATHENA_CONTEXT_WINDOW"),
        (refusal(500, "overloaded"), ModelError, "log"),
        (Sent((), 307, {"location": "http://elsewhere/"}), ModelError, "URL"),
        (Sent((b"<html>Hello</html>",), headers={"content-type": "text/html"}), ModelError, "log"),
    ],
    ids=["key", "model", "rate", "context", "failure", "redirect", "page"],
)  # fmt: skip
def test_errors_say_what_to_do(kind: str, sent: Sent, error: type[ModelError], fix: Any) -> None:
    raised = error_of(kind, sent)
    assert isinstance(raised, error)
    assert "http://127.0.0.1" in raised.problem and "Traceback" not in raised.problem
    assert (fix if isinstance(fix, str) else fix[kind]) in raised.fix


def test_a_base_url_without_v1_gets_a_hint() -> None:
    with ScriptedServer(refusal(404, "Not Found")) as server, pytest.raises(ModelError) as raised:
        list(stream_of(model("openai", server, path="")))
    assert "'/v1'" in raised.value.fix


@KINDS
def test_a_server_that_is_down_names_the_command(kind: str) -> None:
    with ScriptedServer() as server:
        llm = model(kind, server)
    with pytest.raises(ModelUnavailable, match="Cannot reach") as raised:
        list(stream_of(llm))
    assert {"ollama": "ollama serve", "openai": "ATHENA_OPENAI_BASE_URL"}[kind] in raised.value.fix


@pytest.mark.parametrize(
    ("message", "status", "sent"),
    [
        ("System role not supported", 400, '"system"'),
        ("Only user and assistant roles are supported!", 500, '"system"'),
        ("'max_tokens' is not supported. Use 'max_completion_tokens'.", 400, '"max_tokens"'),
        ("'temperature' does not support 0.1 with this model", 400, '"temperature"'),
        ('[{"loc": ["body", "stream_options"]}]', 422, '"stream_options"'),
    ],
)
def test_a_server_that_refuses_more_gets_the_messages_alone(message: str, status: int, sent: str) -> None:
    refused = [refusal(status, message)] * (2 if status == 500 else 1)  # OpenAI's client tries a 500 twice
    with ScriptedServer(*refused, Sent(ANSWERS["openai"])) as server:
        llm = model("openai", server)
        assert complete(llm, QUESTION, timeout_s=20) == "Close B7."
        first, *_, again = (request.body for request in server.requests)
    assert [sent in json.dumps(body) for body in (first, again)] == [True, False]
    assert "Be brief." in json.dumps(again) and "Which valve?" in json.dumps(again)


SCHEMA = {"type": "object", "properties": {"queries": {"type": "array"}}}


@KINDS
def test_complete_gives_the_reply_alone_and_sends_the_schema(kind: str) -> None:
    thought = {
        "ollama": told([{"content": "hm</think>\n"}, {"content": "{} "}]),
        "openai": said("<think>a</think>{}"),
    }
    with ScriptedServer(Sent(thought[kind])) as server:
        assert complete(model(kind, server), QUESTION, timeout_s=20, json_schema=SCHEMA) == "{}"
        body = server.requests[0].body
    sent = body["format"] if kind == "ollama" else body["response_format"]["json_schema"]["schema"]
    assert sent == SCHEMA


@KINDS
def test_no_proxy_stands_before_this_machine(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert read(kind, ANSWERS[kind]).text == "Close B7."


class TestAnyModel:
    """Models that a program passes have no server and no marked end."""

    def test_is_any_of_llamaindex(self) -> None:
        llm = FakeLLM(["B7."])
        model, chosen = language_model_of(llm)
        assert complete(model, "Which?", timeout_s=20) == "B7."
        assert (chosen.name, chosen.provider, llama_index_llm(model)) == ("fake-llm", "given", llm)

    def test_streams(self) -> None:
        llm = FakeLLM(["Close <think>no</think>it."])
        stream = stream_of(GivenModel(llm))
        list(stream)
        assert (stream.text, stream.end.finish_reason) == ("Close it.", "")
        assert llm.prompts == ["system: Be brief.\nuser: Which valve?"]

    def test_a_stop_ends_it_at_the_next_word(self) -> None:
        stop = threading.Event()
        stream = stream_of(GivenModel(FakeLLM(["a b c"])), stop=stop)
        assert next(stream) == Piece("a")
        stop.set()
        assert list(stream) == [] and stream.end.finish_reason == "stopped"

    def test_the_deadline_ends_it_at_the_next_word(self) -> None:
        with pytest.raises(ModelTimeout, match="finish"):
            complete(GivenModel(FakeLLM(["a " * 100], pause_s=0.1)), "say it", timeout_s=0.3)

    def test_its_failures_are_errors_of_the_tree(self) -> None:
        stream = stream_of(GivenModel(FakeLLM(["a b c"], fails_after=2)))
        with pytest.raises(ModelError, match="broke off"):
            list(stream)
        assert stream.text == "a b"
        with pytest.raises(ModelError, match="usable answer: bad"):
            list(stream_of(GivenModel(FakeLLM([ValueError("bad")]))))
