"""Asking from a terminal: waiting for an answer, and showing it with its citations as footnotes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.text import Text

from pipeline.errors import AthenaError, ModelError
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, StepStarted

if TYPE_CHECKING:
    from pipeline.answer import Answer, Citation
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
    if answer.mode == "reply":
        return Text(answer.text)
    lines: list[RenderableType] = [Text(answer.text), Text("")]
    if answer.corrected:
        lines.insert(0, showing_results(answer.corrected, instead_of=answer.condensed_question))
    lines += [_footnote(citation) for citation in answer.citations]
    if answer.nearest:
        lines.append(Text("Nearest sections:", style="dim"))
        lines += [_footnote(citation) for citation in answer.nearest]
    lines += [
        Text(f"Not supported by what it cites: {answer.text[item.start : item.end].strip()}", style="yellow")
        for item in answer.support
        if not item.supported
    ]
    lines += [Text(notice, style="dim") for notice in answer.notices]
    model = answer.model or "no model: quotes"
    lines.append(Text(f"{model}, {answer.seconds:.1f} s", style="dim"))
    return Group(*lines)


def showing_results(corrected: str, *, instead_of: str) -> Text:
    """The line above what was found for a question whose spelling was corrected."""
    return Text(
        f"Showing results for {corrected}. Search for `{instead_of}` instead: --verbatim", style="yellow"
    )


def _footnote(citation: Citation) -> Text:
    breadcrumb = " › ".join([citation.source, *citation.heading_path])
    lines = f"{citation.start_line}-{citation.end_line}"
    return Text(f"[{citation.marker}] {breadcrumb}, lines {lines}", style="dim")
