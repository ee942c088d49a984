"""What other settings would do: also refuse; and only the lists that have a section."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from athena import Athena
from pipeline.answer import Answerability, Passage, Retrieval
from pipeline.errors import AthenaError
from pipeline.finding.why import Place, Why
from pipeline.nodes import StoredNode
from pipeline.steps.records import Step
from tests.fake_llm import FakeLLM
from tests.ui.conftest import answered
from ui.inspector.page import _why_rows
from ui.inspector.what_if import refusal


def found(probability: float) -> Retrieval:
    section = StoredNode("s", "text", {}, 0, 4, "d")
    return Retrieval("Why?", (Passage(section, (), True, 1.0),), Answerability(probability, 0.2), ())


def test_a_what_if_that_would_refuse_says_so() -> None:
    assert refusal(found(0.9), found(0.5)) == ""
    assert refusal(found(0.9), found(0.03)) == (
        "**Your settings would refuse this question**, "
        "as the documents answer it by 3% only, and 20% are needed."
    )
    assert "too, as" in refusal(found(0.1), found(0.03))
    assert "Your settings would answer" in refusal(found(0.1), found(0.9))
    nothing = Retrieval("Why?", (), Answerability(0.9, 0.2), ())
    assert "would refuse" in refusal(found(0.9), nothing)


def test_why_not_shows_the_lists_that_have_the_section() -> None:
    lists = {"bm25_sections": Place(3, 1.5), "dense_sections": Place()}
    assert _why_rows(Why("a.md", ("A",), "fuse", "", lists)) == [
        {"List": "BM25 sections", "Rank": 3, "Score": 1.5}
    ]


def test_an_agents_run_is_played_again_with_the_memory_of_who_asked(
    athena: Athena, run_app: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    athena.memory.add("I live in Oslo.")
    athena.memory_of("ann").add("I live in Turin.")
    recalled = Step("tool", data={"tool": "recall", "kind": "memory", "arguments": {"query": "my home"}})
    searched = Step("tool", data={"tool": "search", "kind": "documents", "arguments": {"query": "home"}})
    kept = Step(
        "tool",
        status="skipped",
        detail="The user did not allow this call.",
        data={"tool": "remember", "kind": "memory", "arguments": {}},
    )
    answer = answered("In which town is my home?", steps=(recalled, searched, kept))
    athena.conversations.save_turn(athena.conversations.create("Home", user="ann").info.id, answer)
    llm = FakeLLM(["Thought: I know.\nAnswer: It is said above."], repeat=True)
    monkeypatch.setattr("ui.inspector.what_if.picked_model", lambda: llm)
    app = run_app(athena, page="inspector", u="ann")
    [without] = app.multiselect  # a replay is private: there is nothing that remembers
    assert without.options == ["recall", "search"] and without.value == ["search"]
    next(button for button in app.button if button.label == "Run again").click()
    app.run()
    assert not app.exception and "Without them" in " ".join(item.value for item in app.markdown)
    assert "Turin" in llm.prompts[0] and "Oslo" not in llm.prompts[0]

    def broken(_run: object) -> str:
        raise AthenaError("It broke.", "Mend it.")

    monkeypatch.setattr("agent.agent._Run.go", broken)
    next(button for button in app.button if button.label == "Run again").click()
    app.run()
    assert "It broke" in " ".join(item.value for item in app.error)
    assert not athena.private_conversations.list()
