"""The Memory page: the switch, the list and what can be done with each fact, search, sources, the graph."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from athena import Athena, load_settings, open_athena
from pipeline.errors import StoreError
from pipeline.stores.memories import MemorySource
from tests.contracts.memories import adding, applied, memory
from tests.ui.conftest import answered, words
from ui.memory.graph import dot

Run = Callable[..., AppTest]
PORT = "The staging server listens on port 8443."


def facts(app: AppTest) -> list[str]:
    return [text.value for text in app.text if text.value.endswith(".") and not text.value.startswith("·")]


def act(app: AppTest, known: str, what: str) -> AppTest:
    app.menu_button(key=f"menu-{known}").click(what).run()
    assert not app.exception
    return app


def test_a_fact_is_pinned_edited_undone_and_forgotten(athena: Athena, run_app: Run) -> None:
    [known] = athena.memory.add(PORT).added
    app = run_app(athena, page="memory")
    assert PORT in words(app)
    act(app, known, "Pin")
    assert athena.memory.get(known).pinned and "pinned" in words(app)
    act(app, known, "Edit …")
    app.text_area[0].set_value("The staging server listens on port 9443.")
    next(button for button in app.button if button.label == "Save").click().run()
    assert [one.text for one in athena.memory.list()] == ["The staging server listens on port 9443."]
    app.button(key="undo").click().run()
    [again] = athena.memory.list()
    assert again.text == PORT
    act(app, again.id, "Forget …")
    app.button(key="discard-memory").click().run()
    assert not athena.memory.list() and not app.exception


def test_a_failure_to_forget_is_shown(athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    [known] = athena.memory.add(PORT).added

    def full(*_: object, **__: object) -> None:
        raise StoreError("The disk is full.", "Free some space.")

    app = act(run_app(athena, page="memory"), known, "Forget …")
    monkeypatch.setattr("memory.user_memory.UserMemory.forget", full)
    app.button(key="discard-memory").click().run()
    assert "The disk is full" in words(app)


def test_facts_are_found(athena: Athena, run_app: Run) -> None:
    athena.memory.add(PORT)
    app = run_app(athena, page="memory")
    app.text_input(key="memory-search").set_value("staging port").run()
    assert PORT in words(app)
    app.text_input(key="memory-search").set_value("zzz qqq").run()
    assert "Nothing like that" in words(app)


def test_a_fact_leads_to_its_conversation(athena: Athena, run_app: Run) -> None:
    conversation = athena.conversations.create("Ports").info.id
    turn = athena.conversations.save_turn(conversation, answered(f"Remember that {PORT}"))
    source = MemorySource(turn_id=turn, start=14, end=14 + len(PORT), quote=PORT)
    given = memory(PORT, user="local", sources=(source,), why="You asked to remember it.")
    applied(athena.store.memories, "local", adding(given))
    app = run_app(athena, page="memory")
    assert "You asked to" in words(app)
    athena.conversations.delete(conversation)
    assert "was deleted" in words(act(app, given.id, "Open the conversation"))


def test_a_fact_shows_what_it_replaced_and_restores_it(athena: Athena, run_app: Run) -> None:
    old = memory("I live in Graz.", user="local", ended_at=2.0, replaced_by="new")
    new = memory("I live in Linz.", user="local", id="new")
    applied(athena.store.memories, "local", adding(old, new))
    app = run_app(athena, page="memory")
    assert "instead of “I" in words(app)
    act(app, "new", "Restore what it replaced")
    assert [one.text for one in athena.memory.list()] == ["I live in Graz."]


def test_one_user_never_sees_anothers(athena: Athena, run_app: Run) -> None:
    athena.memory_of("ann").add(PORT)
    assert PORT not in words(run_app(athena, page="memory"))


def test_the_switch_changes_what_is_remembered(
    tmp_path: object, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # type: ignore[arg-type]
    with open_athena(load_settings(data_dir="data", llm="none", cross_encoder="none")) as athena:
        app = run_app(athena, page="memory")
        app.button_group[0].set_value("Off").run()
        assert athena.settings.memory == "none" and not app.exception
        monkeypatch.setenv("ATHENA_MEMORY", "agent")
    with open_athena(load_settings(data_dir="data", llm="none", cross_encoder="none")) as athena:
        app = run_app(athena, page="memory")
        assert app.button_group[0].disabled and "ATHENA_MEMORY" in words(app)


def test_names_are_a_graph_whose_labels_end_nothing(athena: Athena, run_app: Run) -> None:
    athena.memory.add("Ada Lovelace works at Siemens.")
    index = athena.memory.index
    if not index.relations:
        pytest.skip("no relation is read without a model")
    assert "Ada Lovelace" in dot(index, theme="dark") and "->" in dot(index, theme="light")
    app = run_app(athena, page="memory")
    assert any("how they relate" in expander.label for expander in app.expander)
