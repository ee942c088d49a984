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
from memory import transfer
from memory.deciding import edits
from memory.deciding.decisions import sides_of
from memory.user_memory import UserMemory
from pipeline.answer import Answer
from pipeline.errors import AthenaError, StoreError
from pipeline.steps.records import Step
from pipeline.stores.memories import Memory, MemorySource
from tests.contracts.memories import adding, memory
from tests.ui.conftest import answered
from tests.ui.test_pages import component_data, texts
from ui.conversation.forgetting import confirm_forgetting
from ui.memory import page as memory_page
from ui.shared.dialogs import OpenDialog
from ui.shared.process import GivenAthena

Run = Callable[..., AppTest]

HARBOUR = "The staging server listens on port 8443."


def kept(athena: Athena, *told: str) -> list[str]:
    """Have these remembered; the ids."""
    return [known for text in told for known in athena.memory.add(text).data["added"]]


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
    assert "Nothing is to be decided" in texts(show(app, "To decide"))
    assert "Nobody and nothing was spoken of yet" in texts(show(app, "Graph"))


def test_what_is_remembered_is_listed_with_why_and_where_from(athena: Athena, run_app: Run) -> None:
    _, source = said(athena)
    given = memory(HARBOUR, user="local", sources=(source,), why="You asked to remember it.", importance=0.7)
    athena.memories.apply("local", adding(given))
    [row] = component_data(run_app(athena, page="memory"), "memories")[0]["rows"]
    assert (row["text"], row["why"], row["source"]) == (HARBOUR, "You asked to remember it.", "Your words")
    assert row["importance"] == 7
    assert [act["name"] for act in row["acts"]] == ["edit", "pin", "contradicts", "forget"]
    app = dialog(athena, f"from ui.conversation.source import show_source\nshow_source({given.id!r})")
    [shown] = component_data(app, "document")
    assert shown["tree"] == [{"t": "p", "k": "said", "c": ["Remember that ", {"t": "mark", "c": [HARBOUR]}]}]


def test_the_words_of_a_document_are_marked_in_it(athena: Athena, run_app: Run) -> None:
    text = athena.store.sections.document("valves.md").text
    quote = "Close CB-4 first."
    start = text.index(quote)
    source = MemorySource(source="valves.md", start=start, end=start + len(quote), quote=quote)
    given = memory("CB-4 is closed first.", user="local", origin="document", sources=(source,))
    athena.memories.apply("local", adding(given))
    assert component_data(run_app(athena, page="memory"), "memories")[0]["rows"][0]["source"] == "valves.md"
    app = dialog(athena, f"from ui.conversation.source import show_source\nshow_source({given.id!r})")
    assert json.dumps({"t": "mark", "n": 0, "c": [quote]}) in json.dumps(component_data(app, "document"))


def test_a_source_that_is_gone_or_anothers_shows_the_kept_words_alone(athena: Athena) -> None:
    theirs = athena.conversations.create("Theirs", user="ann").info.id
    turn = athena.conversations.save_turn(theirs, answered("A secret of Ann's"))
    source = MemorySource(turn_id=turn, start=0, end=8, quote="A secret")
    given = memory("A secret.", user="local", sources=(source,))
    athena.memories.apply("local", adding(given))
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
    kept(athena, "I live in Graz.", "I live in Linz.")
    app = run_app(athena, page="memory")
    assert listed(app) == ["I live in Linz."]
    app.toggle(key="memory-history").set_value(True).run()
    assert sorted(listed(app)) == ["I live in Graz.", "I live in Linz."]
    over = next(row for row in component_data(app, "memories")[0]["rows"] if "Graz" in row["text"])
    assert "no longer true" in [mark["words"] for mark in over["marks"]]


def test_forgetting_shows_what_goes_along_and_overwrites_the_words(athena: Athena) -> None:
    conversation, source = said(athena)
    given = memory(HARBOUR, user="local", sources=(source,))
    made = memory("Much is said of ports.", user="local", sources=(MemorySource(memory_id=given.id),))
    athena.memories.apply("local", adding(given, made))
    app = forgetting(athena, f"memory.forgetting([{given.id!r}])")
    assert "2 facts will be gone" in texts(app)
    assert "goes along" in texts(app)
    assert made.text in texts(app)
    app.button(key="discard-memory").click().run()
    assert athena.memory.list() == list(athena.memory.static)
    assert "8443" not in athena.conversations.get(conversation).turns[0].question


def test_the_words_stay_where_that_is_chosen(athena: Athena) -> None:
    conversation, source = said(athena)
    given = memory(HARBOUR, user="local", sources=(source,))
    athena.memories.apply("local", adding(given))
    app = forgetting(athena, f"memory.forgetting([{given.id!r}])")
    assert "stay to read" not in texts(app)
    app.checkbox(key="forget-keep-words").check().run()
    assert "The words stay to read in the conversations, and are not found again." in texts(app)
    app.button(key="discard-memory").click().run()
    assert athena.memory.list() == list(athena.memory.static)
    assert HARBOUR in athena.conversations.get(conversation).turns[0].question


def test_a_server_says_what_its_journal_keeps(athena: Athena, monkeypatch: pytest.MonkeyPatch) -> None:
    [known] = kept(athena, HARBOUR)
    code = f"memory.forgetting([{known!r}])"
    assert "journal" not in texts(forgetting(athena, code))
    monkeypatch.setattr(athena, "settings", athena.settings.model_copy(update={"store": "server"}))
    assert "its journal, oplog and free space keep it" in texts(forgetting(athena, code))


def test_what_is_old_is_forgotten_and_what_is_pinned_stays(athena: Athena) -> None:
    old, pinned = memory("Old.", user="local"), memory("Pinned.", user="local", pinned=True)
    athena.memories.apply("local", adding(old, pinned))
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


def test_documents_that_cannot_be_compared_are_said_above_the_list(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise StoreError("Neo4j does not answer.", "Start it.")

    kept(athena, HARBOUR)
    monkeypatch.setattr(UserMemory, "check_documents", refuse)
    app = run_app(athena, page="memory")
    assert [warning.value.replace("\\", "") for warning in app.warning] == [
        "Neo4j does not answer. Start it."
    ]
    assert listed(app) == [HARBOUR]


def test_an_edit_is_kept_and_a_secret_is_not(athena: Athena) -> None:
    [known] = kept(athena, HARBOUR)
    app = dialog(athena, f"from ui.memory.listing import edit\nedit({known!r})")
    app.text_area(key=f"edit-{known}").set_value("My password is hunter2secret!").run()
    app.button(key="discard-edit").click().run()
    assert "never kept" in texts(app)
    assert athena.memory.get(known).text == HARBOUR
    app.text_area(key=f"edit-{known}").set_value("It listens on port 9443.").run()
    app.button(key="discard-edit").click().run()
    assert not app.exception
    assert athena.memory.get(known).text == "It listens on port 9443."


def sides(athena: Athena) -> tuple[Memory, Memory]:
    """A dispute of two sides."""
    one, other = (memory(f"The tank holds {litres} l.", user="local", disputed="d") for litres in (40, 60))
    athena.memories.apply("local", adding(one, other))
    return one, other


@pytest.mark.parametrize("kept_side", [0, 1])
def test_a_dispute_is_decided_for_a_side(athena: Athena, run_app: Run, kept_side: int) -> None:
    both = sides(athena)
    app = show(run_app(athena, page="memory"), "To decide")
    assert "Which is right?" in "".join(item.value for item in app.subheader)
    app.button(key=f"right-{both[kept_side].id}").click().run()
    assert not app.exception
    [left] = [item for item in athena.memory.list() if item.tier != "static"]
    assert (left.id, left.disputed) == (both[kept_side].id, "")
    assert "Nothing is to be decided" in texts(app)


def test_both_sides_of_a_dispute_can_be_right(athena: Athena, run_app: Run) -> None:
    both = sides(athena)
    app = show(run_app(athena, page="memory"), "To decide")
    group = next(button.key for button in app.button if (button.key or "").startswith("both-"))
    app.button(key=group).click().run()
    left = [item for item in athena.memory.list() if item.tier != "static"]
    assert {item.id for item in left} == {item.id for item in both}
    assert not any(item.disputed for item in left)


def test_what_a_document_no_longer_says_is_decided(athena: Athena, run_app: Run) -> None:
    source = MemorySource(source="valves.md", start=0, end=4, quote="not there", file_hash="before")
    given = memory("CB-9 is closed first.", user="local", origin="document", sources=(source,))
    athena.memories.apply("local", adding(given))
    app = show(run_app(athena, page="memory"), "To decide")
    assert "Still true?" in "".join(item.value for item in app.subheader)
    app.button(key=f"still-{given.id}").click().run()
    assert not app.exception
    left = athena.memory.get(given.id)
    assert (left.stale, left.sources) == (False, ())
    athena.memory.check_documents()
    assert not athena.memory.get(given.id).stale


def test_a_decision_that_cannot_be_written_is_said(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = sides(athena)
    app = show(run_app(athena, page="memory"), "To decide")

    def refuse(*_: Any, **__: Any) -> int:
        raise StoreError("Cannot write 'athena.sqlite': it is read-only.", "Copy it.")

    monkeypatch.setattr(type(athena.memories), "apply", refuse)
    app.button(key=f"right-{one.id}").click().run()
    assert not app.exception
    assert "it is read-only" in texts(app).replace("\\", "")


def test_the_graph_the_ranking_and_the_stream_are_drawn(athena: Athena, run_app: Run) -> None:
    kept(athena, "Ada Lovelace works at Siemens.", "Ada Lovelace lives in Vienna.")
    app = show(run_app(athena, page="memory"), "Graph")
    [drawn] = component_data(app, "graph")
    assert {node["name"] for node in drawn["nodes"]} >= {"Ada Lovelace"}
    most, *_ = component_data(app, "ranking")
    assert most["rows"][0]["name"]
    [stream] = component_data(app, "stream")
    assert stream["days"]


def of(app: AppTest, kind: str, key: str) -> Any:
    """The control of a setting."""
    [found] = [item for item in getattr(app, kind) if (item.key or "").startswith(f"{key}-")]
    return found


def test_how_much_is_remembered_is_chosen_and_less_is_confirmed(athena: Athena, run_app: Run) -> None:
    app = show(run_app(athena, page="memory"), "Settings")
    of(app, "radio", "memory").set_value("agent").run()
    of(app, "radio", "memory_recall").set_value("asked").run()
    app.button(key="save-memory").click().run()
    assert (athena.memory.options.memory, athena.memory.options.memory_recall) == ("agent", "asked")
    [says] = [caption.value for caption in app.caption if " of **" in caption.value]
    assert "Of what was said only what was kept as a fact is recalled" in says
    assert "All that was said" not in says
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


def test_what_was_said_is_found_filtered_kept_and_forgotten(athena: Athena, run_app: Run) -> None:
    conversation = athena.conversations.create("Ports").info.id
    for text in (HARBOUR, "Clara: I play the cello."):
        athena.conversations.save_turn(conversation, answered(text, text="It hums."))
    app = run_app(athena, page="memory")
    assert "2 messages of yours are found again" in texts(app)
    app.text_input(key="memory-search").set_value("which port does the staging server use?").run()
    [row] = component_data(app, "memories")[0]["rows"]
    assert (row["text"], row["about"]) == (HARBOUR, "you · in “Ports”")
    assert [act["name"] for act in row["acts"]] == ["open", "keep", "forget"]
    app.text_input(key="memory-search").set_value("").run()
    app.selectbox(key="said-by").select("Clara").run()
    assert listed(app) == ["I play the cello."]
    app.date_input(key="said-to").set_value(date(2020, 1, 1)).run()
    assert listed(app) == []
    edits.keep_said(athena.memory, row["id"])
    [fact] = [item for item in athena.memory.list() if item.tier != "static"]
    assert (fact.text, fact.sources[0].turn_id) == (HARBOUR.rstrip("."), row["id"])
    app = forgetting(athena, f"memory.forgetting(turns=[{row['id']!r}])")
    assert "1 fact and 1 message will be gone" in texts(app)
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
    app.checkbox(key="forget-keep-words").check().run()
    app.button(key="discard-memory").click().run()
    assert athena.memory.turns.own() == []
    assert athena.conversations.get(conversation).turns[0].question == HARBOUR


def test_a_dispute_is_made(athena: Athena) -> None:
    one, other = kept(athena, HARBOUR, "The harbour is closed.")
    app = dialog(athena, f"from ui.conversation.deciding import contradicting\ncontradicting({one!r})")
    app.selectbox(key="contradicted").select(other).run()
    app.button(key="discard-contradict").click().run()
    assert {side.id for side in sides_of(athena.memory.index, athena.memory.get(one))} == {one, other}


def test_two_names_become_one(athena: Athena) -> None:
    kept(athena, "Ada Lovelace works at Siemens.", "Augusta King lives in Vienna.")
    index = athena.memory.index
    ada, augusta = (index.entity_named(name) for name in ("Ada Lovelace", "Augusta King"))
    assert ada
    assert augusta
    app = dialog(athena, f"from ui.memory.graph_page import merging\nmerging({ada.id!r}, {augusta.id!r})")
    app.button(key="discard-merge").click().run()
    assert not app.exception
    one = athena.memory.index.entity_named("Augusta King")
    assert one
    assert (one.id, one.name) == (ada.id, "Ada Lovelace")
    assert augusta.id not in athena.memory.index.entities


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
    old, new = kept(athena, "I live in Graz.", "I live in Linz.")
    conversation = athena.conversations.create("Homes").info.id
    step = Step("remember", data={"added": [new], "replaced": [new]})
    athena.conversations.save_turn(conversation, replace(answered("I live in Linz."), steps=(step,)))
    [view] = component_data(run_app(athena, c=conversation), "turn")
    assert [(item["text"], item["others"]) for item in view["changed"]] == [
        ("I live in Linz.", ["I live in Graz."])
    ]
    edits.undo_replacement(athena.memory, new)
    assert [item.id for item in athena.memory.list() if item.tier != "static"] == [old]
    [view] = component_data(run_app(athena, c=conversation), "turn")
    assert [item["undone"] for item in view["changed"]] == [True]


def test_an_import_says_what_it_will_add_and_a_bad_one_adds_nothing(athena: Athena) -> None:
    kept(athena, HARBOUR)
    exported = transfer.export(athena.memory)
    assert "Everything in this file is remembered already" in texts(importing(athena, exported))
    refused = texts(importing(athena, '{"memories": 1}'))
    assert "This is not an export of memories" in refused.replace("\\", "")
    athena.memory.forget(athena.memory.forgetting(everything=True))
    app = importing(athena, exported)
    assert "This would add 1 fact" in texts(app)
    app.button(key="import").click().run()
    assert not app.exception
    assert [item.text for item in athena.memory.list() if item.tier != "static"] == [HARBOUR]


def importing(athena: Athena, data: str) -> AppTest:
    """What follows once a file was chosen."""
    return dialog(athena, f"from ui.memory.policies import _confirm_import\n_confirm_import({data!r})")


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


def test_the_inspector_fills_in_what_was_recalled_and_kept(athena: Athena, run_app: Run) -> None:
    from pipeline.steps.records import Step

    [known] = kept(athena, HARBOUR)
    steps = (
        Step(
            "recall",
            data={
                "recalled": [
                    {"memory_id": known, "score": 0.9, "recency": 1.0, "importance": 0.5, "relevance": 0.6}
                ],
                "considered": 1,
                "threshold": 0.4,
            },
        ),
        Step(
            "prompt",
            data={"messages": [{"role": "user", "text": f"Just so you know: [memory {known}]"}], "tokens": 9},
        ),
        Step("remember", data={"added": ["gone"]}),
    )
    conversation = athena.conversations.create("Ports").info.id
    athena.conversations.save_turn(conversation, replace(answered(), steps=steps))
    app = run_app(athena, page="inspector", c=conversation)
    tables = "".join(str(table.value) for table in app.dataframe)
    assert HARBOUR in tables
    assert "(forgotten)" in tables
    assert f"Just so you know: {HARBOUR}" in "".join(code.value for code in app.code)
    athena.memory.forget(athena.memory.forgetting([known]))
    app.run()
    assert "8443" not in "".join(str(table.value) for table in app.dataframe)
    assert "8443" not in "".join(code.value for code in app.code)


def test_many_are_listed_page_by_page(athena: Athena, run_app: Run) -> None:
    athena.memories.apply("local", adding(*(memory(f"Fact {n}.", user="local") for n in range(100))))
    app = run_app(athena, page="memory")
    assert len(listed(app)) == memory_page.PAGE
    app.button(key="memory-more").click().run()
    assert len(listed(app)) == 2 * memory_page.PAGE
