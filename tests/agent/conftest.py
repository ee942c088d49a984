"""One small manual that all tests of the agent ask, with a scripted model for each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from agent import Agent, open_agent
from athena import Athena, load_settings, open_athena
from pipeline.answer import Answer
from pipeline.steps.records import Step
from tests.fake_llm import FakeLLM
from tests.pipeline.searching import FILES, write_manual

QUESTION = "At how many rpm does the cabin fan hum?"
ANSWERED = "Thought: I have read enough.\nAnswer: The cabin fan hums at 4000 rpm [1]."


def scripted(replies: Iterable[Any], *queries: str) -> FakeLLM:
    """Return a model that rewrites the question into queries, and then gives these replies."""
    return FakeLLM([json.dumps({"queries": queries or [QUESTION]}), *replies])


def call(tool: str, **arguments: Any) -> str:
    """Return a reply that calls a tool in ReAct's form."""
    return f"Thought: I look.\nAction: {tool}\nAction Input: {json.dumps(arguments)}"


def calls(answer: Answer) -> list[Step]:
    """Return the calls of an answer after the first search, in order."""
    return [step for step in answer.steps if step.name == "tool"][1:]


@pytest.fixture(scope="module")
def fan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Athena]:
    folder = tmp_path_factory.mktemp("agent")
    manual = write_manual(folder, FILES)
    with open_athena(load_settings(data_dir=folder / "data", llm="none")) as opened:
        opened.ingest([manual])
        yield opened


@pytest.fixture
def agent(fan: Athena) -> Agent:
    return open_agent(fan)


Ask = Callable[..., Answer]


@pytest.fixture
def ask(fan: Athena, agent: Agent) -> Ask:
    """Ask the agent a question, with these replies of its model."""

    def asked(replies: Any, question: str = QUESTION, **given: Any) -> Answer:
        llm = replies if isinstance(replies, FakeLLM) else scripted(replies)
        return fan.ask(question, llm=llm, **{"agent": agent, **given})

    return asked
