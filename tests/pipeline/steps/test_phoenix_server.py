"""A real Phoenix, which `make phoenix` starts: what it has of a question that was asked, by its own API."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from athena import open_athena
from athena.settings import Settings
from tests.servers import OllamaServer, Reply
from tests.ui.conftest import VALVES

URL = os.environ.get("ATHENA_TEST_PHOENIX_URL", "http://127.0.0.1:6006")
PROJECT = f"{URL}/v1/projects/athena"
WAIT_S = 30.0  # for what is sent in the background, and stored in batches

pytestmark = pytest.mark.server


@pytest.fixture(autouse=True)
def _phoenix() -> None:
    try:
        httpx.get(f"{URL}/readyz", timeout=2, trust_env=False).raise_for_status()
    except httpx.HTTPError:
        pytest.skip(f"no Phoenix answers at {URL}: `make phoenix` starts one")


def spans_of(conversation_id: str) -> dict[str, Any]:
    """The spans of a conversation of one turn, by name; they are sent in the background."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        answer = httpx.get(f"{PROJECT}/spans", params={"limit": 1000}, timeout=10, trust_env=False)
        found = answer.json().get("data", []) if answer.status_code == 200 else []
        traces = {one["context"]["trace_id"] for one in found
                  if one["attributes"].get("session.id") == conversation_id}  # fmt: skip
        if traces:
            return {one["name"]: one for one in found if one["context"]["trace_id"] in traces}
        time.sleep(0.2)
    return {}


def test_a_question_has_its_spans_documents_and_tokens(tmp_path: Path) -> None:
    (tmp_path / "valves.md").write_text(VALVES, encoding="utf-8")
    with OllamaServer() as server:
        settings = Settings(
            data_dir=tmp_path / "data", llm=f"ollama/{server.models[0]}", ollama_url=server.url, hyde="off",
            cross_encoder="none", phoenix_url=URL,
        )  # fmt: skip
        server.reply_with(Reply(("It shows OFFLINE when its switch is off [1].",), prompt_tokens=321))
        with open_athena(settings) as athena:
            athena.ingest([tmp_path / "valves.md"])
            answer = athena.ask("When does the LN2 tank show OFFLINE?")
    expected = {"chat", "recall", "search", "select", "generate", "verify"}
    spans = spans_of(answer.conversation_id)
    assert expected <= spans.keys()
    root = spans["chat"]["context"]["span_id"]
    assert all(spans[name]["parent_id"] == root for name in expected - {"chat"})
    assert spans["generate"]["attributes"]["llm.token_count.prompt"] == 321
    assert "LN2 tank shows OFFLINE" in str(spans["select"]["attributes"])
