"""Usage on the page: what is known of tokens and cost, by model, day and user, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from athena import Athena, usage
from pipeline.answer import Usage
from tests.ui.conftest import answered

Run = Callable[..., AppTest]


def shown(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def asked(athena: Athena, *, user: str = "local", usage: Usage | None = None) -> None:
    conversation = athena.conversations.create("Valves", user=user).info.id
    athena.conversations.save_turn(conversation, answered(usage=usage, seconds=2.0))


def test_tokens_and_cost_are_summed_and_what_is_not_known_is_no_nought(athena: Athena, run_app: Run) -> None:
    asked(athena)
    asked(athena, usage=Usage(1200, 80, estimated=True, cost=0.5, model="ollama/a"))
    asked(athena, user="Ada", usage=Usage(100, 20, model="openai/b"))
    app = run_app(athena, page="settings")
    assert shown(app) == {
        "Turns": "3", "Answered": "3", "Abstained": "0", "Tokens in": "~1,300", "Tokens out": "~100",
        "Cost": "0.5000", "p95": "2.0 s",
    }  # fmt: skip
    captions = " ".join(caption.value for caption in app.caption)
    assert "1 of these asked a language model that has no price" in captions
    models, _, users = (frame.value for frame in app.dataframe)
    assert dict(zip(models["Model"], models["Cost"], strict=True)) == {
        "none": "–", "ollama/a": "0.5000", "openai/b": "–"
    }  # fmt: skip
    assert list(users["User"]) == ["Ada", "local"]
    app.selectbox(key="usage-of").select("local").run()
    assert shown(app)["Turns"] == "2"
    app.selectbox(key="usage-plot").select("Cost").run()
    assert len(app.get("vega_lite_chart")) == 1


def test_turns_are_read_again_only_once_one_was_asked(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(athena)
    counted: list[str | None] = []
    count = usage.usage

    def counting(*args: Any, user: str | None, **given: Any) -> Any:
        counted.append(user)
        return count(*args, user=user, **given)

    monkeypatch.setattr(usage, "usage", counting)
    app = run_app(athena, page="settings")
    app.selectbox(key="usage-plot").select("Tokens in").run()
    assert len(counted) == 1
    asked(athena)
    app.run()
    assert shown(app)["Turns"] == "2"


def test_before_anything_was_asked_it_says_so(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="settings")
    assert not shown(app)
    assert any("Nothing was asked" in text.value for text in app.text)
