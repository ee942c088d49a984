"""The inspector: steps and ranks of an answer, what if, and why a section was not found."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from athena import Athena
from tests.ui.conftest import asked, component_data, use, words

Run = Callable[..., AppTest]
QUESTION = "Why is the LN2 tank OFFLINE?"


def inspected(athena: Athena, code: str) -> AppTest:
    """A tab alone, about the last answer."""
    [info] = athena.conversations.list()
    turn = f"process.athena().conversations.get({info.id!r}).turns[-1]"
    app = AppTest.from_string(f"from ui.shared import process\n{code.format(turn=turn)}", default_timeout=60)
    use(athena)
    app.run()
    assert not app.exception
    return app


def test_steps_and_ranks_of_an_answer_are_drawn(athena: Athena, run_app: Run) -> None:
    conversation = asked(run_app(athena), QUESTION)
    app = run_app(athena, page="inspector", c=conversation)
    [flow] = component_data(app, "flow")
    assert "Search" in [step["label"] for step in flow["steps"]]
    assert QUESTION in words(app) and app.get("vega_lite_chart")
    assert "Nothing to inspect" in words(run_app(athena, page="inspector"))


def test_what_if_compares_two_searches(athena: Athena, run_app: Run) -> None:
    asked(run_app(athena), QUESTION)
    app = inspected(athena, "from ui.inspector.page import what_if\nwhat_if({turn})")
    app.slider[0].set_value(1.0)
    next(button for button in app.button if button.label == "Search again").click().run()
    assert not app.exception and app.get("vega_lite_chart")


def test_why_not_tells_how_far_a_section_came(athena: Athena, run_app: Run) -> None:
    asked(run_app(athena), QUESTION)
    app = inspected(athena, "from ui.inspector.page import why_not\nwhy_not({turn})")
    app.selectbox(key="expected").set_value("crew.md").run()
    assert "in place" in words(app) and "not show it" in words(app)
    app.selectbox(key="expected").set_value("valves.md").run()
    assert not app.exception and app.selectbox(key="in-valves.md").options
