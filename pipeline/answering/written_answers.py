"""A model's answer: its prompt, its words as they arrive, its citations; and the rest of a broken one."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.answer import Answer
from pipeline.answering.citations import renamed_markers
from pipeline.answering.prompts import Budget, Prompt, Source, assemble_prompt, memory_messages
from pipeline.finding.passages import passage_leaves
from pipeline.messages import Message
from pipeline.models.tokens import count_tokens
from pipeline.options import RetrievalOptions
from pipeline.steps.events import Events, TokenArrived
from pipeline.steps.records import GenerateStep, PromptStep, ToolStep, VerifyStep, step_of
from pipeline.stores.conversations import Conversation, Turn, scope_of, unknown_turn
from pipeline.stores.globs import as_globs

if TYPE_CHECKING:
    from pipeline.answering.turns import ChatMemory, ChatParts, RunningTurn
    from pipeline.models.generation import Generation
    from pipeline.retrieve import HybridSearch
    from pipeline.steps.trace import RunningStep

GO_ON = """\
Your answer broke off. Go on exactly where it ends, by the same rules and with the same numbers for what you
cite. Repeat nothing of it, and do not say that you go on."""
MESSAGE_CUT = "The message is longer than the model can read: only its beginning was sent."
KEEP_EVERY_S = 1.0  # how much of an answer a kill can lose
LEAST_PROMPT_TOKENS = 512
COMPLETE_BY_NOW = "The answer is complete by now."

_WHOLE = re.compile(r"[.!?:;)\]|`*_]\s*\Z")
_LAST_WORD = re.compile(r"\S+\s*\Z")
_BEGINS_A_LINE = re.compile(r"(?:[-*+>]|#{1,6}|\d{1,3}[.)])\s|\||```|~~~")


def can_go_on(answer: Answer) -> bool:
    """Whether a model's answer was stopped or failed after its first words, or its first call of a tool."""
    begun = bool(answer.text.strip()) or called_tools(answer)
    return answer.mode == "generate" and answer.status != "complete" and begun


def called_tools(answer: Answer) -> bool:
    """Whether an agent made it."""
    return any(isinstance(step, ToolStep) for step in answer.steps)


def before_turn(conversation: Conversation | None, turn_id: str) -> tuple[Conversation, Turn]:
    """The conversation as it was before a turn, and that turn; raises `UnknownConversation` without one."""
    turns = conversation.turns if conversation else ()
    place = next((place for place, turn in enumerate(turns) if turn.id == turn_id), None)
    if conversation is None or place is None:
        raise unknown_turn(turn_id)
    return replace(conversation, turns=turns[:place]), turns[place]


# -- as it began ----------------------------------------------------------------------------------------


def options_of(answer: Answer, default: RetrievalOptions) -> RetrievalOptions:
    """The options that an answer was searched with: those that it kept, and the default of others."""
    return default.with_kept(answer.settings).but(paths=as_globs(scope_of(answer)))


def _header_of(answer: Answer) -> str:
    """The system message of an answer's prompt, which says who answers and how; "" where it kept none."""
    first = step_of(answer.steps, PromptStep).messages[:1]
    return first[0].text if first and first[0].role == "system" else ""


# -- the prompt -----------------------------------------------------------------------------------------


def text_so_far(answer: Answer, sources: Sequence[Source]) -> str:
    """The text so far, its markers as numbers of the sources, without a last word that may be half of one."""
    numbers: Mapping[str, int] = {source.passage.section.node_id: source.number for source in sources}
    cited = {citation.marker: numbers.get(citation.section_id) for citation in answer.citations}

    def renamed(marker: int) -> str:
        number = cited.get(marker) if cited else marker  # killed before it was checked: still the sources'
        return f"[{number}]" if number else ""

    text = renamed_markers(answer.text, renamed)
    return text if _WHOLE.search(text) else _LAST_WORD.sub("", text)


def _to_go_on(text: str) -> tuple[Message, ...]:
    """The end of the prompt: what was answered so far, and what to do; none where that is nothing."""
    return (Message("assistant", text), Message("user", GO_ON)) if text.strip() else ()


def joined(before: str, pieces: Iterable[str]) -> Iterator[str]:
    """The pieces that follow the text so far, the first with the space or line end that it needs."""
    for piece in pieces:
        yield f"{_joint(before, piece)}{piece}"
        before = ""


def _joint(before: str, after: str) -> str:
    if not before or before[-1].isspace() or after[:1].isspace():
        return ""
    return "\n" if _BEGINS_A_LINE.match(after) else " "


# -- the steps ------------------------------------------------------------------------------------------


def assembled(step: RunningStep[PromptStep], turn: RunningTurn, parts: ChatParts) -> Prompt:
    """System header, sources, history and message, within the model's context."""
    passages = turn.found.passages
    store, partial = parts.hybrid_search.store, [found for found in passages if not found.whole]
    memory, named = memory_messages(turn.recollection), memory_messages(turn.recollection, by_id=True)
    most = max(LEAST_PROMPT_TOKENS, parts.limits.context_window - parts.limits.max_answer_tokens)
    if turn.begun:
        most -= sum(count_tokens(said.text) for said in _to_go_on(turn.begun.text))
    prompt = assemble_prompt(
        parts.persona,
        passages,
        turn.history,
        turn.message,
        budget=Budget(most, turn.options.context_tokens, parts.limits.history_tokens),
        leaves=passage_leaves(partial, store=store),
        memory=memory,
        header=_header_of(turn.begun) if turn.begun else "",
        count=parts.count_tokens,
    )
    kept = len(prompt.messages) - len(memory) - 1
    turn.text = text_so_far(turn.begun, prompt.sources) if turn.begun else ""
    so_far = _to_go_on(turn.text)
    step.record = replace(
        step.record,
        messages=(*prompt.messages[:kept], *named, prompt.messages[-1], *so_far),
        tokens=sum(count_tokens(message.text) for message in prompt.messages),
        history_left_out=prompt.history_left_out,
    )
    turn.notices += (MESSAGE_CUT,) if prompt.message_cut else ()
    return replace(prompt, messages=(*prompt.messages, *so_far))


def written(
    step: RunningStep[GenerateStep],
    turn: RunningTurn,
    parts: ChatParts,
    messages: Sequence[Message],
    *,
    keep: Callable[[RunningTurn], None],
) -> Events[Generation | None]:
    """The model's words as they arrive; `keep` is called each second with what there is."""
    from pipeline.models.generation import ChatStream

    assert parts.llm is not None  # noqa: S101  (only called with one)
    stream = ChatStream(
        parts.llm,
        messages,
        stop=turn.stop,
        deadline_s=parts.limits.answer_timeout_s,
        deadline_setting="ATHENA_ANSWER_TIMEOUT_S",
    )
    with closing(stream):
        kept = time.monotonic()
        for piece in joined(turn.text, stream):
            turn.text += piece
            yield TokenArrived(piece)
            if time.monotonic() - kept >= KEEP_EVERY_S:
                keep(turn)
                kept = time.monotonic()
    if generation := stream.generation:
        step.record = replace(
            step.record,
            characters=len(turn.text),
            finish_reason=generation.finish_reason,
            prompt_tokens=generation.prompt_tokens,
            answer_tokens=generation.answer_tokens,
            prompt_truncated=generation.prompt_truncated,
            seconds=generation.seconds,
        )
    return stream.generation


def verified(
    step: RunningStep[VerifyStep],
    turn: RunningTurn,
    search: HybridSearch,
    sources: Sequence[Source],
    memory: ChatMemory | None,
) -> Answer:
    """The text with its citations, each sentence checked; what the user said needs no source."""
    from pipeline.answering.verification import check  # its patterns take a while: quotes do without

    recalled = turn.recollection.all
    said = memory.said_by_user([item.id for item in recalled]) if memory else ()
    found = check(
        turn.text.strip(),
        sources,
        store=search.store,
        encoder=search.encoder,
        file_hashes=turn.file_hashes,
        remembered=[item.text for item in recalled if item.id in said],
        cut_off=turn.cut_off,
    )
    supported = sum(item.supported for item in found.support)
    step.record = replace(step.record, sentences=len(found.support), supported=supported)
    return turn.answer(text=found.text, mode="generate", citations=found.citations, support=found.support)
