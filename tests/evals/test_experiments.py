"""Experiments over a small folder: a known winner, and none; what is kept, refused and gone on with."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from athena.cli import app
from athena.models import Models
from athena.settings import Settings
from evals.chunking import KnownScores, SharedModels
from evals.experiments import Outcome, load_experiment, names, plan, plan_all, run
from evals.results import ExperimentResult, load_results, merged
from pipeline.errors import ConfigurationError, DatasetError, DiskFull
from pipeline.models.base import ModelChoice
from pipeline.models.cross_encoder import BUNDLED, OnnxCrossEncoder

THINGS = ("pump", "valve", "fan", "lamp", "tank", "radio", "filter", "hatch")
KINDS = {
    "winner": {"whole": {}, "crumbs": {"splitter": "fixed 4/0"}},  # no crumb has half of a sentence
    "none": {"eight": {"quotes": 8}, "seven": {"quotes": 7}},  # one quote each: it makes no difference
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A manual a thing, a question a manual with its sentence as gold, and one that none answers."""
    made = tmp_path_factory.mktemp("experiments")
    for name in ("manuals", "questions"):
        (made / name).mkdir()
    rows: list[dict[str, Any]] = [{"_id": "x", "text": "Who won the cup final?", "answerable": False}]
    for number, thing in enumerate(THINGS):
        gold = (
            f"The {thing} of the cabin is serviced every {number + 2} weeks by whoever has the morning watch."
        )
        text = f"# {thing.title()}\n\n{gold}\n\nIt is grey.\n"
        (made / "manuals" / f"{thing}.md").write_text(text, encoding="utf-8")
        start = text.index(gold)
        span = {"source": f"{thing}.md", "start": start, "end": start + len(gold)}
        asked = f"How often is the {thing} of the cabin serviced?"
        rows.append({"_id": thing, "text": asked, "answer": gold, "reference": gold, "spans": [span]})
    lines = "\n".join(map(json.dumps, rows))
    (made / "questions" / "queries.jsonl").write_text(lines, encoding="utf-8")
    for name, configurations in KINDS.items():
        write(made / f"{name}.toml", configurations)
    return made


def write(path: Path, configurations: dict[str, dict[str, Any]], more: str = "") -> Path:
    text = f'title = "Things"\ndataset = "questions"\ncorpus = "manuals"\n{more}'
    for name, settings in configurations.items():
        shown = ", ".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())
        text += f'\n[[configurations]]\nname = "{name}"\nsettings = {{ {shown} }}\n'
    path.write_text(text, encoding="utf-8")
    return path


def outcomes(file: Path, results: Path) -> list[Outcome]:
    return list(run(plan(load_experiment(str(file))), results=results))


def result_of(file: Path, results: Path) -> ExperimentResult:
    return merged([outcome.result for outcome in outcomes(file, results) if outcome.result])


def kept(results: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in results.glob("*/*.json")
        if not path.name.endswith(".ms.json")
    }


def test_a_known_winner_is_found(folder: Path, tmp_path: Path) -> None:
    result = result_of(folder / "winner.toml", tmp_path)
    whole, crumbs = result.configurations
    assert (whole.metrics["hit@3"], whole.metrics["MRR"], crumbs.metrics["hit@3"]) == (1.0, 1.0, 0.0)
    found = {one.metric: one for one in result.comparisons}
    hit = found["hit@3"]
    assert (hit.a, hit.b, hit.difference, hit.verdict) == ("crumbs", "whole", -1.0, "worse")
    assert hit.questions == len(THINGS)
    assert hit.too_few
    assert whole.scores["hit@3"][0] is None  # nothing answers the first question
    assert whole.questions[0] == "x"
    assert whole.tokens_in and whole.tokens_estimated and whole.tokens_out is None and whole.cost is None
    assert {"search", "all"} <= whole.ms.keys()


def test_a_preset_that_remembers_nothing_does_worse(folder: Path, tmp_path: Path) -> None:
    facts = ("spare torch is behind panel 14", "dented cartridge is number five", "red box has nine fuses")
    asked = (("Where is the spare torch?", "14"), ("Which cartridge is dented?", "five"))
    talks = [
        {
            "name": f"user {number}",
            "kind": "sessions",
            "steps": [
                *(
                    {"at": f"2031-03-0{day}T07:10", "say": f"The {fact}."}
                    for day, fact in enumerate(facts, 1)
                ),
                *(
                    {"at": "2031-03-09T08:00", "ask": ask, "needs": "session", "any": [[word]]}
                    for ask, word in asked
                ),
            ],
        }
        for number in range(4)
    ]
    (folder / "talks").mkdir(exist_ok=True)
    (folder / "talks" / "talks.json").write_text(json.dumps({"talks": talks}), encoding="utf-8")
    file = write(folder / "presets.toml", {"none": {"memory": "none"}, "inject": {"memory": "inject"}})
    file.write_text(file.read_text().replace('"questions"', '"talks"'), encoding="utf-8")
    result = result_of(file, tmp_path)
    found = {one.metric: one for one in result.comparisons}
    assert result.baseline.metrics["hit@3"] == 0.0
    assert (found["hit@3"].difference, found["hit@3"].verdict) == (1.0, "better")


def asked_of_the_cross_encoder(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The question of each pair that is scored from now on."""
    asked: list[str] = []
    score = OnnxCrossEncoder.score

    def noting(model: OnnxCrossEncoder, question: str, passages: Sequence[str]) -> Any:
        asked.extend([question] * len(passages))
        return score(model, question, passages)

    monkeypatch.setattr(OnnxCrossEncoder, "score", noting)
    return asked


def test_pairs_that_configurations_share_are_scored_once_which_changes_no_digit(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evals.scoring.TIMED", 2)
    monkeypatch.setenv("ATHENA_CROSS_ENCODER", BUNDLED)
    asked = asked_of_the_cross_encoder(monkeypatch)
    outcomes(folder / "none.toml", tmp_path / "together")
    pairs = len(asked)
    for planned in plan(load_experiment(str(folder / "none.toml"))):
        list(run([planned], results=tmp_path / "apart"))
    assert kept(tmp_path / "together") == kept(tmp_path / "apart")
    assert 0 < pairs < len(asked) - pairs


def test_only_what_is_timed_is_scored_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asked_of_the_cross_encoder(monkeypatch)
    known = KnownScores()
    known.model = Models(Settings(cross_encoder=BUNDLED)).cross_encoder()[0]
    for wanted in (True, False, True):
        with known.unknown(wanted):
            known.score("Is it timed?", ["A fan."])
        known.score("Is it said?", ["A fan."])
    assert Counter(asked) == {"Is it timed?": 2, "Is it said?": 1}


def test_scores_of_a_model_that_may_be_quantised_by_the_batch_are_not_shared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = KnownScores()
    choice = ModelChoice("cross-encoder", "other", "sentence-transformers", "")
    monkeypatch.setattr(Models, "cross_encoder", lambda _: (other, choice))
    assert SharedModels(Settings(), KnownScores()).cross_encoder() == (other, choice)


def test_results_of_other_code_are_replaced_when_that_is_wanted(folder: Path, tmp_path: Path) -> None:
    given = ["eval", "experiment", str(folder / "none.toml"), "--results", str(tmp_path)]
    old, others = tmp_path / "none" / "0123.json", tmp_path / "winner" / "0123.json"
    for path in (old, old.with_name("0123.ms.json"), others):
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}", encoding="utf-8")
    assert CliRunner().invoke(app, given).exit_code == 0
    assert old.is_file()
    assert CliRunner().invoke(app, [*given, "--replace"]).exit_code == 0
    assert (old.exists(), old.with_name("0123.ms.json").exists(), others.exists()) == (False, False, True)
    assert len(list(tmp_path.glob("none/*.json"))) == 4  # two configurations and their times


def test_where_none_is_better_all_is_noise(folder: Path, tmp_path: Path) -> None:
    result = result_of(folder / "none.toml", tmp_path)
    assert {one.verdict for one in result.comparisons} == {"noise"}
    assert {one.p for one in result.comparisons} == {1.0}


def test_what_is_finished_is_kept_and_read_again(folder: Path, tmp_path: Path) -> None:
    first = outcomes(folder / "none.toml", tmp_path / "once")
    assert [one.status for one in first] == ["finished", "finished"]
    again = outcomes(folder / "none.toml", tmp_path / "once")
    assert [one.status for one in again] == ["kept", "kept"]
    assert [one.result for one in again] == [one.result for one in first]
    outcomes(folder / "none.toml", tmp_path / "twice")
    assert kept(tmp_path / "once") == kept(tmp_path / "twice")
    (run_of_both,) = load_results(tmp_path / "once", cost=lambda *_: 1.0)
    assert [one.name for one in run_of_both.configurations] == ["eight", "seven"]
    assert run_of_both.comparisons
    assert run_of_both.finished


def test_an_index_that_another_process_made_first_is_taken(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evals.chunking.cache_folder", lambda: tmp_path / "cache")
    rename = Path.rename

    def second(made: Path, target: Path) -> Path:
        if made.name == "index":
            shutil.copytree(made, target)
        return rename(made, target)

    monkeypatch.setattr(Path, "rename", second)
    assert [one.status for one in outcomes(folder / "none.toml", tmp_path / "results")] == ["finished"] * 2


def test_without_the_first_nothing_is_compared(folder: Path, tmp_path: Path) -> None:
    outcomes(folder / "none.toml", tmp_path)
    for path in tmp_path.glob("*/*.json"):
        if '"eight"' in path.read_text():
            path.unlink()
    (result,) = load_results(tmp_path)
    assert not result.comparisons and "first configuration has no result" in result.uncompared


def test_other_settings_have_another_file(folder: Path, tmp_path: Path) -> None:
    file = str(folder / "none.toml")
    as_set, other = (plan(load_experiment(file), **flags)[0] for flags in ({}, {"alpha": 0.3}))
    assert as_set.digest != other.digest
    assert as_set.digest == plan(load_experiment(file))[0].digest


def test_what_needs_a_model_is_skipped_and_said(folder: Path, tmp_path: Path) -> None:
    models = {
        "bundled": {},
        "away": {"embedding_model": "ollama/nowhere"},
        "keyless": {"embedding_model": "openai/some"},
        "hyde": {"hyde": "on"},
    }
    file = write(folder / "models.toml", models)
    found = {one.planned.named.name: one for one in outcomes(file, tmp_path)}
    assert [one.status for one in found.values()] == ["finished", "skipped", "skipped", "skipped"]
    assert "Cannot reach" in found["away"].why
    assert "needs a key" in found["keyless"].why
    assert "--llm" in found["hyde"].why


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"alhpa": 0.5}, r"may not change 'alhpa'\. Did you mean 'alpha'\?"),
        ({"data_dir": "/"}, "may not change 'data_dir'"),
        ({"alpha": 3}, "ATHENA_ALPHA cannot be 3"),
        ({"splitter": "fixed 50/50"}, "no splitter 'fixed 50/50'"),
        ({"splitter": "words"}, "no splitter 'words'"),
    ],
)
def test_a_bad_setting_is_refused(folder: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        plan(load_experiment(str(write(folder / "bad.toml", {"one": settings}))))


def test_a_bad_file_is_refused(folder: Path) -> None:
    bad = folder / "bad.toml"
    for text, said in (("title = ", "not TOML"), ('title = "x"', "dataset"), ("", "title")):
        bad.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError, match=said):
            load_experiment(str(bad))
    for deep in ("[" * 20_000, "{ a = " * 20_000):
        bad.write_text(f"title = {deep}", encoding="utf-8")
        with pytest.raises(ConfigurationError, match="nested too deeply"):
            load_experiment(str(bad))
    with pytest.raises(ConfigurationError, match="needs the folder"):
        load_experiment(str(write(bad, {"a": {}}).rename(folder / "manuals" / "elsewhere.toml")))
    (folder / "manuals" / "elsewhere.toml").unlink()
    with pytest.raises(ConfigurationError, match="two configurations 'quotes 3'"):
        load_experiment(str(write(bad, {"quotes 3": {}}, "\n[sweeps]\nquotes = [3]\n")))
    for name in ("Z", str(folder / "nothing.toml")):
        with pytest.raises((ConfigurationError, DatasetError), match=r"no experiment|does not exist"):
            load_experiment(name)


def test_questions_that_are_wrong_are_refused_and_nothing_is_measured(folder: Path, tmp_path: Path) -> None:
    (folder / "wrong" / "qrels").mkdir(parents=True)
    shutil.copy(folder / "questions" / "queries.jsonl", folder / "wrong")
    (folder / "wrong" / "qrels" / "test.tsv").write_text("pump\tabsent.md#Pump\t1\n", encoding="utf-8")
    file = write(folder / "wrong.toml", {"one": {}})
    file.write_text(file.read_text().replace('"questions"', '"wrong"'), encoding="utf-8")
    with pytest.raises(DatasetError, match=r"not there: absent\.md#Pump.*athena eval check"):
        outcomes(file, tmp_path)
    assert not kept(tmp_path)


def test_a_file_that_is_cut_off_is_named(folder: Path, tmp_path: Path) -> None:
    outcomes(folder / "none.toml", tmp_path)
    (path, *_) = (found for found in tmp_path.glob("*/*.json") if not found.name.endswith(".ms.json"))
    path.write_bytes(path.read_bytes()[:200])
    for read in (lambda: outcomes(folder / "none.toml", tmp_path), lambda: load_results(tmp_path)):
        with pytest.raises(DatasetError, match=f"{path.name}.*cut off.*Delete it"):
            read()


def test_a_full_disk_keeps_what_was_finished(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing = Path.write_text

    def full(path: Path, text: str, **given: Any) -> int:
        if kept(tmp_path) and ".ms" not in path.name:
            writing(path, text[:100], **given)
            raise OSError(28, "No space left on device")
        return writing(path, text, **given)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(DiskFull, match="disk is full"):
        outcomes(folder / "none.toml", tmp_path)
    monkeypatch.undo()
    assert not list(tmp_path.glob("*/*.partial"))
    assert [one.status for one in outcomes(folder / "none.toml", tmp_path)] == ["kept", "finished"]


def test_the_command_prints_an_object_an_experiment(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [str(folder / f"{name}.toml") for name in KINDS]
    given = ["eval", "experiment", *files, "--results", str(tmp_path), "--json"]
    dry = CliRunner().invoke(app, [*given, "--dry-run"])
    assert {row["state"] for row in json.loads(dry.stdout)} == {"run"}
    printed = CliRunner().invoke(app, given)
    assert printed.exit_code == 0, printed.output
    first, second = map(json.loads, printed.stdout.splitlines())
    assert (first["experiment"], second["experiment"]) == ("winner", "none")
    assert {"name", "settings", "metrics", "intervals", "ms", "tokens_in", "tokens_out", "cost"} <= first[
        "configurations"
    ][0].keys()
    assert {"a", "b", "metric", "difference", "interval", "p", "verdict"} <= first["comparisons"][0].keys()
    dry = CliRunner().invoke(app, [*given, "--dry-run"])
    assert all(row["state"] == "be kept" and row["last_seconds"] > 0 for row in json.loads(dry.stdout))
    dry = CliRunner().invoke(app, [*given[:-1], "--dry-run"])
    assert "0 configurations would run." in dry.stdout
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    shown = CliRunner().invoke(app, [*given[:-1], "--plots", str(tmp_path / "plots")])
    assert (shown.exit_code, "matplotlib is not installed" in shown.stderr) == (0, True)
    assert "▼" in shown.stdout
    assert "Too few questions" in shown.stdout


def test_the_command_draws_what_came_of_an_experiment_of_ones_own(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    given = ["eval", "experiment", str(folder / "winner.toml"), "--results", str(tmp_path / "results")]
    dry = CliRunner().invoke(app, [*given, "--dry-run"])
    assert "none of them ran here before" in dry.stdout
    drawn = CliRunner().invoke(app, [*given, "--plots", str(tmp_path / "plots")])
    assert drawn.exit_code == 0, drawn.output
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {"winner.svg", "winner.png"}
    assert "winner.svg" in drawn.stderr
    refused = CliRunner().invoke(app, [*given, "--plots", str(folder / "winner.toml")])
    assert (refused.exit_code, "Name a folder that can be written" in refused.stderr) == (1, True)


@pytest.mark.parametrize("given", [[], ["A", "--all"], ["Z"], ["A", "B", "--embedding"]])
def test_a_wrong_command_says_so(given: list[str]) -> None:
    ended = CliRunner().invoke(app, ["eval", "experiment", *given])
    assert ended.exit_code in (1, 2)
    assert ended.stderr


def test_ours_can_be_planned_and_c_takes_other_models() -> None:
    assert names() == ["A", "B", "C", "D", "E"]
    plans = plan_all([], embeddings=["ollama/other"])
    assert len({one.digest for one in plans}) == len(plans)
    assert "ollama/other" in {one.named.name for one in plans if one.experiment.name == "C"}
    presets = {one.settings.memory for one in plans if one.experiment.name == "D"}
    assert presets == {"none", "short_term", "agent", "inject", "generative", "graph"}
    with pytest.raises(ConfigurationError, match="C alone"):
        plan_all(["A"], embeddings=["ollama/other"])


@pytest.mark.kill
@pytest.mark.timeout(1200)
def test_a_run_that_was_killed_anywhere_ends_with_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    files = [str(folder / f"{name}.toml") for name in KINDS]
    program = "from athena.cli import main; main()"

    def start(results: str, cache: str) -> subprocess.Popen[bytes]:
        given = ["eval", "experiment", *files, "--results", str(tmp_path / results)]
        environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / cache)}
        return subprocess.Popen([sys.executable, "-c", program, *given], env=environment, cwd=Path.cwd())

    began = time.monotonic()
    assert start("whole", "cache-whole").wait() == 0
    took = time.monotonic() - began
    chance = random.Random(7)
    for _ in range(20):
        running = start("killed", "cache-killed")
        time.sleep(chance.uniform(0.3, 1.0) * took)
        running.send_signal(signal.SIGKILL)
        running.wait()
        if len(kept(tmp_path / "killed")) == 4:  # begin again, with an index that is there
            for path in (tmp_path / "killed").glob("*/*"):
                path.unlink()
    assert start("killed", "cache-killed").wait() == 0
    assert kept(tmp_path / "killed") == kept(tmp_path / "whole")
