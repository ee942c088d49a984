"""Ask from a terminal, and show an answer with its quotes and citations."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from athena.cli.terminal import Terminal
from pipeline.answering.citations import escaped_markers, without_markers
from pipeline.answering.excerpts import readers_quote, shown
from pipeline.errors import AthenaError, ModelError
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, StepFinished, StepStarted
from pipeline.steps.records import call_line
from pipeline.stores.globs import only_in
from pipeline.stores.turns import scope_of
from pipeline.words import CLOSEST, counted

if TYPE_CHECKING:
    from pipeline.answer import Answer, Citation, Support, Unit
    from pipeline.chat import ChatRecipe

NOTHING_RECALLED: Mapping[str, str] = {}
REMEMBERED, RELATED = "\N{BRAIN} Remembered:", "\N{BRAIN} Related:"
WIDEST = 100  # columns of a line of text
INSET = 2  # columns before a quote
CONSOLE_COLUMNS = 80  # of the mission's console


class Unanswered(ModelError):
    """The run failed; `answer` is the part of the answer that had arrived, if any."""

    def __init__(self, problem: str, fix: str, answer: Answer | None) -> None:
        super().__init__(problem, fix)
        self.answer = answer


def without_failure(answer: Answer) -> Answer:
    """Return an answer that broke off without its last notice, which repeats the error."""
    return replace(answer, notices=answer.notices[:-1])


def ask_quietly(chat: ChatRecipe, question: str) -> Answer:
    """Ask and wait; raises `Unanswered` where the run fails."""
    return _finish(chat.run(question), lambda _: None)


def watch_answer(chat: ChatRecipe, question: str, console: Console) -> Answer:
    """Ask, and show each step while it runs and each call of a tool; raises `Unanswered`."""
    with console.status("Thinking", spinner="dots") as status:

        def show(event: ChatEvent) -> None:
            match event:
                case StepStarted(text=text):
                    status.update(f"{escape(text.rstrip(' ….'))} …")
                case StepFinished(step=step) if step.name == "tool":
                    line = f"{' '.join(call_line(step).split())} ({step.ms / 1000:.1f} s)"
                    console.print(line, style="dim", markup=False)

        return _finish(chat.run(question), show)


def _finish(events: Iterator[ChatEvent], show: Callable[[ChatEvent], None]) -> Answer:
    for event in events:
        match event:
            case AnswerFinished(answer=answer):
                return answer
            case RunFailed(message=message, fix=fix, answer=answer):
                raise Unanswered(message, fix, answer)
        show(event)
    raise AthenaError("The answer ended unexpectedly.", "Ask again with `athena -v ask …` to see more.")


# -- lines of text ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """Text, broken between words on a terminal, and whole elsewhere."""

    text: str
    style: str = ""
    inset: int = 0  # columns, on a terminal

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not console.is_terminal:
            yield Text(self.text, style=self.style)
            return
        wrapped = options.update(width=min(WIDEST, options.max_width), no_wrap=False, overflow="fold")
        yield from console.render(Padding(self._rendered(), (0, 0, 0, self.inset)), wrapped)

    def _rendered(self) -> RenderableType:
        return Text(self.text, style=self.style)


@dataclass(frozen=True, slots=True)
class Prose(Line):
    """Markdown, rendered on a terminal, and as it is written elsewhere."""

    def _rendered(self) -> RenderableType:
        from athena.cli.rendered import Rendered  # takes a while to import, and pipes do without it

        return Rendered(self.text, style=self.style, code_theme="ansi_dark")


def showing_results(corrected: str, *, instead_of: str) -> Line:
    """Return a line that says how the spelling was corrected."""
    return Line(f"Showing results for {corrected}, instead of “{instead_of}”.", style="yellow")


# -- an answer ----------------------------------------------------------------------------------------------


def answer_text(answer: Answer, recalled: Mapping[str, str] = NOTHING_RECALLED) -> Group:
    """Return the answer with citations, recalled memories, unsupported sentences, notices, and its model.

    `recalled` has the texts of memories by id; memories stand above quotes and below a model's text.
    """
    if answer.mode in ("reply", "memory"):
        return Group(Prose(answer.text))
    memories = _memories(REMEMBERED, answer.recalled, recalled)
    lines: list[RenderableType] = [*_reading(answer), answer_body(answer)]
    lines = [*memories, *lines] if answer.mode == "quote" else [*lines, *memories]
    lines += _memories(RELATED, answer.related, recalled)
    lines += [_unsupported(answer, item) for item in answer.support if not item.supported]
    lines += [Prose(notice, style="dim") for notice in answer.notices]
    return Group(*lines, Line(_answered_by(answer), style="dim"))


def _reading(answer: Answer) -> Iterator[RenderableType]:
    """Yield how the message was read, where that differs from what was typed."""
    if answer.carried:
        yield Line(f"About “{answer.carried}”.", style="dim")
    if corrected := answer.message_corrected:
        typed = answer.question if answer.carried else answer.condensed_question
        yield showing_results(corrected, instead_of=typed)
    if answer.carried or corrected:
        yield Text("")


def _memories(intro: str, ids: Sequence[str], texts: Mapping[str, str]) -> list[RenderableType]:
    return [
        Line(f"{intro} {' '.join(texts[known].split())}", style="magenta") for known in ids if known in texts
    ]


def _unsupported(answer: Answer, support: Support) -> Line:
    sentence = without_markers(answer.text[support.start : support.end]).strip()
    return Line(f"Not supported: {sentence}\n  {support.problem}", style="yellow")


def _answered_by(answer: Answer) -> str:
    closest = answer.verdict == "closest" and answer.mode == "quote"
    by = "closest passages" if closest else answer.model or "no model: quotes"
    parts = [only_in(scope_of(answer)), by, answer.unsupported, f"{answer.seconds:.1f} s"]
    return ", ".join(filter(None, parts))


def answer_body(answer: Answer) -> Group:
    """Return the answer alone: its text with footnotes, or its quotes."""
    return Group(*(_quotes(answer) if _has_units(answer) else _prose(answer)))


def _has_units(answer: Answer) -> bool:
    return answer.mode == "quote" and not answer.abstained and bool(answer.units)


def _prose(answer: Answer) -> Iterator[RenderableType]:
    yield Prose(answer.text)
    yield Text("")
    for citation in answer.citations:
        yield _footnote(citation, doubt="" if citation.verified else " (does not say so)")
    if answer.nearest:
        yield Text("Nearest sections:", style="dim")
        yield from map(_footnote, answer.nearest)


def _quotes(answer: Answer) -> Iterator[RenderableType]:
    """Yield the quotes, each under its heading path; the folded ones as footnotes."""
    cited = {citation.marker: citation for citation in answer.citations}
    units = [unit for unit in answer.units if unit.marker in cited]
    if answer.verdict == "closest":
        yield from (Line(CLOSEST, style="bold"), Text(""))
    for unit in units:
        if not unit.folded:
            yield from (*_quote(unit, cited[unit.marker]), Text(""))
    if folded := [cited[unit.marker] for unit in units if unit.folded]:
        yield Line(f"{counted(len(folded), 'more passage')}:", style="dim")
        yield from map(_footnote, folded)
        yield Text("")


def _quote(unit: Unit, citation: Citation) -> Iterator[RenderableType]:
    """Yield a quote after its lead, and a line where something of the passage is left out."""
    found = shown(unit, citation)
    yield _footnote(citation)
    text = "\n\n".join(filter(None, (found.lead, found.text.rstrip())))
    yield Prose(escaped_markers(text), inset=INSET)
    if unit.left_out:
        yield Line(unit.more(unit.left_out), style="dim", inset=INSET)


def _footnote(citation: Citation, *, doubt: str = "") -> Line:
    path = " › ".join([citation.file, *citation.heading_path])
    first, last = citation.start_line, citation.end_line
    where = f"line {first}" if first == last else f"lines {first}-{last}"
    return Line(f"[{citation.marker}] {path}, {where}{doubt}", style="dim")


# -- the mission's console ----------------------------------------------------------------------------------


def plain_answer(answer: Answer) -> str:
    """Return the answer as lines of the mission's console, without colours."""
    named = passages_named(answer)
    first = min(named, default=0)
    more = f"more shows what they say; more {first}, only what [{first}] says." if named else ""
    read_as = f"I read it as: {answer.message_corrected}\n" if answer.message_corrected else ""
    return _plainly(Group(*([read_as] if read_as else []), answer_body(answer), more))


def passages_named(answer: Answer) -> dict[int, RenderableType]:
    """Return the passages that the answer shows by their headings alone, by marker."""
    cited = {citation.marker: citation for citation in answer.citations}
    if _has_units(answer):
        folded = [unit for unit in answer.units if unit.folded and unit.marker in cited]
        return {unit.marker: Group(*_quote(unit, cited[unit.marker])) for unit in folded}
    return {
        near.marker: Group(_footnote(near), Prose(escaped_markers(readers_quote(near)), inset=INSET))
        for near in answer.nearest
    }


def plain_passages(answer: Answer, which: str) -> str:
    """Return the passages that the answer only named, or the one with this number, for the console."""
    named = passages_named(answer)
    chosen = [named[marker] for marker in named if which in ("", str(marker), f"[{marker}]")]
    if not chosen:
        return f"There is no more to show of {which or 'this answer'}."
    return _plainly(Group(*(part for passage in chosen for part in (passage, Text("")))))


def _plainly(lines: RenderableType) -> str:
    stream = io.StringIO()
    console = Terminal(file=stream, width=CONSOLE_COLUMNS, force_terminal=True, color_system=None)
    console.print(lines)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()).strip()
