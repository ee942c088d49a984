"""Generation over real HTTP, against servers that stream, stall, break off and refuse."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from llama_index.core.llms import LLM

from pipeline.errors import AnswerInterrupted, ModelError, ModelTimeout, ModelUnavailable
from pipeline.messages import Message
from pipeline.models import generation, reader
from pipeline.models.generation import ChatStream, complete
from pipeline.models.llm import ollama_model, openai_model
from pipeline.models.reader import Delta
from pipeline.options import LanguageModelOptions
from tests.fake_llm import FakeLLM
from tests.servers import ModelServer, OllamaServer, OpenAIServer, Reply

QUESTION = [Message("system", "Be brief."), Message("user", "Which valve?")]


@pytest.fixture(params=["ollama", "openai"])
def server(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    with OllamaServer() if request.param == "ollama" else OpenAIServer(key="sk-right") as server:
        yield server


def model_of(server: ModelServer, *, name: str = "", timeout_s: float = 20.0, key: str = "sk-right") -> LLM:
    options = LanguageModelOptions(
        ollama_url=server.url,
        openai_base_url=getattr(server, "base_url", ""),
        openai_api_key=key,
        context_window=4096,
        max_answer_tokens=256,
        connect_timeout_s=2.0,
        request_timeout_s=timeout_s,
    )
    if isinstance(server, OpenAIServer):
        return openai_model(name or "small-chat", options)
    return ollama_model(name or "llama3.2", options)


def start(server: ModelServer, **kwargs: float) -> ChatStream:
    return ChatStream(model_of(server, **kwargs), QUESTION, stop=threading.Event())


def test_streams_pieces_and_counts(server: ModelServer) -> None:
    server.reply_with(Reply(["Close ", "the ", "valve."], prompt_tokens=21))
    stream = start(server)
    assert "".join(stream) == "Close the valve."
    assert stream.generation is not None
    assert stream.generation.text == stream.text == "Close the valve."
    assert stream.generation.finish_reason == "stop"
    assert stream.generation.notice == ""
    roles = [message["role"] for message in server.chats[0].body["messages"]]
    assert roles == ["system", "user"]


def test_pieces_arrive_while_the_server_is_still_sending(server: ModelServer) -> None:
    server.reply_with(Reply(["one ", "two"], stall_after=1))
    stream = start(server)
    assert next(stream) == "one "
    stream.close()
    assert server.hung_up.wait(10)


def test_an_answer_cut_at_its_longest_length_says_so(server: ModelServer) -> None:
    server.reply_with(Reply(finish_reason="length"))
    stream = start(server)
    list(stream)
    assert stream.generation is not None
    assert "ATHENA_MAX_ANSWER_TOKENS" in stream.generation.notice


def test_what_a_server_calls_the_end_is_short_and_has_no_key(server: ModelServer) -> None:
    server.reply_with(Reply(finish_reason=f"sk-right \x1b[2J{'on and on ' * 1_000}"))
    stream = start(server)
    list(stream)
    assert stream.generation is not None
    assert stream.generation.finish_reason.startswith("[secret] [2Jon and on")
    assert len(stream.generation.finish_reason) <= 300


@pytest.mark.parametrize("reply", [Reply(stall_before_headers=True), Reply(stall_after=1)])
def test_stop_hangs_up_at_once_although_the_server_is_silent(server: ModelServer, reply: Reply) -> None:
    server.reply_with(reply)
    stop = threading.Event()
    stream = ChatStream(model_of(server), QUESTION, stop=stop)

    def stop_when_silent() -> None:
        while not (server.chats and (stream.text or reply.stall_before_headers)):
            time.sleep(0.02)
        stop.set()

    threading.Thread(target=stop_when_silent, daemon=True).start()
    list(stream)
    assert server.hung_up.wait(10), "the model's own time-out is 20 s"
    assert stream.generation is not None
    assert stream.generation.finish_reason == "stopped"
    assert stream.text == ("" if reply.stall_before_headers else "Hello")


def test_stop_between_pieces(server: ModelServer) -> None:
    server.reply_with(Reply(["a "] * 200, delay_s=0.02))
    stop = threading.Event()
    stream = ChatStream(model_of(server), QUESTION, stop=stop)
    for count, _ in enumerate(stream):
        if count == 2:
            stop.set()
    assert stream.text.startswith("a a a ") and len(stream.text) < 100
    assert server.hung_up.wait(10)


class Clock:
    """Time as a reader of deltas sees it: one arrives each `pause_s` and takes `work_s` to pass on."""

    def __init__(self, *, pause_s: float, work_s: float = 0.0) -> None:
        self.now, self.rests = 0.0, 0
        self._pause_s, self._work_s = pause_s, work_s

    def read(self, pieces: int) -> None:
        for _ in reader.rested(self._arriving(pieces), self._rest, clock=lambda: self.now):
            self.now += self._work_s

    def _arriving(self, pieces: int) -> Iterator[Delta]:
        for piece in range(1, pieces + 1):
            self.now = max(self.now, piece * self._pause_s)
            yield Delta("a ")

    def _rest(self, seconds: float) -> None:
        self.now += seconds
        self.rests += 1


@pytest.mark.parametrize("pieces", [1, 50, 2000])
def test_resting_makes_an_answer_at_most_a_fifth_later_in_few_looks(pieces: int) -> None:
    clock = Clock(pause_s=0.02)
    clock.read(pieces)
    assert clock.now <= 0.02 * pieces + min(0.2, 0.2 * 0.02 * pieces) + 1e-9
    assert clock.rests <= 12 + 5 * clock.now


def test_nobody_rests_while_there_is_something_to_read() -> None:
    clock = Clock(pause_s=0.0001, work_s=0.00025)
    clock.read(2000)
    assert clock.rests == 0


def test_a_stop_does_not_wait_for_the_rest(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LONGEST_REST_S", 60.0)
    monkeypatch.setattr(reader, "REST_SHARE", 10_000.0)
    server.reply_with(Reply(["a "] * 200, delay_s=0.02))
    stop = threading.Event()
    stream = ChatStream(model_of(server), QUESTION, stop=stop)
    next(stream)
    stop.set()
    list(stream)
    assert server.hung_up.wait(10), "the reader rests for 60 s"


@pytest.mark.parametrize(
    "reply",
    [
        Reply(cut_after=2),
        Reply(end=False),
        Reply(error_after=2, error="out of memory"),
        Reply(half_line_after=2),
    ],
    ids=["cut", "no end", "error in the stream", "half a line"],
)
def test_a_broken_stream_is_an_interrupted_answer_with_its_text_kept(
    server: ModelServer, reply: Reply
) -> None:
    server.reply_with(reply, Reply())
    stream = start(server)
    with pytest.raises(AnswerInterrupted, match="broke off") as raised:
        list(stream)
    assert stream.text.startswith("Hello there")
    assert stream.generation is None
    assert server.url in str(raised.value)
    assert raised.value.fix
    assert len(server.chats) == 1  # no retry after the first token
    if reply.error_after:
        assert "out of memory" in str(raised.value)


@pytest.mark.parametrize("reply", [Reply(stall_before_headers=True), Reply(stall_after=1)])
def test_silence_times_out(server: ModelServer, reply: Reply) -> None:
    server.reply_with(reply)
    stream = start(server, timeout_s=0.4)
    with pytest.raises(ModelTimeout, match=r"sent nothing for 0\.4 s.*ATHENA_REQUEST_TIMEOUT_S"):
        list(stream)
    assert len(server.chats) == 1


@pytest.mark.parametrize("failed", [*(Reply(status=n) for n in (429, 500, 503)), Reply(cut_after=0)])
def test_one_retry_before_the_first_token(server: ModelServer, failed: Reply) -> None:
    server.reply_with(failed, Reply(["fine"]))
    assert list(start(server)) == ["fine"]
    assert len(server.chats) == 2


def test_the_second_failure_is_the_one_that_is_told(server: ModelServer) -> None:
    server.reply_with(Reply(cut_after=0), Reply(stall_before_headers=True))
    with pytest.raises(ModelTimeout, match="sent nothing"):
        list(start(server, timeout_s=0.4))
    assert len(server.chats) == 2


@pytest.mark.parametrize(
    ("status", "says"),
    [(429, "too many requests"), (500, "failed .HTTP 500.: overloaded"), (400, "refused the request")],
)
def test_errors_of_the_server(server: ModelServer, status: int, says: str) -> None:
    server.reply_with(*[Reply(status=status, error="overloaded")] * 2)
    with pytest.raises(ModelError, match=says) as raised:
        list(start(server))
    assert server.url in str(raised.value)
    assert raised.value.fix
    assert len(server.chats) == (1 if status == 400 else 2)


def test_a_missing_model_names_the_command(server: ModelServer) -> None:
    stream = ChatStream(model_of(server, name="mistral"), QUESTION, stop=threading.Event())
    with pytest.raises(ModelUnavailable, match="mistral") as raised:
        list(stream)
    wanted = "ollama pull mistral" if isinstance(server, OllamaServer) else "ATHENA_LLM"
    assert wanted in raised.value.fix


def test_a_wrong_key_names_the_setting() -> None:
    with OpenAIServer(key="sk-right") as server:
        stream = ChatStream(model_of(server, key="sk-wrong"), QUESTION, stop=threading.Event())
        with pytest.raises(ModelUnavailable, match="ATHENA_OPENAI_API_KEY"):
            list(stream)


def test_a_server_that_is_gone_names_the_command(server: ModelServer) -> None:
    llm = model_of(server)
    server.go_away()
    with pytest.raises(ModelUnavailable, match="Cannot reach") as raised:
        list(ChatStream(llm, QUESTION, stop=threading.Event()))
    assert server.url in str(raised.value)
    wanted = "ollama serve" if isinstance(server, OllamaServer) else "ATHENA_OPENAI_BASE_URL"
    assert wanted in raised.value.fix


def test_a_server_that_goes_away_in_mid_answer(server: ModelServer) -> None:
    server.reply_with(Reply(["a "] * 100, delay_s=0.02))
    stream = start(server)
    next(stream)
    server.go_away()
    with pytest.raises(AnswerInterrupted):
        list(stream)
    assert stream.text.startswith("a ")


def test_complete_gives_the_whole_text(server: ModelServer) -> None:
    assert complete(model_of(server), "say it", timeout_s=5) == "You said: say it"


def test_complete_has_a_limit_in_all(server: ModelServer) -> None:
    server.reply_with(Reply(["a "] * 1000, delay_s=0.02))
    with pytest.raises(ModelTimeout, match=r"not done within 0\.3 s") as raised:
        complete(model_of(server), "say it", timeout_s=0.3)
    assert raised.value.fix == "Choose a smaller model."  # no setting gives it more time
    assert server.hung_up.wait(10)


def test_complete_gives_what_there_was_at_a_stop(server: ModelServer) -> None:
    stop = threading.Event()
    stop.set()
    assert complete(model_of(server), "say it", timeout_s=5, stop=stop) == ""


class TestOllama:
    """What only Ollama does: `num_ctx`, truncation, thinking."""

    def test_sends_the_context_window(self) -> None:
        with OllamaServer() as server:
            list(start(server))
            body = server.chats[0].body
        assert body["options"] == {"temperature": 0.1, "num_ctx": 4096, "num_predict": 256}
        assert body["keep_alive"] == "15m"

    def test_metadata_asks_nobody(self) -> None:
        metadata = ollama_model("x", LanguageModelOptions(ollama_url="http://127.0.0.1:9")).metadata
        assert (metadata.context_window, metadata.is_chat_model) == (8192, True)

    @pytest.mark.parametrize(
        ("characters", "counted", "truncated"),
        [
            (8000, 2100, False),
            (8000, 1300, False),  # a frugal tokenizer
            (8000, 1100, True),  # 0.55 of the estimate: the server has a smaller context than asked for
            (8000, 4095, True),  # as many as the window holds
            (8000, None, False),  # not counted
            (8000, 0, False),  # cached
        ],
    )
    def test_a_truncated_prompt_is_noticed(
        self, characters: int, counted: int | None, truncated: bool
    ) -> None:
        with OllamaServer() as server:
            server.reply_with(Reply(prompt_tokens=counted))
            stream = ChatStream(model_of(server), [Message("user", "x" * characters)], stop=threading.Event())
            list(stream)
        assert stream.generation is not None
        assert stream.generation.prompt_truncated is truncated
        assert ("ATHENA_CONTEXT_WINDOW" in stream.generation.notice) is truncated

    def test_thinking_is_not_part_of_the_answer(self) -> None:
        with OllamaServer() as server:
            server.reply_with(Reply(["Yes."], thinking=["Let me ", "see"]))
            assert list(start(server)) == ["Yes."]


class TestAnyModel:
    """Models that are not ours have no transport and no marked end."""

    def test_streams(self) -> None:
        llm = FakeLLM(["Close the valve."])
        stream = ChatStream(llm, QUESTION, stop=threading.Event())
        assert "".join(stream) == "Close the valve."
        assert llm.prompts == ["system: Be brief.\nuser: Which valve?"]
        assert stream.generation is not None
        assert stream.generation.finish_reason == ""

    def test_stop_leaves_a_slow_model_behind(self) -> None:
        stop = threading.Event()
        stop.set()
        started = time.monotonic()
        assert list(ChatStream(FakeLLM(["a b"], pause_s=60), QUESTION, stop=stop)) == []
        assert time.monotonic() - started < 20

    def test_its_failure_is_translated(self) -> None:
        stream = ChatStream(FakeLLM(["a b c"], fails_after=2), QUESTION, stop=threading.Event())
        with pytest.raises(AnswerInterrupted, match=r"fake-llm.*the fake model went away"):
            list(stream)
        assert stream.text == "a b"

    def test_a_mistake_in_a_model_is_an_error_of_the_tree(self) -> None:
        with pytest.raises(ModelError, match="no usable answer: bad"):
            list(ChatStream(FakeLLM([ValueError("bad")]), QUESTION, stop=threading.Event()))


class Ollama(FakeLLM):
    """A model of a server whose connection never speaks up, as while a name is being looked up."""

    base_url: str = "http://far.away"
    model: str = "slow"
    request_timeout: float = 0.1


def test_what_is_there_already_is_taken_at_once() -> None:
    taken = reader.AnswerReader(Ollama(["a b c d"]), QUESTION, served=True)
    first = taken.take(timeout_s=5)
    deadline = time.monotonic() + 30
    while taken._items.qsize() + len(first) < 5 and time.monotonic() < deadline:  # four words and the end
        time.sleep(0.01)
    rest = taken.take(timeout_s=5) if len(first) < 4 else []
    assert "".join(delta.text for delta in [*first, *rest]) == "a b c d"
    assert taken.take(timeout_s=5) == []


def test_a_model_of_no_server_is_taken_piece_by_piece() -> None:
    taken = reader.AnswerReader(FakeLLM(["a b c d"]), QUESTION, served=False)
    time.sleep(0.2)
    assert [len(taken.take(timeout_s=5)) for _ in range(5)] == [1, 1, 1, 1, 0]


def test_a_silence_that_the_connection_does_not_notice_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "SILENCE_GRACE_S", 0.1)
    with pytest.raises(ModelTimeout, match=r"ollama/slow at http://far\.away sent nothing"):
        list(ChatStream(Ollama(["a b"], pause_s=1), QUESTION, stop=threading.Event()))
