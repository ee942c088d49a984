"""The main way with a small trained model: what it writes is cited, and nothing of the prompt is in it."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from athena import load_settings, open_athena
from pipeline.answer import Message
from pipeline.asking.rewriting import rewrite
from pipeline.models.llm import choose_language_model
from pipeline.steps.events import AnswerFinished, SentencesCited, SourcesFound
from tests.real_model import MODEL, URL, require_model

pytestmark = pytest.mark.server
MANUAL = """# Pump P2

## Filter

Change the filter of pump P2 every 40 hours. Close valve V3 before you open the housing.

## Speed

Pump P2 turns at 3,600 rpm. Below 3,000 rpm alarm C-17 sounds.
"""


def test_a_follow_up_is_rewritten() -> None:
    llm = choose_language_model(f"ollama/{MODEL}", options=require_model())[0]
    assert llm is not None
    history = [
        Message("user", "How fast does pump P2 turn?"),
        Message("assistant", "Pump P2 turns at 3,600 rpm."),
    ]
    found = rewrite(llm, history, "and its filter?", languages=["en"], hyde=False, stop=threading.Event())
    assert any("P2" in query for query in found.queries)


def test_an_answer_is_cited_while_it_arrives(tmp_path: Path) -> None:
    require_model()
    (tmp_path / "pump.md").write_text(MANUAL, encoding="utf-8")
    settings = load_settings(data_dir=tmp_path / "data", llm=f"ollama/{MODEL}", ollama_url=URL, hyde="off")
    with open_athena(settings) as athena:
        athena.ingest([tmp_path / "pump.md"])
        events = list(athena.chat(private=True).run("How often must the filter of pump P2 be changed?"))
    kinds = [type(event) for event in events]
    assert kinds.index(SourcesFound) < kinds.index(SentencesCited)
    done = events[-1]
    assert isinstance(done, AnswerFinished)
    answer = done.answer
    assert answer.mode == "generate" and answer.citations
    assert all(item.quote in MANUAL for item in answer.citations)
    assert not re.search(r"<source|<think|Rules:|\]\(", answer.text)
