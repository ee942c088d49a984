"""Plots that can be pointed at, as Vega-Lite has them: no colour says what a shape or word does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

Row = dict[str, Any]

ROW_HEIGHT = 34  # pixels of a line of dots
LONGEST_LABEL = 190  # pixels of a line's name; the rest is told by pointing at it
HEIGHT = 300
PADDING = {"left": 8, "top": 0, "right": 16, "bottom": 20}
"""Pixels around a plot: the last number of an axis stands half beside it, and beside numbers of one
figure the axis's name reaches over the edge."""
GREY = "#6b6d73"
"""Labels where the ground is light: Streamlit's own are too faint there."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


def dots(rows: Sequence[Row], *, value: str, key: str) -> None:
    """Draw a dot a row, by its "name", with the range from "low" to "high"; `value` names the axis.

    A row's "shape" (one of Vega's) and "word" say what stands out of it; a row without has a circle.
    """
    names = [row["name"] for row in rows]
    y = {"field": "name", "type": "nominal", "sort": names, "title": None,
         "axis": {"labelLimit": LONGEST_LABEL, "ticks": False, "domain": False, "grid": True}}  # fmt: skip
    told = [{"field": "name", "title": " "}, *(_number(field) for field in ("value", "low", "high"))]
    told += [{"field": "word", "title": "verdict"}] if any("word" in row for row in rows) else []
    shape = {"field": "shape", "type": "nominal", "scale": None}
    layers = [
        {
            "mark": {"type": "bar", "size": 3, "opacity": 0.5},
            "encoding": {"x": _amount("low", value), "x2": {"field": "high"}},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
            "encoding": {"x": _amount("value", value), "shape": shape, "tooltip": told},
        },
    ]
    shaped = [{"shape": "circle", **row} for row in rows]
    height = ROW_HEIGHT * len(rows) + 60
    _draw({"height": height, "encoding": {"y": y}, "layer": layers}, shaped, key=key)


def lines(rows: Sequence[Row], *, value: str, key: str) -> None:
    """Draw the rows' "value" over "time" (ISO 8601), a line and a shape a "name"."""
    names = list(dict.fromkeys(row["name"] for row in rows))
    legend = {"orient": "bottom", "columns": 2, "labelLimit": 300, "title": None, "symbolOpacity": 1}
    by_name: Row = {"field": "name", "type": "nominal", "legend": legend}
    shapes = {"domain": names, "range": [SHAPES[number % len(SHAPES)] for number in range(len(names))]}
    days = {"grid": False, "tickCount": 6, "format": "%d %b", "labelOverlap": True}
    encoding = {
        "x": {"field": "time", "type": "temporal", "title": None, "axis": days},
        "y": {**_amount("value", value), "scale": {"zero": False, "nice": True}},
        "color": by_name,
        "tooltip": [{"field": "name", "title": " "}, {"field": "time", "type": "temporal",
                    "format": "%Y-%m-%d %H:%M", "title": "when"}, _number("value")],
    }  # fmt: skip
    layers = [
        {"mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.5}},
        {
            "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
            "encoding": {"shape": {**by_name, "scale": shapes}},
        },
    ]
    _draw({"height": HEIGHT, "encoding": encoding, "layer": layers}, rows, key=key)


def bars(rows: Sequence[Row], *, value: str, key: str) -> None:
    """Draw a bar a row of its "value", from 0, over its "day"."""
    width = max(2, min(36, 280 // len(rows)))
    amount = _amount("value", value)
    amount["scale"] = {"zero": True}  # the heights of bars are compared
    if all(isinstance(row["value"], int) for row in rows):
        amount["axis"] |= {"tickMinStep": 1, "format": ",d"}
    encoding = {
        "x": {
            "field": "day",
            "type": "ordinal",
            "title": None,
            "axis": {"labelAngle": 0, "labelOverlap": True},
        },
        "y": amount,
        "tooltip": [{"field": "day", "title": "day"}, _number("value")],
    }
    _draw(
        {"height": 220, "encoding": encoding, "mark": {"type": "bar", "cornerRadiusEnd": 3, "size": width}},
        rows,
        key=key,
    )


def _amount(field: str, title: str) -> Row:
    axis = {"tickCount": 8, "labelOverlap": True}
    return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": False}, "axis": axis}


def _number(field: str) -> Row:
    return {"field": field, "type": "quantitative", "format": ",.4~g"}


def _draw(spec: Row, rows: Sequence[Row], *, key: str) -> None:
    axis: Row = {"labelFlush": False, "titlePadding": 8}
    if st.context.theme.type != "dark":
        axis |= {"labelColor": GREY, "titleColor": GREY}
    config = {"axis": axis, "legend": {name: axis[name] for name in ("labelColor",) if name in axis}}
    spec = {**spec, "data": {"values": list(rows)}, "config": config, "padding": PADDING}
    st.vega_lite_chart(spec, key=key, width="stretch")
