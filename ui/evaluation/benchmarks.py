"""The benchmarks of `docs/`: what was measured, on which machine, with which code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

import streamlit as st

from pipeline.errors import DatasetError
from ui.evaluation import charts
from ui.shared.words import plain

DOCS = Path(__file__).parents[2] / "docs"
FILES = {
    "One user": "benchmarks.json",
}
NOT_HERE = (
    "The benchmarks stand in the folder `docs/` of Athena's repository; this installation has none of it."
)
MEANING = (
    "A dot is the median, the line goes from the 5th to the 95th percentile of what was measured; of shares, "
    "the dot is the mean and there is no line. Other machines are faster or slower: compare lines of one "
    "plot."
)
UNITS = ("_ms", "_seconds", "_s", "_mb", "megabytes", "_ratio")
"""How the names of amounts end; all else is a share, or counts something."""


@dataclass(frozen=True, slots=True)
class Benchmarks:
    """One file of them."""

    machine: Mapping[str, Any]
    records: Sequence[Mapping[str, Any]]


def benchmarks() -> None:
    """Draw a plot of one measure, and a table of all, of the file that is chosen."""
    found = {title: DOCS / name for title, name in FILES.items() if (DOCS / name).exists()}
    if not found:
        st.info(NOT_HERE, icon=":material/folder_off:")
        return
    left, right = st.columns(2)
    title = str(left.selectbox("Benchmarks of", list(found), key="benchmarks-of"))
    path = found[title]
    shown = read_benchmarks(path, path.stat().st_mtime_ns)
    counts = Counter(name for record in shown.records for name in record["runs"])
    measure = str(right.selectbox("Measure", [name for name, _ in counts.most_common()],
                                  key=f"measure-{title}", format_func=_in_words))  # fmt: skip
    rows = [_row(record, measure) for record in shown.records if measure in record["runs"]]
    charts.dots(rows, value=_in_words(measure), key="benchmarks")
    st.caption(MEANING)
    st.caption(plain(_machine(shown)))
    with st.expander("All measures"):
        every = [_row(record, name) for record in shown.records for name in record["runs"]]
        st.dataframe(every, hide_index=True, column_order=TABLE, column_config=NUMBERS)


TABLE = ("name", "measure", "value", "low", "high", "measurements", "measured", "code")
NUMBERS = {name: st.column_config.NumberColumn(format="%.4g") for name in ("value", "low", "high")}


@lru_cache(maxsize=8)
def read_benchmarks(path: Path, _changed: int) -> Benchmarks:
    """The benchmarks of a file as it was when it was `_changed`; raises `DatasetError`."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return Benchmarks(stored["machine"], list(stored["benchmarks"].values()))
    except (OSError, ValueError, KeyError, AttributeError) as error:
        problem = f"Cannot read the benchmarks in '{path}': {error}."
        raise DatasetError(
            problem, "Take the file from the repository again: `git checkout docs`."
        ) from error


def _row(record: Mapping[str, Any], measure: str) -> dict[str, Any]:
    values = sorted(record["runs"][measure])
    is_amount = measure.endswith(UNITS)
    value = median(values) if is_amount else sum(values) / len(values)
    row = {
        "name": record["name"],
        "measure": _in_words(measure),
        "value": value,
        "measurements": len(values),
        "measured": record["measured_at"][:10],
        "code": record["facts"].get("commit", ""),
    }
    spread = {"low": _at(values, 0.05), "high": _at(values, 0.95)} if is_amount and len(values) > 1 else {}
    return row | spread


def _at(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]


def _in_words(measure: str) -> str:
    """`query_ms` as "query, ms"."""
    ending = next((unit for unit in UNITS if measure.endswith(unit) and unit.startswith("_")), "")
    name = measure.removesuffix(ending).replace("_", " ").replace(".", ": ")
    unit = {"_mb": "MB", "_seconds": "s"}.get(ending, ending.lstrip("_"))
    return f"{name}, {unit}" if unit else name


def _machine(shown: Benchmarks) -> str:
    machine = shown.machine
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    memory = f"{machine['memory_gb']:.0f} GB"
    return f"{machine['cpu']}, {machine['cores']} cores, {memory}, {machine['system']}; {versions}"
