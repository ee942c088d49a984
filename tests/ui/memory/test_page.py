"""The page Memory as Streamlit runs it, over a real index and a real memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from athena import Athena
from pipeline.answer import Answer
from pipeline.errors import AthenaError, StoreError
from pipeline.steps.records import Step
from pipeline.stores.memories import MemorySource
from tests.contracts.memories import adding, applied, memory
from tests.ui.conftest import answered, component_data, texts
from ui.conversation.forgetting import confirm_forgetting
from ui.memory import page as memory_page
from ui.shared.dialogs import OpenDialog
from ui.shared.process import GivenAthena

Run = Callable[..., AppTest]

HARBOUR = "The staging server listens on port 8443."


def kept(athena: Athena, *told: str) -> list[str]:
    """Have these remembered; the ids."""
    return [known for text in told for known in athena.memory.add(text).added]


def replaced(athena: Athena) -> tuple[str, str]:
    """Two memories, of which the second took the place of the first; their ids."""
    old = memory("I live in Graz.", user="local", ended_at=2.0, replaced_by="new")
    new = memory("I live in Linz.", user="local", id="new")
    applied(athena.memories, "local", adding(old, new))
    return old.id, new.id


def found_once(known: str) -> dict[str, object]:
    """A recalled memory as a step records it."""
    return {"memory_id": known, "score": 0.9, "recency": 1.0, "importance": 0.5, "relevance": 0.64}


def listed(app: AppTest) -> list[str]:
    """What the lists of memories say, in order."""
    return [row["text"] for data in component_data(app, "memories") for row in data["rows"]]


def said(athena: Athena) -> tuple[str, MemorySource]:
    """A conversation in which the harbour's port was said, and that place of it."""
    conversation = athena.conversations.create("Ports").info.id
    turn = athena.conversations.save_turn(conversation, answered(f"Remember that {HARBOUR}"))
    return conversation, MemorySource(turn_id=turn, start=14, end=14 + len(HARBOUR), quote=HARBOUR)


def show(app: AppTest, view: str) -> AppTest:
    """Go to a view of the page."""
    app.segmented_control(key="memory-shown").set_value(view).run()
    assert not app.exception
    return app


def dialog(athena: Athena, code: str) -> AppTest:
    """A dialog alone, as AppTest cannot click in a component."""
    app = AppTest.from_string(code, default_timeout=30)
    app.session_state[GivenAthena.__name__] = GivenAthena(athena)
    app.run()
    assert not app.exception
    return app


def forgetting(athena: Athena, how: str) -> AppTest:
    """The dialog that asks before it forgets."""
    asked = f"confirm_forgetting(lambda memory: {how})"
    return dialog(athena, f"from ui.conversation.forgetting import confirm_forgetting\n{asked}")


def test_empty_says_what_to_say(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="memory")
    assert "Remember that …" in texts(app)
    assert "Names are no protection" in texts(app)
    assert app.segmented_control(key="memory-shown").options == ["List", "Settings"]


def test_what_is_remembered_is_listed_with_why_and_where_from(athena: Athena, run_app: Run) -> None:
    _, source = said(athena)
    given = memory(HARBOUR, user="local", sources=(source,), why="You asked to remember it.", importance=0.7)
    applied(athena.memories, "local", adding(given))
    [row] = component_data(run_app(athena, page="memory"), "memories")[0]["rows"]
    assert (row["text"], row["why"], row["source"]) == (HARBOUR, "You asked to remember it.", "Your words")
    assert row["importance"] == 7
    assert [act["name"] for act in row["acts"]] == ["edit", "pin", "forget"]
    app = dialog(athena, f"from ui.conversation.source import show_source\nshow_source({given.id!r})")
    [shown] = component_data(app, "document")
    assert shown["tree"] == [{"t": "p", "k": "said", "c": ["Remember that ", {"t": "mark", "c": [HARBOUR]}]}]


def test_the_words_of_a_document_are_marked_in_it(athena: Athena, run_app: Run) -> None:
    text = athena.store.sections.document("valves.md").text
    quote = "Close CB-4 first."
    start = text.index(quote)
    source = MemorySource(source="valves.md", start=start, end=start + len(quote), quote=quote)
    given = memory("CB-4 is closed first.", user="local", origin="document", sources=(source,))
    applied(athena.memories, "local", adding(given))
    assert component_data(run_app(athena, page="memory"), "memories")[0]["rows"][0]["source"] == "valves.md"
    app = dialog(athena, f"from ui.conversation.source import show_source\nshow_source({given.id!r})")
    assert json.dumps({"t": "mark", "n": 0, "c": [quote]}) in json.dumps(component_data(app, "document"))


def test_a_source_that_is_gone_or_anothers_shows_the_kept_words_alone(athena: Athena) -> None:
    theirs = athena.conversations.create("Theirs", user="ann").info.id
    turn = athena.conversations.save_turn(theirs, answered("A secret of Ann's"))
    source = MemorySource(turn_id=turn, start=0, end=8, quote="A secret")
    given = memory("A secret.", user="local", sources=(source,))
    applied(athena.memories, "local", adding(given))
    app = dialog(athena, f"from ui.conversation.source import show_source\nshow_source({given.id!r})")
    assert "The conversation was deleted" in texts(app)
    assert "Ann's" not in json.dumps(component_data(app, "document"))


def test_search_shows_scores_and_says_where_nothing_is_found(athena: Athena, run_app: Run) -> None:
    kept(athena, HARBOUR, "My sister likes tulips.")
    app = run_app(athena, page="memory")
    assert len(listed(app)) == 2
    app.text_input(key="memory-search").set_value("which port does the staging server use?").run()
    [row] = component_data(app, "memories")[0]["rows"]
    assert row["text"] == HARBOUR
    assert float(row["score"]["value"]) > 0
    assert "relevance" in row["score"]["parts"]
    app.text_input(key="memory-search").set_value("quantum chromodynamics lagrangian").run()
    assert listed(app) == []
    assert "Nothing that is remembered is like that" in texts(app)


def test_one_user_never_sees_anothers(athena: Athena, run_app: Run) -> None:
    kept(athena, HARBOUR)
    assert listed(run_app(athena, page="memory")) == [HARBOUR]
    assert listed(run_app(athena, page="memory", u="ann")) == []


def test_past_ones_are_shown_on_request(athena: Athena, run_app: Run) -> None:
    replaced(athena)
    app = run_app(athena, page="memory")
    assert listed(app) == ["I live in Linz."]
    app.toggle(key="memory-history").set_value(True).run()
    assert sorted(listed(app)) == ["I live in Graz.", "I live in Linz."]
    over = next(row for row in component_data(app, "memories")[0]["rows"] if "Graz" in row["text"])
    assert "no longer true" in [mark["words"] for mark in over["marks"]]


def test_forgetting_shows_what_goes_along_and_deletes_the_turns(athena: Athena) -> None:
    conversation, source = said(athena)
    given = memory(HARBOUR, user="local", sources=(source,))
    made = memory("Much is said of ports.", user="local", sources=(MemorySource(memory_id=given.id),))
    applied(athena.memories, "local", adding(given, made))
    app = forgetting(athena, f"memory.forgetting([{given.id!r}])")
    assert "2 facts will be gone" in texts(app)
    assert made.text in texts(app)
    app.button(key="discard-memory").click().run()
    assert athena.memory.list() == list(athena.memory.static)
    assert conversation not in [info.id for info in athena.conversations.list()]


def test_a_server_says_what_its_journal_keeps(athena: Athena, monkeypatch: pytest.MonkeyPatch) -> None:
    [known] = kept(athena, HARBOUR)
    code = f"memory.forgetting([{known!r}])"
    assert "journal" not in texts(forgetting(athena, code))
    monkeypatch.setattr(athena, "settings", athena.settings.model_copy(update={"store": "server"}))
    assert "its journal, oplog and free space keep it" in texts(forgetting(athena, code))


def test_what_is_old_is_forgotten_and_what_is_pinned_stays(athena: Athena) -> None:
    old, pinned = memory("Old.", user="local"), memory("Pinned.", user="local", pinned=True)
    applied(athena.memories, "local", adding(old, pinned))
    app = forgetting(athena, "memory.forgetting(older_than=30.0)")
    app.button(key="discard-memory").click().run()
    assert [item.text for item in athena.memory.list() if item.tier != "static"] == ["Pinned."]
    assert "Nothing would be forgotten" in texts(forgetting(athena, "memory.forgetting(older_than=30.0)"))


def test_a_failure_to_forget_is_shown(athena: Athena, monkeypatch: pytest.MonkeyPatch) -> None:
    [known] = kept(athena, HARBOUR)

    def refuse(*_: Any, **__: Any) -> None:
        raise StoreError("Cannot write 'athena.sqlite': it is read-only.", "Copy it.")

    app = forgetting(athena, f"memory.forgetting([{known!r}])")
    monkeypatch.setattr(type(athena.memories), "forget", refuse)
    app.button(key="discard-memory").click().run()
    assert not app.exception
    assert "it is read-only" in texts(app).replace("\\", "")
    assert athena.memory.get(known).text == HARBOUR


def test_memories_that_cannot_be_read_are_one_error(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise StoreError("Neo4j does not answer.", "Start it.")

    monkeypatch.setattr(type(athena.memories), "load", refuse)
    app = run_app(athena, page="memory")
    assert [error.value.replace("\\", "") for error in app.error] == ["Neo4j does not answer."]
    assert not app.warning


def test_an_edit_is_kept_and_a_secret_is_not(athena: Athena) -> None:
    [known] = kept(athena, HARBOUR)
    app = dialog(athena, f"from ui.memory.page import edit\nedit({known!r})")
    app.text_area(key=f"edit-{known}").set_value("My password is hunter2secret!").run()
    app.button(key="discard-edit").click().run()
    assert "never kept" in texts(app)
    assert athena.memory.get(known).text == HARBOUR
    app.text_area(key=f"edit-{known}").set_value("It listens on port 9443.").run()
    app.button(key="discard-edit").click().run()
    assert not app.exception
    assert athena.memory.get(known).text == "It listens on port 9443."


def of(app: AppTest, kind: str, key: str) -> Any:
    """The control of a setting."""
    [found] = [item for item in getattr(app, kind) if (item.key or "").startswith(f"{key}-")]
    return found


def test_how_much_is_remembered_is_chosen_and_less_is_confirmed(athena: Athena, run_app: Run) -> None:
    app = show(run_app(athena, page="memory"), "Settings")
    of(app, "radio", "memory").set_value("agent").run()
    app.button(key="save-memory").click().run()
    assert athena.memory.options.memory == "agent"
    of(app, "radio", "memory").set_value("none").run()
    app.button(key="save-memory").click().run()
    assert athena.memory.preset.name == "agent"
    app.button(key="discard-less").click().run()
    assert athena.memory.preset.name == "none"
    assert "Nothing is kept now" in texts(show(app, "List"))


def test_what_the_environment_sets_cannot_be_chosen(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = athena.settings.model_copy(update={"memory": "graph"})
    monkeypatch.setattr(athena, "settings", given)
    app = show(run_app(athena, page="memory"), "Settings")
    assert of(app, "radio", "memory").disabled
    assert "Set by `ATHENA_MEMORY`" in texts(app)


def test_what_was_said_is_found_and_forgotten(athena: Athena, run_app: Run) -> None:
    conversation = athena.conversations.create("Ports").info.id
    for text in (HARBOUR, "Clara: I play the cello."):
        athena.conversations.save_turn(conversation, answered(text, text="It hums."))
    app = run_app(athena, page="memory")
    assert "2 messages of yours are found again" in texts(app)
    app.text_input(key="memory-search").set_value("which port does the staging server use?").run()
    [row] = component_data(app, "memories")[0]["rows"]
    assert (row["text"], row["about"]) == (HARBOUR, "you · in “Ports”")
    assert [act["name"] for act in row["acts"]] == ["open", "forget"]
    app = forgetting(athena, f"memory.forgetting([{row['id']!r}])")
    assert "1 message will be gone" in texts(app)
    assert "Messages are deleted with their answers" in texts(app)
    app.button(key="discard-memory").click().run()
    assert [turn.question for turn in athena.conversations.get(conversation).turns] == [
        "Clara: I play the cello."
    ]


def test_everything_is_forgotten_where_only_messages_are_there(athena: Athena, run_app: Run) -> None:
    conversation = athena.conversations.create("Ports").info.id
    athena.conversations.save_turn(conversation, answered(HARBOUR))
    app = run_app(athena, page="memory")
    app.button(key="forget-all").click().run()
    assert "1 message will be gone" in texts(app)
    app.button(key="discard-memory").click().run()
    assert athena.memory.turns.own() == []
    assert conversation not in [info.id for info in athena.conversations.list()]


def test_a_recalled_turn_is_shown_with_its_day_and_in_its_conversation(athena: Athena, run_app: Run) -> None:
    conversation = athena.conversations.create("Ports").info.id
    turn = athena.conversations.save_turn(conversation, answered(HARBOUR))
    athena.conversations.save_turn(conversation, answered(recalled=(turn,)))
    *_, view = component_data(run_app(athena, c=conversation), "turn")
    [shown] = view["recalled"]
    assert (shown["text"], shown["forgotten"]) == (HARBOUR, False)
    assert shown["when"].endswith(str(date.today().year))
    app = dialog(athena, f"from ui.conversation.source import show_source\nshow_source({turn!r})")
    assert component_data(app, "document")[0]["tree"] == [{"t": "p", "k": "said", "c": [HARBOUR]}]


def test_what_was_replaced_is_said_and_undone(athena: Athena, run_app: Run) -> None:
    old, new = replaced(athena)
    conversation = athena.conversations.create("Homes").info.id
    step = Step("remember", data={"added": [new], "replaced": [new]})
    athena.conversations.save_turn(conversation, replace(answered("I live in Linz."), steps=(step,)))
    [view] = component_data(run_app(athena, c=conversation), "turn")
    assert [(item["text"], item["others"]) for item in view["changed"]] == [
        ("I live in Linz.", ["I live in Graz."])
    ]
    athena.memory.undo(new)
    assert [item.id for item in athena.memory.list() if item.tier != "static"] == [old]
    [view] = component_data(run_app(athena, c=conversation), "turn")
    assert [item["undone"] for item in view["changed"]] == [True]


def importing(athena: Athena, data: str) -> AppTest:
    """What follows once a file was chosen."""
    return dialog(athena, f"from ui.memory.settings import _confirm_import\n_confirm_import({data!r})")


def test_what_was_recalled_is_shown_apart_and_a_forgotten_one_as_forgotten(
    athena: Athena, run_app: Run
) -> None:
    [known] = kept(athena, HARBOUR)
    conversation = athena.conversations.create("Ports").info.id
    stored: Answer = answered(recalled=(known, "gone"))
    athena.conversations.save_turn(conversation, stored)
    [view] = component_data(run_app(athena, c=conversation), "turn")
    assert view["recalled"] == [
        {"id": known, "text": HARBOUR, "when": "", "forgotten": False},
        {"id": "gone", "text": "(forgotten)", "when": "", "forgotten": True},
    ]
    athena.memory.forget(athena.memory.forgetting([known]))
    [view] = component_data(run_app(athena, c=conversation), "turn")
    assert [item["forgotten"] for item in view["recalled"]] == [True, True]


def test_forget_under_an_answer_asks_first(athena: Athena, run_app: Run) -> None:
    [known] = kept(athena, HARBOUR)
    conversation = athena.conversations.create("Ports").info.id
    athena.conversations.save_turn(conversation, answered(recalled=(known,)))
    app = run_app(athena, c=conversation)
    asking = partial(confirm_forgetting, lambda memory: memory.forgetting([known]))
    visit = app.session_state["Visit"].token
    app.session_state[OpenDialog.__name__] = OpenDialog("Forget this?", asking, visit=visit)
    app.run()
    assert "1 fact will be gone" in texts(app)
    app.button(key="discard-memory").click().run()
    assert not app.exception
    with pytest.raises(AthenaError):
        athena.memory.get(known)
    assert "will be gone" not in texts(app)


def test_the_inspector_fills_in_memories_of_the_prompt_until_they_are_forgotten(
    athena: Athena, run_app: Run
) -> None:
    [known] = kept(athena, HARBOUR)
    message = {"role": "user", "text": f"Just so you know: [memory {known}]"}
    steps = (Step("prompt", data={"messages": [message], "tokens": 9}),)
    conversation = athena.conversations.create("Ports").info.id
    athena.conversations.save_turn(conversation, replace(answered(), steps=steps))
    app = run_app(athena, page="inspector", c=conversation)
    assert f"Just so you know: {HARBOUR}" in "".join(code.value for code in app.code)
    athena.memory.forget(athena.memory.forgetting([known]))
    app.run()
    assert "8443" not in "".join(code.value for code in app.code)


def test_many_are_listed_page_by_page(athena: Athena, run_app: Run) -> None:
    applied(athena.memories, "local", adding(*(memory(f"Fact {n}.", user="local") for n in range(100))))
    app = run_app(athena, page="memory")
    assert len(listed(app)) == memory_page.PAGE
    app.button(key="memory-more").click().run()
    assert len(listed(app)) == 2 * memory_page.PAGE


def test_the_settings_show_how_often_something_was_recalled(athena: Athena, run_app: Run) -> None:
    conversation = athena.conversations.create("Ports").info.id
    for recalled in ([{"relevance": 0.62}], []):
        steps = (Step("recall", data={"recalled": recalled}),)
        athena.conversations.save_turn(conversation, replace(answered(HARBOUR), steps=steps))
    app = show(run_app(athena, page="memory"), "Settings")
    assert "1 of the last 2 answers (50%)" in texts(app)
