"""Cases on the page: made of rated answers, asked again, tried with other settings."""

from __future__ import annotations

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from athena import Athena
from ui.evaluation.running import evaluations
from ui.evaluation.trials import with_values

Run = Callable[..., AppTest]
SLEEP = "How long does the crew sleep?"
SECTION = "crew.md › Crew › Sleep"


def rated(athena: Athena, value: int = -1) -> str:
    """An answer that somebody rated: its turn's id."""
    answer = athena.ask(SLEEP)
    athena.rate(answer.turn_id, value)
    return answer.turn_id


def ended(app: AppTest) -> AppTest:
    """The page once what runs has ended."""
    job = evaluations().current
    assert job is not None
    assert job.wait(60)
    return app.run()


def made(app: AppTest, turn: str, gold: str) -> None:
    """Make a case of a rated answer."""
    app.button(key=f"make-{turn}").click().run()
    app.selectbox(key=f"gold-{turn}").select(gold).run()
    app.button(key="discard-case").click().run()
    assert not app.exception


def said(app: AppTest) -> str:
    kinds = (app.text, app.caption, app.markdown, app.error, app.warning)
    return "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")


def test_a_thumb_becomes_a_case_that_is_asked_again(athena: Athena, run_app: Run) -> None:
    turn = rated(athena)
    app = run_app(athena, page="evaluation", view="Cases")
    assert "1 rated answer could become a case" in said(app)
    made(app, turn, SECTION)
    (case,) = athena.cases.list("local")
    assert [gold.source for gold in case.gold] == ["crew.md"]
    assert (case.question, case.turn_id) == (SLEEP, turn)
    assert "could become a case" not in said(app) and f"Should show {SECTION}" in said(app)
    app.button(key="replay").click().run()
    ended(app)
    assert "1 case: 1 passing." in said(app)
    assert athena.cases.list("local")[0].passed


def test_what_should_have_abstained_fails_and_other_settings_are_tried(athena: Athena, run_app: Run) -> None:
    turn = rated(athena)
    app = run_app(athena, page="evaluation", view="Cases")
    made(app, turn, "Nothing: it should have abstained")
    app.multiselect(key="trial-names").select("answerable_threshold").run()
    assert app.button(key="try-cases").disabled
    app.text_input(key="trial-answerable_threshold").set_value("2").run()
    app.button(key="try-cases").click().run()
    assert "ATHENA_ANSWERABLE_THRESHOLD" in said(app) and evaluations().current is None
    app.text_input(key="trial-answerable_threshold").set_value("1").run()
    app.button(key="try-cases").click().run()
    ended(app)
    shown = said(app)
    assert "It answered; the documents do not." in shown  # why the case fails
    assert "Too few cases to tell.** 1 of 1 case pass, 0 before." in shown
    assert "5 more cases would tell" in shown
    assert athena.settings.answerable_threshold is None
    assert app.code[0].value == "ATHENA_ANSWERABLE_THRESHOLD=1"
    assert not athena.cases.list("local")[0].passed


def test_settings_of_the_page_are_kept_from_a_trial(athena: Athena, run_app: Run) -> None:
    turn = rated(athena)
    app = run_app(athena, page="evaluation", view="Cases")
    made(app, turn, "Nothing: it should have abstained")
    app.multiselect(key="trial-names").select("quotes").run()
    app.text_input(key="trial-quotes").set_value("2").run()
    app.button(key="try-cases").click().run()
    ended(app)
    assert "Each case goes as it did before." in said(app)
    app.button(key="keep-tried").click().run()
    assert athena.settings.quotes == 2


def test_a_quote_of_a_good_answer_becomes_gold_and_a_case_is_deleted(athena: Athena, run_app: Run) -> None:
    turn = rated(athena, 1)
    app = run_app(athena, page="evaluation", view="Cases")
    app.button(key=f"make-{turn}").click().run()
    quote = next(option for option in app.selectbox(key=f"gold-{turn}").options if "Quote 1" in option)
    app.selectbox(key=f"gold-{turn}").select(quote).run()
    app.button(key="discard-case").click().run()
    (case,) = athena.cases.list("local")
    assert "seven hours" in case.gold[0].quote
    app.button(key=f"delete-{case.id}").click().run()
    app.button(key="discard-case").click().run()
    assert not athena.cases.list("local")


def test_a_case_under_which_the_manual_changed_is_shown_as_moved(athena: Athena, run_app: Run) -> None:
    turn = rated(athena)
    app = run_app(athena, page="evaluation", view="Cases")
    made(app, turn, SECTION)
    athena.delete_document("crew.md")
    app.run()
    assert "crew.md does not say any more" in said(app)
    app.button(key="replay").click().run()
    assert "1 case: 1 moved." in said(ended(app))


def test_typed_values_are_checked_as_those_of_the_environment(athena: Athena) -> None:
    made = with_values(athena.settings, {"alpha": " 0.25 ", "answerable_threshold": "None", "rerank": "off"})
    assert (made.alpha, made.answerable_threshold, made.rerank) == (0.25, None, False)
    assert made.data_dir == athena.settings.data_dir
