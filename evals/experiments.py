"""`athena eval experiment`: configurations on one question set, each kept as it is finished.

An experiment is a TOML file; A to E are in `evals/data/experiments`. It has `title`, `dataset` (a folder of
questions, or of talks over several sessions) and `corpus` (the Markdown that is indexed), both counted from
the file; `[[configurations]]`, each a `name` and the `settings` that it changes, the first being what the
others are compared with; and `[sweeps]`, a setting with the values that it takes one by one. `follows` says
on the page of results which defaults follow.
"""

from __future__ import annotations

import hashlib
import json
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import athena
from athena.loading import load_settings
from athena.models import Models
from athena.settings import Settings
from evals.checking import check
from evals.chunking import APART, SENTENCES, CutAthena, KnownScores, check_splitter, folder_hash, open_index
from evals.datasets import load_queries, read_text, relevant_to
from evals.indexing import Bars, bar
from evals.judges import open_judge
from evals.metrics import percentile
from evals.results import (
    LANGUAGE_MODEL,
    TIMES,
    Configuration,
    Cost,
    ExperimentResult,
    Times,
    merged,
    read_result,
    summary,
    write_result,
)
from evals.rules import Similarity
from evals.scoring import Scored, score_questions, score_talks
from evals.talks import load_talks
from memory.options import MemoryOptions
from pipeline.errors import ConfigurationError, DatasetError, ModelError, ModelUnavailable
from pipeline.options import ChatOptions, SearchOptions

OURS = Path(__file__).parent / "data" / "experiments"
ROOMS = ("pipeline", "readers", "memory")
"""What an experiment's figures depend on, with the modules of this room that run it."""
MODULES = (
    "chunking",
    "conversations",
    "datasets",
    "experiments",
    "indexing",
    "judge_prompts",
    "judges",
    "judging",
    "metrics",
    "playing",
    "rules",
    "scoring",
    "talks",
)
OTHERS = ("embedding_model", "cross_encoder", "llm", "hyde", "hyde_timeout_s", "answerable_threshold")
SPLITTER = "splitter"
MODELS = "C"  # the experiment that compares embedding models
CHANGEABLE = frozenset(
    {SPLITTER, *OTHERS, *SearchOptions.model_fields, *ChatOptions.model_fields, *MemoryOptions.model_fields}
)
"""What a configuration may change: how is searched, answered and remembered, not where anything is."""


class Named(BaseModel):
    """One configuration as a file has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=80)]
    settings: dict[str, Any] = {}


class Experiment(BaseModel):
    """An experiment as a file has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[\w-]{1,40}$")]
    file: Path
    title: str
    dataset: Path
    corpus: Path
    axis: str = ""  # what a plot has along its bottom
    follows: str = ""  # which defaults follow, or why a measurement does not change one
    configurations: Annotated[tuple[Named, ...], Field(min_length=1)]
    sweeps: dict[str, tuple[Any, ...]] = {}

    @property
    def all(self) -> tuple[Named, ...]:
        """The configurations, those of the sweeps after the others."""
        swept = (
            Named(name=f"{setting} {_shown(value)}", settings={setting: value})
            for setting, values in self.sweeps.items()
            for value in values
        )
        return (*self.configurations, *swept)

    @property
    def folder(self) -> Path:
        """Where the questions are."""
        return (self.file.parent / self.dataset).resolve()

    @property
    def manuals(self) -> Path:
        """Where the documents are."""
        return (self.file.parent / self.corpus).resolve()

    @cached_property
    def data(self) -> str:
        """The hash of the questions and the documents."""
        return folder_hash([(self.folder, ("*.json", "*.jsonl")), (self.manuals, ("**/*.md",))])


@dataclass(frozen=True, slots=True)
class Planned:
    """One configuration that can be run, or the reason why not."""

    experiment: Experiment
    named: Named
    place: int
    settings: Settings
    models: Mapping[str, str]
    digest: str
    base: str  # hash of the settings without its own changes
    skip: str = ""

    @property
    def cost(self) -> Cost | None:
        """What tokens cost by the settings."""
        return getattr(self.settings, "cost", None)

    @property
    def splitter(self) -> str:
        """How the documents are cut."""
        return str(self.named.settings.get(SPLITTER, SENTENCES))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one configuration."""

    planned: Planned
    status: Literal["kept", "finished", "skipped"]
    result: ExperimentResult | None = None
    why: str = ""  # it was skipped


def names() -> list[str]:
    """The names of the experiments that come along."""
    return sorted(path.stem for path in OURS.glob("*.toml"))


def load_experiment(name: str) -> Experiment:
    """An experiment of ours by its name, or that of a TOML file.

    Raises `ConfigurationError` where there is none of that name or the file is not as it should be, and
    `DatasetError` where it cannot be read.
    """
    path = OURS / f"{name}.toml" if name in names() else Path(name)
    if path.suffix != ".toml":
        raise ConfigurationError(
            f"There is no experiment '{name:.80}'.", f"Name one of {', '.join(names())}, or a TOML file."
        )
    try:
        held = tomllib.loads(read_text(path))
        found = Experiment.model_validate({"name": path.stem, "file": path.resolve(), **held})
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"Cannot read '{path}': not TOML ({error}).", "Mend it.") from error
    except RecursionError as error:
        raise ConfigurationError(
            f"Cannot read '{path}': its lists or tables are nested too deeply.", "Write it flatter."
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigurationError(
            f"Cannot use '{path}': {where}: {first['msg']}.", "docs/evaluation.md has an example."
        ) from error
    return _checked(found)


def _checked(experiment: Experiment) -> Experiment:
    """The experiment; raises `ConfigurationError` for what it names and is not there."""
    for folder in (experiment.folder, experiment.manuals):
        if not folder.is_dir():
            raise ConfigurationError(
                f"Experiment {experiment.name} needs the folder '{folder}', which is not there.",
                f"Correct 'dataset' or 'corpus' in '{experiment.file}': they count from its folder.",
            )
    known = [named.name for named in experiment.all]
    if double := next((name for name in known if known.count(name) > 1), ""):
        raise ConfigurationError(
            f"Experiment {experiment.name} has two configurations '{double}'.", "Rename one."
        )
    for named in experiment.all:
        for setting in named.settings.keys() - CHANGEABLE:
            near = get_close_matches(setting, CHANGEABLE, n=1)
            raise ConfigurationError(
                f"Experiment {experiment.name}, '{named.name}': it may not change '{setting:.80}'.",
                f"Did you mean '{near[0]}'?"
                if near
                else "The settings of searching, answering and remembering it may, and `splitter`.",
            )
        check_splitter(str(named.settings.get(SPLITTER, SENTENCES)))
    return experiment


def plan_all(names_given: Sequence[str], *, embeddings: Sequence[str] = (), **flags: Any) -> list[Planned]:
    """The configurations of experiments by name or file, of all that come along where none is given.

    `embeddings` are models that experiment C also compares. Raises as `load_experiment` and `plan` do.
    """
    found = [load_experiment(name) for name in names_given or names()]
    others = tuple(Named(name=name, settings={"embedding_model": name}) for name in embeddings)
    if others and not any(experiment.name == MODELS for experiment in found):
        raise ConfigurationError(
            "Embedding models are compared by experiment C alone.", "Name C, or leave out --embedding."
        )
    wider = [
        experiment.model_copy(update={"configurations": (*experiment.configurations, *others)})
        if experiment.name == MODELS
        else experiment
        for experiment in found
    ]
    return [planned for experiment in wider for planned in plan(experiment, **flags)]


def plan(experiment: Experiment, **flags: Any) -> list[Planned]:
    """Each configuration with its settings and digest; `flags` are settings of all of them.

    No language model is asked that nobody names. Raises `ConfigurationError` for a value out of range.
    """
    planned = []
    common = load_settings(**{"llm": "none", **flags})
    for place, named in enumerate(experiment.all):
        changes = {name: value for name, value in named.settings.items() if name != SPLITTER}
        try:
            settings = load_settings(**{"llm": "none", **flags, **changes})
        except ConfigurationError as error:
            where = f"Experiment {experiment.name}, '{named.name}'"
            raise ConfigurationError(f"{where}: {error.problem}", f"Correct '{experiment.file}'.") from error
        planned.append(_planned(experiment, named, place, settings, common))
    return planned


def _planned(
    experiment: Experiment, named: Named, place: int, settings: Settings, common: Settings
) -> Planned:
    skip, models = "", {}
    try:
        models = models_of(settings)
    except ModelError as error:
        skip = str(error)
    if settings.hyde == "on" and not skip and not models.get(LANGUAGE_MODEL):
        skip = "A hypothesis needs a language model: name one with --llm."
    what = {
        "experiment": experiment.name,
        "name": named.name,
        "settings": {**_told(settings), **named.settings},
        "data": experiment.data,
        "code": code_version(),
        "models": models,
    }
    return Planned(experiment, named, place, settings, models, _digest(what), _digest(_told(common)), skip)


def _told(settings: Settings) -> dict[str, Any]:
    return settings.model_dump(include=set(CHANGEABLE), mode="json")


def _digest(what: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def models_of(settings: Settings) -> dict[str, str]:
    """The models by their roles, with the hash of their file where it is known; raises `ModelError`."""
    models = Models(settings)
    encoder = models.encoder[0]
    reranker = models.cross_encoder()[1] if settings.rerank else None
    named = ""
    if settings.llm != "none":
        llm, choice = models.language_model()
        named = choice.name
        if llm is None:
            raise ModelUnavailable(
                f"'{settings.llm}' cannot be asked: {choice.detail.rstrip('.')}.", choice.fix
            )
    found = {
        "embedding": f"{encoder.name} {encoder.fingerprint[:16]}".strip(),
        "cross-encoder": reranker.name if reranker else "",
        LANGUAGE_MODEL: named,
    }
    return {role: name for role, name in found.items() if name}


@cache
def code_version() -> str:
    """The program's version and the hash of the code, weights and tables that figures depend on."""
    here = Path(__file__).parent
    kinds = ("**/*.py", "**/*.json", "**/*.toml", "**/*.onnx")
    rooms = [(here.parent / room, kinds) for room in ROOMS]
    return f"{athena.__version__}+{folder_hash([*rooms, (here, [f'{name}.py' for name in MODULES])])}"


def result_path(planned: Planned, results: Path) -> Path:
    """Where a configuration's result is kept."""
    return results / planned.experiment.name / f"{planned.digest}.json"


def last_seconds(planned: Planned, results: Path) -> float | None:
    """How long the configuration took when it last ran, with whatever code; None where it never did."""
    found = []
    for path in (results / planned.experiment.name).glob(f"*{TIMES}"):
        result = path.with_name(path.name.removesuffix(TIMES) + ".json")
        if result.is_file() and read_result(result).baseline.name == planned.named.name:
            times = Times.model_validate_json(read_text(path))
            found.append((times.finished, times.seconds))
    return max(found)[1] if found else None


def run(plans: Sequence[Planned], *, results: Path, report: Bars | None = None) -> Iterator[Outcome]:
    """Run what has no result yet, one configuration after the other, and keep each as it is finished.

    A configuration whose model cannot be reached is skipped, with the reason. Raises `DatasetError` where a
    kept result is damaged, and `StoreError` where one cannot be written.
    """
    with ExitStack() as opened:
        runner = Runner(opened, report)
        for planned in plans:
            path = result_path(planned, results)
            if path.is_file():
                yield Outcome(planned, "kept", read_result(path))
            elif planned.skip:
                yield Outcome(planned, "skipped", why=planned.skip)
            else:
                yield runner.outcome(planned, results)


def together(outcomes: Sequence[Outcome]) -> list[ExperimentResult]:
    """Each experiment with those of its configurations that have a result, compared."""
    done = [(outcome.planned, outcome.result) for outcome in outcomes if outcome.result]
    return [
        merged([part for planned, part in done if planned.experiment.name == name], cost=done[0][0].cost)
        for name in dict.fromkeys(planned.experiment.name for planned, _ in done)
    ]


def delete_others(plans: Sequence[Planned], results: Path) -> None:
    """Delete what the experiments have of other code, data, models or settings."""
    own = {planned.digest for planned in plans}
    for name in {planned.experiment.name for planned in plans}:
        for path in (results / name).glob("*.json"):
            if path.name.partition(".")[0] not in own:
                path.unlink(missing_ok=True)


class Runner:
    """What one run has open: the indexes, and the model that compares answers with references."""

    def __init__(self, opened: ExitStack, report: Bars | None) -> None:
        self._opened = opened
        self._report = report
        self._indexes: dict[str, CutAthena] = {}
        self._similarity = Similarity()
        self._known = KnownScores()
        self._checked: set[tuple[Path, Path]] = set()  # questions and their documents

    def outcome(self, planned: Planned, results: Path) -> Outcome:
        """The configuration, run and kept; skipped where its model cannot be reached."""
        started = time.perf_counter()
        try:
            scored = self._scored(planned)
        except ModelError as error:
            return Outcome(planned, "skipped", why=str(error))
        result = result_of(planned, scored)
        times = Times(
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=round(time.perf_counter() - started, 3),
            ms=_step_times(scored),
        )
        write_result(results, result, times)
        return Outcome(planned, "finished", read_result(result_path(planned, results)))

    def _scored(self, planned: Planned) -> list[Scored]:
        index = self._index(planned)
        experiment = planned.experiment
        progress = bar(self._report, f"{experiment.name}: {planned.named.name}")
        if talks := load_talks(experiment.folder):
            changes = {name: getattr(planned.settings, name) for name in planned.named.settings}
            return score_talks(index, talks, changes=changes, similarity=self._similarity, report=progress)
        self._check(experiment)
        queries = load_queries(experiment.folder)
        judge = open_judge(index, planned.settings.llm) if LANGUAGE_MODEL in planned.models else None
        return score_questions(
            index,
            queries,
            similarity=self._similarity,
            relevant=relevant_to(experiment.folder),
            judge=judge,
            report=progress,
        )

    def _check(self, experiment: Experiment) -> None:
        """Raise `DatasetError` for what is wrong with the questions: figures would be, too."""
        both = (experiment.folder, experiment.manuals)
        if both not in self._checked:
            wrong = check(experiment.folder, corpus=experiment.manuals).wrong
            if wrong:
                raise DatasetError(
                    f"'{experiment.folder}': {wrong[0]}.",
                    "Mend it and run again: `athena eval check` says whether all is right.",
                )
            self._checked.add(both)

    def _index(self, planned: Planned) -> CutAthena:
        """The documents as the configuration cuts and embeds them, with its settings."""
        settings, experiment = planned.settings, planned.experiment
        corpus = folder_hash([(experiment.manuals, ("**/*.md",))])
        model = f"{settings.embedding_model} {planned.models.get('embedding', '')}"
        what = f"{corpus} {code_version()} {planned.splitter} {model}"
        key = hashlib.sha256(what.encode()).hexdigest()[:16]
        if key not in self._indexes:
            indexing = bar(self._report, f"Indexing ({planned.splitter})")
            index = open_index(
                settings,
                planned.splitter,
                experiment.manuals,
                key=key,
                known=self._known,
                report=indexing,
            )
            self._indexes[key] = index
            self._opened.callback(index.close)
        index = self._indexes[key]
        index.use(settings.model_copy(update={**APART, "data_dir": index.settings.data_dir}))
        return index


def result_of(planned: Planned, scored: Sequence[Scored]) -> ExperimentResult:
    """The result of one configuration, from its questions; nothing in it depends on a clock."""
    metrics = list(dict.fromkeys(metric for item in scored for metric in item.scores))
    scores = {metric: tuple(item.scores.get(metric) for item in scored) for metric in metrics}
    means, intervals = summary(scores)
    written = [item.tokens_out for item in scored if item.tokens_out is not None]
    experiment = planned.experiment
    return ExperimentResult(
        experiment=experiment.name,
        title=experiment.title,
        axis=experiment.axis,
        dataset=experiment.folder.name,
        data=experiment.data,
        code=code_version(),
        base=planned.base,
        configurations=(
            Configuration(
                name=planned.named.name,
                place=planned.place,
                digest=planned.digest,
                settings=planned.named.settings,
                models=planned.models,
                metrics=means,
                intervals=intervals,
                tokens_in=sum(item.tokens_in for item in scored),
                tokens_out=sum(written) if written else None,
                tokens_estimated=any(item.estimated for item in scored),
                questions=tuple(item.id for item in scored),
                scores=scores,
            ),
        ),
    )


def _step_times(scored: Sequence[Scored]) -> dict[str, dict[str, float]]:
    """p50 and p95 of each step's milliseconds over the questions that it ran for."""
    steps = dict.fromkeys(step for item in scored for step in item.ms)
    times = {step: [item.ms[step] for item in scored if step in item.ms] for step in steps}
    return {
        step: {"p50": round(percentile(values, 0.5), 3), "p95": round(percentile(values, 0.95), 3)}
        for step, values in times.items()
    }


def _shown(value: object) -> str:
    """A setting's value as a name has it."""
    return {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)
