"""`athena eval answers --agent`: how much of the gold sections an agent reads, beside the pipeline alone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evals.datasets import held_out, load_qrels, load_queries, read_text
from evals.indexing import Bars, bar, dataset_name, index_of, indexed_corpus
from evals.metrics import mean, paired_difference, percentile
from pipeline.errors import AthenaError, DatasetError
from pipeline.steps.events import RunFailed, SourcesFound
from pipeline.steps.records import ThinkStep, ToolStep
from pipeline.terms import content_terms

if TYPE_CHECKING:
    from athena import Athena
    from pipeline.answering.turns import ChatAgent

CLAUSE = re.compile(
    r"\b(?:that|which|whose|who|where|when|while|after|before|until|and)\b|[,;?]", re.IGNORECASE
)
SPLIT = "test"
MEMORIES = "memories.tsv"  # where a folder has it, it is asked where the agent looks first
SEVERAL = ("multi-hop", "multi-section")  # kinds of questions; where a folder has such, it is about them


@dataclass(frozen=True, slots=True)
class Reading:
    """What one way of answering read for one question."""

    query_id: str
    share: float  # of the gold sections
    calls: int
    model_calls: int
    tokens: int  # of results that a model reads
    ms: float


@dataclass(frozen=True, slots=True)
class AgentReport:
    """What `athena eval answers --agent --json` prints: a row of figures a way and half of the questions."""

    dataset: str
    model: str
    questions: int
    ways: Mapping[str, Mapping[str, float]]  # "agent, dev" → share, calls, tokens, ms
    more_read: Mapping[str, tuple[float, float, float]]  # agent less pipeline, with its 95 % interval
    think_ms_p95: float  # a step of the loop, without tools; of the scripted model, which takes no time
    missed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RoutingReport:
    """The share of questions that went to the right place first, in all and by kind."""

    dataset: str
    questions: int
    right: float
    by_kind: Mapping[str, float]
    wrong: tuple[str, ...]


class OncePerClause:
    """A scripted model that searches for each clause of a question, once, and then answers."""

    name = "scripted"

    def chat(self, messages: list[dict[str, str]]) -> str:
        """The next call, or the answer."""
        [asked] = [text for said in messages if (text := said["content"]).startswith("Question: ")]
        done = sum(said["content"].startswith("Thought:") for said in messages) - 1
        clauses = [part.strip() for part in CLAUSE.split(asked.removeprefix("Question: "))]
        wanted = [part for part in clauses if len(content_terms(part)) > 1]
        if len(wanted) < 2 or done >= len(wanted):
            return "Thought: I have read enough.\nAnswer: It stands there [1]."
        query = wanted[done].replace('"', "")
        return f'Thought: I look for the next part.\nAction: search\nAction Input: {{"query": "{query}"}}'

    def stream(self, messages: list[dict[str, str]]) -> Iterator[str]:
        """The same in one piece."""
        yield self.chat(messages)


def evaluate_agent(
    athena: Athena, folder: Path, *, corpus: Path | None, scripted: bool, report: Bars | None = None
) -> AgentReport:
    """Ask every question of a folder with gold sections twice: the pipeline alone, and the agent.

    `scripted`: with a model that searches once a clause, else with the settings' model. The half of the
    questions that `held_out` names is reported by itself.
    """
    from agent import open_agent, why_not

    queries, qrels = load_queries(folder), load_qrels(folder, SPLIT)
    several = [query for query in queries if query.kind in SEVERAL]
    queries = [query for query in several or queries if query.id in qrels]
    if not queries:
        raise DatasetError(
            f"'{folder}' has no questions with gold sections.", f"Put them into qrels/{SPLIT}.tsv."
        )
    model: Any = OncePerClause() if scripted else None
    if why := why_not(athena, model):
        raise AthenaError(why)
    asking, found = bar(report, "Asking"), dict[str, list[Reading]](pipeline=[], agent=[])
    steps: list[float] = []
    with indexed_corpus(athena, folder, corpus, report) as (other, _):
        names, agent = index_of(other).names, open_agent(other)
        for done, query in enumerate(queries, start=1):
            gold = set(qrels[query.id])
            alone, _ = _read(
                other, query.id, query.text, gold, names, agent=None, llm=None if model is None else "none"
            )
            read, thoughts = _read(other, query.id, query.text, gold, names, agent=agent, llm=model)
            found["pipeline"].append(alone)
            found["agent"].append(read)
            steps += thoughts
            if asking:
                asking(done, len(queries))
    name = model.name if model else athena.models.language_model()[1].name
    return _reported(found, steps, dataset=dataset_name(folder), model=name)


def evaluate_routing(
    athena: Athena, folder: Path, *, corpus: Path | None, report: Bars | None = None
) -> RoutingReport:
    """Ask each question after the folder's memories were told: which kind of tool is called first.

    Nothing of a question is remembered, so that none helps another. Raises `DatasetError` without questions.
    """
    from agent import open_agent

    queries = load_queries(folder)
    if not queries:
        raise DatasetError(f"'{folder}' has no questions.", "Put them into queries.jsonl.")
    asking, first = bar(report, "Asking"), dict[str, str]()
    with indexed_corpus(athena, folder, corpus, report) as (other, _):
        for fact in read_text(folder / MEMORIES).splitlines():
            other.memory.add(fact)
        agent = open_agent(other)
        for done, query in enumerate(queries, start=1):
            answer = other.ask(query.text, llm=OncePerClause(), agent=agent, private=True)
            called = next((step.kind for step in answer.steps if isinstance(step, ToolStep)), "")
            first[query.id] = called or ("memory" if answer.mode == "memory" else answer.mode)
            if asking:
                asking(done, len(queries))
    wrong = tuple(query.id for query in queries if first[query.id] != query.kind)
    shares = {
        kind: mean([float(first[query.id] == kind) for query in queries if query.kind == kind])
        for kind in sorted({query.kind for query in queries})
    }
    return RoutingReport(dataset_name(folder), len(queries), 1 - len(wrong) / len(queries), shares, wrong)


def _read(
    athena: Athena,
    query_id: str,
    question: str,
    gold: set[str],
    names: Mapping[str, str],
    *,
    agent: ChatAgent | None,
    llm: Any,
) -> tuple[Reading, list[float]]:
    """What was read for a question, and the milliseconds of each thought."""
    started = time.perf_counter()
    chat = athena.chat(llm=llm, agent=agent, private=True)
    read, steps = set[str](), list[Any]()
    for event in chat.run(question):
        if isinstance(event, SourcesFound):
            read |= {names[one] for passage in event.retrieval.passages for one in passage.section_ids}
        elif isinstance(event, RunFailed):
            raise event.error or AthenaError(event.message, event.fix)
        elif hasattr(event, "step"):
            steps.append(event.step)
    ms = (time.perf_counter() - started) * 1000
    calls = [step for step in steps if isinstance(step, ToolStep)]
    thoughts = [step.ms for step in steps if isinstance(step, ThinkStep)]
    tokens = sum(step.tokens for step in calls)
    return Reading(query_id, len(gold & read) / len(gold), len(calls), len(thoughts), tokens, ms), thoughts


def _reported(
    found: Mapping[str, list[Reading]], steps: list[float], *, dataset: str, model: str
) -> AgentReport:
    halves = {"dev": False, "held out": True}
    ways, more = dict[str, dict[str, float]](), dict[str, tuple[float, float, float]]()
    for half, wanted in halves.items():
        of_half = {
            way: [item for item in items if held_out(item.query_id) is wanted] for way, items in found.items()
        }
        ways |= {f"{way}, {half}": _figures(items) for way, items in of_half.items() if items}
        if of_half["agent"]:
            shares = ([item.share for item in of_half[way]] for way in ("agent", "pipeline"))
            change = paired_difference(*shares)
            more[half] = (change.value, change.low, change.high)
    missed = {way: tuple(item.query_id for item in items if item.share < 1) for way, items in found.items()}
    p95 = percentile(steps, 0.95) if steps else 0.0
    return AgentReport(dataset, model, len(found["agent"]), ways, more, p95, missed)


def _figures(items: list[Reading]) -> dict[str, float]:
    return {
        "questions": len(items),
        "gold read": mean([item.share for item in items]),
        "calls": mean([item.calls for item in items]),
        "model calls": mean([item.model_calls for item in items]),
        "tokens": mean([item.tokens for item in items]),
        "ms": percentile([item.ms for item in items], 0.5),
    }
