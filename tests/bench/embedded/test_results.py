"""What is kept from run to run."""

import json
from dataclasses import replace

from bench.embedded.machine import Machine, read_cpuinfo, read_meminfo
from bench.embedded.results import Record, Results, load_results, to_json

MACHINE = Machine("Some CPU", 2, True, 24.0, "Linux x86_64", {"python": "3.11.7"})
ASK = Record("ask", "2026-01-02", {"commit": "abc"}, {"athena.ask_seconds": [2.0, 3.123456]})


def test_results_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "benchmarks.json"
    path.write_text(to_json(Results(MACHINE, {"ask": ASK})), encoding="utf-8")
    again = load_results(path, MACHINE)
    assert again.record("ask").facts == {"commit": "abc"}
    assert again.record("ask").run("athena.ask_seconds") == [2.0, 3.1235]


def test_the_file_is_json_with_a_line_for_each_list():
    text = to_json(Results(MACHINE, {"ask": ASK}))
    assert json.loads(text)["machine"]["cpu"] == "Some CPU"
    assert '        "athena.ask_seconds": [2.0, 3.1235]\n' in text


def test_another_version_keeps_what_was_measured_and_another_machine_does_not(tmp_path):
    path = tmp_path / "benchmarks.json"
    path.write_text(to_json(Results(MACHINE, {"ask": ASK})), encoding="utf-8")
    assert load_results(path, replace(MACHINE, versions={"python": "3.12"})).records.keys() == {"ask"}
    assert load_results(path, replace(MACHINE, cores=8)).records == {}


def test_without_a_file_there_is_nothing_yet(tmp_path):
    assert load_results(tmp_path / "none.json", MACHINE).records == {}


def test_a_benchmark_that_runs_again_replaces_its_former_record():
    results = Results(MACHINE, {"ask": ASK}).with_record(replace(ASK, runs={"athena.ask_seconds": [1.0]}))
    assert results.record("ask").run("athena.ask_seconds") == [1.0]


def test_the_first_cpu_is_read_with_its_flags():
    text = "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu avx2 avx_vnni\n"
    text += "\nmodel name\t: Another\nflags\t\t: x\n"
    assert read_cpuinfo(text) == ("A CPU", {"fpu", "avx2", "avx_vnni"})
    assert read_cpuinfo("") == ("", set())


def test_memory_is_in_bytes():
    assert read_meminfo("MemTotal:       1000 kB\nMemFree: 10 kB\n") == 1_024_000
