"""Writing: build a turn's prompt, read the model's text as it arrives, and cite it sentence by sentence."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from pipeline.analysis import content_terms
from pipeline.answer import Answer, Citation, Message, Support
from pipeline.answering.citations import (
    citation_of,
    sentences_of,
    with_markers,
    without_links,
    without_markers,
)
from pipeline.answering.prompts import CLOSEST_PARTS, Budget, Prompt, Source, build_prompt
from pipeline.answering.quotes import choose_quotes
from pipeline.answering.verification import Leaf, Sources, states_something
from pipeline.asking.translation import Translator
from pipeline.models.tokens import count_tokens
from pipeline.steps.events import Emit, SentencesCited, ThoughtArrived, TokenArrived
from readers.dialects import display

if TYPE_CHECKING:
    from pipeline.answering.turns import ChatParts, RunningTurn
    from pipeline.models.clients import LanguageModel

MAY_NOT_ANSWER = "The documents may not answer this: check the answer against what it cites."
MESSAGE_CUT = "The message is longer than the model can read: only its beginning was sent."
NOT_TRANSLATED = "Sentences in another language than the documents' were not checked: {why}"
REPEATS = "The model began to repeat itself: its answer ends here."
REPEATED, MOST_TIMES = 120, 2  # the model is stopped if its last 120 characters occur more than twice
KEEP_EVERY_S = 1.0  # a killed process loses at most this much of an answer
LEAST_PROMPT_TOKENS = 512
LEAST_SUPPORTED = 0.5  # share of an answer's checked sentences
REMEMBERED = 0.6  # share of a sentence's words that memories must have to exempt it
EXACT = re.compile(r"(?<=\s)[A-Z][\w-]*|\S*\d\S*")  # names inside a sentence, numbers
ENDED = re.compile(r"[.!?:|。！？][\"'”’)*_`\]]*$|```$|~~~$")


class CitedAnswer:
    """An answer that is verified while it arrives: `text` is final, `pending` is the raw text after it."""

    def __init__(
        self,
        sources: Sources,
        *,
        file_hashes: Mapping[str, str],
        remembered: Sequence[str] = (),
        translator: Translator | None = None,
    ) -> None:
        self.sources = sources
        self.text = self.pending = ""
        self.citations: tuple[Citation, ...] = ()
        self.support: tuple[Support, ...] = ()
        self.translator, self._waits = translator, False
        self._file_hashes = file_hashes
        self._remembered = frozenset(content_terms(" ".join(remembered)))
        self._markers: dict[str, int] = {}  # by id of the source sentence

    def add(self, piece: str) -> bool:
        """Add a piece of raw text, verify the sentences it completes, and return whether there was one."""
        self.pending += piece
        pieces = [] if self._waits else sentences_of(self.pending)
        if len(pieces) < 2 or self.pending[pieces[-1].start] in "[【":  # markers may follow the full stop
            return False
        if self.translator and self.translator.is_needed(self.pending[: pieces[-1].start]):
            self._waits = True  # the model cannot translate while it writes the answer
            return False
        self._verify(pieces[-1].start)
        return True

    def finish(self, *, cut_off: bool = False) -> None:
        """Verify the pending text; if it was `cut_off`, do not verify an unfinished last sentence."""
        pieces = sentences_of(self.pending)
        is_cut = cut_off and pieces and not ENDED.search(self.pending.rstrip())
        self._verify(pieces[-1].start if is_cut else len(self.pending))
        self.text = (self.text + self._plain(self.pending)).rstrip()
        self.pending = ""

    def _verify(self, end: int) -> None:
        """Verify the sentences of the pending text up to an offset, and move them to the final text."""
        done, self.pending, position = self.pending[:end], self.pending[end:], 0
        for piece in sentences_of(done):
            self.text += done[position : piece.start]
            self._add_sentence(self._plain(done[piece.start : piece.end]), piece.numbers)
            position = piece.end
        self.text += done[position:]

    def _plain(self, text: str) -> str:
        return without_links(without_markers(text), self.sources.text)

    def _add_sentence(self, plain: str, numbers: Collection[int]) -> None:
        start, translation = len(self.text), ""
        is_checked = (bool(numbers) or states_something(plain)) and not self._is_remembered(plain)
        if is_checked and self.translator and self.translator.is_needed(plain):
            translation = self.translator.translated(plain)
            is_checked = bool(translation)  # a sentence without translation is not marked
        if not is_checked:
            self.text += plain
            return
        found = self.sources.judge(translation or plain, numbers)
        markers = tuple(dict.fromkeys(map(self._marker, found.cited)))
        self.text += with_markers(plain, markers)
        end, supported = len(self.text), found.supported
        self.support += (Support(start, end, markers, supported, found.score, found.missing, translation),)

    def _marker(self, leaf: Leaf) -> int:
        """Return the marker of a source sentence; a new one gets the next number and a citation."""
        if leaf.node.node_id not in self._markers:
            marker = self._markers[leaf.node.node_id] = len(self.citations) + 1
            file_hash = self._file_hashes.get(leaf.node.metadata["source"], "")
            self.citations += (citation_of([leaf.node], leaf.passage, marker=marker, file_hash=file_hash),)
        return self._markers[leaf.node.node_id]

    def _is_remembered(self, sentence: str) -> bool:
        """Return whether memories have most of a sentence's words, and all of its names and numbers."""
        own, exact = content_terms(sentence), content_terms(" ".join(EXACT.findall(sentence)))
        shared = len(self._remembered.intersection(own))
        return self._remembered.issuperset(exact) and shared >= REMEMBERED * len(own) > 0


def prompt_for(turn: RunningTurn, parts: ChatParts) -> Prompt:
    """Build the prompt of a turn within the model's context window; raise `ModelError` if a model fails."""
    limits, store, reader = parts.limits, parts.hybrid_search.store, parts.hybrid_search.cross_encoder
    longest = max(LEAST_PROMPT_TOKENS, limits.context_window - limits.max_answer_tokens)
    budget = Budget(longest, turn.options.context_tokens, limits.history_tokens)
    with turn.trace.step("prompt") as step:
        quotes = choose_quotes(turn.found, store=store, limit=CLOSEST_PARTS, cross_encoder=reader)
        closest = [display(quote.citation.quote).strip() for quote in quotes]
        prompt = build_prompt(
            parts.persona, turn.found.passages, turn.history, turn.message,
            budget=budget, memory=turn.recollection, closest=closest, language=turn.language,
            far=turn.found.answerability.verdict == "not in the documents",
        )  # fmt: skip
        step.data |= {
            "tokens": sum(count_tokens(message.text) for message in prompt.messages),
            "sources": len(prompt.sources),
        }
    turn.notices += (MESSAGE_CUT,) if prompt.message_cut else ()
    return prompt


def cited_answer(turn: RunningTurn, parts: ChatParts, sources: Sequence[Source]) -> CitedAnswer:
    """Return an empty answer that may cite these sources; the user's own words in it need no citation."""
    search, recalled = parts.hybrid_search, turn.recollection.all
    said = parts.memory.said_by_user([item.id for item in recalled]) if parts.memory else ()
    passages = {source.number: source.passage for source in sources}
    return CitedAnswer(
        Sources.of(passages, store=search.store, encoder=search.encoder),
        file_hashes=turn.file_hashes,
        remembered=[item.text for item in recalled if item.id in said],
        translator=Translator(parts.llm, search.store, turn.stop) if parts.llm and turn.language else None,
    )


def write(
    turn: RunningTurn,
    parts: ChatParts,
    llm: LanguageModel,
    messages: Sequence[Message],
    cited: CitedAnswer,
    *,
    emit: Emit,
    keep: Callable[[RunningTurn], None],
) -> None:
    """Generate the answer into `turn.text` and `cited`, and emit its events; call `keep` about once a second.

    Each sentence is cited as soon as it is complete. Raises `ModelError`; `turn.text` keeps the text so far.
    """
    from pipeline.models.generation import ChatStream

    deadline = parts.limits.answer_timeout_s
    with (
        turn.trace.step("generate", model=parts.choice.name) as step,
        closing(ChatStream(llm, messages, stop=turn.stop, deadline_s=deadline)) as stream,
    ):
        kept = time.monotonic()
        for delta in stream:
            if delta.thinking:
                emit(ThoughtArrived(delta.thinking))
            if not delta.text:
                continue
            turn.text += delta.text
            emit(TokenArrived(delta.text))
            if cited.add(delta.text):
                emit(SentencesCited(cited.text, cited.pending, cited.citations, cited.support))
            if turn.text.count(turn.text[-REPEATED:]) > MOST_TIMES and len(turn.text) > REPEATED:
                turn.notices += (REPEATS,)
                stream.end = replace(stream.end, finish_reason="stopped")
                break
            if time.monotonic() - kept >= KEEP_EVERY_S:
                keep(turn)
                kept = time.monotonic()
        step.data |= asdict(stream.end) | {"characters": len(turn.text), "thinking": stream.thinking}
        turn.notices += (stream.notice,) if stream.notice else ()


def finish(turn: RunningTurn, cited: CitedAnswer) -> Answer:
    """Verify the rest and return the answer; if most sentences lack support, its verdict is "closest"."""
    with turn.trace.step("verify") as step:
        cited.finish(cut_off=turn.cut_off)
        sentences, supported = len(cited.support), sum(item.supported for item in cited.support)
        step.data |= {"sentences": sentences, "supported": supported}
        if cited.translator and (why := cited.translator.problem):
            turn.notices += (NOT_TRANSLATED.format(why=why),)
    found = turn.retrieval.answerability if turn.retrieval else None
    verdict = found.verdict if found else None
    if verdict == "answered" and supported < LEAST_SUPPORTED * sentences:
        verdict = "closest"
    if found and verdict != "answered" and not turn.recollection.leads(found):
        turn.notices += (MAY_NOT_ANSWER,)  # quotes say this in their heading
    return turn.answer(
        text=cited.text, mode="generate", verdict=verdict, citations=cited.citations, support=cited.support
    )
