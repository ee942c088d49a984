"""Experiments: files are checked, finished configurations are kept, and all are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from athena import load_settings, open_athena
from evals import experiments
from evals.chunks import ChunkCorpus
from evals.experiments import Result, load_experiment, names, read_result, run
from evals.report import draw, page
from evals.scoring import Scored
from pipeline.errors import ConfigurationError
from tests.fakes import FakeEncoder

PUMP = "# Pump\n\nThe pump runs at 4200 rpm. It hums.\n\n# Fan\n\nThe fan shows OFFLINE when it is broken.\n"
QUESTIONS = """\
{"_id": "rpm", "text": "How fast does the pump run?", "answer": "4200 rpm", "reference": "At 4200 rpm.", \
"spans": [{"source": "pump.md", "start": 8, "end": 35}]}
{"_id": "cup", "text": "Who won the football cup?", "answerable": false}
"""
FILE = """
title = "Pumps"
dataset = "questions"
corpus = "manual"
conclusion = "Sections stay."

[[configurations]]
name = "chunks"
settings = { splitter = "fixed 16/4" }

[[configurations]]
name = "sections"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment of two configurations over two questions and one page: "pumps"."""
    monkeypatch.setattr(experiments, "OURS", tmp_path)
    for folder in ("questions", "manual"):
        (tmp_path / folder).mkdir()
    (tmp_path / "questions" / "queries.jsonl").write_text(QUESTIONS, encoding="utf-8")
    (tmp_path / "manual" / "pump.md").write_text(PUMP, encoding="utf-8")
    (tmp_path / "pumps.toml").write_text(FILE, encoding="utf-8")
    return tmp_path


def test_the_experiments_that_come_along_can_be_loaded() -> None:
    found = [load_experiment(name) for name in names()]
    assert [one.name for one in found] == ["A", "B", "C", "D"]
    assert all(len(one.configurations) >= 2 and one.conclusion for one in found)


@pytest.mark.slow
def test_what_is_finished_is_kept_until_settings_or_data_change(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, results, ran = load_experiment("pumps"), folder / "results", []
    score = experiments._score

    def counting(*given: object) -> list[Scored]:
        ran.append(1)
        if len(ran) == 2:
            raise KeyboardInterrupt
        return score(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(experiments, "_score", counting)
    flags = {"data_dir": tmp_path / "data", "cross_encoder": "none"}
    with pytest.raises(KeyboardInterrupt):
        run(experiment, results=results, flags=flags)
    assert [one.name for one in read_result(results / "pumps.json").configurations] == ["chunks"]
    result = run(experiment, results=results, flags=flags)
    assert len(ran) == 3  # the first was kept
    assert [one.name for one in result.configurations] == ["chunks", "sections"]
    sections = result.configurations[1]
    assert sections.scores["rpm"]["hit@3"] == 1 and sections.scores["cup"] == {"abstained_rightly": 1}
    assert run(experiment, results=results, flags=flags) == result and len(ran) == 3
    (tmp_path / "manual" / "pump.md").write_text(PUMP + "\nMore.\n", encoding="utf-8")
    run(experiment, results=results, flags=flags)
    assert len(ran) == 5


def test_a_model_that_cannot_be_used_is_left_out_with_the_reason(folder: Path, tmp_path: Path) -> None:
    (folder / "pumps.toml").write_text(
        FILE + '\nsettings = { embedding_model = "no/such-model" }\n', encoding="utf-8"
    )
    said: list[str] = []
    experiment = load_experiment("pumps")
    only = experiment.model_copy(update={"configurations": experiment.configurations[1:]})
    with pytest.raises(ConfigurationError):
        run(only, results=tmp_path, flags={"data_dir": tmp_path / "data"}, say=said.append)
    assert len(said) == 1 and "no/such-model" in said[0]


def result(name: str, hits: int) -> Result:
    """A configuration that finds the first `hits` of ten questions."""
    scores = {f"q{number}": {"hit@3": float(number < hits)} for number in range(10)}
    return Result(
        name=name, key="k", finished="2026-01-02T03:04:05+00:00", scores=scores, ms_p50=1, ms_p95=2, words=3
    )


def test_configurations_are_compared_with_the_first(tmp_path: Path) -> None:
    found = experiments.ExperimentResult(
        experiment="A", configurations=(result("small", 2), result("large", 9), result("same", 2))
    )
    # seven questions differ, all one way: a sign test gives 2 / 2^7 = .0156, by Holm × 2 = .031
    verdicts = {one.a: (one.verdict, round(one.p, 4)) for one in found.comparisons}
    assert verdicts == {"large": ("better", 0.0312), "same": ("noise", 1.0)}
    written = page([found], ["A.svg"])
    assert "| large | 0.900 [0.70, 1.00] ▲ | 3 |" in written
    assert load_experiment("A").conclusion in written
    by_model = found.model_copy(update={"llm": "ollama/small:1b"})
    assert page([found, by_model], ["A.svg", "B.svg"]).count(load_experiment("A").conclusion) == 1
    assert (found.stem, by_model.stem) == ("A", "A-ollama-small-1b")
    pytest.importorskip("matplotlib")
    assert "large" in draw(found, tmp_path).read_text(encoding="utf-8")


@pytest.mark.parametrize("splitter", ["fixed 8/2", "recursive 8/2"])
def test_chunks_stand_in_the_text_at_their_offsets_and_cover_it(splitter: str) -> None:
    text = "".join(f"Sentence number {n} of the manual. It has a second half.\n\n" for n in range(20))
    sections, leaves = ChunkCorpus(splitter, FakeEncoder(), max_bytes=10_000).cut(text, source="a.md")
    assert len(sections) > 5
    covered: set[int] = set()
    for section in sections:
        start, end = section.start_char_idx, section.end_char_idx
        assert section.text == text[start:end]
        covered |= set(range(start, end))
    assert all(place in covered for place, letter in enumerate(text) if not letter.isspace())
    assert [leaf.text for leaf in leaves] == [section.text for section in sections]
    assert len({section.node_id for section in sections}) == len(sections)


def test_an_evaluation_is_not_kept_by_a_server(tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path, llm="none", cross_encoder="none")
    athena = open_athena(
        settings.model_copy(update={"store": "server", "mongodb_url": "mongodb://127.0.0.1:9/"})
    )
    (tmp_path / "pump.md").write_text(PUMP, encoding="utf-8")
    with experiments.indexed_corpus(athena, tmp_path, tmp_path, None) as (other, indexed):
        assert other.settings.store == "embedded" and indexed.documents == 1
    athena.close()
