"""Units become quotes with their lead, the answer marked, and what is left out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests import made_answers as made
from ui.conversation.units import (
    QuotedUnit,
    linked,
    quoted_units,
    unit_tree,
    units_view,
    whole_tree,
    with_links,
)
from ui.shared.markdown_tree import Tree, markdown_tree, tree_text


def found(tree: Tree, tag: str) -> list[dict[str, Any]]:
    hits = []
    for node in tree:
        if not isinstance(node, str):
            hits += ([node] if node["t"] == tag else []) + found(node["c"], tag)
    return hits


def words(tree: Tree) -> str:
    return " ".join(tree_text(tree).split())


def marked(tree: Tree) -> list[str]:
    return [words(node["c"]) for node in found(tree, "mark") if node["k"] == "answer"]


ROWS = QuotedUnit(made.ROWS_UNIT, made.ROWS)
STEPS = QuotedUnit(made.STEPS_UNIT, made.STEPS)
CODE = QuotedUnit(made.CODE_UNIT, made.CODE)


def test_rows_stand_under_their_lead_and_header_between_what_is_left_out() -> None:
    lead, table = unit_tree(ROWS)
    assert (lead["t"], words([lead])) == ("p", words([made.TABLE_LEAD]))
    rows = found([table], "tr")
    assert [words([row]) for row in rows] == [
        "Code · Meaning · What to do",
        "… 2 more rows",
        "C-103 · Cabin fan stopped · Restart the fan from the console",
        "… 5 more rows",
    ]
    assert [row["c"][0].get("span") for row in rows] == [None, 3, None, 3]


def test_rows_without_a_header_in_their_lead_get_that_of_their_section() -> None:
    tree = unit_tree(replace(ROWS, unit=replace(made.ROWS_UNIT, lead="")))
    assert [node["t"] for node in tree] == ["table"]
    assert words(found(tree, "thead")) == "Code · Meaning · What to do"


def test_a_quoted_table_keeps_its_own_header() -> None:
    whole = made.cited(1, "Cabin alarms", "| Code", "limit |")
    tree = unit_tree(QuotedUnit(replace(made.ROWS_UNIT, lead="", left_out_before=0), whole))
    assert len(found(tree, "thead")) == len(found(tree, "tbody")) == 1


def test_the_row_that_answers_is_marked_as_a_row_in_the_whole_table() -> None:
    tree = whole_tree(ROWS)
    rows = found(tree, "tr")
    assert len(rows) == 9
    assert [words([row]) for row in rows if row.get("k") == "answers"] == [
        "C-103 · Cabin fan stopped · Restart the fan from the console"
    ]
    assert not found(tree, "mark")
    assert not found(tree, "more")


def test_a_mark_in_one_cell_does_not_mark_the_row() -> None:
    unit = made.unit(1, "table", made.place("| Code", "P-FIR-01 |"), "Cabin fan stopped", after=5)
    tree = unit_tree(QuotedUnit(unit, made.ROWS))
    assert marked(tree) == ["Cabin fan stopped"]
    assert not [row for row in found(tree, "tr") if row.get("k") == "answers"]


def test_all_of_a_quote_is_not_marked() -> None:
    assert "answers" not in json.dumps(unit_tree(ROWS))  # it is the only row
    whole = QuotedUnit(made.unit(5, "sentence", made.place("Commands are", "sensitive."), made.SENTENCE.quote), made.SENTENCE)  # fmt: skip  # noqa: E501
    assert not marked(unit_tree(whole))


def test_steps_keep_their_numbers_and_what_is_below_them() -> None:
    tree = unit_tree(STEPS)
    assert [node["t"] for node in tree] == ["p", "more", "ol", "more"]
    assert [words([node]) for node in tree if node["t"] == "more"] == ["… 1 more step", "… 2 more steps"]
    steps = tree[2]
    assert (steps["start"], len(steps["c"]), len(found([steps], "ul"))) == (2, 3, 1)
    assert marked(tree) == ["which takes about nine minutes."]


def test_the_whole_list_has_its_lead_once() -> None:
    tree = whole_tree(STEPS)
    assert [node["t"] for node in tree] == ["p", "ol"]
    assert len(tree[1]["c"]) == 6
    longer = replace(made.STEPS_UNIT, start=made.place("A cold fuel cell")[0])
    assert words(whole_tree(QuotedUnit(longer, made.STEPS))).count("Warm it up") == 1


def test_nested_items_are_a_list_of_their_own() -> None:
    citation = made.cited(2, "Fuel cell warm-up", "- watch the flow", "is higher.")
    unit = made.unit(2, "list", (citation.start, citation.end), "close it again")
    tree = unit_tree(QuotedUnit(unit, citation))
    assert [node["t"] for node in tree] == ["ul"]
    assert [words([item]) for item in tree[0]["c"]] == [
        "watch the flow, which must stay below 2 g/s;",
        "close it again where the flow is higher.",
    ]
    assert marked(tree) == ["close it again"]  # in the line whose indent was cut


def test_lines_of_code_are_code_and_marked() -> None:
    tree = unit_tree(CODE)
    assert [node["t"] for node in tree] == ["p", "pre", "more"]
    assert marked(tree) == ["list alarms"]
    assert words([tree[2]]) == "… 1 more line"
    whole = whole_tree(CODE)
    assert [node["t"] for node in whole] == ["p", "pre"]
    assert words(found(whole, "pre")) == "show ECS list alarms show EPS --all"


def test_a_whole_that_the_citation_does_not_have_cannot_be_unfolded() -> None:
    beyond = replace(made.ROWS_UNIT, end=made.ROWS.section_start + len(made.ROWS.section_text) + 1)
    assert whole_tree(replace(ROWS, unit=beyond)) == []
    before = replace(made.ROWS_UNIT, start=made.ROWS.section_start - 1)
    assert whole_tree(replace(ROWS, unit=before)) == []
    nothing_left_out = replace(made.ROWS_UNIT, left_out_before=0, left_out_after=0)
    assert whole_tree(replace(ROWS, unit=nothing_left_out)) == []


def test_units_stand_in_their_order_and_share_a_breadcrumb_only_with_neighbours() -> None:
    view = units_view(made.ANSWERED)
    assert [(group["path"][-1], [q["marker"] for q in group["quotes"]]) for group in view["groups"]] == [
        ("Cabin alarms", [1]),
        ("Fuel cell warm-up", [2, 3]),
    ]
    assert [[q["marker"] for q in group["quotes"]] for group in view["folded"]] == [[4, 5]]
    assert view["folded_label"] == "2 more passages"
    apart = replace(made.ANSWERED, units=(made.STEPS_UNIT, made.ROWS_UNIT, made.PARAGRAPH_UNIT))
    view = units_view(replace(apart, citations=made.ANSWERED.citations[:3]))
    assert [group["path"][-1] for group in view["groups"]] == [
        "Fuel cell warm-up",
        "Cabin alarms",
        "Fuel cell warm-up",
    ]
    assert (view["folded"], view["folded_label"]) == ([], "0 more passages")


def test_no_citation_is_lost_for_want_of_a_unit() -> None:
    answer = replace(made.ANSWERED, units=(made.ROWS_UNIT,))
    assert [(item.unit.marker, item.unit.folded) for item in quoted_units(answer)] == [
        (1, False), (2, True), (3, True), (4, True), (5, True),
    ]  # fmt: skip
    assert [item.unit.marker for item in quoted_units(replace(answer, citations=(made.STEPS,)))] == [2]


def test_what_may_not_answer_is_not_marked_as_the_answer() -> None:
    assert '"answer"' in json.dumps(units_view(replace(made.CLOSEST, verdict="answered")))
    assert '"answer"' not in json.dumps(units_view(made.CLOSEST))


def test_html_in_a_lead_is_text() -> None:
    tree = unit_tree(replace(ROWS, unit=replace(made.ROWS_UNIT, lead="<script>no</script>Run <img src=x onerror=alert(1):")))  # fmt: skip  # noqa: E501
    assert words(tree).startswith("Run <img src=x onerror=alert(1):")
    assert {node["t"] for node in tree} == {"p", "table"}


def test_a_quote_that_begins_with_its_lead_in_ends_in_the_table() -> None:
    citation = made.cited(1, "Cabin alarms", "The console shows", "| C-103 | Cabin fan stopped | Restart the fan from the console |")  # fmt: skip  # noqa: E501
    unit = made.unit(1, "table", made.place("The console shows", "P-FIR-01 |"), made.ROWS.quote, after=5)
    tree = unit_tree(QuotedUnit(unit, citation))
    assert [node["t"] for node in tree] == ["p", "table"]
    rows = found(tree, "tr")
    assert (len(rows), words([rows[-1]])) == (5, "… 5 more rows")
    assert [words([row])[:5] for row in rows if row.get("k") == "answers"] == ["C-103"]
    assert [node["t"] for node in whole_tree(QuotedUnit(unit, citation))] == ["p", "table"]


def test_bullets_and_fences_are_no_words_beside_the_answer() -> None:
    item = made.cited(2, "Fuel cell warm-up", "3. Set the heater to **AUTO**.")
    assert not marked(unit_tree(QuotedUnit(made.unit(2, "steps", made.STEPS_WHOLE, "Set the heater to **AUTO**."), item)))  # fmt: skip  # noqa: E501
    code = made.cited(4, "Console", "```\nshow ECS", "--all\n```")
    span = (code.start, code.end)
    lines = made.unit(4, "code", span, "show ECS\nlist alarms\nshow EPS --all")
    assert not marked(unit_tree(QuotedUnit(lines, code)))
    assert marked(unit_tree(QuotedUnit(made.unit(4, "code", span, "list alarms"), code))) == ["list alarms"]


@pytest.mark.parametrize(
    ("target", "text", "asked"),
    [
        ("../procedures/environment.md#p-air-02-co2-rising", "environment procedures", "P-AIR-02 co2 rising"),
        ("panel.md#the-red-lamp", "the panel", "the red lamp"),
        ("../systems/water-loop.md", "the water loop manual", "the water loop manual"),
        ("ch10-00-generics.html", "Chapter 10", "generics"),
        ("mailto:a@example.org", "mail", ""),
    ],
)
def test_a_link_into_the_documents_asks_for_what_it_names(target: str, text: str, asked: str) -> None:
    assert linked(target, text) == asked


def test_links_into_the_documents_can_be_clicked_and_others_stay_links() -> None:
    tree = with_links(markdown_tree("- [The *lamp*](panel.md#lamp) and [a book](https://example.org)"))
    (ask,) = found(tree, "ask")
    assert (ask["question"], words(ask["c"]), len(found(ask["c"], "em"))) == ("lamp", "The lamp", 1)
    assert [link["href"] for link in found(tree, "a")] == ["https://example.org"]
