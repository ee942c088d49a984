"""The benchmarks with Athena and a peer faked: in which order things run, and what is kept."""

import json
from functools import partial
from pathlib import Path

import pytest

from bench import embedded as plan
from bench.embedded import Bench, Effort, main, run
from bench.processes import BenchmarkError, Finished
from bench.results import chosen


class FakeAthena:
    def __init__(self, log: list[str]) -> None:
        self.log = log

    def ingest(self, folder, data_dir):
        again = data_dir.exists()
        data_dir.mkdir(exist_ok=True)
        self.log.append("again" if again else "ingest")
        return Finished(0.1 if again else 4.0, 1.0, 300.0, "")

    def ask(self, question, data_dir):
        self.log.append("ask")
        return Finished(2.0, 1.0, 200.0, "")

    def search(self, data_dir, questions):
        asked = json.loads(questions.read_text())
        sources = [["a.md"]] * len(asked)
        report = {"ms": [5.0] * len(asked), "sources": sources, "passages": 100, "import_seconds": 0.5}
        return Finished(1.0, 1.0, 400.0, ""), report

    def rank(self, dataset):
        # q1's document is at rank 2: DCG 1 / log2(3) = 0.6309; q2's is not found
        return {"q1": ["x", "d1"], "q2": ["x"]}

    def environment(self):
        return {}


class FakeEnvironment:
    name = "fake"

    def python(self):
        return Path("python")

    def megabytes(self):
        return 6000.0


class FakePeer:
    environment = FakeEnvironment()

    def __init__(self) -> None:
        self.asked: list[tuple[int, bool]] = []

    def ingest(self, folder, store, *, whole=False):
        return Finished(20.0, 1.0, 1500.0, ""), {"passages": 50, "unit": "chunks"}

    def search(self, folder, store, questions, *, whole=False):
        asked = json.loads(questions.read_text())
        self.asked.append((len(asked), whole))
        sources = [["d1.md"], ["d2.md"], ["b.md", "a.md"]][: len(asked)]
        sources += [["b.md", "a.md"]] * (len(asked) - len(sources))
        return Finished(9.0, 1.0, 1600.0, ""), {
            "ms": [100.0] * len(asked),
            "sources": sources,
            "import_seconds": 9.0,
        }


@pytest.fixture
def peer(monkeypatch):
    fake = FakePeer()
    monkeypatch.setattr(plan, "PEERS", {"haystack": fake, "llamaindex": fake})
    names = {
        "rust-book:haystack": partial(plan.peer_on_folder, collection="rust-book", peer=fake),
        "opensearch-docs:llamaindex": partial(plan.peer_on_folder, collection="opensearch-docs", peer=fake),
        "scifact:haystack": partial(plan.peer_on_scifact, peer=fake),
    }
    monkeypatch.setattr(plan, "BENCHMARKS", dict(plan.BENCHMARKS) | names)
    return fake


@pytest.fixture
def bench(tmp_path):
    data, work = tmp_path / "data", tmp_path / "work"
    for name in ("rust-book", "opensearch-docs"):
        folder = data / "docs" / name
        folder.mkdir(parents=True)
        for file in ("a.md", "b.md"):
            text = "".join(f"# Valve {file} {n}\n\nText.\n\n" for n in range(5))
            (folder / file).write_text(text)
    (data / "scifact" / "qrels").mkdir(parents=True)
    (data / "scifact" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n")
    queries = [{"_id": name, "text": f"claim {name}"} for name in ("q1", "q2", "q3")]
    (data / "scifact" / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    documents = [{"_id": name, "title": name, "text": "Text."} for name in ("d1", "d2")]
    (data / "scifact" / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    work.mkdir()
    effort = Effort(questions=6, slow_questions=3, ingests=2, asks=2)
    return Bench(FakeAthena([]), data, work, effort, say=lambda _: None)


def test_every_first_ingest_has_an_empty_folder(bench):
    record = run("rust-book:athena", bench).record(commit="abc")
    assert bench.athena.log == ["ingest", "again"] * 2
    assert record.run("ingest_seconds") == [4.0, 4.0]
    assert record.run("again_seconds") == [0.1, 0.1]
    assert len(record.run("query_ms")) == 6
    right = record.run("reciprocal_rank")
    assert set(right) == {0.0, 1.0}, "a.md is found first for each of the headings, of which some are b.md's"
    assert (record.facts["passages"], record.facts["unit"]) == (100, "sentences")


def test_a_peer_is_measured_with_the_size_of_its_environment(bench, peer):
    record = run("rust-book:haystack", bench).record(commit="abc")
    assert record.run("ingest_seconds") == record.run("again_seconds") == [20.0]
    assert record.run("environment_mb") == [6000.0]
    assert record.run("import_seconds") == [9.0]
    assert (record.facts["passages"], record.facts["unit"]) == (50, "chunks")
    assert set(record.run("reciprocal_rank")) <= {0.0, 0.5, 1.0}


def test_a_peer_gets_fewer_questions_over_a_large_folder(bench, peer):
    run("rust-book:haystack", bench)
    run("opensearch-docs:llamaindex", bench)
    assert peer.asked == [(6, False), (3, False)]


def test_scifact_is_judged_question_by_question_by_the_same_measure(bench, peer):
    ours = run("scifact:athena", bench).record(commit="abc")
    assert ours.run("nDCG@10") == [pytest.approx(0.6309, abs=1e-4), 0.0]
    assert ours.run("Recall@100") == [1.0, 0.0]
    theirs = run("scifact:haystack", bench).record(commit="abc")
    assert peer.asked == [(2, True)], "the judged questions, a file one passage"
    assert theirs.run("nDCG@10") == [1.0, 1.0]


def test_every_number_that_setting_up_prints_is_kept(bench, monkeypatch):
    ways = {name: {"seconds": 60.5, "megabytes": 700, "python": "3.11.7"} for name in ("run", "pip")}
    output = json.dumps(ways | {"machine": "Linux"})
    monkeypatch.setattr(plan, "run_measured", lambda *_, **__: Finished(61.0, 1.0, 1.0, output))
    record = run("setup", bench).record(commit="abc")
    run_alone = {"run.seconds": [60.5], "run.megabytes": [700.0]}
    assert record.runs == run_alone | {"pip.seconds": [60.5], "pip.megabytes": [700.0]}


def test_a_peer_that_fails_is_noted_and_athena_is_not_excused(bench, peer, monkeypatch):
    def fail(*_, **__):
        raise BenchmarkError("No wheel for this Python.", "Use another.")

    monkeypatch.setattr(peer, "ingest", fail)
    monkeypatch.setattr(bench.athena, "ask", fail)
    record = run("rust-book:haystack", bench).record(commit="abc")
    assert record.runs == {}
    assert "No wheel" in str(record.facts["error"])
    with pytest.raises(BenchmarkError):
        run("ask", bench)


def test_a_core_that_cannot_be_set_up_here_stops_nothing(bench, monkeypatch):
    def fail(*_, **__):
        raise BenchmarkError("No package index.", "Connect.")

    monkeypatch.setattr(plan, "run_measured", fail)
    assert "No package index" in str(run("setup", bench).facts["error"])


def test_benchmarks_are_chosen_by_name_collection_and_library():
    known = plan.BENCHMARKS
    assert chosen(["rust-book:txtai", "ask"], known) == ["ask", "rust-book:txtai"]
    assert chosen(["txtai"], known) == ["rust-book:txtai", "scifact:txtai"]
    assert {name.partition(":")[0] for name in chosen(["opensearch-docs"], known)} == {"opensearch-docs"}
    assert chosen([], known) == list(known)


def test_an_unknown_benchmark_is_refused_with_the_known_ones(capsys):
    assert main(["--only", "nonsense", "--quick"]) == 1
    assert "no benchmark 'nonsense'. Choose of setup, ask" in capsys.readouterr().err


def test_missing_data_end_with_a_message_and_no_traceback(tmp_path, capsys):
    assert main(["--data", str(tmp_path / "nowhere")]) == 1
    assert "nowhere' does not exist. Name the folder" in capsys.readouterr().err
