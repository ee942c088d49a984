"""`python -m evals.report` writes docs/evaluation.md: the results of all experiments as tables and plots."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evals.experiments import RESULTS, Experiment, ExperimentResult, load_experiment, read_result
from pipeline.errors import ConfigurationError, DatasetError

PAGE = Path("docs/evaluation.md")
SIGNS = {"better": " ▲", "worse": " ▼", "noise": ""}
HEAD = """# Evaluation: experiments

`make evaluate` runs experiments A to D and writes this page from `evals/results`; do not edit it. With a
language model: `make evaluate LLM=ollama/NAME`. The configurations are in
[evals/data/experiments](../evals/data/experiments).

- **hit@3**: one of the first three passages holds at least half of a gold span. **MRR**: 1 / rank of the
  first passage that does. **nDCG@10**: all gold spans, discounted by rank.
- **similarity**: cosine of the shown answer and the reference answer, by the bundled model. It measures topic
  and wording, not truth.
- **abstained rightly**: Athena answered exactly where the manuals do. **answered** (talks): the answer holds
  what the user said in an earlier message.
- All are 0 to 1, higher is better, with a 95 % bootstrap interval over questions. ▲ and ▼: better or worse
  than the first row (paired bootstrap, 10,000 resamples, Holm's correction within an experiment, p < .05). No
  mark: noise.
- *words*: of the passages found for a question.
"""
STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "athena",  # equal figures give equal bytes
}
FILL, EDGE = "#c9d6e4", "#1f3a5f"
DRAWN = ("hit@3", "nDCG@10", "answered", "similarity")


def page(results: Sequence[ExperimentResult], pictures: Sequence[str]) -> str:
    """Return the Markdown of all experiments; `pictures` are the plots' paths, relative to the page."""
    parts, last = [HEAD], {one.experiment: one for one in results}
    for result, picture in zip(results, pictures, strict=True):
        experiment, first = load_experiment(result.experiment), result.configurations[0]
        finished = max(one.finished for one in result.configurations)[:10]
        answered = f", answered by {result.llm}" if result.llm != "none" else ""
        conclusion = experiment.conclusion if result is last[experiment.name] else ""
        parts += [
            f"## {experiment.name}. {experiment.title}{answered}\n",
            f"{experiment.dataset.name}: {len(first.scores)} questions; finished {finished}.\n",
            table(result),
            f"![{experiment.title}]({picture})\n",
            f"{conclusion}{_missing(experiment, result)}\n",
        ]
    return "\n".join(filter(str.strip, parts))


def _missing(experiment: Experiment, result: ExperimentResult) -> str:
    """Return a sentence with the names of the configurations that have no result, "" if all have one."""
    there = {one.name for one in result.configurations}
    found = [one.name for one in experiment.configurations if one.name not in there]
    return f" Not run here: {', '.join(found)}." if found else ""


def table(result: ExperimentResult) -> str:
    """Return a Markdown table of the configurations; ▲ or ▼ marks a significant difference from the first."""
    metrics = result.configurations[0].metrics
    titles = [*(name.replace("_", " ") for name in metrics), "words"]
    lines = [f"| | {' | '.join(titles)} |", "|---|" + "--:|" * len(titles)]
    signs = {(one.a, one.metric): SIGNS[one.verdict] for one in result.comparisons}
    for one in result.configurations:
        cells = []
        for name in metrics:
            value, low, high = one.interval(name)
            cells.append(f"{value:.3f} [{low:.2f}, {high:.2f}]{signs.get((one.name, name), '')}")
        lines.append(f"| {one.name} | {' | '.join(cells)} | {one.words:,.0f} |")
    return "\n".join(lines) + "\n"


def draw(result: ExperimentResult, folder: Path) -> Path:
    """Draw an experiment's metrics with their intervals; return the path of the SVG.

    Raises `ConfigurationError` if matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigurationError(
            "Cannot draw the plots: matplotlib is not installed.",
            "Install it: pip install 'athena-docs[plots]'.",
        ) from error
    metrics = [name for name in DRAWN if name in result.configurations[0].metrics]
    labels = [one.name for one in result.configurations]
    with mpl.rc_context(STYLE):
        size = (2.2 + 2.4 * len(metrics), 0.9 + 0.35 * len(labels))
        figure = Figure(figsize=size, layout="constrained")
        for number, metric in enumerate(metrics):
            axis = figure.add_subplot(1, len(metrics), number + 1)
            for row, one in enumerate(result.configurations):
                value, low, high = one.interval(metric)
                axis.barh(row, value, color=FILL, edgecolor=EDGE)
                axis.errorbar(value, row, xerr=[[value - low], [high - value]], capsize=3, color="black")
            axis.set_yticks(range(len(labels)), labels if number == 0 else [""] * len(labels))
            axis.set_xlim(0, 1)
            axis.invert_yaxis()
            axis.set_title(metric, fontsize=9)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{result.stem}.svg"
        figure.savefig(path, metadata={"Date": None})
    return path


def main() -> None:
    """Write the page and its plots; raise `DatasetError` if there are no results or one is damaged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--out", type=Path, default=PAGE)
    options = parser.parse_args()
    results = sorted(map(read_result, options.results.glob("*.json")), key=lambda one: one.stem)
    if not results:
        raise DatasetError(f"'{options.results}' has no results.", "Run `athena eval experiment --all`.")
    folder = options.out.parent / "pictures" / "evaluation"
    pictures = [draw(result, folder).relative_to(options.out.parent).as_posix() for result in results]
    options.out.write_text(page(results, pictures), encoding="utf-8")


if __name__ == "__main__":
    main()
