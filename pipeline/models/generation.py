"""Generate text with any LlamaIndex model: streamed, stoppable, thoughts apart, with clear errors."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from pipeline.answer import Usage
from pipeline.errors import ModelTimeout
from pipeline.messages import Message
from pipeline.models.connections import Call
from pipeline.models.failures import quoted, translate
from pipeline.models.llm import server_of
from pipeline.models.tokens import count_tokens
from pipeline.redaction import held_back, redacted
from pipeline.steps.spending import account
from pipeline.words import well_formed

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatResponse
    from llama_index.core.llms import LLM

POLL_S = 0.1  # how soon a stop is noticed
CHARACTERS_A_TOKEN = 4.0
WHOLE_PROMPT_SHARE = 0.6  # a prompt that was read whole has this share of the estimated tokens, at least

OPEN, CLOSE = "<think>", "</think>"
_TAG = re.compile(f"({OPEN}|{CLOSE})")
_BEGUN = re.compile(r"</?t?h?i?n?k?\Z")  # what may be the beginning of a tag at the end of a piece

TRUNCATED = "The model read only {} tokens of a longer prompt. Raise ATHENA_CONTEXT_WINDOW."
ALL_THOUGHT = "The model used its whole answer for thinking. Raise ATHENA_MAX_ANSWER_TOKENS."
ONLY_THOUGHT = "The model thought, and wrote no answer. Ask again, or choose another model."
CUT = "The answer was cut off at its longest length. Raise ATHENA_MAX_ANSWER_TOKENS."


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an answer, or of the thoughts before it."""

    text: str = ""
    thinking: str = ""


@dataclass(frozen=True, slots=True)
class Generation:
    """How a generation ended; counts are None where the server did not report them.

    `finish_reason` is "stop", "length", "stopped" (by the user), another word of the server's, or "".
    """

    finish_reason: str
    prompt_tokens: int | None = None
    answer_tokens: int | None = None
    prompt_truncated: bool = False  # the server did not read the whole prompt
    seconds: float = 0.0
    notice: str = ""  # for the reader of the answer; "" when all is well


class ChatStream(Iterator[Delta]):
    """An answer as it arrives; `text` and `thinking` grow, and `generation` is there at the end.

    Setting `stop` ends it without an exception, at once where the model is on a server; so does `close`.
    `deadline_s` limits the whole answer. `json_schema` is sent to servers that can keep to one. Raises
    `ModelUnavailable`, `ModelTimeout`, `AnswerInterrupted` or `ModelError`; `text` keeps what had arrived.
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
        self._started, self._deadline_s, self._schema = time.monotonic(), deadline_s or inf, json_schema
        self._server, self._account = server_of(llm), account.get()
        self._finish_reason = self._waiting = ""
        self._counts: tuple[int | None, int | None] = (None, None)  # of the prompt and of the answer
        self._call, self._ended, self._is_late = Call(), threading.Event(), False
        self._deltas = self._run()

    def __next__(self) -> Delta:
        return next(self._deltas)

    def close(self) -> None:
        """Hang up; safe at any time."""
        self._deltas.close()

    def _run(self) -> Generator[Delta, None, None]:
        threading.Thread(target=self._guard, name="athena-llm-stop", daemon=True).start()
        try:
            yield from self._pieces()
            self.generation = self._outcome()
        except Exception as error:
            raise translate(error, server=self._server, begun=bool(self.text or self.thinking)) from error
        finally:
            self._ended.set()
            self._call.end()
            self._note_tokens()

    def _guard(self) -> None:
        """Cut the connection off at a stop or at the deadline, since the reader waits for the next byte."""
        while not self._ended.wait(POLL_S):
            self._is_late = time.monotonic() > self._started + self._deadline_s
            if self._stop.is_set() or self._is_late:
                self._call.cut_off()
                return

    def _responses(self) -> Iterator[ChatResponse]:
        """Yield the model's responses until the end or a stop; all that has arrived, however late."""
        if self._stop.is_set():
            return
        from llama_index.core.base.llms.types import ChatMessage

        asked = [ChatMessage(role=one.role, content=one.text) for one in self._messages]
        schema = _schema_arguments(self._server.provider, self._schema)
        self._call.begin()
        try:
            for response in self._llm.stream_chat(asked, **schema):
                if self._stop.is_set() or (self._is_late and not self._call.streams):
                    break
                yield response
        except Exception:
            if not (self._stop.is_set() or self._is_late):
                raise
        if self._is_late and not (self._finish_reason or self._stop.is_set()):
            problem = f"{self._server.place} was not done within {self._deadline_s:g} s."
            raise ModelTimeout(problem, "Choose a smaller model, or allow it more time in the settings.")

    def _pieces(self) -> Iterator[Delta]:
        splitter = ThinkingSplitter()
        for response in self._responses():
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
            read, wrote = raw.get("prompt_eval_count"), raw.get("eval_count")
        else:
            choices, usage = getattr(raw, "choices", None), getattr(raw, "usage", None)
            reason = getattr(choices[0], "finish_reason", "") if choices else ""
            read, wrote = (getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens"))
        self._finish_reason = quoted(str(reason or "")) or self._finish_reason
        if isinstance(read, int) or isinstance(wrote, int):
            self._counts = read, wrote

    def _outcome(self) -> Generation:
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
            estimated = not read or wrote is None
            self._account.append(Usage(asked, written, estimated, model=self._server.name))


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


def _schema_arguments(provider: str, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments by which a server of this kind keeps to a JSON schema."""
    if schema is None or provider == "local":
        return {}
    if provider == "ollama":
        return {"format": schema}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}}


class ThinkingSplitter:
    """Splits pieces of a stream into answer and thoughts; tags may be cut anywhere between two pieces.

    A tag behind a backtick is text: documentation about models names it so.

    >>> splitter = ThinkingSplitter()
    >>> [splitter.split(piece) for piece in ("<th", "ink>hm</thi", "nk>B", "7 <")], splitter.rest()
    ([('', ''), ('', 'hm'), ('B', ''), ('7 ', '')], ('<', ''))
    """

    def __init__(self) -> None:
        self._waiting = ""
        self._last = ""  # the last character of the answer
        self._inside = False

    def split(self, piece: str) -> tuple[str, str]:
        """Return what a piece adds to the answer and to the thoughts."""
        whole = self._waiting + piece
        begun = _BEGUN.search(whole, max(0, len(whole) - len(CLOSE) + 1))
        self._waiting = begun[0] if begun else ""
        text, thoughts = "", ""
        for part in _TAG.split(whole.removesuffix(self._waiting)):
            if (part == OPEN and self._last != "`") or (part == CLOSE and self._inside):
                self._inside = part == OPEN
            elif self._inside:
                thoughts += part
            else:
                text += part
                self._last = part[-1:] or self._last
        return text, thoughts

    def rest(self) -> tuple[str, str]:
        """Return what waited for a tag that did not come: to be called at the end of the stream."""
        return ("", self._waiting) if self._inside else (self._waiting, "")
