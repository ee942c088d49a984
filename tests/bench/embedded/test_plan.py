"""The benchmarks with both sides faked: in which order things run, and what is kept."""

import json
from pathlib import Path

import pytest

from bench.embedded.__main__ import main
from bench.embedded.corpora import Exported
from bench.embedded.plan import QUICK, Bench, Effort, ask, ingest, retrieval_large, scifact
from bench.embedded.processes import Finished

SECTIONS = [
    {"id": f"{n}", "source": "a.md", "heading_path": ["Book", f"Topic {n}"], "sentences": 5} for n in range(9)
]


class FakeAthena:
    def __init__(self, work: Path, log: list[str]) -> None:
        self.work = work
        self.log = log

    def export(self, name, folder):
        leaves = self.work / name
        leaves.mkdir()
        (leaves / "sections.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SECTIONS))
        return Exported(name, folder, leaves, {"a.md": 45, "b.md": 10}, 0.5)

    def ingest(self, folder, data_dir):
        again = data_dir.exists()
        data_dir.mkdir(exist_ok=True)
        self.log.append("athena again" if again else "athena")
        return Finished(0.1 if again else 4.0, 1.0, 300.0, "")

    def ask(self, question, data_dir):
        self.log.append("ask")
        return Finished(2.0, 1.0, 200.0, "")

    def search(self, data_dir, questions):
        asked = json.loads(questions.read_text())
        report = {"ms": [5.0] * len(asked), "steps": {"embed": [2.0] * len(asked)}, "sentences": 100}
        return Finished(1.0, 1.0, 400.0, ""), report

    def evaluate_retrieval(self, dataset):
        metrics = {"nDCG@10": 0.74, "Recall@100": 0.96}
        report = {"metrics": metrics, "ms_per_query": {"p50": 4.0, "p95": 6.0}, "ingest_seconds": 9.0}
        return Finished(9.0, 1.0, 400.0, ""), report


class FakeBaseline:
    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.merged: list[tuple[str, tuple[str, ...]]] = []

    def parse(self, folder):
        return {"seconds": 0.25, "leaves": 50, "sections": 9}

    def ingest(self, exported):
        self.log.append("baseline")
        return Finished(20.0, 1.0, 1500.0, "")

    def ingest_again(self, exported):
        self.log.append("baseline again")
        return Finished(8.0, 1.0, 1000.0, "")

    def merged_store(self, shares, target):
        self.merged = [(share.of.name, share.sources) for share in shares]
        return target

    def search(self, store, questions, *, top_k):
        return Finished(9.0, 1.0, 1600.0, ""), [100.0] * len(json.loads(questions.read_text()))

    def rank(self, dataset, questions, *, top_k):
        # q1's document is at rank 2: DCG 1 / log2(3) = 0.6309; q2's is not found: the mean is 0.3155
        return {"rankings": {"q1": ["x", "d1"], "q2": ["x"]}, "ms": [1.0], "ingest_seconds": 3.0}


@pytest.fixture
def bench(tmp_path):
    data, work, log = tmp_path / "data", tmp_path / "work", []
    for name in ("rust-book", "opensearch-docs"):
        (data / "docs" / name).mkdir(parents=True)
        for source in ("a.md", "b.md"):
            (data / "docs" / name / source).write_text(name)
    folder = data / "scifact" / "qrels"
    folder.mkdir(parents=True)
    (folder / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n")
    queries = [{"_id": name, "text": f"claim {name}"} for name in ("q1", "q2", "q3")]
    (data / "scifact" / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    work.mkdir()
    effort = Effort(ingests=2, questions=6, baseline_questions=3, asks=2, sentences=60)
    return Bench(FakeAthena(work, log), FakeBaseline(log), data, work, effort, say=lambda _: None)


def test_ingests_take_turns_and_every_first_one_has_an_empty_folder(bench):
    record = ingest(bench, "rust-book", times=2).record("ingest:rust-book", commit="abc")
    assert bench.athena.log == ["athena", "baseline", "athena again", "baseline again"] * 2
    assert record.run("athena.ingest_seconds") == [4.0, 4.0]
    assert record.run("athena.again_seconds") == [0.1, 0.1]
    assert record.run("athena.ingest_cpu_seconds") == [1.0, 1.0]
    assert record.run("baseline.ingest_peak_mb") == [1500.0, 1500.0]
    assert (record.facts["leaves"], record.facts["commit"]) == (55, "abc")


def test_the_large_corpus_is_searched_by_both(bench):
    record = retrieval_large(bench).record("retrieval:large", commit="abc")
    # 45 + 10 of the first folder, then a.md of the second is enough for 60
    assert bench.baseline.merged == [("rust-book", ("a.md", "b.md")), ("opensearch-docs", ("a.md",))]
    copied = {path.relative_to(bench.work / "large").as_posix() for path in bench.work.rglob("large/*/*.md")}
    assert copied == {"rust-book/a.md", "rust-book/b.md", "opensearch-docs/a.md"}
    assert len(record.run("athena.query_ms")) == 6
    assert len(record.run("baseline.query_ms")) == 3
    assert record.run("athena.step_embed_ms") == [2.0] * 6
    assert record.facts["large"] is True


def test_ask_is_a_new_process_each_time(bench):
    assert ask(bench).record("ask", commit="abc").run("athena.ask_seconds") == [2.0, 2.0]
    assert bench.athena.log == ["athena", "ask", "ask"]


def test_the_baseline_is_judged_on_the_same_questions(bench):
    record = scifact(bench).record("scifact", commit="abc")
    assert record.run("baseline.nDCG@10") == [pytest.approx(0.6309 / 2, abs=1e-4)]
    assert record.run("baseline.Recall@100") == [0.5]
    assert record.run("athena.nDCG@10") == [0.74]


def test_quick_is_less_of_everything():
    full = Effort()
    assert QUICK.ingests < full.ingests
    assert QUICK.questions < full.questions
    assert QUICK.asks < full.asks


def test_missing_data_end_with_a_message_and_no_traceback(tmp_path, capsys):
    assert main(["--data", str(tmp_path / "nowhere")]) == 1
    assert "nowhere' does not exist. Name the folder" in capsys.readouterr().err


def test_an_unknown_benchmark_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "nonsense"])
    assert "retrieval:large" in capsys.readouterr().err
