"""Plots of experiments as PNG and SVG, for print: what differs does not differ in colour alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.results import Configuration, ExperimentResult
from pipeline.errors import ConfigurationError, StoreError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "athena",  # the same figures, the same bytes
}
DARK, LIGHT = "#1f3a5f", "#c9d6e4"
HATCHES = ("", "//", "xx", "--", "\\\\", "||")
DPI = 110
SIZE = re.compile(r"(\d+)/\d+$")  # the tokens of a chunk, in a splitter's name

Panel = tuple[str, Callable[[Configuration], float | None]]


def draw(result: ExperimentResult, folder: Path) -> Path:
    """The picture of one experiment in a folder: the SVG's path, with a PNG beside it.

    Raises `ConfigurationError` where the plotting package is not installed, `StoreError` where nothing can be
    written.
    """
    path = folder / f"{result.experiment}.svg"
    with _pyplot():
        figure = _figure(result)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, metadata={"Date": None})
            figure.savefig(path.with_suffix(".png"), dpi=DPI, metadata={"Software": None})
        except OSError as error:
            raise StoreError(
                f"Cannot write '{path}': {error.strerror or error}.", "Name a folder that can be written."
            ) from error
    return path


@contextmanager
def _pyplot() -> Iterator[None]:
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise ConfigurationError(
            "There are no plots: matplotlib is not installed.",
            "Install it: pip install 'athena-docs[plots]'.",
        ) from error
    with mpl.rc_context(STYLE):
        yield


def _figure(result: ExperimentResult) -> Figure:
    panels: list[Panel] = [
        ("hit@3", lambda one: one.metrics.get("hit@3")),
        ("similarity to the reference", lambda one: one.metrics.get("similarity")),
        ("ms a question, p50", lambda one: one.ms["all"]["p50"] if "all" in one.ms else None),
        _spent(result),
    ]
    match result.experiment:
        case "E":
            return _tornado(result)
        case "A":
            return _lines(result, panels)
        case "C":
            return _bars(result, [panels[0], panels[1], panels[3]])
        case _:
            return _bars(result, panels[:3])


def _spent(result: ExperimentResult) -> Panel:
    """Cost where prices are set, else the tokens that it depends on."""
    if any(one.cost is not None for one in result.configurations):
        return "cost a question", lambda one: one.cost and one.cost / len(one.questions)
    return "tokens of a question's passages", tokens_each


def tokens_each(one: Configuration) -> float | None:
    """Tokens in, a question."""
    return None if one.tokens_in is None else one.tokens_in / len(one.questions)


def _axes(count: int, *, height: float) -> tuple[Figure, Sequence[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.6 * count, height), layout="constrained")
    return figure, [figure.add_subplot(1, count, number) for number in range(1, count + 1)]


def _lines(result: ExperimentResult, panels: Sequence[Panel]) -> Figure:
    """Each panel over the tokens of a chunk, with intervals where there are some."""
    figure, axes = _axes(len(panels), height=2.6)
    sized = [(int(found[1]), one) for one in result.configurations if (found := SIZE.search(one.name))]
    sized.sort(key=lambda pair: pair[0])
    for axis, (title, value) in zip(axes, panels, strict=True):
        points = [(size, one, y) for size, one in sized if (y := value(one)) is not None]
        errors = [_error(one, title.split()[0], y) for _, one, y in points]
        axis.errorbar(
            [size for size, _, _ in points],
            [y for _, _, y in points],
            yerr=list(zip(*errors, strict=True)) if points else None,
            marker="o",
            color=DARK,
            capsize=3,
        )
        axis.set_title(title, fontsize=9)
        axis.set_xlabel(result.axis)
        axis.set_xticks([size for size, _, _ in points])
        axis.set_ylim(bottom=0)
    return figure


def _bars(result: ExperimentResult, panels: Sequence[Panel]) -> Figure:
    """A bar for each configuration, told apart by its hatch and its name."""
    figure, axes = _axes(len(panels), height=1.0 + 0.34 * len(result.configurations))
    names = [one.name for one in result.configurations]
    for number, (axis, (title, value)) in enumerate(zip(axes, panels, strict=True)):
        for row, one in enumerate(result.configurations):
            if (width := value(one)) is None:
                continue
            error = [[side] for side in _error(one, title.split()[0], width)]
            axis.barh(row, width, color=LIGHT, edgecolor=DARK, hatch=HATCHES[row % 6])
            if any(side for (side,) in error):
                axis.errorbar(width, row, xerr=error, capsize=3, color="black")
            _label(axis, f"{width:,.0f}" if width >= 10 else f"{width:.3g}", (0, row), 3)
        axis.set_yticks(range(len(names)), names if number == 0 else [""] * len(names))
        axis.invert_yaxis()
        axis.set_title(title, fontsize=9)
    return figure


def _tornado(result: ExperimentResult) -> Figure:
    """For each setting how far its values move nDCG@10, the setting that moves most on top."""
    moved = _moves(result, "nDCG@10")
    order = sorted(moved, key=lambda setting: max(abs(value) for _, value in moved[setting]))
    figure, (axis,) = _axes(1, height=0.8 + 0.3 * len(order))
    figure.set_figwidth(7)
    for row, setting in enumerate(order):
        for _, value in moved[setting]:
            axis.barh(row, value, color=LIGHT, edgecolor=DARK, hatch="///" if value < 0 else "")
        for label, value in _ends(moved[setting]):
            side = -3 if value < 0 else 3
            aligned = "right" if value < 0 else "left"
            _label(axis, label, (value, row), side, ha=aligned)
    axis.set_yticks(range(len(order)), order)
    axis.axvline(0, color="black", linewidth=0.8)
    axis.margins(x=0.2)
    axis.set_xlabel(f"nDCG@10 less that of '{result.baseline.name}'")
    return figure


def _label(axis: Axes, text: str, at: tuple[float, float], right: int, *, ha: str = "left") -> None:
    """A text beside a point, on white so that no hatch runs through it."""
    white = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
    axis.annotate(
        text, at, (right, 0), textcoords="offset points", va="center", ha=ha, fontsize=8, bbox=white
    )


def _ends(values: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """A setting's value that moves most, on either side of 0."""
    ordered = sorted(values, key=lambda pair: pair[1])
    ends = [ordered[0]] if ordered[0][1] < 0 else []
    return [*ends, ordered[-1]] if ordered[-1][1] > 0 or not ends else ends


def _moves(result: ExperimentResult, metric: str) -> Mapping[str, list[tuple[str, float]]]:
    """For each setting its values with their differences from the baseline."""
    differences = {one.a: one.difference for one in result.comparisons if one.metric == metric}
    moved: dict[str, list[tuple[str, float]]] = {}
    for one in result.configurations[1:]:
        for setting, value in one.settings.items():
            shown = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
            moved.setdefault(setting, []).append((str(shown), differences.get(one.name, 0.0)))
    return moved


def _error(one: Configuration, metric: str, value: float) -> tuple[float, float]:
    """How far the interval goes below and above; 0 for what has none."""
    low, high = one.intervals.get(metric, (value, value))
    return max(0.0, value - low), max(0.0, high - value)
