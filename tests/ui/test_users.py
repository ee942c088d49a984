"""Whose conversations the chat shows, the switch to another name, and private conversations."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from athena import Athena
from pipeline.steps.records import Step
from pipeline.stores.memories import MemorySource
from tests.contracts.memories import adding, applied, memory
from tests.ui.conftest import answered, component_data, texts
from ui.conversation import whose
from ui.conversation.runner import runner
from ui.launch import streamlit_options
from ui.shared.process import PROXY_USER, GivenAthena

Run = Callable[..., AppTest]


def titles(app: AppTest) -> list[str]:
    """The conversations that the sidebar lists."""
    return [button.label for button in app.button if (button.key or "").startswith("open-")]


def address(app: AppTest, name: str) -> str:
    """What the page's address says."""
    value = app.query_params[name]
    return value if isinstance(value, str) else value[0]


def ask(app: AppTest, question: str) -> str:
    """Ask in the open conversation, wait for the answer, and return the conversation's id."""
    app.chat_input[0].set_value(question).run()
    conversation = address(app, "c")
    run = runner().of(conversation)
    assert run is not None and run.wait(60)
    app.run()
    return conversation


def test_each_sees_their_own_and_the_switch_says_what_names_are(athena: Athena, run_app: Run) -> None:
    athena.conversations.create("Mine")
    theirs = athena.conversations.create("Theirs", user="ann").info.id
    applied(athena.memories, "bob", adding(memory(user="bob")))
    app = run_app(athena)
    assert titles(app) == ["Mine"]
    assert "Names are no protection" in texts(app)
    names = [button.label for button in app.button if (button.key or "").startswith("user-")]
    assert names == ["ann", "bob", "local"]
    app.button(key="user-ann").click().run()
    assert not app.exception
    assert titles(app) == ["Theirs"]
    assert address(app, "u") == "ann"
    conversation = ask(app, "Why is it OFFLINE?")
    assert athena.conversations.get(conversation).info.user == "ann"
    assert athena.conversations.get(conversation).info.assistant == "Athena"
    again = run_app(athena, c=theirs, u="ann")
    assert sorted(titles(again))[0] == "Theirs"


def test_a_name_can_be_typed(athena: Athena, run_app: Run) -> None:
    app = run_app(athena)
    app.text_input(key="another-user-local").set_value("  Zoë *B*\u200b ").run()
    assert not app.exception
    assert address(app, "u") == "Zoë *B*"
    app.button(key="user-local").click().run()
    assert "u" not in app.query_params


def test_another_users_conversation_is_not_shown(athena: Athena, run_app: Run) -> None:
    theirs = athena.conversations.create("Theirs", user="ann").info.id
    athena.conversations.save_turn(theirs, answered())
    app = run_app(athena, c=theirs)
    assert not component_data(app, "turn")
    assert "belongs to “ann”" in texts(app).replace("\\", "")


def test_a_private_conversation_is_in_no_file_and_gone_afterwards(athena: Athena, run_app: Run) -> None:
    app = run_app(athena)
    assert not app.toggle(key="private-False").help  # its tip would lie on the last row above it
    app.toggle(key="private-False").set_value(True).run()
    assert not app.exception
    assert "Nothing of this conversation is stored" in texts(app)
    assert run_app(athena, private=address(app, "private")).toggle(key="private-True").value  # reloaded
    conversation = ask(app, "Why does the zanzibar tank show OFFLINE?")
    assert not app.exception
    assert len(component_data(app, "turn")) == 1
    assert athena.conversations.list() == []
    found = [path for path in athena.settings.data_dir.rglob("*") if path.is_file()]
    assert not [path for path in found if b"zanzibar" in path.read_bytes()]
    reloaded = run_app(athena, c=conversation)
    assert len(component_data(reloaded, "turn")) == 1
    assert reloaded.toggle(key="private-True").value
    app.toggle(key="private-True").set_value(False).run()
    assert "private" not in app.query_params
    assert conversation not in athena.private_conversations
    assert runner().of(conversation) is None
    assert not component_data(app, "turn")


def test_a_browser_that_has_not_drawn_the_switch_anew_does_not_switch_back(
    athena: Athena, run_app: Run
) -> None:
    app = run_app(athena)
    app.toggle(key="private-False").set_value(True)
    as_drawn = app._tree.get_widget_states()
    app.run()
    app._run(as_drawn)  # what a question brings along that is asked at once
    assert not app.exception
    assert app.toggle(key="private-True").value
    assert "Nothing of this conversation is stored" in texts(app)


def test_the_inspector_shows_nothing_of_another_user(athena: Athena, run_app: Run) -> None:
    theirs = athena.conversations.create("Theirs", user="ann").info.id
    athena.conversations.save_turn(theirs, answered(steps=(Step("embed"),)))
    assert "Nothing to inspect here" in texts(run_app(athena, page="inspector", c=theirs))
    assert component_data(run_app(athena, page="inspector", c=theirs, u="ann"), "flow")


def test_another_users_private_conversation_is_neither_shown_nor_ended(athena: Athena, run_app: Run) -> None:
    theirs = athena.private_conversations.create("Theirs", user="ann").info.id
    athena.private_conversations.save_turn(theirs, answered())
    app = run_app(athena, c=theirs)
    assert not component_data(app, "turn")
    assert not app.toggle(key="private-False").value
    inspector = run_app(athena, page="inspector", private="1", c=theirs)
    assert not inspector.exception
    assert "Nothing to inspect here" in texts(inspector)
    assert theirs in athena.private_conversations


def test_the_inspector_goes_on_where_a_private_conversation_is_gone(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="inspector", private="1", c="gone-with-its-process")
    assert not app.exception
    assert "Nothing to inspect here" in texts(app)


@pytest.mark.parametrize("forget", [True, False])
def test_a_deleted_conversation_may_take_along_what_was_remembered_from_it(
    athena: Athena, forget: bool
) -> None:
    conversation = athena.conversations.create("Valves").info.id
    turn = athena.conversations.save_turn(conversation, answered())
    source = MemorySource(turn_id=turn, end=3, quote="Why")
    applied(athena.memories, "local", adding(memory("It is OFFLINE.", user="local", sources=(source,))))
    app = AppTest.from_string(
        f"from ui.chat.sidebar import confirm_deletion\nconfirm_deletion({conversation!r}, 'Valves')"
    )
    app.session_state[GivenAthena.__name__] = GivenAthena(athena)
    app.run(timeout=30)
    box = app.checkbox(key="forget-remembered")
    assert box.label.endswith("(1)")
    box.set_value(forget).run()
    app.button(key="discard-conversation").click().run()
    assert not app.exception
    assert athena.conversations.list() == []
    left = athena.memories.load("local").memories
    assert [row.text for row in left] == ([] if forget else ["It is OFFLINE."])


def test_a_proxys_header_names_the_user_in_place_of_the_switch(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    athena.use(athena.settings.model_copy(update={"user_header": "X-Forwarded-User"}))
    options = streamlit_options(athena.settings)
    assert json.loads(options["server.trustedUserHeaders"]) == {"X-Forwarded-User": PROXY_USER}
    assert "did not say who you are" in texts(run_app(athena, u="eve"))
    monkeypatch.setattr(whose.st, "user", {PROXY_USER: "dora"})
    app = run_app(athena, u="eve")
    assert "dora" in texts(app) and "eve" not in texts(app)
    assert not [button for button in app.button if str(button.key).startswith("user-")]
