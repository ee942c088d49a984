"""Asking from a terminal: waiting for an answer, and showing it with its quotes and citations."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from athena.cli.terminal import Terminal
from pipeline.answering.citations import CODE, escaped_markers, without_markers
from pipeline.answering.excerpts import readers_quote, shown
from pipeline.errors import AthenaError, ModelError
from pipeline.steps.events import AnswerFinished, ChatEvent, RunFailed, StepFinished, StepStarted
from pipeline.steps.records import call_line
from pipeline.stores.conversations import scope_of
from pipeline.stores.globs import only_in
from pipeline.words import CLOSEST, counted

if TYPE_CHECKING:
    from pipeline.answer import Answer, Citation, Support, Unit
    from pipeline.chat import ChatRecipe

REMEMBERED = "\N{BRAIN} Remembered:"
ICONS = {"tool": "\N{WRENCH} ", "memory": "\N{BRAIN} ", "documents": ""}
RELATED = "\N{BRAIN} Related:"
NOTHING_RECALLED: Mapping[str, str] = {}
WIDEST = 100  # columns of text that is read
INSET = 2  # columns of a quote
NO_CITATION = re.compile(r"(?<!\\)\\(?=[\[【](?:[Ss]ources? +)?\^?\d{1,3}[^\]】\n]{0,20}[\]】])")
CONSOLE_COLUMNS = 80  # of the mission's console


class Unanswered(ModelError):
    """The run failed; `answer` is what there is of it, if anything."""

    def __init__(self, problem: str, fix: str, answer: Answer | None) -> None:
        super().__init__(problem, fix)
        self.answer = answer


def without_failure(answer: Answer) -> Answer:
    """An answer that broke off, without the notice that says why: the error does."""
    return replace(answer, notices=answer.notices[:-1])


def watch_answer(chat: ChatRecipe, question: str, console: Console) -> Answer:
    """Ask, and show the step that is at work; raises `ModelError` where the run fails."""
    with console.status("Thinking", spinner="dots") as status:
        return _finish(chat.run(question), lambda text: status.update(f"{escape(text)} …"))


def ask_quietly(chat: ChatRecipe, question: str) -> Answer:
    """Ask and wait; raises `ModelError` where the run fails."""
    return _finish(chat.run(question), lambda _: None)


def watch_agent(chat: ChatRecipe, question: str, console: Console) -> Answer:
    """Ask an agent, and show each call of a tool as a line."""
    return _finish(chat.run(question), lambda _: None, console)


def _finish(
    events: Iterator[ChatEvent], show: Callable[[str], None], console: Console | None = None
) -> Answer:
    for event in events:
        match event:
            case StepFinished(step=step) if console and step.name == "tool":
                told = " ".join(call_line(step).split())
                line = f"{ICONS[step.data['kind']]}{told} ({step.ms / 1000:.1f} s)"
                console.print(line, style="dim", markup=False)
            case StepStarted(text=text):
                show(text.rstrip(" …."))
            case AnswerFinished(answer=answer):
                return answer
            case RunFailed(message=message, fix=fix, answer=answer):
                raise Unanswered(message, fix, answer)
    raise AthenaError("The answer ended unexpectedly.", "Ask again with `athena -v ask …` to see more.")


@dataclass(frozen=True, slots=True)
class Prose:
    """Markdown, rendered on a terminal with lines broken between words; elsewhere as it is written."""

    text: str
    style: str = ""
    inset: int = 0  # columns, on a terminal

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if not console.is_terminal:
            yield Text(self.text, style=self.style)
            return
        from athena.cli.rendered import Rendered  # takes a while to import, and pipes do without it

        rendered = Rendered(_with_backslashes(self.text), style=self.style, code_theme="ansi_dark")
        yield from console.render(Padding(rendered, (0, 0, 0, self.inset)), _wrapped(options))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of plain text, broken between words on a terminal."""

    text: str
    style: str = ""
    inset: int = 0  # columns, on a terminal

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        line = Text(self.text, style=self.style)
        if console.is_terminal:
            yield from console.render(Padding(line, (0, 0, 0, self.inset)), _wrapped(options))
        else:
            yield line


def _with_backslashes(text: str) -> str:
    """The same Markdown, whose backslash before what reads as a citation and is none can be seen."""
    code = [match.span() for match in CODE.finditer(text)]

    def kept(match: re.Match[str]) -> str:
        inside = any(start <= match.start() < end for start, end in code)
        return match[0] if inside else f"\\{match[0]}"

    return NO_CITATION.sub(kept, text)


def _wrapped(options: ConsoleOptions) -> ConsoleOptions:
    """Lines of a length to be read; the consoles of `athena.cli.running` break none themselves."""
    return options.update(width=min(WIDEST, options.max_width), no_wrap=False, overflow="fold")


def answer_text(answer: Answer, recalled: Mapping[str, str] = NOTHING_RECALLED) -> RenderableType:
    """The answer with its quotes and citations, what the reader should know of it, and who answered.

    What was recalled, texts by id, stands above quotes, and below what a model wrote; how things relate,
    below both.
    """
    if answer.mode in ("reply", "memory"):
        return Prose(answer.text)
    remembered = _from_memory(REMEMBERED, answer.recalled, recalled)
    lines = list(_with_reading(answer))
    if answer.mode == "quote" and remembered:
        lines = [*remembered, Text(""), *lines]
    else:
        lines += remembered
    lines += _from_memory(RELATED, answer.related, recalled)
    lines += [_unsupported(answer, item) for item in answer.support if not item.supported]
    lines += [Prose(notice, style="dim") for notice in answer.notices]
    lines.append(Line(_by(answer), style="dim"))
    return Group(*lines)


def _with_reading(answer: Answer) -> Iterator[RenderableType]:
    """Yield the answer; above it the question that the message was read as, where that differs."""
    if answer.carried:
        yield Line(f"About “{answer.carried}”.", style="dim")
    if shown := answer.message_corrected:
        typed = answer.question if answer.carried else answer.condensed_question
        yield showing_results(shown, instead_of=typed)
    if answer.carried or shown:
        yield Text("")
    yield answer_body(answer)


def _from_memory(intro: str, ids: Sequence[str], texts: Mapping[str, str]) -> list[RenderableType]:
    """A line each; what is forgotten is left out."""
    return [
        Line(f"{intro} {' '.join(texts[known].split())}", style="magenta") for known in ids if known in texts
    ]


def answer_body(answer: Answer) -> Group:
    """The answer alone: its text with footnotes, or its quotes."""
    return Group(*(_quotes(answer) if quotes_units(answer) else _prose(answer)))


def quotes_units(answer: Answer) -> bool:
    """True where the answer is quotes that say how they are to be shown."""
    return answer.mode == "quote" and not answer.abstained and bool(answer.units)


def showing_results(corrected: str, *, instead_of: str) -> Line:
    """What was searched for, and how to search for what was typed."""
    return Line(
        f"Showing results for {corrected}; --verbatim searches for “{instead_of}” as typed.", style="yellow"
    )


def plain_answer(answer: Answer) -> str:
    """The answer in lines of the mission's console, without colours."""
    named = passages_named(answer)
    first = min(named, default=0)
    more = f"more shows what they say; more {first}, only what [{first}] says." if named else ""
    read_as: list[RenderableType] = []
    if answer.message_corrected:
        read_as = [Line(f"I read it as: {answer.message_corrected}"), Text("")]
    return _plainly(Group(*read_as, answer_body(answer), more))


def passages_named(answer: Answer) -> dict[int, RenderableType]:
    """The passages that the answer shows by their headings alone, as they read, by marker."""
    cited = {citation.marker: citation for citation in answer.citations}
    if quotes_units(answer):
        folded = [unit for unit in answer.units if unit.folded and unit.marker in cited]
        return {unit.marker: Group(*_quote(unit, cited[unit.marker])) for unit in folded}
    return {
        near.marker: Group(_footnote(near), Prose(escaped_markers(readers_quote(near)), inset=INSET))
        for near in answer.nearest
    }


def plain_passages(answer: Answer, which: str) -> str:
    """The passages that the answer only named, or the one with this number, for the mission's console."""
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


def _by(answer: Answer) -> str:
    closest = answer.verdict == "closest" and answer.mode == "quote"
    by = "closest passages" if closest else answer.model or "no model: quotes"
    parts = [only_in(scope_of(answer)), by, answer.unsupported, f"{answer.seconds:.1f} s"]
    return ", ".join(filter(None, parts))


def _unsupported(answer: Answer, support: Support) -> Line:
    sentence = without_markers(answer.text[support.start : support.end]).strip()
    return Line(f"Not supported: {sentence}\n  {support.problem}", style="yellow")


def _prose(answer: Answer) -> list[RenderableType]:
    lines: list[RenderableType] = [Prose(answer.text), Text("")]
    lines += [
        _footnote(citation, doubt="" if citation.verified else " (does not say so)")
        for citation in answer.citations
    ]
    if answer.nearest:
        lines.append(Text("Nearest sections:", style="dim"))
        lines += [_footnote(citation) for citation in answer.nearest]
    return lines


def _quotes(answer: Answer) -> list[RenderableType]:
    """The shown units, each under its breadcrumb; the folded ones as footnotes."""
    cited = {citation.marker: citation for citation in answer.citations}
    units = [unit for unit in answer.units if unit.marker in cited]
    lines: list[RenderableType] = []
    if answer.verdict == "closest":
        lines += [Line(CLOSEST, style="bold"), Text("")]
    for unit in units:
        if not unit.folded:
            lines += [*_quote(unit, cited[unit.marker]), Text("")]
    folded = [cited[unit.marker] for unit in units if unit.folded]
    if folded:
        lines.append(Line(f"{counted(len(folded), 'more passage')}:", style="dim"))
        lines += [_footnote(citation) for citation in folded]
        lines.append(Text(""))
    return lines


def _quote(unit: Unit, citation: Citation) -> list[RenderableType]:
    """A quote after its lead, with a line or row where something is left out."""
    found = shown(unit, citation)
    before, after = unit.more(unit.left_out_before), unit.more(unit.left_out_after)
    head: list[RenderableType] = [_footnote(citation)]
    if found.lead:
        head.append(Prose(escaped_markers(found.lead) + "\n", inset=INSET))
    if unit.kind != "table":
        return [
            *head,
            *_as_lines(before),
            Prose(escaped_markers(found.text), inset=INSET),
            *_as_lines(after),
        ]
    rows = [found.opening, *_as_rows(before), found.quote, *_as_rows(after)]
    table = "\n".join(row.rstrip() for row in rows if row)
    return [*head, Prose(escaped_markers(table), inset=INSET)]


def _as_rows(left_out: str) -> list[str]:
    return [f"| {left_out} |"] if left_out else []


def _as_lines(left_out: str) -> list[RenderableType]:
    return [Line(left_out, style="dim", inset=INSET)] if left_out else []


def _footnote(citation: Citation, *, doubt: str = "") -> Line:
    breadcrumb = " › ".join([citation.file, *citation.heading_path])
    first, last = citation.start_line, citation.end_line
    where = f"line {first}" if first == last else f"lines {first}-{last}"
    return Line(f"[{citation.marker}] {breadcrumb}, {where}{doubt}", style="dim")
