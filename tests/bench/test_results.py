"""What is kept from run to run."""

import json
from dataclasses import replace

from bench.machine import Machine
from bench.processes import Finished
from bench.results import Record, Results, Runs, load_results, save, to_json

MACHINE = Machine("Some CPU", 2, True, 24.0, "Linux x86_64", {"python": "3.11.7"})
ASK = Record("ask", "2026-01-02", {"commit": "abc"}, {"athena.ask_seconds": [2.0, 3.123456]})


def test_results_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "benchmarks.json"
    path.write_text(to_json(Results(MACHINE, {"ask": ASK})), encoding="utf-8")
    again = load_results(path, MACHINE, known={"ask"})
    assert again.record("ask").facts == {"commit": "abc"}
    assert again.record("ask").run("athena.ask_seconds") == [2.0, 3.1235]


def test_the_file_is_json_with_a_line_for_each_list():
    text = to_json(Results(MACHINE, {"ask": ASK}))
    assert json.loads(text)["machine"]["cpu"] == "Some CPU"
    assert '        "athena.ask_seconds": [2.0, 3.1235]\n' in text


def test_another_version_keeps_what_was_measured_and_another_machine_does_not(tmp_path):
    path = tmp_path / "benchmarks.json"
    path.write_text(to_json(Results(MACHINE, {"ask": ASK})), encoding="utf-8")
    assert load_results(
        path, replace(MACHINE, versions={"python": "3.12"}), known={"ask"}
    ).records.keys() == {"ask"}
    assert load_results(path, replace(MACHINE, cores=8), known={"ask"}).records == {}


def test_a_benchmark_that_is_no_more_is_forgotten(tmp_path):
    path = tmp_path / "benchmarks.json"
    path.write_text(to_json(Results(MACHINE, {"ask": ASK})), encoding="utf-8")
    assert load_results(path, MACHINE, known={"other"}).records == {}


def test_without_a_file_there_is_nothing_yet(tmp_path):
    assert load_results(tmp_path / "none.json", MACHINE, known={"ask"}).records == {}


def test_a_benchmark_that_runs_again_replaces_its_former_record():
    results = Results(MACHINE, {"ask": ASK}).with_record(replace(ASK, runs={"athena.ask_seconds": [1.0]}))
    assert results.record("ask").run("athena.ask_seconds") == [1.0]


def test_runs_become_a_record_with_what_disturbed_them():
    said = []
    runs = Runs("ask", said.append)
    runs.add_process("ask", Finished(2.0, 1.5, 300.0, ""))
    runs.add("ms", 1.0, 2.0)
    runs.facts["passages"] = 7
    record = runs.record(commit="abc")
    assert record.runs == {
        "ask_seconds": [2.0],
        "ask_cpu_seconds": [1.5],
        "ask_peak_mb": [300.0],
        "ms": [1.0, 2.0],
    }
    assert (record.facts["commit"], record.facts["passages"]) == ("abc", 7)
    assert {"load_before", "stolen"} <= set(record.facts)
    assert said == ["ask: ask_seconds 2.000", "ask: ask_cpu_seconds 1.500", "ask: ask_peak_mb 300.000"]


def test_both_files_are_written_and_no_draft_is_left(tmp_path):
    save(Results(MACHINE, {"ask": ASK}), tmp_path / "docs" / "b.json", page="# Page")
    assert sorted(path.name for path in (tmp_path / "docs").iterdir()) == ["b.json", "b.md"]
    assert (tmp_path / "docs" / "b.md").read_text() == "# Page"
