"""`athena eval experiment`: configurations on one question set, each compared with the first.

Experiments A to D are TOML files in `evals/data/experiments`. `dataset` (a folder of questions or talks) and
`corpus` (the Markdown to index) are relative to the file; each of `[[configurations]]` has a `name` and the
`settings` that it changes. Only experiments know the setting `splitter` (`evals/chunks.py`).

The results of an experiment are in one JSON file, and in one more for each language model. Each configuration
is saved as soon as it is finished. No experiment runs it again while its settings, data and models are
unchanged. Changes to the code are not detected: delete the results to measure them.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from athena.loading import load_settings
from evals.chunks import SECTIONS
from evals.datasets import load_queries, read_text, relevant_to
from evals.indexing import Bars, indexed_corpus, progress
from evals.judging import Similarity
from evals.metrics import bootstrap, mean, percentile
from evals.scoring import Scored, score_questions, score_talks
from evals.significance import Comparison, compare, holm
from evals.talks import is_of_talks, load_talks
from pipeline.errors import ConfigurationError, DatasetError, ModelError, StoreError

if TYPE_CHECKING:
    from athena import Athena

OURS = Path(__file__).parent / "data" / "experiments"
RESULTS = Path("evals/results")
SPLITTER = "splitter"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Named(_Record):
    """One configuration of an experiment's file."""

    name: str
    settings: dict[str, Any] = {}

    @property
    def splitter(self) -> str:
        """The name of the splitter that cuts the documents."""
        return str(self.settings.get(SPLITTER, SECTIONS))


class Experiment(_Record):
    """An experiment's file; `dataset` and `corpus` are absolute paths."""

    name: str
    title: str
    dataset: Path
    corpus: Path
    conclusion: str = ""
    configurations: tuple[Named, ...]


class Result(_Record):
    """One finished configuration; `scores` are 0..1, by question id and metric."""

    name: str
    key: str  # a hash of settings, data and models
    finished: str  # ISO 8601, UTC
    scores: Mapping[str, Mapping[str, FiniteFloat]]
    ms_p50: float  # per question, until the whole answer
    ms_p95: float
    words: float  # mean for a question: words of its passages; in talks, of the answer

    def metric(self, name: str) -> dict[str, float]:
        """Return the scores of a metric by question id, for the questions that it applies to."""
        return {question: found[name] for question, found in self.scores.items() if name in found}

    @property
    def metrics(self) -> list[str]:
        """The names of the metrics that have a score."""
        return list(dict.fromkeys(name for found in self.scores.values() for name in found))

    def interval(self, name: str) -> tuple[float, float, float]:
        """Return the mean of a metric, and the low and high end of its 95 % bootstrap interval."""
        found = bootstrap(list(self.metric(name).values()))
        return found.value, found.low, found.high


class ExperimentResult(_Record):
    """The finished configurations of an experiment; the first is the baseline."""

    experiment: str  # its name
    llm: str = "none"  # the language model that answered
    configurations: tuple[Result, ...]

    @property
    def stem(self) -> str:
        """The name of its files, without the ending."""
        name = f"{self.experiment}-{self.llm}".removesuffix("-none")
        return re.sub(r"[^\w.-]", "-", name)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Each other configuration compared with the first, by metric, with p corrected by Holm's method."""
        first, *others = self.configurations
        found = []
        for other in others:
            for name in first.metrics:
                ours, theirs = other.metric(name), first.metric(name)
                if both := [question for question in theirs if question in ours]:
                    pairs = [[scores[question] for question in both] for scores in (ours, theirs)]
                    found.append(compare(other.name, first.name, name, *pairs))
        return holm(found)


def names() -> list[str]:
    """Return the names of the experiments that come with Athena."""
    return sorted(path.stem for path in OURS.glob("*.toml"))


def load_experiment(name: str) -> Experiment:
    """Return an experiment by its name; raise `ConfigurationError` for an unknown one."""
    if name not in names():
        raise ConfigurationError(f"There is no experiment '{name:.80}'.", f"There are {', '.join(names())}.")
    held = tomllib.loads((OURS / f"{name}.toml").read_text(encoding="utf-8"))
    folders = {part: (OURS / held[part]).resolve() for part in ("dataset", "corpus")}
    return Experiment.model_validate({"name": name, **held, **folders})


def run(
    experiment: Experiment,
    *,
    results: Path,
    flags: Mapping[str, Any],
    say: Callable[[str], None] | None = None,
    report: Bars | None = None,
) -> ExperimentResult:
    """Run the configurations that have no stored result, and return the results of all.

    `flags` are settings for every configuration. A configuration whose model cannot be used is left out, and
    `say` is called with the reason.

    Raises:
        ConfigurationError: no configuration could be run.
        DatasetError: the questions or a stored result cannot be read.
        StoreError: a result cannot be written.
    """
    result = ExperimentResult(experiment=experiment.name, llm=flags.get("llm", "none"), configurations=())
    path = results / f"{result.stem}.json"
    stored = {file: read_result(file).configurations for file in sorted(results.glob("*.json"))}
    by_key = {one.key: one for found in stored.values() for one in found}
    before = {one.name: one for one in stored.get(path, ())}  # kept in the file until all have run
    done: dict[str, Result] = {}
    for named in experiment.configurations:
        try:
            done[named.name] = _run_one(experiment, named, flags, by_key, report)
        except ModelError as error:
            if say:
                say(f"{experiment.name}, {named.name}: left out. {error}")
            continue
        _write(path, result, {**before, **done})
    if not done:
        raise ConfigurationError(f"No configuration of {experiment.name} could be run.", "See above.")
    return _write(path, result, done)


def _run_one(
    experiment: Experiment,
    named: Named,
    flags: Mapping[str, Any],
    stored: Mapping[str, Result],
    report: Bars | None,
) -> Result:
    """Return the stored result with this configuration's key, from any experiment, or run it."""
    from athena import open_athena

    changes = {name: value for name, value in named.settings.items() if name != SPLITTER}
    with open_athena(load_settings(**{"llm": "none", **flags, **changes})) as athena:
        key = _key(experiment, named, athena, flags)
        if key in stored:
            return stored[key].model_copy(update={"name": named.name})
        scored = _score(experiment, named, athena, report)
    times = [item.ms for item in scored]
    return Result(
        name=named.name,
        key=key,
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        scores={item.id: {name: round(value, 6) for name, value in item.scores.items()} for item in scored},
        ms_p50=round(percentile(times, 0.5), 1),
        ms_p95=round(percentile(times, 0.95), 1),
        words=round(mean([item.words for item in scored]), 1),
    )


def _score(experiment: Experiment, named: Named, athena: Athena, report: Bars | None) -> list[Scored]:
    title = f"{experiment.name}: {named.name}"
    similarity = Similarity()
    folder, corpus = experiment.dataset, experiment.corpus
    with indexed_corpus(athena, folder, corpus, report, splitter=named.splitter) as (other, _):
        if is_of_talks(folder):
            talks, preset = progress(load_talks(folder), report, title), athena.settings.memory
            return score_talks(other, talks, preset=preset, similarity=similarity)
        judged, queries = relevant_to(folder), load_queries(folder)
        asked = progress(queries, report, title)
        return score_questions(other, asked, similarity=similarity, judged=judged)


def _key(experiment: Experiment, named: Named, athena: Athena, flags: Mapping[str, Any]) -> str:
    """Return a hash of the changed settings, the models, and the files of the data set and the corpus."""
    given = {name: str(flags[name]) for name in sorted(flags) if name != "data_dir"}
    models = [athena.encoder.name, athena.models.language_model()[1].name, athena.encoder.fingerprint]
    whole = hashlib.sha256(json.dumps([named.settings, given, *models], sort_keys=True).encode())
    for folder in (experiment.dataset, experiment.corpus):
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            whole.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()[:16]


def read_result(path: Path) -> ExperimentResult:
    """Return the result in a file; raise `DatasetError` if the file is unreadable or damaged."""
    try:
        return ExperimentResult.model_validate_json(read_text(path))
    except ValidationError as error:
        raise DatasetError(f"Cannot read '{path}': {error}.", "Delete it and run again.") from error


def _write(path: Path, result: ExperimentResult, done: Mapping[str, Result]) -> ExperimentResult:
    """Write a result with the configurations in `done` atomically, and return it; raise `StoreError`."""
    result = result.model_copy(update={"configurations": tuple(done.values())})
    partial = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(result.model_dump_json() + "\n", encoding="utf-8")
        partial.replace(path)
        return result
    except OSError as error:
        raise StoreError(
            f"Cannot write '{path}': {error.strerror or error}.", "Make room, or name another folder."
        ) from error
