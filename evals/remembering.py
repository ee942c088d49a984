"""`athena eval memory`: which questions in talks the memory answers, and which statements it keeps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from evals.indexing import Bars, progress
from evals.metrics import mean, recall_at
from evals.playing import Moment, Reply, played, playing
from evals.talks import Step, Talk, Words
from pipeline.analysis import content_terms, share, text_terms

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.stores.memories import Memory

ASKED, KEPT = "inject", "agent"  # memory presets: for the answers, and for the kept statements
NO_FACTS = ("qa", "summary")  # kinds of memories that state no fact
ENOUGH = 0.6  # share of the gold answer's content terms that a right answer has
SHOWN = 300  # characters of an answer in a list of failures


@dataclass(frozen=True, slots=True)
class Judged:
    """The result of one check: a value, 0..1, of a metric, and a line about the failure, "" if right."""

    kind: str
    metric: str
    value: float
    failed: str = ""


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Output of `athena eval memory --json`, by kind of talk; for dialogues also by category of question."""

    talks: int
    messages: int
    left_out: int  # questions whose evidence is missing
    kinds: Mapping[str, Mapping[str, Mapping[str, float]]]  # kind → metric → `count`, `of` and `share`
    failures: tuple[str, ...] = ()


def evaluate_memory(
    live: Athena,
    talks: Sequence[Talk],
    *,
    only_kept: bool = False,
    failures: bool = False,
    report: Bars | None = None,
) -> MemoryReport:
    """Play all talks and judge the answers; replay those with statements, unanswered, and judge what is kept.

    `only_kept` skips the answers: with a language model they take a minute each on a laptop.
    """
    judged: list[Judged] = []
    stating = [talk for talk in talks if any(it.live or it.never or it.true for it in talk.steps)]
    for preset, judge, these in ((ASKED, _answered, talks), (KEPT, _believed, stating))[only_kept:]:
        with playing(live, memory=preset) as athena:
            for talk in progress(these, report, f"Talking ({preset})"):
                judged += played(athena, talk, judge, answering=preset == ASKED)
    values: dict[str, dict[str, list[float]]] = {}
    for item in judged:
        values.setdefault(item.kind, {}).setdefault(item.metric, []).append(item.value)
    return MemoryReport(
        talks=len(talks),
        messages=sum(bool(step.say) for talk in talks for step in talk.steps),
        left_out=sum(talk.left_out for talk in talks),
        kinds={
            kind: {
                name: {"count": round(sum(found), 6), "of": len(found), "share": mean(found)}
                for name, found in metrics.items()
            }
            for kind, metrics in values.items()
        },
        failures=tuple(item.failed for item in judged if item.failed and failures),
    )


# -- answers -----------------------------------------------------------------------------------------


def _answered(moment: Moment) -> Iterator[Judged]:
    """Judge the answer to the step's question, if it has one; in a dialogue, also for its category."""
    step, kind = moment.step, moment.talk.kind
    if not (step.ask or step.unrelated):
        return
    reply = moment.reply()
    for metric, value in _judgements(moment, reply):
        wrong = value != (metric != "unrelated_recalled")
        said = f"[{reply.answer.mode}, {reply.recall.get('verdict')}] {reply.text[:SHOWN]}"
        failed = f"{metric}: {moment.talk.name}: {step.ask or step.unrelated} → {said}" if wrong else ""
        yield Judged(kind, metric, value, failed)
        if step.category:
            yield Judged(f"{kind} {step.category}", metric, value)


def _judgements(moment: Moment, reply: Reply) -> Iterator[tuple[str, float]]:
    """Yield (metric, value 0..1) for each metric that applies to the step."""
    step = moment.step
    if step.unrelated:
        yield "unrelated_recalled", float(reply.recalls)
    elif step.never_said:
        yield "left_alone" if step.category else "never_said_left_alone", float(reply.left_alone)
    elif step.category:
        found = [moment.ids.get(item["memory_id"], "") for item in reply.recall.get("turns", ())]
        yield "R@5", recall_at(found, step.evidence, 5)
        yield "hit@10", float(bool({*found[:10]} & {*step.evidence}))
        if step.reference:
            yield "answered", float(has_terms(reply, step.reference))
    else:
        yield f"answered_right_{step.needs}" if step.needs else "answered_right", float(is_right(reply, step))


def has_terms(reply: Reply, gold: str) -> bool:
    """Whether the answer comes from the memory and has `ENOUGH` of the gold answer's content terms."""
    terms = content_terms(gold) or tuple(text_terms(gold))
    return reply.answer.mode == "memory" and share(terms, text_terms(reply.text)) >= ENOUGH


def is_right(reply: Reply, step: Step) -> bool:
    """Whether the reply has all words of one list in `any`, in the first line that has such words or `lacks`.

    That line may have words of `lacks`, too: a message about a change names the old and the new value. With a
    `source`, the answer must cite it; without one, it must come from the memory or a language model.
    """
    if step.source:
        if not any(citation.source == step.source for citation in reply.answer.citations):
            return False
    elif reply.answer.mode not in ("memory", "generate"):
        return False

    def tells(text: str) -> bool:
        return any(has_words(text, words) for words in step.any)

    def is_wrong(text: str) -> bool:
        return any(has_words(text, [word]) for word in step.lacks)

    lines = reply.text.splitlines()
    first = next((line for line in lines if tells(line) or is_wrong(line)), reply.text)
    return tells(first)


# -- statements --------------------------------------------------------------------------------------


def _believed(moment: Moment) -> Iterator[Judged]:
    """Judge the facts in the memory now: those that must be kept, must not be kept, or are false."""
    memory, step, kind = moment.athena.memory_of(moment.talk.name), moment.step, moment.talk.kind
    live, ever = _facts(memory.list()), _facts(memory.list(history=True))

    def judged(metric: str, holds: bool, about: object, *, wanted: bool) -> Judged:
        failed = "" if holds is wanted else f"{metric}: {moment.talk.name}: {about}"
        return Judged(kind, metric, float(holds), failed)

    for words in step.live:
        yield judged("kept", any(has_words(text, words) for text in ever), words, wanted=True)
    for words in step.never:
        violated = any(has_words(text, words) for text in live)
        yield judged("never_kept_violations", violated, words, wanted=False)
    for text in live if step.true else ():
        is_false = not any(has_words(text, words) for words in step.true)
        yield judged("false_live", is_false, text, wanted=False)


def _facts(memories: Sequence[Memory]) -> list[str]:
    """Return the texts of the facts among the memories that come from the user."""
    return [item.text for item in memories if item.origin == "user" and item.kind not in NO_FACTS]


# -- words --------------------------------------------------------------------------------------------


def has_words(text: str, words: Words) -> bool:
    """Whether a text has all words, and none of the words that begin with a minus."""
    return all(
        (_pattern(word.removeprefix("-")).search(text) is None) is word.startswith("-") for word in words
    )


@cache
def _pattern(word: str) -> re.Pattern[str]:
    """Return a pattern for a whole word in any case; a star at the word's end matches any ending."""
    rest = r"\w*" if word.endswith("*") else ""
    return re.compile(rf"(?<!\w){re.escape(word.removesuffix('*'))}{rest}(?!\w)", re.IGNORECASE)
