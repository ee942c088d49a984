"""A language model as a judge of answers, and how far a judge can be believed: by labelled answers.

A judge scores what it is shown: the passages, not the documents. What it says never takes the place of what
is found by rule.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from athena.models import Models
from evals.datasets import held_out, load_rows
from evals.indexing import Report
from evals.judge_prompts import ANSWER_RELEVANCE, CONTEXT_RELEVANCE, GROUNDEDNESS
from evals.judging import text_seen
from evals.metrics import mean
from evals.rules import CAN_SEE, rule_on
from evals.support import GivenPassage, evidence_for
from pipeline.answering.citations import sentences_of
from pipeline.answering.prompts import WORD_BYTES
from pipeline.answering.verification import Judge, plain_sentence
from pipeline.errors import ConfigurationError, DatasetError, ModelError, ModelTimeout, ModelUnavailable
from pipeline.models.generation import complete

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from athena import Athena
    from evals.datasets import Question
    from evals.judging import Heard

BY_RULE = "rules"
CASES = Path(__file__).parent / "data" / "judge"
TESTED = "judges"  # of the data folder: what each judge's own test came to
ACCEPTED = 2 / 3  # of each sentence's groundedness, and of the answer's relevance
MOST_FAILURES = 3  # replies in a row that do not come, before a judge is given up
RIGHT = ("right", "abstained")
MODEL_CAN_SEE = (
    "A model sees what a sentence means. It overlooks wrong numbers and units, takes what is on topic for "
    "an answer, and may score the same answer otherwise tomorrow: believe it as far as its own test goes."
)

MOST = 3
Score = Annotated[int, Field(ge=0, le=MOST)]


class Graded(BaseModel):
    """One grade, 0 to 3, with its reason."""

    model_config = ConfigDict(frozen=True)

    score: Score
    reason: str = ""


class GradedSentence(Graded):
    """That of a numbered sentence."""

    number: int


class GradedSentences(BaseModel):
    """Those of an answer's sentences."""

    model_config = ConfigDict(frozen=True)

    sentences: tuple[GradedSentence, ...]


class JudgeCase(BaseModel):
    """An answer to judge: what was asked and found, and what a person called it."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(validation_alias="_id")
    question: str
    reference: str = ""
    answer: str
    label: str
    passages: tuple[GivenPassage, ...]


PROMPTS: Mapping[str, tuple[str, type[Graded] | type[GradedSentences]]] = {
    "context_relevance": (CONTEXT_RELEVANCE, Graded),
    "groundedness": (GROUNDEDNESS, GradedSentences),
    "answer_relevance": (ANSWER_RELEVANCE, Graded),
}
Reply = TypeVar("Reply", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Scores:
    """What a model made of one answer, 0..1; None where its reply did not parse or did not come."""

    judge: str
    context_relevance: float | None = None
    groundedness: float | None = None
    answer_relevance: float | None = None
    sentences: tuple[Mapping[str, Any], ...] = ()  # text, score, reason
    reasons: Mapping[str, str] = field(default_factory=dict)
    unparsed: tuple[str, ...] = ()  # names of the scores whose replies did not parse
    failed: Mapping[str, str] = field(default_factory=dict)  # name of the score → why no reply came

    @property
    def accepts(self) -> bool | None:
        """Whether it takes the answer for right; None where it did not say."""
        if self.groundedness is None or self.answer_relevance is None:
            return None
        grounded = min((one["score"] for one in self.sentences), default=0.0)
        return grounded >= ACCEPTED and self.answer_relevance >= ACCEPTED


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """What `athena eval judge --json` prints: how many of each label a judge accepts."""

    judge: str
    cases: int
    accepted: Mapping[str, Mapping[str, int]]  # label → accepted, of, unparsed
    held_out: Mapping[str, Mapping[str, int]]  # the same, of the half that nothing is chosen on
    right_accepted: float | None  # None where it said nothing of any
    wrong_accepted: float | None
    unparsed: int
    can_see: str
    mistakes: tuple[Mapping[str, str], ...] = ()


class ModelJudge:
    """Asks one language model for scores, each for at most `timeout_s` seconds.

    Raises `ModelError` where it fails several times in a row, `ModelTimeout` where its first reply, or one
    after a failure, does not come in time.
    """

    def __init__(
        self, name: str, llm: LLM, *, timeout_s: float, tested: Mapping[str, Any] | None = None
    ) -> None:
        self.name = name
        self._llm = llm
        self._timeout_s = timeout_s
        self._tested = tested
        self._failures = 0
        self._heard = False  # whether its last reply came

    def scores(self, question: str, passages: Sequence[str], answer: str) -> Scores:
        """The three scores of one answer."""
        pieces = [plain_sentence(answer, piece).strip() for piece in sentences_of(answer)]
        asking = {
            "question": question,
            "answer": answer,
            "passages": _numbered(passages, before="Passage "),
            "sentences": _numbered(pieces),
            "word": secrets.token_hex(WORD_BYTES),
        }
        found: dict[str, Graded | GradedSentences | None] = {}
        failed: dict[str, str] = {}
        for name, (prompt, kind) in PROMPTS.items():
            try:
                found[name] = _parsed(self._reply(prompt.format(**asking)), kind)
                self._failures, self._heard = 0, True
            except ModelError as error:
                failed[name] = str(error)
                self._failures += 1
                if isinstance(error, ModelTimeout) and not self._heard:
                    problem = f"The judge {self.name} gave no reply in time: {error.problem}"
                    raise ModelTimeout(problem, error.fix) from error
                self._heard = False
                if self._failures >= MOST_FAILURES:
                    problem = f"The judge {self.name} failed {MOST_FAILURES} times in a row: {error.problem}"
                    raise ModelError(problem, error.fix) from error
        return _scores(self.name, found, failed, pieces)

    def _reply(self, prompt: str) -> str:
        return complete(self._llm, prompt, timeout_s=self._timeout_s, setting="ATHENA_ANSWER_TIMEOUT_S")

    def judged(
        self, heard: Sequence[tuple[Question, Heard]], *, report: Report | None = None
    ) -> dict[str, Any]:
        """What it made of all answers: means, how many replies say nothing, its own test, and each score."""
        scored: dict[str, Scores] = {}
        for done, (query, one) in enumerate(heard, start=1):
            passages = [passage.node.text for passage in one.retrieval.passages]
            scored[query.id] = self.scores(query.text, passages, text_seen(one))
            if report:
                report(done, len(heard))
        values = {name: [getattr(one, name) for one in scored.values()] for name in PROMPTS}
        known = {name: [value for value in values[name] if value is not None] for name in PROMPTS}
        return {
            "judge": self.name,
            "metrics": {name: mean(found) if found else None for name, found in known.items()},
            "unparsed": sum(len(one.unparsed) for one in scored.values()),
            "failed": sum(len(one.failed) for one in scored.values()),
            "replies": len(scored) * len(PROMPTS),
            "tested": self._tested,
            "can_see": MODEL_CAN_SEE,
            "scores": {name: asdict(one) for name, one in scored.items()},
        }


def open_judge(athena: Athena, name: str) -> ModelJudge:
    """The judge of a name, at temperature 0; raises `ConfigurationError` or `ModelUnavailable`."""
    provider, _, model = name.partition("/")
    if name != "auto" and not (provider in ("ollama", "openai") and model):
        raise ConfigurationError(
            f"The judge '{name:.80}' names no model.", "Name one: ollama/NAME or openai/NAME."
        )
    models = Models(athena.settings.model_copy(update={"temperature": 0.0}))
    llm, choice = models.language_model(name)
    if llm is None:
        raise ModelUnavailable(
            f"The judge '{name}' cannot be asked: {choice.detail.rstrip('.')}.", choice.fix
        )
    kept = _test_file(athena, choice.name)
    tested = asdict(kept_test(kept)) if kept.is_file() else None
    return ModelJudge(choice.name, llm, timeout_s=athena.settings.answer_timeout_s, tested=tested)


def kept_test(path: Path) -> JudgeReport:
    """A judge's own test as `try_judge` kept it; raises `DatasetError` where it is damaged."""
    try:
        return TypeAdapter(JudgeReport).validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        problem = f"Cannot read '{path}': it is no test of a judge, or cut off."
        raise DatasetError(problem, "Delete it, and test the judge again.") from error


def _test_file(athena: Athena, name: str) -> Path:
    return athena.settings.data_dir / TESTED / f"{quote(name, safe='')}.json"


def _numbered(texts: Sequence[str], *, before: str = "") -> str:
    return "\n\n".join(f"{before}{number}: {text}" for number, text in enumerate(texts, start=1)) or "None."


def _parsed(reply: str, kind: type[Reply]) -> Reply | None:
    """The first JSON object of a reply, where it is what was asked for; else None."""
    start = reply.find("{")
    try:
        value, _ = json.JSONDecoder().raw_decode(reply[start:]) if start >= 0 else (None, 0)
        return kind.model_validate(value)
    except (json.JSONDecodeError, ValidationError, RecursionError):
        return None


def _scores(
    judge: str,
    found: Mapping[str, Graded | GradedSentences | None],
    failed: Mapping[str, str],
    pieces: Sequence[str],
) -> Scores:
    """The scores of what parsed; sentences count only where each has its grade."""
    values = {name: value.score / MOST for name, value in found.items() if isinstance(value, Graded)}
    graded = found.get("groundedness")
    by_number = {one.number: one for one in graded.sentences} if isinstance(graded, GradedSentences) else {}
    whole = bool(pieces) and by_number.keys() == set(range(1, len(pieces) + 1))
    sentences = tuple(
        {"text": piece, "score": by_number[number].score / MOST, "reason": by_number[number].reason}
        for number, piece in enumerate(pieces, start=1)
        if whole
    )
    if whole:
        values["groundedness"] = mean([one.score / MOST for one in by_number.values()])
    return Scores(
        judge,
        **values,
        sentences=sentences,
        reasons={name: value.reason for name, value in found.items() if isinstance(value, Graded)},
        unparsed=tuple(name for name in PROMPTS if name not in values and name not in failed),
        failed=failed,
    )


# -- a judge's own test -------------------------------------------------------------------------------


def try_judge(athena: Athena, name: str, *, cases: Path = CASES, report: Report | None = None) -> JudgeReport:
    """Let a judge, a model or the rules, loose on labelled answers; a model's test is kept for its scores."""
    items = load_cases(cases)
    accepts = _by_rule(athena) if name == BY_RULE else _by_model(open_judge(athena, name))
    ruled = []
    for done, item in enumerate(items, start=1):
        ruled.append((item, accepts(item)))
        if report:
            report(done, len(items))
    result = _report_on(name, ruled)
    if name != BY_RULE:
        kept = _test_file(athena, name)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(
            json.dumps(asdict(replace(result, mistakes=())), ensure_ascii=False), encoding="utf-8"
        )
    return result


def load_cases(path: Path) -> list[JudgeCase]:
    """The labelled answers of a file, or of a folder's `.jsonl` files; raises `DatasetError`."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    cases = [case for file in files for case in load_rows(JudgeCase, file)]
    if not cases:
        raise DatasetError(f"'{path}' has no labelled answers.", "evals/data/judge/README.md has the format.")
    return cases


def _by_rule(athena: Athena) -> Callable[[JudgeCase], bool | None]:
    cutter, encoder = athena.sentence_cutter(), athena.encoder

    def accepts(case: JudgeCase) -> bool:
        judge = Judge(evidence_for(case.passages, cutter=cutter, encoder=encoder), encoder=encoder)
        return rule_on(case.answer, reference=case.reference, judge=judge).accepted

    return accepts


def _by_model(judge: ModelJudge) -> Callable[[JudgeCase], bool | None]:
    def accepts(case: JudgeCase) -> bool | None:
        return judge.scores(case.question, [one.text for one in case.passages], case.answer).accepts

    return accepts


def _report_on(name: str, ruled: Sequence[tuple[JudgeCase, bool | None]]) -> JudgeReport:
    said = [(case.label in RIGHT, accepted) for case, accepted in ruled if accepted is not None]
    mistakes = [(case, accepted) for case, accepted in ruled if accepted not in (None, case.label in RIGHT)]
    return JudgeReport(
        judge=name,
        cases=len(ruled),
        accepted=_counted(ruled),
        held_out=_counted([(case, accepted) for case, accepted in ruled if held_out(case.id)]),
        right_accepted=_share([accepted for is_right, accepted in said if is_right]),
        wrong_accepted=_share([accepted for is_right, accepted in said if not is_right]),
        unparsed=sum(accepted is None for _, accepted in ruled),
        can_see=CAN_SEE if name == BY_RULE else MODEL_CAN_SEE,
        mistakes=tuple({"id": case.id, "label": case.label, "answer": case.answer} for case, _ in mistakes),
    )


def _share(accepted: Sequence[bool]) -> float | None:
    return mean([*map(float, accepted)]) if accepted else None


def _counted(ruled: Sequence[tuple[JudgeCase, bool | None]]) -> dict[str, dict[str, int]]:
    """By label: how many are accepted, of how many, and of how many the judge did not say."""
    counts: dict[str, dict[str, int]] = {}
    for case, accepted in ruled:
        count = counts.setdefault(case.label, {"accepted": 0, "of": 0, "unparsed": 0})
        count["of"] += 1
        count["accepted"] += accepted is True
        count["unparsed"] += accepted is None
    return counts
