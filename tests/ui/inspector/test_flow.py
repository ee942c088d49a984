"""The steps of an answer become the inspector's pictures and tables."""

from __future__ import annotations

from pipeline.steps.events import Step
from ui.inspector import flow

LABELS = {name: {"source": "ecs.md", "heading_path": ["ECS", name], "siblings": 4} for name in "ABC"}


def hits(*sections: str) -> list[list[object]]:
    return [[f"{section}-leaf", section, 9.0 - rank] for rank, section in enumerate(sections)]


def steps(*, selected: list[str], after: list[str] | None = None) -> tuple[Step, ...]:
    lists = {
        "bm25_sections": hits("A", "B"),
        "bm25_sentences": hits("B", "B", "A"),
        "dense_sections": [],
        "dense_sentences": hits("C"),
    }
    ranking = [["A", 0.9, {"bm25_sections": 0.5, "bm25_sentences": 0.4}], ["B", 0.5, {}], ["C", 0.1, {}]]
    merged = [
        {"section_id": "A", "found": 3, "siblings": 4, "merged": True},
        {"section_id": "B", "found": 1, "siblings": 4, "merged": False},
    ]
    rerank = {"before": ["A", "B", "C"], "after": [[s, 0.5, 0.9] for s in after or []]}
    return (
        Step("hyde", 0.0, "skipped", "no language model is connected"),
        Step("search", 20.0, outputs={**lists, "sentences": 4210}),
        Step("fuse", 1.0, outputs={"ranking": ranking}),
        Step("merge", 2.0, outputs={"merged": merged, "nodes": LABELS}),
        Step("rerank", 1500.0, outputs=rerank),
        Step("select", 1.0, outputs={"selected": selected, "tokens": 1200, "dropped": []}),
    )


def test_the_flow_counts_and_times_each_step() -> None:
    boxes = {
        box["label"]: box for box in flow.flow_view(steps(selected=["A"], after=["B", "A", "C"]))["steps"]
    }
    assert boxes["Search"]["count"] == "6 hits in 4,210 sentences"
    assert boxes["Hypothesis"]["time"] == "skipped"
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


def test_merges_and_rerank_in_words() -> None:
    made = steps(selected=["A"], after=["B", "A", "C"])
    assert flow.merges(made, flow.ranks(made)) == ["3 of 4 sentences → section: ecs.md › ECS › A"]
    assert [row["moved"] for row in flow.rerank_rows(made, flow.ranks(made))] == ["↑1", "↓1", "="]


def test_comparison_marks_what_changed() -> None:
    left, right = flow.ranks(steps(selected=["A", "B"])), flow.ranks(steps(selected=["A", "C"]))
    rows = {row["id"]: row for row in flow.comparison_view(left, right, names=("old", "new"))["rows"]}
    assert {key: row["kept"] for key, row in rows.items()} == {"A": False, "C": True, "B": True}
    assert rows["C"]["label"] == "C  new"
    assert rows["B"]["label"] == "B  gone"


def test_sentences_have_their_rank_in_both_lists() -> None:
    made = steps(selected=["A"])
    rows = {row["id"]: row for row in flow.sentence_rows(made, flow.ranks(made))}
    assert (rows["C-leaf"]["Dense rank"], rows["C-leaf"]["BM25 rank"]) == (1, None)


def test_no_steps_make_an_empty_picture() -> None:
    assert flow.flow_view(()) == {"steps": []}
    assert flow.bumps_view(flow.ranks(()))["rows"] == []
