"""Before and after an evaluation: a set is checked, two runs are compared, a judge is tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from athena.cli.options import AsJson, DataDir
from athena.cli.running import err, failing_clearly, opened, show
from pipeline.words import counted, share_text

if TYPE_CHECKING:
    from evals.checking import Checked
    from evals.comparing import CompareReport
    from evals.judges import JudgeReport


def check(
    folder: Annotated[Path, typer.Argument(help="A folder of questions.")],
    corpus: Annotated[Path | None, typer.Option(help="The Markdown folder that they are about.")] = None,
    split: Annotated[str, typer.Option(help="Which qrels: qrels/SPLIT.tsv.")] = "test",
    as_json: AsJson = False,
) -> None:
    """Say what of a question set is missing, odd or wrong; exit code 1 where something is wrong."""
    from evals.checking import check as look_through

    with failing_clearly():
        found = look_through(folder, corpus=corpus, split=split)
    show(as_json, asdict(found), lambda: checked_text(found))
    if found.wrong:
        raise typer.Exit(1)


def compare(
    a: Annotated[Path, typer.Argument(help="What `eval answers` or `retrieval` printed with --json.")],
    b: Annotated[Path, typer.Argument(help="The same with other settings.")],
    as_json: AsJson = False,
) -> None:
    """Compare two runs question by question: is the second better, worse, or is it noise?"""
    from evals.comparing import compare_runs

    with failing_clearly():
        found = compare_runs(a, b)
    show(as_json, asdict(found), lambda: compared_text(found))


def judge(
    name: Annotated[str, typer.Option("--judge", help="rules, ollama/NAME or openai/NAME.")] = "rules",
    cases: Annotated[Path | None, typer.Option(help="Labelled answers; by default 60 of our own.")] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Let a judge loose on answers that people labelled: how many of each does it accept?

    Exit code 1 where it said nothing of any.
    """
    from athena.cli.progress import counter
    from evals.indexing import bar
    from evals.judges import CASES, try_judge

    with opened(data_dir, llm="none") as athena, counter(err, quiet=as_json) as report:
        found = try_judge(athena, name, cases=cases or CASES, report=bar(report, "Judging"))
    show(as_json, asdict(found), lambda: judge_text(found))
    if found.unparsed == found.cases:
        raise typer.Exit(1)


def warn(line: str) -> None:
    """Say what is wrong with a set that is measured all the same."""
    err.print(f"athena eval check: {line}", style="yellow", markup=False)


def checked_text(found: Checked) -> RenderableType:
    """What there is, what it counts for, and what is to be done."""
    table = Table("can be measured", "questions", box=box.SIMPLE)
    for name, count in found.counts_for.items():
        table.add_row(name, str(count))
    kinds = ", ".join(f"{kind} {count}" for kind, count in found.kinds.items())
    size = f"{found.dataset}: {counted(found.questions, 'question')}, {counted(found.documents, 'document')}"
    lines = [Text(f"Odd: {line}.", style="yellow") for line in found.odd]
    lines += [Text(f"Wrong: {line}.", style="red") for line in found.wrong]
    end = Text("Nothing is wrong." if not found.wrong else "")
    return Group(Text(size, style="bold"), Text(kinds), table, *lines, end)


def compared_text(found: CompareReport) -> RenderableType:
    """A line a metric, with its verdict on the second run."""
    table = Table("metric", "of", "difference", "95 %", "p", "verdict", box=box.SIMPLE, padding=(0, 1, 0, 0))
    for one in found.comparisons:
        low, high = one.interval
        verdict = one.verdict + (" (too few)" if one.too_few and one.verdict == "noise" else "")
        interval = f"{low:+.3f} {high:+.3f}"
        row = one.metric, str(one.questions), f"{one.difference:+.3f}", interval, f"{one.p:.3f}", verdict
        table.add_row(*row)
    few = any(one.too_few and one.verdict == "noise" for one in found.comparisons)
    notes = ["Too few questions to see a difference of .03 either way."] if few else []
    if found.left_out:
        notes.append(f"In one run only, left out: {', '.join(found.left_out)}")
    title = f"{found.b} against {found.a}: {counted(found.questions, 'question')}"
    return Group(Text(title, style="bold"), table, *map(Text, notes))


def judge_text(found: JudgeReport) -> RenderableType:
    """How many of each label are accepted, in all and of the half that is held out."""
    table = Table("label", "accepted", "held out", box=box.SIMPLE)
    for label, count in found.accepted.items():
        table.add_row(label, _accepted(count), _accepted(found.held_out.get(label, {})))
    right, others = share_text(found.right_accepted), share_text(found.wrong_accepted)
    figures = f"right accepted {right}, others {others}"
    unparsed = f"; {found.unparsed} said nothing" if found.unparsed else ""
    return Group(
        Text(f"{found.judge}: {counted(found.cases, 'answer')}", style="bold"),
        table,
        Text(figures + unparsed),
        Text(found.can_see, style="dim"),
    )


def _accepted(count: Mapping[str, Any]) -> str:
    return f"{count['accepted']} of {count['of']}" if count and count["unparsed"] < count["of"] else "-"
