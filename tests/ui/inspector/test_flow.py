"""The steps of an answer become the inspector's pictures and tables."""

from __future__ import annotations

from typing import Any

from pipeline.steps.records import LABELS, Step
from ui.inspector import flow


def hits(*sections: str) -> list[dict[str, Any]]:
    return [
        {"node_id": f"{section}-leaf", "section_id": section, "score": 9.0 - rank}
        for rank, section in enumerate(sections)
    ]


def fused(known: str, score: float, **contributions: float) -> dict[str, Any]:
    return {"id": known, "score": score, "contributions": contributions}


def steps(*, selected: list[str], after: list[str] | None = None) -> tuple[Step, ...]:
    search = Step(
        "search",
        ms=20.0,
        data={
            "sentences": 4210,
            "hits": 600,
            "bm25_sections": hits("A", "B"),
            "bm25_sentences": hits("B", "B", "A"),
            "dense_sentences": hits("C"),
        },
    )
    ranking = (
        fused("A", 0.9, bm25_sections=0.5, bm25_sentences=0.4),
        fused("B", 0.5),
        fused("C", 0.1),
    )
    found = {"A": 3, "B": 1, "C": 0}
    return (
        Step("hyde", ms=9000.0, status="skipped", detail="no language model is connected"),
        search,
        Step("fuse", ms=1.0, data={"sections": 250, "ranking": ranking}),
        Step(
            "merge",
            ms=2.0,
            data={
                "sections": [
                    {
                        "section_id": name,
                        "source": "ecs.md",
                        "heading_path": ["ECS", name],
                        "siblings": 4,
                        "found": count,
                        "merged": count > 2,
                    }
                    for [name, count] in found.items()
                ]
            },
        ),
        Step(
            "rerank",
            ms=1500.0,
            data={
                "before": ["A", "B", "C"],
                "after": [
                    {"section_id": section, "score": 0.5, "rerank_score": 0.9} for section in after or []
                ],
            },
        ),
        Step("select", ms=1.0, data={"selected": tuple(selected), "tokens": 1200}),
    )


def test_the_flow_counts_and_times_each_step() -> None:
    boxes = {
        box["label"]: box for box in flow.flow_view(steps(selected=["A"], after=["B", "A", "C"]))["steps"]
    }
    assert boxes["Search"]["count"] == "600 hits in 4,210 sentences"
    assert boxes["Fuse"]["count"] == "250 sections"
    assert (boxes["Hypothesis"]["time"], boxes["Hypothesis"]["share"]) == ("skipped", 0.0)
    assert boxes["Rerank"]["time"] == "1.5 s"
    assert boxes["Rerank"]["count"] == "2 passages moved"
    assert boxes["Merge"]["count"] == "1 section merged"
    assert boxes["Select"]["count"] == "1 passage, 1,200 tokens"


def test_ranks_of_sentence_lists_are_of_their_sections() -> None:
    found = flow.ranks(steps(selected=["B", "A"], after=["B", "A", "C"]))
    assert list(found.columns) == [
        "BM25 sections",
        "BM25 sentences",
        "Dense sentences",
        "Fused",
        "Reranked",
        "Selected",
    ]
    assert [found.rank(name, "A") for name in found.columns] == [1, 2, None, 1, 2, 2]
    assert found.where("A") == "ecs.md › ECS › A"


def test_the_picture_marks_what_the_answer_rests_on() -> None:
    rows = flow.bumps_view(flow.ranks(steps(selected=["B"])))["rows"]
    assert [(row["id"], row["kept"]) for row in rows] == [("B", True), ("A", False), ("C", False)]
    assert rows[0]["story"].startswith("BM25 sections #2, BM25 sentences #1, Dense sentences not found")


def test_what_a_list_found_below_the_ranks_that_were_kept_is_no_gap() -> None:
    kept = (fused("A", 0.9, bm25_sections=0.5), fused("B", 0.5, bm25_sections=0.1))
    made = (
        Step("search", data={"bm25_sections": hits("A"), "dense_sections": hits("B")}),
        Step("fuse", data={"ranking": kept}),
        Step("select", data={"selected": ["A"]}),
    )
    rows = {row["id"]: row for row in flow.bumps_view(flow.ranks(made))["rows"]}
    assert rows["B"]["ranks"] == [flow.FURTHER, 1, 2, None]
    assert rows["B"]["story"] == (
        "BM25 sections further down, Dense sections #1, Fused #2, Selected not found"
    )
    assert rows["A"]["ranks"] == [1, None, 1, 1]


def test_a_dropped_passage_is_named_as_such() -> None:
    made = (
        *steps(selected=["B"])[:-1],
        Step(
            "merge_up",
            data={
                "parents": [
                    {"section_id": "B", "heading_path": ["ECS", "Parent"], "members": ["B", "C"], "found": 2}
                ]
            },
        ),
        Step(
            "select",
            data={"selected": ["B"], "dropped": [{"section_id": "A", "why": "the token budget is spent"}]},
        ),
    )
    view = flow.bumps_view(flow.ranks(made))
    rows = {row["id"]: row for row in view["rows"]}
    assert [rows[name]["label"] for name in "ABC"] == ["A  dropped", "B", "C  merged"]
    assert rows["A"]["story"].endswith("Selected not found; dropped: the token budget is spent")
    assert rows["C"]["story"].endswith("part of “Parent”")
    assert [rows[name]["end"] for name in "BAC"] == [None, 2, 3]  # below what was selected
    assert view["depth"] == 3


def test_merges_and_rerank_in_words() -> None:
    made = steps(selected=["A"], after=["B", "A", "C"])
    assert flow.merges(made, flow.ranks(made)) == ["3 of 4 sentences → section: ecs.md › ECS › A"]
    assert [row["moved"] for row in flow.rerank_rows(made, flow.ranks(made))] == ["↑1", "↓1", "="]


def test_comparison_marks_what_changed() -> None:
    left, right = flow.ranks(steps(selected=["A", "B"])), flow.ranks(steps(selected=["A", "C"]))
    rows = {row["id"]: row for row in flow.comparison_view(left, right, names=("old", "new"))["rows"]}
    assert {key: row["kept"] for key, row in rows.items()} == {"A": False, "C": True, "B": True}
    assert rows["C"]["label"] == "C  new"
    assert rows["B"]["label"] == "B  dropped"
    assert (rows["A"]["end"], rows["C"]["end"], rows["B"]["end"]) == (None, None, 3)


def test_sentences_have_their_rank_in_both_lists() -> None:
    made = steps(selected=["A"])
    rows = {row["id"]: row for row in flow.sentence_rows(made, flow.ranks(made))}
    assert (rows["C-leaf"]["Dense rank"], rows["C-leaf"]["BM25 rank"]) == (1, None)


def test_no_steps_make_an_empty_picture() -> None:
    assert flow.flow_view(()) == {"steps": []}
    assert flow.bumps_view(flow.ranks(()))["rows"] == []


def test_every_kind_of_step_has_a_label_and_a_count() -> None:
    boxes = flow.flow_view([Step(name) for name in LABELS])["steps"]
    assert [box["label"] for box in boxes] == list(flow.LABELS.values())
    assert all(isinstance(box["count"], str) for box in boxes)
