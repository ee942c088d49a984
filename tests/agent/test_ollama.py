"""The agent with a real Ollama, whose tiny model writes nonsense: `scripts/servers.sh start ollama`."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

import pytest

from agent import Agent
from athena import Athena
from pipeline.models.llm import ollama_model
from pipeline.options import LanguageModelOptions
from tests.server_stores import REQUIRED, is_open

URL = os.environ.get("ATHENA_TEST_OLLAMA_URL", "http://127.0.0.1:11435")

pytestmark = pytest.mark.server


def test_nonsense_ends_in_the_pipelines_answer(fan: Athena, agent: Agent) -> None:
    address = urlsplit(URL)
    if not is_open(address.hostname or "", address.port or 11434):
        reason = f"not up: Ollama at {URL}; `scripts/servers.sh start` starts it"
        pytest.fail(reason) if REQUIRED else pytest.skip(reason)
    options = LanguageModelOptions(ollama_url=URL, max_answer_tokens=48, request_timeout_s=60.0)
    llm = ollama_model("tiny:latest", options)
    answer = fan.ask("At how many rpm does the cabin fan hum?", llm=llm, agent=agent)
    assert answer.status == "complete" and answer.text
    thoughts = [step for step in answer.steps if step.name == "think"]
    assert len(thoughts) <= 3 and all(step.status == "failed" for step in thoughts)
    assert any(notice.startswith("The agent gave up") for notice in answer.notices)
