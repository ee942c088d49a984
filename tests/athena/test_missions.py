"""Who speaks for the ground: a language model where there is one, else nobody, and the rules answer."""

from __future__ import annotations

from typing import Any

import pytest

from athena.missions import ground_control
from pipeline.errors import ModelError
from tests.fake_llm import FakeLLM


class Aboard:
    """An Athena that has a language model, or none, or one that cannot be reached."""

    def __init__(self, llm: FakeLLM | None = None, *, broken: bool = False) -> None:
        self.llm, self.broken, self.asked_for = llm, broken, ""

    def language_model(self, name: str | None) -> tuple[FakeLLM | None, None]:
        self.asked_for = name or ""
        if self.broken:
            raise ModelError("No answer.", "Start the server.")
        return self.llm, None


def said(aboard: Any, message: str = "Is anybody there?") -> str:
    return ground_control(aboard, "fake")(message, "Go on by the manuals.")


def test_a_model_is_told_the_message_and_the_card() -> None:
    llm = FakeLLM(["We are here. Go on by the manuals."])
    aboard = Aboard(llm)
    assert said(aboard, "Is {anybody} there?") == "We are here. Go on by the manuals."
    assert aboard.asked_for == "fake"
    (prompt,) = llm.prompts
    assert "Is {anybody} there?" in prompt
    assert "Go on by the manuals." in prompt


@pytest.mark.parametrize("aboard", [Aboard(), Aboard(broken=True), Aboard(FakeLLM([OSError("no route")]))])
def test_without_a_model_or_with_one_that_fails_nobody_speaks(aboard: Aboard) -> None:
    assert said(aboard) == ""
