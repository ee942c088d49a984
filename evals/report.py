"""`make evaluate` ends with this: docs/evaluation.md, written from the result files.

`python -m evals.report [--results DIR] [--out FILE]`; with matplotlib the page has plots, else tables alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from evals.experiments import load_experiment, names
from evals.plots import draw, tokens_each
from evals.results import RESULTS, Configuration, ExperimentResult, load_results
from evals.significance import MARGIN, Comparison
from pipeline.errors import AthenaError, ConfigurationError, DatasetError

PAGE = Path("docs/evaluation.md")
SIGNS = {"better": " ▲", "worse": " ▼", "noise": ""}
HEAD = """# Evaluation: experiments

Written by `make evaluate` from the files in `evals/results`; do not edit. With a language model:
`make evaluate LLM=ollama/NAME`. `athena eval experiment A … E | FILE.toml | --all` runs experiments,
`--dry-run` says what would run, `--plots DIR` draws what came of it. What is finished is kept, also after
Ctrl-C. An experiment of your own is a file like those in
[evals/data/experiments](../evals/data/experiments); your own questions stand in
[this format](evaluation-format.md).

- A passage is a *hit* where it has at least half of a gold span: chunks of any size are judged on one gold.
  hit@3: a hit is among the first three; MRR: 1 / the rank of the first; nDCG@10: all spans, by rank.
- *similarity*: the cosine, by the bundled model, of what a reader sees and the reference answer. It sees
  topic and wording: a reworded right answer lowers it, and one wrong number hardly does.
- *abstained rightly*: answered where the manuals answer, and only there.
- With a language model, *judged …* is what that model makes of each answer, at temperature 0; a reply that
  does not parse counts for nothing. `athena eval judge` says how far to believe it.
- Over sessions a hit is a recalled fact or message that has the answer, counted for the questions that need
  an earlier session; *answered*: the answer has it, too.
- All are 0 to 1, higher is better, with the 95 % interval of a bootstrap over questions. ▲ better and ▼ worse
  than the first row: paired bootstrap, 10,000 resamples, Holm's correction within an experiment, p < .05.
  No mark is noise.
- Times are of the machine that ran it, and of what else it did: compare them within a table at most. Tokens
  are those of the passages, by cl100k (est.), where no model's server counted them.
"""


def page(results: Sequence[ExperimentResult], pictures: dict[str, str], without_plots: str = "") -> str:
    """The Markdown of all experiments; `pictures` are addresses by experiment."""
    parts = [HEAD, "## In short\n", "\n".join(_short(results)) + "\n"]
    if without_plots:
        parts.append(f"{without_plots}\n")
    for result in results:
        parts += [
            f"## {result.experiment}. {result.title}\n",
            f"{result.dataset}: {len(result.baseline.questions)} questions; code {result.code}, data "
            f"{result.data}; finished {result.finished[:10]}.\n",
            "\n".join(_table(result)) + "\n",
        ]
        if picture := pictures.get(result.experiment):
            parts.append(f"![{result.title}]({picture})\n")
        parts.append("\n".join(_learned(result)) + "\n")
    return "\n".join(parts)


def _short(results: Sequence[ExperimentResult]) -> Iterator[str]:
    """A row an experiment: the best of it against its first by hit@3."""
    yield "| | compared | best by hit@3 | hit@3 | against | difference | verdict |"
    yield "|---|--:|---|--:|---|--:|---|"
    for result in results:
        best = max(result.configurations, key=lambda one: one.metrics["hit@3"])
        found = next((one for one in result.comparisons if (one.a, one.metric) == (best.name, "hit@3")), None)
        alone = "nothing to compare with" if result.uncompared else "it is the first"
        said = f"{_signed(found.difference)} | {found.verdict}" if found else f"– | {alone}"
        yield (
            f"| {result.experiment}. {result.title} | {len(result.configurations)} | {best.name} "
            f"| {best.metrics['hit@3']:.3f} | {'–' if result.uncompared else result.baseline.name} | {said} |"
        )


def _table(result: ExperimentResult) -> Iterator[str]:
    metrics = list(result.baseline.metrics)
    titles = [*map(_spoken, metrics), "ms p50 (p95)", "tokens in", "cost"]
    yield f"| | {' | '.join(titles)} |"
    yield "|---|" + "--:|" * len(titles)
    verdicts = {(one.a, one.metric): SIGNS[one.verdict] for one in result.comparisons}
    for one in result.configurations:
        cells = [_cell(one, metric, verdicts.get((one.name, metric), "")) for metric in metrics]
        yield f"| {one.name} | {' | '.join([*cells, *_spent(one)])} |"


def _cell(one: Configuration, metric: str, sign: str) -> str:
    if metric not in one.metrics:
        return "–"
    low, high = one.intervals[metric]
    return f"{one.metrics[metric]:.3f} [{low:.2f}, {high:.2f}]{sign}"


def _spent(one: Configuration) -> list[str]:
    """Times, tokens and cost a question."""
    took = one.ms.get("all")
    tokens = tokens_each(one)
    return [
        f"{took['p50']:.0f} ({took['p95']:.0f})" if took else "–",
        "–" if tokens is None else f"{tokens:,.0f}{' (est.)' if one.tokens_estimated else ''}",
        "–" if one.cost is None else f"{one.cost / len(one.questions):.5f}",
    ]


def _learned(result: ExperimentResult) -> Iterator[str]:
    """What the comparisons say, what they cannot say, and what follows."""
    first = result.baseline.name
    for other in result.configurations[1:]:
        for verdict in ("better", "worse"):
            found = [one for one in result.comparisons if (one.a, one.verdict) == (other.name, verdict)]
            if found:
                yield f"- *{other.name}* is {verdict} than *{first}*: {'; '.join(map(_phrase, found))}."
    marked = {one.a for one in result.comparisons if one.verdict != "noise"}
    noise = [one.name for one in result.configurations[1:] if one.name not in marked]
    if result.uncompared:
        yield f"- {result.uncompared}"
    elif noise:
        yield f"- No difference from *{first}* beyond noise: {', '.join(noise)}."
    if few := {one.metric: one for one in result.margins}:
        most = max(few.values(), key=lambda one: one.needed)
        yield (
            f"- Too few questions to see a difference of {MARGIN} in {', '.join(map(_spoken, few))}: "
            f"{most.questions} were compared, {most.needed:,} would do."
        )
    if result.experiment in names():
        ours = load_experiment(result.experiment)
        there = {one.name for one in result.configurations}
        if lacking := [named.name for named in ours.all if named.name not in there]:
            yield f"- Left out, as there was no model for it, or not finished: {', '.join(lacking)}."
        if ours.follows:
            yield f"- {ours.follows}"


def _phrase(one: Comparison) -> str:
    low, high = map(_signed, one.interval)
    return f"{_spoken(one.metric)} {_signed(one.difference)} [{low}, {high}], p {one.p:.4f}"


def _spoken(metric: str) -> str:
    return metric.replace("_", " ")


def _signed(value: float) -> str:
    return f"{value:+.3f}"


def newest(results: Sequence[ExperimentResult]) -> list[ExperimentResult]:
    """The last run of each experiment, in the order of their names."""
    last: dict[str, ExperimentResult] = {}
    for result in results:
        last.setdefault(result.experiment, result)
    return [last[name] for name in sorted(last)]


def main() -> int:
    """Write the page and its plots; 1 where there is nothing to write it from."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--out", type=Path, default=PAGE)
    given = parser.parse_args()
    try:
        found = newest(load_results(given.results))
        if not found:
            raise DatasetError(f"'{given.results}' has no results.", "Run `athena eval experiment --all`.")
        pictures, missing = _pictures(found, given.out)
    except AthenaError as error:
        print(error, file=sys.stderr)
        return 1
    given.out.write_text(page(found, pictures, missing), encoding="utf-8")
    print(f"{given.out}: {len(found)} experiments. {missing}".strip())
    return 0


def _pictures(results: Sequence[ExperimentResult], out: Path) -> tuple[dict[str, str], str]:
    """Their addresses from the page; none, and why, without the plotting package."""
    folder = out.parent / "pictures" / "evaluation"
    try:
        drawn = {result.experiment: draw(result, folder) for result in results}
    except ConfigurationError as error:
        return {}, str(error)
    return {name: path.relative_to(out.parent).as_posix() for name, path in drawn.items()}, ""


if __name__ == "__main__":
    sys.exit(main())
