"""The prompt, put together within its budgets: numbered sources, as much history as fits, the message."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.answer import Passage
from pipeline.answering.prompts import asking_prompt, escaped_markers, source_block, system_prompt
from pipeline.messages import Message

if TYPE_CHECKING:
    from tiktoken import Encoding

    from pipeline.answering.persona import Persona

MESSAGE_TOKENS = 4  # what a chat message costs besides its text
RESERVED_TOKENS = 32  # of a prompt, for what stands between messages and between sources
LEAST_SOURCES_TOKENS = 200  # sources get this much even when the message leaves no room
SOURCES_SHARE = 2 / 3  # of the room that header and message leave; the rest is the history's
LEAST_SOURCE_TOKENS = 40  # a source cut shorter than this is left out
CHARACTERS_A_TOKEN = 4
WORD_BYTES = 4  # of the random word: a document guesses it once in four billion times
ELLIPSIS = " …"
COUNTED_TEXTS = 512  # texts whose counts are kept: an answer counts each of its passages three times


@dataclass(frozen=True, slots=True)
class Source:
    """One numbered source as the prompt has it, made from one passage."""

    number: int
    passage: Passage
    text: str


@dataclass(frozen=True, slots=True)
class Budget:
    """The most tokens of a prompt: in all, for its sources, and for its history."""

    prompt: int
    sources: int
    history: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages for the model, the sources in them, and what had to be left out."""

    messages: tuple[Message, ...]
    sources: tuple[Source, ...]
    history_left_out: int = 0
    message_cut: bool = False


@lru_cache(maxsize=1)
def _encoding() -> Encoding:
    """cl100k, from the copy that llama-index-core carries: nothing is downloaded."""
    import tiktoken

    spec = find_spec("llama_index.core")
    folder = Path(spec.origin or "").parent / "_static" / "tiktoken_cache" if spec else None
    if folder and folder.is_dir():
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))
    return tiktoken.get_encoding("cl100k_base")


@lru_cache(maxsize=COUNTED_TEXTS)
def count_tokens(text: str) -> int:
    """Tokens of a text by cl100k, which stands for every model's own tokenizer."""
    return len(_encoding().encode(text, disallowed_special=()))


def assemble_prompt(
    persona: Persona, passages: Sequence[Passage], history: Sequence[Message], message: str, *, budget: Budget
) -> Prompt:
    """The prompt: system header and rules; the history that fits; numbered sources and the message.

    Documents may say anything, so their text is never in the system message, and stands between lines that
    have a random word of this request.
    """
    word = secrets.token_hex(WORD_BYTES)
    header = system_prompt(persona.system_header, persona.tone)
    bare = count_tokens(header) + count_tokens(asking_prompt("", "", word=word))
    asked = fitting_message(message, budget=(budget.prompt - bare) // 2)
    room = budget.prompt - bare - count_tokens(asked) - RESERVED_TOKENS
    share = max(LEAST_SOURCES_TOKENS, int(room * SOURCES_SHARE))
    sources = number_sources(passages, budget=min(budget.sources, share), word=word)
    text = "\n\n".join(source.text for source in sources)
    kept = fitting_history(history, budget=min(budget.history, room - count_tokens(text)))
    messages = (
        Message("system", header),
        *kept,
        Message("user", asking_prompt(text, asked, word=word)),
    )
    return Prompt(messages, tuple(sources), len(history) - len(kept), asked != message)


def number_sources(passages: Sequence[Passage], *, budget: int, word: str) -> list[Source]:
    """The passages as numbered sources, best first, within a token budget; the last may be cut short."""
    sources: list[Source] = []
    left = budget
    for passage in passages:
        number, place, body = len(sources) + 1, _place(passage), escaped_markers(_body(passage))
        text = source_block(number, place, body, word=word)
        size = count_tokens(text)
        if size > left:
            frame = count_tokens(source_block(number, place, "", word=word))
            if left - frame < LEAST_SOURCE_TOKENS:
                break
            text, size = source_block(number, place, _cut(body, left - frame), word=word), left
        sources.append(Source(number, passage, text))
        left -= size
    return sources


def fitting_history(history: Sequence[Message], *, budget: int) -> list[Message]:
    """The latest messages that fit a token budget; the oldest are dropped first, none is cut."""
    kept: list[Message] = []
    for said in reversed(history):
        budget -= count_tokens(said.text) + MESSAGE_TOKENS
        if budget < 0:
            break
        kept.insert(0, said)
    while kept and kept[0].role != "user":  # an answer without its question misleads
        kept.pop(0)
    return kept


def fitting_message(message: str, *, budget: int) -> str:
    """The message, cut at a word where it is longer than the budget."""
    return message if count_tokens(message) <= budget else _cut(message, budget)


def _place(passage: Passage) -> str:
    """Where a passage stands: its file and its headings, on one line."""
    section = passage.section
    path = " > ".join([section.metadata["source"], *section.metadata["heading_path"]])
    return escaped_markers(" ".join(path.split()))


def _body(passage: Passage) -> str:
    """The whole section if it was merged, else the paragraphs of the sentences found."""
    section = passage.section
    if passage.whole:
        return section.text
    offset = section.start_char_idx or 0
    pieces, last = [], 0
    for start, end in _with_surroundings(passage, offset):
        pieces += [ELLIPSIS.strip()] if start > last else []
        pieces.append(section.text[start:end].strip())
        last = end
    if last < len(section.text):
        pieces.append(ELLIPSIS.strip())
    return "\n".join(pieces)


def _with_surroundings(passage: Passage, offset: int) -> list[tuple[int, int]]:
    """Spans of the found sentences in the section, widened to their paragraphs; touching ones are joined."""
    text = passage.section.text
    spans: list[tuple[int, int]] = []
    for hit in sorted(passage.sentences, key=lambda hit: hit.node.start_char_idx or 0):
        start = (hit.node.start_char_idx or 0) - offset
        end = (hit.node.end_char_idx or 0) - offset
        start = text.rfind("\n\n", 0, start) + 2 if "\n\n" in text[:start] else 0
        stop = text.find("\n\n", end)
        end = len(text) if stop == -1 else stop
        if spans and start <= spans[-1][1] + 2:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def _cut(text: str, tokens: int) -> str:
    """The text cut at a word so that it fits."""
    encoding = _encoding()
    cut = encoding.decode(encoding.encode(text, disallowed_special=())[: max(1, tokens - 2)])
    whole = cut.rstrip("\ufffd")
    words = (whole.rsplit(maxsplit=1) or [""])[0]
    return (words if len(words) >= len(whole) / 2 else whole) + ELLIPSIS  # not every script has spaces
