"""`athena eval answers --agent`: how much of the gold sections an agent reads, beside the pipeline alone."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from evals.datasets import Question, held_out, load_qrels, load_queries, read_text
from evals.indexing import Bars, bar, dataset_name, index_of, indexed_corpus
from evals.metrics import mean, paired_difference, percentile
from pipeline.answering.citations import escaped_markers
from pipeline.errors import AthenaError, DatasetError
from pipeline.steps.events import RunFailed, StepFinished
from pipeline.steps.records import Step
from pipeline.terms import content_terms

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from athena import Athena
    from pipeline.answering.turns import ChatAgent
    from pipeline.options import RetrievalOptions

CLAUSE = re.compile(
    r"\b(?:that|which|whose|who|where|when|while|after|before|until|and)\b|[,;?]", re.IGNORECASE
)
SPLIT = "test"
CALLS = 7
LOOPS = 10  # runs of which the loop's own time is taken
MEMORIES = "memories.tsv"  # where a folder has it, it is asked where the agent looks first
SEVERAL = ("multi-hop", "multi-section")  # kinds of questions; where a folder has such, it is about them


@dataclass(frozen=True, slots=True)
class Reading:
    """What one way of answering read for one question."""

    query_id: str
    share: float  # of the gold sections: those whose whole text a model was given
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
    think_ms_p95: float  # a reply of the model; of the scripted one, which takes no time
    loop_ms_p95: float  # a step of the loop with a model and a tool that take no time, of a kept conversation
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
        """The next call, or the answer; to the pipeline, which asks for no call, the answer."""
        asked = next((text for said in messages if (text := said["content"]).startswith("Question: ")), "")
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


class CallAfterCall:
    """A scripted model that calls `count` as often as it may after the first look, and answers."""

    name = "scripted"

    def chat(self, messages: list[dict[str, str]]) -> str:
        """The next call, or the answer."""
        done = sum(said["content"].startswith("Thought: I go on.") for said in messages)
        if done == CALLS:
            return "Thought: I counted.\nAnswer: So many."
        return f'Thought: I go on.\nAction: count\nAction Input: {{"number": {done}}}'

    def stream(self, messages: list[dict[str, str]]) -> Iterator[str]:
        """The same in one piece."""
        yield self.chat(messages)


@dataclass(slots=True)
class Listened:
    """A model as a program brings it along, and all that it was given to read so far."""

    llm: LLM
    name: str
    given: list[str] = field(default_factory=list)

    def chat(self, messages: list[dict[str, str]]) -> str:
        """Its whole answer."""
        return "".join(self.stream(messages))

    def stream(self, messages: list[dict[str, str]]) -> Iterator[str]:
        """Its answer in pieces."""
        from llama_index.core.base.llms.types import ChatMessage

        self.given += [said["content"] for said in messages]
        for response in self.llm.stream_chat([ChatMessage(**said) for said in messages]):
            yield response.delta or ""

    def read(self, text: str) -> bool:
        """Whether it was given a text from beginning to end; where its lines break does not count."""
        whole = _on_one_line(escaped_markers(text))
        return any(whole in _on_one_line(said) for said in self.given)


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
    llm, choice = athena.models.language_model(OncePerClause() if scripted else None)
    if llm is None:
        raise AthenaError(why_not(athena))
    options = athena.options.but(hyde=athena.options.hyde and not scripted)  # it writes no hypothesis
    asking, found = bar(report, "Asking"), dict[str, list[Reading]](pipeline=[], agent=[])
    steps: list[float] = []
    with indexed_corpus(athena, folder, corpus, report) as (other, _):
        texts, agent = _texts(other), open_agent(other)
        for done, query in enumerate(queries, start=1):
            gold = [texts.get(name, ()) for name in qrels[query.id]]
            for way, asked in {"pipeline": None, "agent": agent}.items():
                model = Listened(llm, choice.name)
                read, thoughts = _read(other, query, gold, agent=asked, model=model, options=options)
                found[way].append(read)
                steps += thoughts
            if asking:
                asking(done, len(queries))
        loop = [ms for _ in range(LOOPS) for ms in loop_ms(other)]
    return _reported(found, steps, loop, dataset=dataset_name(folder), model=choice.name)


def loop_ms(athena: Athena) -> list[float]:
    """The milliseconds of each step of one run, from result to result, where nobody else takes any time."""
    from agent import open_agent

    def count(number: int) -> str:
        """Count."""
        return f"{number} "

    agent, ends = open_agent(athena), list[float]()
    agent.add_tool(count, reads=True)
    for event in athena.chat(llm=CallAfterCall(), agent=agent).run("How far can be counted?"):
        if isinstance(event, StepFinished) and event.step.name == "tool":
            ends.append(time.perf_counter() * 1000)
    return [later - sooner for sooner, later in pairwise(ends)]


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
            called = next((step.data["kind"] for step in answer.steps if step.name == "tool"), "")
            first[query.id] = called or ("memory" if answer.mode == "memory" else answer.mode)
            if asking:
                asking(done, len(queries))
    wrong = tuple(query.id for query in queries if first[query.id] != query.kind)
    shares = {
        kind: mean([float(first[query.id] == kind) for query in queries if query.kind == kind])
        for kind in sorted({query.kind for query in queries})
    }
    return RoutingReport(dataset_name(folder), len(queries), 1 - len(wrong) / len(queries), shares, wrong)


def _texts(athena: Athena) -> dict[str, list[str]]:
    """The texts of the sections, by the name that the qrels have."""
    names, texts = index_of(athena).names, dict[str, list[str]]()
    for known, section in athena.store.sections.get_many(names).items():
        texts.setdefault(names[known], []).append(section.text)
    return texts


def _read(
    athena: Athena,
    query: Question,
    gold: Sequence[Sequence[str]],
    *,
    agent: ChatAgent | None,
    model: Listened,
    options: RetrievalOptions,
) -> tuple[Reading, list[float]]:
    """What the model was given for a question, and the milliseconds of each thought."""
    started = time.perf_counter()
    steps = list[Step]()
    for event in athena.chat(llm=model, agent=agent, options=options, private=True).run(query.text):
        if isinstance(event, RunFailed):
            raise event.error or AthenaError(event.message, event.fix)
        if isinstance(event, StepFinished):
            steps.append(event.step)
    ms = (time.perf_counter() - started) * 1000
    calls = [step for step in steps if step.name == "tool"]
    thoughts = [step.ms for step in steps if step.name == "think"]
    tokens = sum(step.data["tokens"] for step in calls)
    share = mean([float(any(map(model.read, texts))) for texts in gold])
    return Reading(query.id, share, len(calls), len(thoughts), tokens, ms), thoughts


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _reported(
    found: Mapping[str, list[Reading]], steps: list[float], loop: list[float], *, dataset: str, model: str
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
    thought = percentile(steps, 0.95) if steps else 0.0
    return AgentReport(
        dataset, model, len(found["agent"]), ways, more, thought, percentile(loop, 0.95), missed
    )


def _figures(items: list[Reading]) -> dict[str, float]:
    return {
        "questions": len(items),
        "gold read": mean([item.share for item in items]),
        "calls": mean([item.calls for item in items]),
        "model calls": mean([item.model_calls for item in items]),
        "tokens": mean([item.tokens for item in items]),
        "ms": percentile([item.ms for item in items], 0.5),
    }
