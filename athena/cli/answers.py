"""Ask from a terminal, and show an answer with its quotes and citations."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markup import escape
from rich.text import Text

from athena.cli.running import Terminal
from pipeline.answering.citations import escaped_markers, without_markers
from pipeline.answering.excerpts import shown
from pipeline.errors import AthenaError
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, StepFinished, StepStarted
from pipeline.steps.records import call_line
from pipeline.stores.globs import only_in
from pipeline.stores.turns import scope_of
from pipeline.words import CLOSEST, counted

if TYPE_CHECKING:
    from pipeline.answer import Answer, Citation, Unit

NOTHING_RECALLED: Mapping[str, str] = {}
WIDEST = 100  # columns of Markdown
CONSOLE_COLUMNS = 80  # of the mission's console


def answer_of(
    events: Iterator[ChatEvent], console: Console | None = None
) -> tuple[Answer | None, AthenaError | None]:
    """Run the events to their end; return the answer and None, or the partial answer, if any, and the error.

    `console` shows each step and each tool call. A partial answer loses its last notice, which repeats the
    error. Raises `AthenaError` if the events end with neither an answer nor an error.
    """
    with console.status("Thinking") if console else nullcontext() as status:
        for event in events:
            match event:
                case AnswerFinished(answer=answer):
                    return answer, None
                case RunFailed(answer=part):
                    shown = replace(part, notices=part.notices[:-1]) if part else None
                    return shown, event.error
                case StepStarted(text=text) if status:
                    status.update(f"{escape(text.rstrip(' ….'))} …")
                case StepFinished(step=step) if console and step.name == "tool":
                    line = f"{' '.join(call_line(step).split())} ({step.ms / 1000:.1f} s)"
                    console.print(line, style="dim", markup=False)
    raise AthenaError("The answer ended unexpectedly.", "Ask again with `athena -v ask …` to see more.")


@dataclass(frozen=True, slots=True)
class Prose:
    """Markdown that is rendered on a terminal, and printed as its source elsewhere."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not console.is_terminal:
            yield Text(self.text)
            return
        from rich.markdown import Markdown  # takes a while to import

        narrow = options.update(width=min(WIDEST, options.max_width))
        yield from console.render(Markdown(self.text, code_theme="ansi_dark"), narrow)


def answer_text(answer: Answer, recalled: Mapping[str, str] = NOTHING_RECALLED) -> Group:
    """Return the answer with citations, recalled memories, unsupported sentences, notices, and its model.

    `recalled` has the texts of memories by id. Replies and answers of the memory are only their text.
    """
    if answer.mode in ("reply", "memory"):
        return Group(Prose(answer.text))
    doubted = [item for item in answer.support if not item.supported]
    unsupported = [(answer.text[item.start : item.end], item.problem) for item in doubted]
    return Group(
        *_read_as(answer),
        *(Text(f"\N{BRAIN} Remembered: {' '.join(text.split())}", "magenta") for text in recalled.values()),
        *answer_body(answer),
        *(
            Text(f"Not supported: {without_markers(said).strip()}\n  {problem}", "yellow")
            for said, problem in unsupported
        ),
        *map(Prose, answer.notices),
        Text(_answered_by(answer), "dim"),
    )


def _read_as(answer: Answer) -> Iterator[Text]:
    """Yield the question as corrected, if its spelling was corrected."""
    if answer.corrected:
        yield Text(f"Showing results for {answer.corrected}.\n", "yellow")


def _answered_by(answer: Answer) -> str:
    closest = answer.verdict == "closest" and answer.mode == "quote"
    by = "closest passages" if closest else answer.model or "no model: quotes"
    parts = [only_in(scope_of(answer)), by, answer.unsupported, f"{answer.seconds:.1f} s"]
    return ", ".join(filter(None, parts))


def answer_body(answer: Answer) -> Iterator[RenderableType]:
    """Yield only the answer: its text with footnotes, or its quotes, of which folded ones are footnotes."""
    cited = {citation.marker: citation for citation in answer.citations}
    are_quotes = answer.mode == "quote" and not answer.abstained
    units = [unit for unit in answer.units if are_quotes and unit.marker in cited]
    if not units:
        yield from (Prose(answer.text), Text())
    elif answer.verdict == "closest":
        yield Text(f"{CLOSEST}\n", "bold")
    for unit in units:
        if not unit.folded:
            yield from (*_quote(unit, cited[unit.marker]), Text())
    folded = [cited[unit.marker] for unit in units if unit.folded]
    if folded:
        yield Text(f"{counted(len(folded), 'more passage')}:", "dim")
    for citation in folded if units else answer.citations:
        yield _footnote(citation)
    if answer.nearest:
        yield Text("Nearest sections:", "dim")
        yield from map(_footnote, answer.nearest)


def _quote(unit: Unit, citation: Citation) -> Iterator[RenderableType]:
    """Yield a quote's source, its lead and text, and a line with "…" if part of the passage is left out."""
    found = shown(unit, citation)
    yield _footnote(citation)
    yield Prose(escaped_markers("\n\n".join(filter(None, (found.lead, found.text.rstrip())))))
    if any(unit.cut(citation)):
        yield Text("…", "dim")


def _footnote(citation: Citation) -> Text:
    path = " › ".join([citation.source, *citation.heading_path])
    return Text(f"[{citation.marker}] {path}, {citation.lines}", "dim")


def plain_answer(answer: Answer) -> str:
    """Return the answer as lines of the mission's console, without colours."""
    lines = Group(*_read_as(answer), *answer_body(answer))
    console = Terminal(file=io.StringIO(), width=CONSOLE_COLUMNS, force_terminal=True, color_system=None)
    with console.capture() as printed:
        console.print(lines)
    return "\n".join(line.rstrip() for line in printed.get().splitlines()).strip()
