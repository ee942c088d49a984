"""Generate text with any LlamaIndex model: streamed, stoppable, thoughts apart, with clear errors.

A thread of its own reads the model. So a stop takes effect at once although the server may be silent: its
connection is cut off, and the thread ends by itself.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pipeline.errors import ModelTimeout
from pipeline.messages import Message
from pipeline.models.connections import Call
from pipeline.models.failures import quoted, translate
from pipeline.models.llm import server_of
from pipeline.models.thinking import CLOSE, ThinkingSplitter
from pipeline.models.tokens import count_tokens
from pipeline.redaction import held_back, redacted
from pipeline.steps.spending import Spent, account
from pipeline.words import well_formed

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index.core.llms import LLM

POLL_S = 0.1  # how soon a stop is noticed
CHARACTERS_A_TOKEN = 4.0
WHOLE_PROMPT_SHARE = 0.6  # a prompt that was read whole has this share of the estimated tokens, at least

TRUNCATED = "The model read only {} tokens of a longer prompt. Raise ATHENA_CONTEXT_WINDOW."
ALL_THOUGHT = (
    "The model used its whole answer for thinking. Raise ATHENA_MAX_ANSWER_TOKENS, or choose another."
)
ONLY_THOUGHT = "The model thought, and wrote no answer. Ask again, or choose another model."
CUT = "The answer was cut off at its longest length. Raise ATHENA_MAX_ANSWER_TOKENS."


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an answer, or of the thoughts before it."""

    text: str = ""
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class Generation:
    """How a generation ended; counts are None where the server did not report them."""

    finish_reason: (
        str  # "stop", "length", "stopped" (by the user), another word of the server's; "" = unknown
    )
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    prompt_truncated: bool = False  # the server did not read the whole prompt
    seconds: float = 0.0
    notice: str = ""  # for the reader of the answer; "" when all is well


_Responses: TypeAlias = (
    "queue.SimpleQueue[ChatResponse | Exception | None]"  # the last is None or an exception
)


class ChatStream(Iterator[Delta]):
    """An answer as it arrives; `text` and `thinking` grow, and `generation` is there at the end.

    Setting `stop` ends it within about 0.1 s, without an exception; so does `close`. `deadline_s` limits the
    whole answer. `json_schema` is sent to servers that can keep to one. Raises `ModelUnavailable`,
    `ModelTimeout`, `AnswerInterrupted` or `ModelError`; what had arrived stays in `text`.
    """

    def __init__(
        self,
        llm: LLM,
        messages: Sequence[Message],
        *,
        stop: threading.Event,
        deadline_s: float | None = None,
        json_schema: Mapping[str, Any] | None = None,
    ) -> None:
        self.text = self.thinking = ""
        self.generation: Generation | None = None
        self._llm, self._messages, self._stop = llm, list(messages), stop
        self._started, self._deadline_s, self._schema = time.monotonic(), deadline_s, json_schema
        self._server = server_of(llm)
        self._finish_reason = self._waiting = ""
        self._counts: tuple[int | None, int | None] = (None, None)  # of the prompt and of the answer
        self._account = account.get()
        self._deltas = self._run()

    def __next__(self) -> Delta:
        return next(self._deltas)

    def close(self) -> None:
        """Hang up; safe at any time."""
        self._deltas.close()

    def _run(self) -> Generator[Delta, None, None]:
        call, responses = Call(), queue.SimpleQueue[Any]()
        # The caller's context goes along, so that traces of the model's call hang under the caller's span.
        run = contextvars.copy_context().run
        threading.Thread(
            target=run, args=(self._read, call, responses), name="athena-llm", daemon=True
        ).start()
        try:
            yield from self._pieces(self._arriving(responses))
            self.generation = self._ended()
        except Exception as error:
            raise translate(error, server=self._server, begun=bool(self.text or self.thinking)) from error
        finally:
            call.cut_off()
            self._note_tokens()

    def _read(self, call: Call, responses: _Responses) -> None:
        call.begin()
        try:
            schema = _schema_arguments(self._server.provider, self._schema)
            for response in self._llm.stream_chat([_chat_message(one) for one in self._messages], **schema):
                responses.put(response)
                self._check_deadline()
                if call.is_cut_off:
                    return
            responses.put(None)
        except Exception as error:  # noqa: BLE001 - the caller's thread raises it
            responses.put(error)
        finally:
            call.end()

    def _arriving(self, responses: _Responses) -> Iterator[ChatResponse]:
        """Yield responses until the end or a stop; all that has arrived, however late the caller asks."""
        while not self._stop.is_set():
            try:
                response = responses.get(timeout=POLL_S)
            except queue.Empty:
                self._check_deadline()
                continue
            if isinstance(response, Exception):
                raise response
            if response is None:
                return
            yield response

    def _check_deadline(self) -> None:
        if self._deadline_s and time.monotonic() > self._started + self._deadline_s:
            problem = f"{self._server.place} was not done within {self._deadline_s:g} s."
            raise ModelTimeout(problem, "Choose a smaller model, or allow it more time in the settings.")

    def _pieces(self, responses: Iterator[ChatResponse]) -> Iterator[Delta]:
        splitter = ThinkingSplitter()
        for response in responses:
            self._note_end(response.raw)
            text, thoughts = splitter.split(response.delta or "")
            thoughts = (response.additional_kwargs.get("thinking_delta") or "") + thoughts
            text = redacted(self._waiting + text)
            end = len(text) - held_back(text)
            self._waiting = text[end:]
            yield from self._added(text[:end], redacted(thoughts))
        text, thoughts = splitter.rest()
        yield from self._added(self._waiting + text, thoughts)
        # Ollama's stream says that it is done; OpenAI's has a word at least, if its server is one.
        is_open = self._server.provider == "ollama" or not (self.text or self.thinking)
        if self._server.url and is_open and not (self._finish_reason or self._stop.is_set()):
            raise EOFError("the connection ended before the answer did")

    def _added(self, text: str, thinking: str) -> Iterator[Delta]:
        delta = Delta(well_formed(text if self.text else text.lstrip()), well_formed(thinking))
        self.text += delta.text
        self.thinking += delta.thinking
        if delta.text or delta.thinking:
            yield delta

    def _note_end(self, raw: Any) -> None:
        """Note reason and counts of Ollama's last line or OpenAI's chunks; the counts may follow."""
        if isinstance(raw, Mapping):
            reason = (raw.get("done_reason") or "stop") if raw.get("done") else ""
            counts = raw.get("prompt_eval_count"), raw.get("eval_count")
        else:
            choices, usage = getattr(raw, "choices", None), getattr(raw, "usage", None)
            reason = getattr(choices[0], "finish_reason", "") if choices else ""
            counts = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
        self._finish_reason = quoted(str(reason or "")) or self._finish_reason
        if any(isinstance(count, int) for count in counts):
            read, wrote = (count if isinstance(count, int) else None for count in counts)
            self._counts = read, wrote

    def _ended(self) -> Generation:
        reason = self._finish_reason or ("stopped" if self._stop.is_set() else "")
        truncated, notice = self._is_truncated(), ""
        if truncated:
            notice = TRUNCATED.format(self._counts[0])
        elif reason == "length":
            notice = CUT if self.text else ALL_THOUGHT
        elif self.thinking and not self.text and reason != "stopped":
            notice = ONLY_THOUGHT
        return Generation(reason, *self._counts, truncated, time.monotonic() - self._started, notice)

    def _is_truncated(self) -> bool:
        """Return True where Ollama counts fewer prompt tokens than there were, or as many as it can hold."""
        read = self._counts[0]
        if not read or self._server.provider != "ollama":
            return False  # OpenAI's servers refuse a prompt that is too long; 0 is a cached prompt
        estimate = sum(len(message.text) for message in self._messages) / CHARACTERS_A_TOKEN
        return read >= self._llm.metadata.context_window - 1 or read < WHOLE_PROMPT_SHARE * estimate

    def _note_tokens(self) -> None:
        """Note the tokens for the turn's usage, unless the model failed before the first piece."""
        if self._account is not None and (self.text or self.thinking or self.generation):
            read, wrote = self._counts
            asked = read or sum(count_tokens(message.text) for message in self._messages)
            written = count_tokens(self.thinking + self.text) if wrote is None else wrote
            self._account.append(Spent(self._server.name, asked, written, not read or wrote is None))


def complete(
    llm: LLM,
    messages: str | Sequence[Message],
    *,
    timeout_s: float,
    stop: threading.Event | None = None,
    json_schema: Mapping[str, Any] | None = None,
) -> str:
    """Return the whole reply to one prompt or to messages, without thoughts; after a stop, what had arrived.

    Raises as `ChatStream`; `ModelTimeout` where it takes longer than `timeout_s`.
    """
    asked = [Message("user", messages)] if isinstance(messages, str) else messages
    stop = stop or threading.Event()
    stream = ChatStream(llm, asked, stop=stop, deadline_s=timeout_s, json_schema=json_schema)
    text = "".join(delta.text for delta in stream)
    return text.rpartition(CLOSE)[2].strip()  # some templates open the thoughts in the prompt


def _chat_message(message: Message) -> ChatMessage:
    from llama_index.core.base.llms.types import ChatMessage

    return ChatMessage(role=message.role, content=message.text)


def _schema_arguments(provider: str, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments by which a server of this kind keeps to a JSON schema."""
    if schema is None or provider == "local":
        return {}
    if provider == "ollama":
        return {"format": schema}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}}
