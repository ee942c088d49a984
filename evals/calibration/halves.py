"""The manuals' questions by halves: `python -m evals.calibration.halves`.

The constants of quoting and the threshold of abstaining were chosen while all of these questions were looked
at, so neither half is new to them. From now on, whoever chooses a constant looks at the first half alone, and
reports the second. Prints each half's figures, shares with 95 % bootstrap intervals.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from typer import echo

from evals.datasets import held_out, load_queries
from evals.intervals import bootstrap
from evals.metrics import auroc
from evals.runs.answers import Judged, judge_answers
from evals.runs.asking import condensed, quotes_shown

HALVES = ("to choose on", "held out")


def judged(questions: Path, corpus: Path) -> list[Judged]:
    """Every question's quotes and verdict, without language model and cross-encoder."""
    from athena import load_settings, open_athena

    with tempfile.TemporaryDirectory(prefix="athena-halves-") as scratch:
        settings = load_settings(llm="none", hyde="off", rerank=False, cross_encoder="none")
        changes = {"data_dir": Path(scratch), "store": "embedded"}
        athena = open_athena(settings.model_copy(update=changes))
        try:
            athena.ingest([corpus])
            return judge_answers(
                load_queries(questions),
                search=athena.hybrid_search.search,
                quotes=partial(quotes_shown, athena),
                condense=condensed,
            )
        finally:
            athena.close()


def halves(judgements: Sequence[Judged]) -> tuple[list[Judged], list[Judged]]:
    """Those to choose on, and those that are held out."""
    first = [item for item in judgements if not held_out(item.query_id)]
    return first, [item for item in judgements if held_out(item.query_id)]


def figures(judgements: Sequence[Judged]) -> Iterator[tuple[str, str]]:
    """What is printed of one half."""
    quoted = [item for item in judgements if item.first is not None]
    answerable = [item for item in judgements if item.answerable]
    unanswerable = [item for item in judgements if not item.answerable]
    yield "questions", f"{len(answerable)} and {len(unanswerable)} without an answer"
    yield "first quote has the answer", _share([item.first is True for item in quoted])
    yield "any quote has it", _share([item.any is True for item in quoted])
    yield "wrongly abstained", _share([item.abstained for item in answerable])
    yield "rightly abstained", _share([item.abstained for item in unanswerable])
    area = auroc([item.probability for item in judgements], [item.answerable for item in judgements])
    yield "AUROC of the verdict", "" if area is None else f"{area:.3f}"


def _share(values: Sequence[bool]) -> str:
    found = bootstrap([float(value) for value in values])
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]" if values else ""


def main() -> None:
    """Ask everything once, and print both halves side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="?", type=Path, default=Path("evals/data/manuals"))
    parser.add_argument("corpus", nargs="?", type=Path, default=Path("docs_corpus"))
    given = parser.parse_args()
    both = halves(judged(given.questions, given.corpus))
    echo(f"| | {' | '.join(HALVES)} |\n|---|---|---|")
    for (what, first), (_, second) in zip(*map(figures, both), strict=True):
        echo(f"| {what} | {first} | {second} |")


if __name__ == "__main__":
    main()
