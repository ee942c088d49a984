"""The steps of an answer become boxes and the chart of ranks."""

from __future__ import annotations

from typing import Any

from pipeline.steps.records import Step
from ui.inspector.ranks import DEPTH, chart, rank_rows, ranks_of, step_boxes


def hits(*sections: str) -> list[dict[str, Any]]:
    return [{"node_id": f"{section}-leaf", "section_id": section, "score": 0.5} for section in sections]


FOUND = {"hits": 1600, "bm25_sections": hits("A", "B", "A"), "dense_sentences": hits("C")}
SECTIONS = [{"section_id": known, "source": "ecs.md", "heading_path": ["ECS", known]} for known in "ABCD"]
PARENTS = [{"section_id": "B", "heading_path": ["ECS", "Parent"], "members": ["B", "C"]}]
LINKED = [{"section_id": "L", "source": "ecs.md", "heading_path": ["ECS", "Linked"]}]
SELECTED = {"selected": ["B"], "tokens": 1200, "dropped": [{"section_id": "A", "why": "too long"}]}
STEPS = (
    Step("rerank", ms=9000.0, status="skipped", detail="no language model is connected"),
    Step("search", ms=20.0, data=FOUND),
    Step("fuse", ms=10.0, data={"sections": 250, "ranking": [{"id": known} for known in "ABCD"]}),
    Step("merge", data={"sections": SECTIONS}),
    Step("merge_up", data={"parents": PARENTS, "linked": LINKED}),
    Step("select", ms=1.0, data=SELECTED),
)


def test_a_box_has_the_count_the_time_and_its_share() -> None:
    boxes = {box["label"]: box for box in step_boxes(STEPS)["steps"]}
    assert boxes["Search"] | {"detail": ""} == {
        "label": "Search",
        "status": "ok",
        "count": "1,600 hits",
        "time": "20 ms",
        "detail": "",
        "share": 1.0,
    }
    assert boxes["Select"]["count"] == "1 passages, 1,200 tokens"
    assert (boxes["Rerank"]["time"], boxes["Rerank"]["share"]) == ("skipped", 0.0)
    assert boxes["Rerank"]["count"] == "no language model is connected"


def test_sections_are_ranked_in_each_list_that_found_something() -> None:
    found = ranks_of(STEPS)
    assert list(found.columns) == ["Words of sections", "Meaning of sentences", "Fused", "Selected"]
    assert [found.rank(column, "C") for column in found.columns] == [None, 1, 3, None]
    assert [found.rank(column, "B") for column in found.columns] == [2, None, 2, 1]
    assert found.places["L"] == "ecs.md › ECS › Linked"


def test_a_section_is_a_line_to_its_place_or_to_why_it_was_left_out() -> None:
    rows = rank_rows(ranks_of(STEPS))
    ends = {row["label"]: row for row in rows if "label" in row}
    assert [(name, end["rank"], end["place"], end["kept"]) for name, end in ends.items()] == [
        ("B", "1", 1, True),
        ("A", "×", 2, False),
        ("C", "×", 3, False),
        ("D", "×", 4, False),
    ]
    assert ends["A"]["way"] == "Words of sections #1, Fused #1. too long"
    assert ends["C"]["way"].endswith("part of “Parent”")
    assert ends["D"]["way"].endswith("not selected")
    assert ends["B"]["where"] == "ecs.md › ECS › B"
    assert [(row["column"], row["rank"]) for row in rows if row["section"] == "B"] == [
        ("Words of sections", "2"),
        ("Fused", "2"),
        ("Selected", "1"),
    ]


def test_low_ranks_stand_on_one_line_and_the_chart_is_as_high_as_its_rows() -> None:
    ids = [str(number) for number in range(30)]
    steps = (
        Step("search", data={"bm25_sections": hits(*reversed(ids))}),
        Step("fuse", data={"ranking": [{"id": known} for known in ids]}),
        Step("select", data={"selected": ids[:2]}),
    )
    rows = rank_rows(ranks_of(steps))
    assert {row["place"] for row in rows if row["column"] == "Words of sections"} == {DEPTH + 1}
    assert {row["rank"] for row in rows if row["section"] == "0"} == {"30", "1"}
    assert len({row["section"] for row in rows}) == DEPTH
    spec = chart(rows, ["Words of sections", "Fused", "Selected"])
    assert spec["data"]["values"] == rows
    assert spec["height"] > 30 * DEPTH
