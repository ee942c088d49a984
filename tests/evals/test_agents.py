"""What an agent reads beside the pipeline: the scripted model's clauses, and the figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from athena import load_settings, open_athena
from evals.agents import Listened, OncePerClause, evaluate_agent, evaluate_routing
from evals.datasets import held_out, load_qrels, load_queries
from pipeline.errors import DatasetError
from tests.fake_llm import FakeLLM
from tests.pipeline.searching import write_manual

FOLDER = Path(__file__).parents[2] / "evals" / "data" / "multihop"


def test_the_scripted_model_searches_once_a_clause() -> None:
    question = {"role": "user", "content": "Question: Which pump does the fan need that cools the bay?"}
    said = [question, {"role": "assistant", "content": "Thought: \nAction: search"}]
    model = OncePerClause()
    first = model.chat(said)
    assert '{"query": "pump does the fan need"}' in first
    second = model.chat([*said, {"role": "assistant", "content": first}])
    assert '{"query": "cools the bay"}' in second
    done = [*said, {"role": "assistant", "content": first}, {"role": "assistant", "content": second}]
    assert "Answer:" in model.chat(done)


def test_half_of_the_questions_are_held_out_and_each_has_two_sections() -> None:
    queries, qrels = load_queries(FOLDER), load_qrels(FOLDER, "test")
    assert len(queries) == 30 and all(len(qrels[query.id]) == 2 for query in queries)
    assert 13 <= sum(held_out(query.id) for query in queries) <= 17


def test_what_was_read_is_counted_by_hand(tmp_path: Path) -> None:
    folder, manual = tmp_path / "set", write_manual(tmp_path)
    (folder / "qrels").mkdir(parents=True)
    asked = "What does the cabin fan do that shows OFFLINE, and what do fuel cells make from hydrogen?"
    (folder / "queries.jsonl").write_text(f'{{"_id": "q1", "text": "{asked}"}}\n')
    gold = ("systems/ecs.md#ECS > Cabin fan", "systems/power.md#Power", "comms.md#Nowhere")
    rows = "".join(f"q1\t{name}\t1\n" for name in gold)
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    with open_athena(load_settings(data_dir=tmp_path / "data", llm="none")) as athena:
        report = evaluate_agent(athena, folder, corpus=manual, scripted=True)
        [way] = [row for name, row in report.ways.items() if name.startswith("agent")]
        assert way["gold read"] == pytest.approx(2 / 3)
        assert way["calls"] > 1 and way["tokens"] > 0
        assert report.loop_ms_p95 > 0
        (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n")
        with pytest.raises(DatasetError, match="no questions with gold sections"):
            evaluate_agent(athena, folder, corpus=manual, scripted=True)


def test_a_text_was_read_where_a_model_was_given_all_of_it() -> None:
    model = Listened(FakeLLM(replies=["Yes."]), "fake")
    assert model.chat([{"role": "user", "content": "A seal is checked\nwith soap \\[1], then …"}]) == "Yes."
    assert model.read("A seal is\nchecked with soap [1],")
    assert not model.read("A seal is checked with soap [1], then wiped.")


def test_part_of_a_section_is_not_read(tmp_path: Path) -> None:
    """Both ways are counted alike: neither gives a model all of a section that is longer than its room."""
    folder, manual = tmp_path / "set", tmp_path / "manual"
    manual.mkdir()
    far = "".join(f"Item {n} of the shelf is a spare part for locker {n}.\n\n" for n in range(400))
    (manual / "long.md").write_text(f"# Hatch\n\nThe hatch seal is checked with soap.\n\n{far}")
    (folder / "qrels").mkdir(parents=True)
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "How is the hatch seal checked?"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tlong.md#Hatch\t1\n")
    with open_athena(load_settings(data_dir=tmp_path / "data", llm="none")) as athena:
        report = evaluate_agent(athena, folder, corpus=manual, scripted=True)
    assert {way["gold read"] for way in report.ways.values()} == {0.0}
    assert report.missed == {"pipeline": ("q1",), "agent": ("q1",)}


def test_questions_of_where_it_looks_first_are_told_to_nobody(tmp_path: Path) -> None:
    folder, manual = tmp_path / "set", write_manual(tmp_path)
    folder.mkdir()
    (folder / "memories.tsv").write_text("My locker number is 214.\n")
    rows = ("My bunk is number 7.", "memory"), ("What is the number of my bunk?", "documents")
    lines = [json.dumps({"_id": str(n), "text": text, "kind": kind}) for n, (text, kind) in enumerate(rows)]
    (folder / "queries.jsonl").write_text("")
    with open_athena(load_settings(data_dir=tmp_path / "data", llm="none")) as athena:
        with pytest.raises(DatasetError, match="has no questions"):
            evaluate_routing(athena, folder, corpus=manual)
        (folder / "queries.jsonl").write_text("\n".join(lines))
        assert evaluate_routing(athena, folder, corpus=manual).questions == 2
