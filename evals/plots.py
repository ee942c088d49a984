"""Plots of experiments as SVG: a bar for each configuration, with its 95 % interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.errors import ConfigurationError, StoreError

if TYPE_CHECKING:
    from evals.experiments import ExperimentResult

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "athena",  # the same figures give the same bytes
}
FILL, EDGE = "#c9d6e4", "#1f3a5f"
SHOWN = ("hit@3", "nDCG@10", "answered", "similarity")


def draw(result: ExperimentResult, folder: Path) -> Path:
    """Draw an experiment and return the path of its SVG.

    Raises:
        ConfigurationError: matplotlib is not installed.
        StoreError: the file cannot be written.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigurationError(
            "Cannot draw the plots: matplotlib is not installed.",
            "Install it: pip install 'athena-docs[plots]'.",
        ) from error
    path = folder / f"{result.experiment}.svg"
    metrics = [name for name in SHOWN if name in result.configurations[0].metrics]
    names = [one.name for one in result.configurations]
    with mpl.rc_context(STYLE):
        size = (2.2 + 2.4 * len(metrics), 0.9 + 0.35 * len(names))
        figure = Figure(figsize=size, layout="constrained")
        for number, metric in enumerate(metrics):
            axis = figure.add_subplot(1, len(metrics), number + 1)
            for row, one in enumerate(result.configurations):
                value, low, high = one.interval(metric)
                axis.barh(row, value, color=FILL, edgecolor=EDGE)
                axis.errorbar(value, row, xerr=[[value - low], [high - value]], capsize=3, color="black")
            axis.set_yticks(range(len(names)), names if number == 0 else [""] * len(names))
            axis.set_xlim(0, 1)
            axis.invert_yaxis()
            axis.set_title(metric, fontsize=9)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, metadata={"Date": None})
        except OSError as error:
            raise StoreError(f"Cannot write '{path}': {error.strerror}.", "Name another folder.") from error
    return path
