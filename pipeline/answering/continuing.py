"""Going on with an answer that broke off: what is kept of it, and how the rest is joined to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipeline.answer import Answer
from pipeline.answering.citations import renamed_markers
from pipeline.answering.context import Source
from pipeline.messages import Message

GO_ON = """\
Your answer broke off. Go on exactly where it ends, by the same rules and with the same numbers for what you
cite. Repeat nothing of it, and do not say that you go on."""

_WHOLE = re.compile(r"[.!?:;)\]|`*_]\s*\Z")
_LAST_WORD = re.compile(r"\S+\s*\Z")
_BEGINS_A_LINE = re.compile(r"(?:[-*+>]|#{1,6}|\d{1,3}[.)])\s|\||```|~~~")


def can_go_on(answer: Answer) -> bool:
    """Whether a model's answer was stopped or failed after its first words."""
    return answer.mode == "generate" and answer.status != "complete" and bool(answer.text.strip())


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


def joined(before: str, pieces: Iterable[str]) -> Iterator[str]:
    """The pieces that follow the text so far, the first with the space or line end that it needs."""
    for piece in pieces:
        yield f"{_joint(before, piece)}{piece}"
        before = ""


def _joint(before: str, after: str) -> str:
    if not before or before[-1].isspace() or after[:1].isspace():
        return ""
    return "\n" if _BEGINS_A_LINE.match(after) else " "
