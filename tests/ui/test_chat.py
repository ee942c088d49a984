"""The chat as Streamlit runs it: asking, what stands under an answer, conversations, users, scope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import pytest
from streamlit.testing.v1 import AppTest

from athena import Athena
from pipeline.answer import Answer
from pipeline.errors import StoreError
from pipeline.steps.records import Step
from tests.ui.conftest import answered, asked, component_data, texts, words
from ui.conversation import whose
from ui.conversation.runner import runner
from ui.shared.process import PROXY_USER
from ui.shared.state import OpenEvidence, SharedState

Run = Callable[..., AppTest]


def store(athena: Athena, answer: Answer) -> tuple[str, str]:
    """A conversation with one turn: its id and the turn's."""
    conversation = athena.conversations.create("Valves").info.id
    return conversation, athena.conversations.save_turn(conversation, answer)


def turns(app: AppTest) -> list[str]:
    return [turn["html"] for turn in component_data(app, "turn")]


def titles(app: AppTest) -> list[str]:
    return [button.label for button in app.button if (button.key or "").startswith("open-")]


def pane_of(athena: Athena, run_app: Run, conversation: str, turn: str, **shown: Any) -> dict[str, Any]:
    """What the evidence pane shows, open on the first citation of a turn."""
    app = run_app(athena, c=conversation)
    app.session_state[SharedState.__name__].evidence = OpenEvidence(turn, "citation", 1, **shown)
    app.run()
    [pane] = component_data(app, "pane")
    return pane


def chosen_in(app: AppTest, key: str, option: str) -> AppTest:
    app.menu_button(key=key).click(option).run()
    assert not app.exception
    return app


# -- asking ------------------------------------------------------------------------------------------------


def test_the_first_visit_says_what_can_be_asked_and_what_answers(athena: Athena, run_app: Run) -> None:
    app = run_app(athena)
    assert "2 documents" in words(app) and "no language model" in words(app)
    assert [button.label for button in app.button if button.key.startswith("ask-")] == ["Crew", "Valves"]


def test_a_failed_start_says_what_to_do(empty_athena: Athena, run_app: Run) -> None:
    app = run_app(empty_athena)
    app.chat_input[0].set_value("Why?").run()
    assert "athena ingest" in words(app)


def test_a_question_that_is_too_long_stays_in_the_field(athena: Athena, run_app: Run) -> None:
    app = run_app(athena)
    app.chat_input[0].set_value("why " * 30_000).run()
    assert app.toast and not athena.conversations.list()


# -- under an answer ---------------------------------------------------------------------------------------


def test_an_answer_is_rated_and_the_rating_taken_back(athena: Athena, run_app: Run) -> None:
    conversation, turn = store(athena, answered())
    app = run_app(athena, c=conversation)
    app.feedback(key=f"rate-{turn}").set_value(1).run()
    assert athena.conversations.turn(turn).feedback == 1
    app.feedback(key=f"rate-{turn}").set_value(None).run()
    assert athena.conversations.turn(turn).feedback is None


def test_quotes_are_not_answered_again_and_the_question_can_be_edited(athena: Athena, run_app: Run) -> None:
    conversation, turn = store(athena, answered())
    athena.conversations.save_turn(conversation, answered("And then?"))
    app = run_app(athena, c=conversation)
    assert app.menu_button(key=f"more-{turn}").options == ["Edit the question …"]
    chosen_in(app, f"more-{turn}", "Edit the question …")
    app.text_area[0].set_value(" How long does the crew sleep? ")
    next(button for button in app.button if button.label == "Ask").click().run()
    run = runner().of(conversation)
    assert run is not None and run.wait(60)
    [stored] = athena.conversations.get(conversation).turns
    assert stored.question == "How long does the crew sleep?"
    athena.conversations.save_turn(
        conversation, replace(stored.answer, text="Another."), instead_of=stored.id
    )
    chosen_in(run_app(athena, c=conversation), f"more-{stored.id}", "Show another answer")
    [shown] = athena.conversations.get(conversation).turns
    assert shown.answer.text == stored.answer.text


def test_the_pane_shows_the_cited_section_and_what_became_of_it(athena: Athena, run_app: Run) -> None:
    conversation, turn = store(athena, answered())
    pane = pane_of(athena, run_app, conversation, turn)
    assert "<mark>The LN2 tank shows OFFLINE" in pane["html"] and "as it was" in pane["place"]
    whole = pane_of(athena, run_app, conversation, turn, whole=True)
    assert "Crew" not in pane["html"] and "<h1" in whole["html"]
    athena.delete_with_file("valves.md")
    gone = pane_of(athena, run_app, conversation, turn)
    assert "no longer indexed" in gone["place"] and "switch is off" in gone["html"] and not gone["can_open"]


def test_an_answer_that_cannot_be_stored_is_shown(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation, _ = store(athena, answered())
    monkeypatch.setattr(athena.conversations, "save_turn", full)
    question, chat = "How long does the crew sleep?", athena.chat(conversation_id=conversation)
    run = runner().ask(
        lambda stop: chat.run(question, stop=stop), conversation_id=conversation, question=question
    )
    assert run is not None and run.wait(60)
    last = turns(run_app(athena, c=conversation))[-1]
    assert "seven hours" in last and "not stored" in last


def full(*_: object, **__: object) -> NoReturn:
    raise StoreError("Cannot write 'athena.sqlite': the disk is full.", "Free some space.")


# -- conversations -----------------------------------------------------------------------------------------


def test_conversations_are_listed_by_day_and_found_by_their_words(athena: Athena, run_app: Run) -> None:
    tank, _ = store(athena, answered("Is the tank empty?"))
    ids = [athena.conversations.create("Sleep").info.id for _ in range(4)]
    yesterday = athena.conversations.get(ids[0])
    info = replace(yesterday.info, updated_at=yesterday.info.updated_at - 24 * 3600)
    athena.conversations.restore(replace(yesterday, info=info))
    app = run_app(athena, page="documents")
    assert [caption.value for caption in app.sidebar.caption][:2] == ["Today", "Yesterday"]
    app.text_input(key="search-conversations").set_value("tank empty").run()
    assert [button.key for button in app.button if button.key.startswith("open-")] == [f"open-{tank}"]


def test_an_unknown_conversation_says_so(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, c="nothing-of-that-id")
    assert app.toast and not turns(app)


# -- whose they are ----------------------------------------------------------------------------------------


def test_nobody_sees_anothers_conversations(athena: Athena, run_app: Run) -> None:
    athena.conversations.create("Mine")
    theirs = athena.conversations.create("Theirs", user="ann").info.id
    athena.conversations.save_turn(theirs, answered(steps=(Step("embed"),)))
    app = run_app(athena, c=theirs)
    assert titles(app) == ["Mine"] and not turns(app) and "belongs to “ann”" in words(app)
    assert not component_data(run_app(athena, page="inspector", c=theirs), "flow")


def test_a_private_conversation_is_in_no_file_and_in_no_other_window(athena: Athena, run_app: Run) -> None:
    app = run_app(athena)
    app.toggle(key="private-False").set_value(True).run()
    conversation = asked(app, "Why does the zanzibar tank show OFFLINE?")
    assert len(turns(app)) == 1 and "c" not in app.query_params and not athena.conversations.list()
    found = [path for path in athena.settings.data_dir.rglob("*") if path.is_file()]
    assert not [path for path in found if b"zanzibar" in path.read_bytes()]
    other = run_app(athena, c=conversation)
    assert not turns(other) and "is private" in words(other)
    app.toggle(key="private-True").set_value(False).run()
    assert conversation not in athena.private_conversations and not turns(app)


def test_a_proxys_header_names_the_user(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    athena.use(athena.settings.model_copy(update={"user_header": "X-Forwarded-User"}))
    assert "who you are" in words(run_app(athena))
    monkeypatch.setattr(whose.st, "user", {PROXY_USER: "dora"})
    assert "dora" in texts(run_app(athena))
