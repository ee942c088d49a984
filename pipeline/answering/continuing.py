"""Writing on an answer that broke off: which one, what is kept of it, and how the rest is joined to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pipeline.answer import Answer
from pipeline.answering.citations import renamed_markers
from pipeline.answering.context import Source, count_tokens
from pipeline.errors import AthenaError
from pipeline.messages import Message
from pipeline.options import RetrievalOptions
from pipeline.steps.records import CondenseStep, PromptStep, RememberStep, Step, step_of
from pipeline.stores.conversations import Conversation, scope_of, unknown_turn
from pipeline.stores.globs import as_globs

GO_ON = """\
Your answer broke off. Go on exactly where it ends, by the same rules and with the same numbers for what you
cite. Repeat nothing of it, and do not say that you go on."""
COMPLETE_BY_NOW = "The answer is complete by now."

_WHOLE = re.compile(r"[.!?:;)\]|`*_]\s*\Z")
_LAST_WORD = re.compile(r"\S+\s*\Z")
_BEGINS_A_LINE = re.compile(r"(?:[-*+>]|#{1,6}|\d{1,3}[.)])\s|\||```|~~~")


def can_go_on(answer: Answer) -> bool:
    """Whether a model's answer was stopped or failed after its first words."""
    return answer.mode == "generate" and answer.status != "complete" and bool(answer.text.strip())


def until(conversation: Conversation | None, turn_id: str) -> Conversation:
    """The conversation up to a turn whose answer broke off, which is its last.

    Raises `UnknownConversation` where it has no such turn, `AthenaError` where nothing is missing of it.
    """
    turns = conversation.turns if conversation else ()
    place = next((place for place, turn in enumerate(turns) if turn.id == turn_id), None)
    if conversation is None or place is None:
        raise unknown_turn(turn_id)
    if not can_go_on(turns[place].answer):
        raise AthenaError(COMPLETE_BY_NOW, "Reload the page.")
    return replace(conversation, turns=turns[: place + 1])


# -- as it began ----------------------------------------------------------------------------------------


def options_of(answer: Answer, default: RetrievalOptions) -> RetrievalOptions:
    """The options that an answer was searched with: those that it kept, and the default of others."""
    return default.with_kept(answer.settings).but(paths=as_globs(scope_of(answer)))


def header_of(answer: Answer) -> str:
    """The system message of an answer's prompt, which says who answers and how; "" where it kept none."""
    first = step_of(answer.steps, PromptStep).messages[:1]
    return first[0].text if first and first[0].role == "system" else ""


# -- the prompt -----------------------------------------------------------------------------------------


def begun(answer: Answer, sources: Sequence[Source]) -> str:
    """The text so far, its markers as numbers of the sources, without a last word that may be half of one."""
    numbers: Mapping[str, int] = {source.passage.section.node_id: source.number for source in sources}
    cited = {citation.marker: numbers.get(citation.section_id) for citation in answer.citations}

    def renamed(marker: int) -> str:
        number = cited.get(marker) if cited else marker  # killed before it was checked: still the sources'
        return f"[{number}]" if number else ""

    text = renamed_markers(answer.text, renamed)
    return text if _WHOLE.search(text) else _LAST_WORD.sub("", text)


def messages(text: str) -> tuple[Message, ...]:
    """The end of the prompt: what was answered so far, and what to do; none where that is nothing."""
    return (Message("assistant", text), Message("user", GO_ON)) if text.strip() else ()


def tokens_of(answer: Answer) -> int:
    """What the end of the prompt takes at most."""
    return sum(count_tokens(said.text) for said in messages(answer.text))


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


def all_steps(answer: Answer, done: Sequence[Step]) -> tuple[Step, ...]:
    """The steps done now, between those of an answer that are not done again.

    Those are how its question came about, and what was remembered of its first part.
    """
    condensed = (step for step in answer.steps if isinstance(step, CondenseStep))
    return (*condensed, *done, *_remembered(answer))


def is_to_be_remembered(answer: Answer) -> bool:
    """Whether something is still to be remembered of an answer: its stored steps will say what."""
    return any(step.pending for step in _remembered(answer))


def with_remembered(answer: Answer, stored: Answer) -> Answer:
    """An answer with what was remembered of it by now, as it is stored."""
    others = (step for step in answer.steps if not isinstance(step, RememberStep))
    return replace(answer, steps=(*others, *_remembered(stored)))


def _remembered(answer: Answer) -> Iterator[RememberStep]:
    return (step for step in answer.steps if isinstance(step, RememberStep))
