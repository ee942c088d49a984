"""Charts of an answer's steps: a box for each step, and the ranks of sections from list to list."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from pipeline.finding.fusion import LISTS
from pipeline.steps.records import Step, data_of
from ui.shared import process
from ui.shared.words import shortened

View = dict[str, Any]

COUNTS: Mapping[str, str] = {
    "recall": "{recalled} of {considered}",
    "search": "{hits} hits",
    "fuse": "{sections} sections",
    "merge": "{sections} sections",
    "rerank": "{after} passages",
    "answerable": "{verdict}",
    "select": "{selected} passages, {tokens} tokens",
    "prompt": "{tokens} tokens",
    "generate": "{answer_tokens} tokens",
    "quote": "{quotes} quotes",
    "verify": "{supported} of {sentences} supported",
    "tool": "{tool}: {found}",
}
"""The text in the box of a step, by the step's name; a list is replaced by its length."""

DEPTH = 12  # ranks with a line of their own in the chart; all lower ranks share the next line
LABEL = 32  # most characters of a section's name in the chart
KEPT, OTHER = "#0f7b80", "#8a8578"
LINE = {"type": "line", "interpolate": "monotone", "strokeWidth": 2.5}
CIRCLE = {"type": "circle", "size": 420, "opacity": 1}
RANK = {"type": "text", "color": "#ffffff", "fontSize": 11}
LOW = {"condition": {"test": f"datum.place > {DEPTH}", "value": "…"}}  # these circles overlap
NAME_PX = 150  # width of the section names beside the chart, also on a phone
AXIS = {"ticks": False, "domain": False, "grid": False, "labelLimit": NAME_PX}
LABELS = {"light": "#5c5a54", "dark": "#c9d1d9"}  # colours of labels; Streamlit's own are too faint


def step_boxes(steps: Sequence[Step]) -> View:
    """Return {"steps": boxes}, from left to right; `share` is of the longest step's time, 0 to 1."""
    longest = max((step.ms for step in steps if step.status != "skipped"), default=0.0) or 1.0
    return {"steps": [_box(step, longest) for step in steps]}


def _box(step: Step, longest: float) -> View:
    skipped = step.status == "skipped"
    return {
        "label": step_name(step.name),
        "status": step.status,
        "count": _count(step) if step.status == "ok" else step.detail,
        "time": "skipped" if skipped else duration(step.ms),
        "detail": step.detail,
        "share": 0.0 if skipped else step.ms / longest,
    }


def step_name(name: str) -> str:
    """Return a step's name as a heading."""
    return name.replace("_", " ").capitalize()


def _count(step: Step) -> str:
    template, data = COUNTS.get(step.name, ""), step.data
    if not all(field in data for field in re.findall(r"\{(\w+)\}", template)):
        return step.detail
    shown = {name: len(value) if isinstance(value, list) else value for name, value in data.items()}
    return template.format_map({name: f"{v:,}" if isinstance(v, int) else v for name, v in shown.items()})


def duration(ms: float) -> str:
    """Return milliseconds as text: "1.2 s", "40 ms" or "3.1 ms"."""
    if ms >= 1000:
        return f"{ms / 1000:.1f} s"
    return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.1f} ms"


@dataclass(frozen=True, slots=True)
class Ranks:
    """The rankings of a search: for each column of the chart, the ids of sections, best first."""

    columns: Mapping[str, Sequence[str]]
    places: Mapping[str, str]  # file and headings of a section, by id
    left_out: Mapping[str, str]  # why a section was not selected, by id

    @property
    def selected(self) -> Sequence[str]:
        """The sections in the last column."""
        return [*self.columns.values()][-1]

    def rank(self, column: str, section_id: str) -> int | None:
        """Return a section's rank in a column, from 1; None if the column does not have it."""
        ranking = self.columns[column]
        return ranking.index(section_id) + 1 if section_id in ranking else None


def ranks_of(steps: Sequence[Step]) -> Ranks:
    """Return the rankings that the steps recorded; without them, "Fused" and "Selected" are empty."""
    search, select = data_of(steps, "search"), data_of(steps, "select")
    columns = {
        LISTS_SHOWN[name]: list(dict.fromkeys(hit["section_id"] for hit in search[name]))
        for name in LISTS
        if search.get(name)
    }
    columns["Fused"] = [item["id"] for item in data_of(steps, "fuse").get("ranking", ())]
    if after := data_of(steps, "rerank").get("after"):
        columns["Reranked"] = [item["section_id"] for item in after]
    columns["Selected"] = select.get("selected", [])
    places = {
        section["section_id"]: " › ".join([section["source"], *section["heading_path"]])
        for step, name in (("merge", "sections"), ("merge_up", "linked"))
        for section in data_of(steps, step).get(name, ())
    }
    left_out = {item["section_id"]: item["why"] for item in select.get("dropped", ())}
    for parent in data_of(steps, "merge_up").get("parents", ()):
        places.setdefault(parent["section_id"], " › ".join(parent["heading_path"]))
        if parent["section_id"] in columns["Selected"]:
            left_out |= dict.fromkeys(parent["members"], f"part of “{parent['heading_path'][-1]}”")
    return Ranks(columns, places, left_out)


LISTS_SHOWN: Mapping[str, str] = {
    "bm25_sections": "Words of sections",
    "bm25_sentences": "Words of sentences",
    "dense_sections": "Meaning of sections",
    "dense_sentences": "Meaning of sentences",
}


def rank_rows(found: Ranks) -> list[View]:
    """Return a row for each circle of the chart, of at most `DEPTH` sections: selected, then first fused."""
    first = found.columns.get("Fused") or next(iter(found.columns.values()))
    shown = list(dict.fromkeys([*found.selected, *first[:DEPTH]]))[:DEPTH]
    return [row for place, section in enumerate(shown, 1) for row in _rows(found, section, place)]


def _rows(found: Ranks, section_id: str, place: int) -> list[View]:
    """Return the rows for one section's circles; `place` is its position in the last column, from 1."""
    kept, where = section_id in found.selected, found.places.get(section_id, section_id)
    why = "" if kept else found.left_out.get(section_id, "not selected")
    name = shortened(where.rpartition(" › ")[2], LABEL)
    ranks = {column: found.rank(column, section_id) for column in found.columns}
    way = ", ".join(f"{column} #{rank}" for column, rank in ranks.items() if rank)
    about = {"section": section_id, "where": where, "kept": kept, "way": f"{way}. {why}".strip(". ")}
    last = [*found.columns][-1]
    rows = [
        {"column": column, "rank": str(rank), "place": min(rank, DEPTH + 1), **about}
        for column, rank in ranks.items()
        if rank and column != last
    ]
    end = {"column": last, "rank": str(ranks[last]) if kept else "×", "place": place}
    return [*rows, end | about | {"label": name}]


def draw_chart(found: Ranks, *, key: str) -> None:
    """Draw the chart of ranks; section names that the steps did not record are read from the store."""
    unread = {one for ranking in found.columns.values() for one in ranking[:DEPTH]} - found.places.keys()
    stored = process.athena().store.get_many(unread).values()
    named = {
        one.node_id: " › ".join([one.metadata["source"], *one.metadata["heading_path"]]) for one in stored
    }
    spec = chart(rank_rows(replace(found, places={**named, **found.places})), [*found.columns])
    spec["config"] = {"axis": {"labelColor": LABELS[st.context.theme.type or "light"]}}
    st.vega_lite_chart(spec=spec, key=key, alt="Ranks of sections from list to list")


def chart(rows: Sequence[View], columns: Sequence[str]) -> View:
    """Return a Vega-Lite chart of the rows: a line for each section, a circle for each of its ranks."""
    names = {row["place"]: row["label"] for row in rows if "label" in row}
    beside = {"values": [*names], "labelExpr": f"{json.dumps(names)}[datum.value]"}
    x = {
        "field": "column",
        "type": "nominal",
        "title": None,
        "scale": {"type": "point", "domain": [*columns], "padding": 0.4},
        "axis": AXIS | {"orient": "top", "labelAngle": -40, "offset": 16, "labelOverlap": False},
    }
    y = {
        "field": "place",
        "type": "quantitative",
        "title": None,
        "scale": {"reverse": True, "zero": False, "nice": False},
        "axis": AXIS | beside | {"orient": "right", "labelFlush": False, "labelFontSize": 13},
    }
    color = {
        "field": "kept",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": [True, False], "range": [KEPT, OTHER]},
    }
    tooltip = [{"field": "where", "title": "Section"}, {"field": "way", "title": "Ranks"}]
    return {
        "data": {"values": [*rows]},
        "height": 90 + 30 * max((row["place"] for row in rows), default=1),
        "encoding": {"x": x, "y": y, "detail": {"field": "section"}, "tooltip": tooltip},
        "layer": [
            {"mark": LINE, "encoding": {"color": color}},
            {"mark": CIRCLE, "encoding": {"color": color}},
            {"mark": RANK, "encoding": {"text": {"field": "rank"} | LOW}},
        ],
    }
