"""Asking from a terminal: waiting for an answer, and showing it with its citations as footnotes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.text import Text

from pipeline.answering.citations import without_markers
from pipeline.answering.replies import how_many_unsupported, what_is_unsupported
from pipeline.errors import AthenaError, ModelError
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, StepStarted

if TYPE_CHECKING:
    from pipeline.answer import Answer, Citation, Support
    from pipeline.chat import ChatRecipe


def watch_answer(chat: ChatRecipe, question: str, console: Console) -> Answer:
    """Ask, and show the step that is at work; raises `ModelError` where the run fails."""
    with console.status("Thinking", spinner="dots") as status:
        return _finish(chat.run(question), lambda text: status.update(f"{escape(text)} …"))


def ask_quietly(chat: ChatRecipe, question: str) -> Answer:
    """Ask and wait; raises `ModelError` where the run fails."""
    return _finish(chat.run(question), lambda _: None)


def _finish(events: Iterator[ChatEvent], show: Callable[[str], None]) -> Answer:
    for event in events:
        match event:
            case StepStarted(text=text):
                show(text.rstrip(" …."))
            case AnswerFinished(answer=answer):
                return answer
            case RunFailed(message=message, fix=fix):
                raise ModelError(message, fix)
    raise AthenaError("The answer ended unexpectedly.", "Ask again with `athena -v ask …` to see more.")


def answer_text(answer: Answer) -> RenderableType:
    """The answer with its citations as footnotes."""
    lines: list[RenderableType] = [Text(answer.text), Text("")]
    lines += [
        _footnote(citation, doubt="" if citation.verified else " (does not say so)")
        for citation in answer.citations
    ]
    if answer.nearest:
        lines.append(Text("Nearest sections:", style="dim"))
        lines += [_footnote(citation) for citation in answer.nearest]
    lines += [_unsupported(answer, item) for item in answer.support if not item.supported]
    lines += [Text(notice, style="dim") for notice in answer.notices]
    model = answer.model or "no model: quotes"
    known = filter(None, [model, how_many_unsupported(answer.support), f"{answer.seconds:.1f} s"])
    lines.append(Text(", ".join(known), style="dim"))
    return Group(*lines)


def _unsupported(answer: Answer, support: Support) -> Text:
    sentence = without_markers(answer.text[support.start : support.end]).strip()
    return Text(f"Not supported: {sentence}\n  {what_is_unsupported(support)}", style="yellow")


def _footnote(citation: Citation, *, doubt: str = "") -> Text:
    breadcrumb = " › ".join([citation.source, *citation.heading_path])
    lines = f"{citation.start_line}-{citation.end_line}"
    return Text(f"[{citation.marker}] {breadcrumb}, lines {lines}{doubt}", style="dim")
