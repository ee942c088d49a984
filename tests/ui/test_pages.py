"""Each page as Streamlit runs it, over a real index and stored conversations."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from streamlit.testing.v1 import AppTest

from athena import Athena
from athena.settings import Settings
from pipeline.answer import Answer
from pipeline.answering.replies import NO_MODEL
from pipeline.errors import StoreError
from pipeline.ingest import IngestReport, Progress
from pipeline.steps.records import Step
from pipeline.stores.embedded import EmbeddedStore
from tests import made_answers
from tests.made_files import notebook
from tests.ui.conftest import VALVES, answered, component_data, quoted, texts
from ui.chat import sidebar
from ui.chat.welcome import NOT_COMPLETE
from ui.conversation import asking
from ui.conversation.runner import Runner, runner
from ui.serving import serving
from ui.shared.jobs import jobs
from ui.shared.process import GivenAthena
from ui.shared.state import OpenEvidence, SharedState

Run = Callable[..., AppTest]


def store(athena: Athena, answer: Answer) -> tuple[str, str]:
    """A conversation with one turn: its id and the turn's."""
    conversation = athena.conversations.create("Valves").info.id
    return conversation, athena.conversations.save_turn(conversation, answer)


def chosen(app: AppTest, name: str, content: bytes) -> None:
    """Choose a file to upload."""
    app.file_uploader[0].set_value((name, content, "application/octet-stream")).run()
    assert not app.exception


def uploaded(app: AppTest, name: str, content: bytes) -> None:
    """Choose a file, add it, and wait until it is indexed."""
    chosen(app, name, content)
    app.button(key="add-files").click().run()
    job_ended()
    app.run()


def job_ended() -> None:
    """Wait until what is being indexed is indexed."""
    job = jobs().current
    assert job is not None
    assert job.wait(60)


def pane_of(athena: Athena, run_app: Run, conversation: str, turn: str) -> dict[str, Any]:
    """What the evidence pane shows, open on the first citation of a turn."""
    app = run_app(athena, c=conversation)
    app.session_state[SharedState.__name__].evidence = OpenEvidence(turn, "citation", 1)
    app.run()
    (pane,) = component_data(app, "pane")
    return pane


def test_first_visit(athena: Athena, run_app: Run) -> None:
    app = run_app(athena)
    assert "cites the exact sentence" in texts(app)
    assert "Indexed: 2 documents, 2 sections" in texts(app)
    assert app.chat_input[0].placeholder == "Ask the documents"
    assert "manuals" not in texts(app)
    assert "No language model is connected" in texts(app)
    assert len([button for button in app.button if button.key and button.key.startswith("ask-")]) >= 2


def test_a_document_without_headings_is_suggested_once(
    empty_athena: Athena, run_app: Run, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    for name in ("Ropes", "Knots"):
        (tmp_path / "notes" / f"{name}.md").write_text(f"# {name}\n\nThey hold. They are long.\n")
    empty_athena.ingest([tmp_path / "notes"])
    keys = [str(button.key) for button in run_app(empty_athena).button]
    suggested = [key for key in keys if key.startswith("ask-")]
    assert [sum(name in key for key in suggested) for name in ("Ropes", "Knots")] == [1, 1]


def test_nothing_indexed(empty_athena: Athena, run_app: Run) -> None:
    assert "Nothing is indexed yet." in texts(run_app(empty_athena))
    assert "Nothing is indexed yet." in texts(run_app(empty_athena, page="documents"))
    assert "Nothing to inspect here" in texts(run_app(empty_athena, page="inspector"))


def test_asking_without_an_index_says_what_to_do(empty_athena: Athena, run_app: Run) -> None:
    app = run_app(empty_athena)
    assert app.chat_input[0].disabled
    assert app.chat_input[0].placeholder == "Add documents first"
    assert "athena ingest" in texts(app).replace("\\", "")
    assert not component_data(app, "scope")


def test_a_stored_conversation_is_shown_by_its_address(athena: Athena, run_app: Run) -> None:
    conversation, turn = store(athena, answered())
    data = component_data(run_app(athena, c=conversation), "turn")
    assert [(view["turn"], view["kind"], view["question"]) for view in data] == [
        (turn, "quotes", "Why is it OFFLINE?")
    ]


def test_an_unknown_conversation_says_so(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, c="nothing")
    assert "not stored any more" in texts(app)
    assert not component_data(app, "turn")


def test_the_pane_shows_the_cited_section(athena: Athena, run_app: Run) -> None:
    conversation, turn = store(athena, answered())
    pane = pane_of(athena, run_app, conversation, turn)
    assert (pane["status"], pane["crumbs"]) == ("same", ["valves.md", "Valves", "LN2 tank"])
    assert '{"t": "mark", "n": 0, "c": ["The LN2 tank shows OFFLINE when its switch is off."]}' in json.dumps(
        pane["tree"]
    )


def test_the_pane_says_what_became_of_the_passage(athena: Athena, run_app: Run) -> None:
    conversation, turn = store(athena, answered())
    manual = athena.store.sections.documents()[-1]
    for text, fate in (
        (VALVES.replace("# Valves\n", "# Valves\n\nNew words first.\n"), "moved"),
        (VALVES.replace("its switch is off", "its power switch is off"), "changed"),
        ("# Valves\n\nOther things entirely.\n", "gone"),
    ):
        Path(manual.root, "valves.md").write_text(text, encoding="utf-8")
        athena.ingest([manual.root])
        pane = pane_of(athena, run_app, conversation, turn)
        assert pane["status"] == fate
        assert bool(pane["then"]) == (fate != "moved")


def test_a_deleted_file_still_shows_what_was_cited(athena: Athena, run_app: Run) -> None:
    conversation, turn = store(athena, answered())
    athena.delete_with_file("valves.md")
    pane = pane_of(athena, run_app, conversation, turn)
    assert (pane["status"], pane["can_open"]) == ("gone", False)
    assert "switch is off" in json.dumps(pane["then"])


def test_deleting_a_conversation_asks_first(athena: Athena, run_app: Run) -> None:
    conversation, _ = store(athena, answered())
    app = run_app(athena, c=conversation)
    app.menu_button(key=f"menu-{conversation}").click("Delete …").run()
    assert "will be deleted" in texts(app)
    assert app.button(key="keep-conversation").label == "Keep it"
    assert len(athena.conversations.list()) == 1


def test_a_deletion_can_be_undone(athena: Athena, run_app: Run) -> None:
    conversation, _ = store(athena, answered())
    other = athena.conversations.create("Sleep").info.id
    app = run_app(athena, c=other)
    app.menu_button(key=f"menu-{conversation}").click("Delete …").run()
    app.button(key="discard-conversation").click().run()
    assert [info.id for info in athena.conversations.list()] == [other]
    assert app.query_params["c"] in (other, [other])
    app.button(key="undo-deletion").click().run()
    assert len(athena.conversations.get(conversation).turns) == 1
    assert "Undo" not in [button.label for button in app.button]


def test_a_conversation_is_renamed(athena: Athena, run_app: Run) -> None:
    conversation, _ = store(athena, answered())
    app = run_app(athena, c=conversation)
    app.menu_button(key=f"menu-{conversation}").click("Rename …").run()
    app.text_input(key=f"title-{conversation}").set_value("Other")
    next(button for button in app.button if button.label == "Rename").click().run()
    assert athena.conversations.list()[0].title == "Other"


def test_conversations_are_listed_by_day_and_found_by_their_words(athena: Athena, run_app: Run) -> None:
    tank, _ = store(athena, answered("Is the tank empty?"))
    ids = [athena.conversations.create("Sleep").info.id for _ in range(4)]
    yesterday = athena.conversations.get(ids[0])
    info = replace(yesterday.info, updated_at=yesterday.info.updated_at - 24 * 3600)
    athena.conversations.restore(replace(yesterday, info=info))
    app = run_app(athena)
    days = [caption.value for caption in app.sidebar.caption][:2]
    assert days == ["Today", "Yesterday"]
    labels = [button.label for button in app.sidebar.button if button.label.endswith("Sleep")]
    assert ["·" in label for label in labels] == [True, True, True, False]
    app.text_input(key="search-conversations").set_value("TANK empty").run()
    assert [b.key for b in app.sidebar.button if str(b.key).startswith("open-")] == [f"open-{tank}"]
    app.text_input(key="search-conversations").set_value("giraffe").run()
    assert "No conversation has these words." in texts(app)


def test_conversations_are_exported_as_markdown_and_json(athena: Athena) -> None:
    tank, turn = store(athena, answered())
    store(athena, answered("And then?"))
    athena.conversations.create("Not theirs", user="eve")
    assert "> Why is it OFFLINE?" in sidebar.markdown_of(athena, tank)
    (one,) = json.loads(sidebar.json_of(athena, tank))["conversations"]
    assert (one["id"], one["turns"][0]["turn_id"], one["turns"][0]["citations"][0]["source"]) == (
        tank, turn, "valves.md",
    )  # fmt: skip
    everything = json.loads(sidebar.all_as_json(athena, athena.settings.user))["conversations"]
    assert [len(conversation["turns"]) for conversation in everything] == [1, 1]
    with zipfile.ZipFile(io.BytesIO(sidebar.all_as_markdown(athena, athena.settings.user))) as archive:
        assert sorted(name[:4] for name in archive.namelist()) == ["0001", "0002"]
        assert all(name.endswith("-valves.md") for name in archive.namelist())


def test_an_export_gives_no_orders_to_a_terminal_that_shows_it(athena: Athena) -> None:
    wild = "Why\x1b]0;owned\x07 is it \x9b2J\x7f OFFLINE?"
    conversation, _ = store(athena, answered(wild))
    as_json = sidebar.json_of(athena, conversation)
    for text in (sidebar.markdown_of(athena, conversation), as_json):
        assert not set(text) & {"\x1b", "\x07", "\x9b", "\x7f"}
    assert json.loads(as_json)["conversations"][0]["turns"][0]["question"] == wild


def test_the_last_answer_offers_what_stands_beside_what_it_cites(
    athena: Athena, run_app: Run, tmp_path: Path
) -> None:
    more = "The valve lets nitrogen into the cabin, slowly and evenly. " * 3
    text = VALVES + f"\n## Closing the valve\n\n{more}\n\n## Notes\n\n{more}\n"
    (tmp_path / "manuals" / "valves.md").write_text(text, encoding="utf-8")
    athena.ingest([tmp_path / "manuals"])
    conversation, _ = store(athena, answered(verdict="answered"))
    athena.conversations.save_turn(conversation, answered("And then?", verdict="answered"))
    views = component_data(run_app(athena, c=conversation), "turn")
    assert [view["follow_ups"] for view in views] == [[], ["Valves: Closing the valve", "Valves: Notes"]]
    athena.conversations.save_turn(conversation, answered("Or?", verdict="closest"))
    assert component_data(run_app(athena, c=conversation), "turn")[-1]["follow_ups"] == []


NOTE = f"{NO_MODEL} Set ATHENA_LLM=auto to look for a model."


def test_the_chat_says_once_that_no_model_is_connected(athena: Athena, run_app: Run) -> None:
    conversation, _ = store(athena, answered(notices=(NOTE, "Something else.")))
    athena.conversations.save_turn(conversation, answered("And then?", notices=(NOTE,)))
    app = run_app(athena, c=conversation)
    assert texts(app).count("No language model is connected") == 1
    assert "No language model" not in json.dumps([view["notices"] for view in component_data(app, "turn")])
    assert "Something else." in json.dumps([view["notices"] for view in component_data(app, "turn")])


def test_a_question_asked_again_keeps_its_former_answers_and_an_edited_one_begins_anew(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation, first = store(athena, answered())
    athena.conversations.save_turn(conversation, answered("And then?"))
    clicks: dict[str, dict[str, object]] = {"instead": {"question": " Why not? ", "turn": first}}
    monkeypatch.setattr("ui.conversation.talk.sent", lambda _, trigger: clicks.get(trigger, {}))
    app = AppTest.from_function(_click_a_version, args=(conversation,))
    app.session_state[GivenAthena.__name__] = GivenAthena(athena)
    app.run()
    assert app.session_state["asked"] == ("Why not?", first)
    question = athena.conversations.turn(first).question
    again = replace(answered(question), text="Another answer.")
    athena.conversations.save_turn(conversation, again, instead_of=first)
    views = component_data(run_app(athena, c=conversation), "turn")
    assert [(view["turn"] == first, view["versions"]) for view in views] == [(True, 2), (False, 1)]
    clicks = {"version": {"turn": first, "version": 0}}
    app.run()
    assert not app.exception
    assert athena.conversations.turn(first).answer.text == answered().text
    athena.conversations.save_turn(conversation, answered("Why not?"), instead_of=first)
    (view,) = component_data(run_app(athena, c=conversation), "turn")
    assert (view["question"], view["versions"]) == ("Why not?", 1)


def _click_a_version(conversation: str) -> None:
    import streamlit as st

    from ui.conversation import talk

    def asked(question: str, *, verbatim: bool = False, instead_of: str = "") -> None:
        st.session_state.asked = (question, instead_of)

    talk._ask_instead("key", asked)
    talk._choose("key", conversation, 0)


def test_older_conversations_are_listed_when_asked_for(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.chat.sidebar.PAGE", 2)
    ids = [athena.conversations.create(f"Number {number}").info.id for number in range(5)]
    app = run_app(athena)
    shown = [len([id_ for id_ in ids if f"open-{id_}" in {button.key for button in app.button}])]
    while older := [button for button in app.button if button.label == "Older conversations"]:
        older[0].click().run()
        shown.append(len([id_ for id_ in ids if f"open-{id_}" in {button.key for button in app.button}]))
    assert shown == [2, 4, 5]


def test_documents_are_listed_with_their_counts(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="documents")
    assert [metric.value for metric in app.metric] == ["2", "2", "5"]
    (table,) = component_data(app, "files")
    assert [(row["source"], row["sections"], row["sentences"]) for row in table["files"]] == [
        ("crew.md", 1, 1), ("valves.md", 1, 4),
    ]  # fmt: skip


def test_a_file_is_uploaded_and_indexed(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="documents")
    uploaded(app, "beans.md", b"# Beans\n\nThe beans get water.\n")
    assert [info.source for info in athena.store.sections.documents()] == ["beans.md", "crew.md", "valves.md"]
    assert "1 document added" in texts(app)


def test_an_upload_that_cannot_be_read_is_listed_and_deleted(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="documents")
    uploaded(app, "bad.md", b"caf\xe9")
    app = run_app(athena, page="documents")
    assert "1 uploaded file could not be indexed" in texts(app)
    assert "not UTF-8 (byte 0xE9 at 3)" in texts(app).replace("\\", "")
    app.button(key="retry").click().run()
    job_ended()
    app.run().button(key="delete-bad.md").click().run()
    app.button(key="discard-upload").click().run()
    assert "could not be indexed" not in texts(app)
    assert not list((athena.settings.data_dir / "uploads").iterdir())


def test_a_rebuild_is_asked_for_and_tells_how_far_it_came(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest = athena.ingest
    monkeypatch.setattr(
        athena, "ingest", lambda *given, **named: ingest(*given, **named | {"should_stop": lambda: True})
    )
    app = run_app(athena, page="documents")
    app.button(key="rebuild").click().run()
    assert "2 documents will be read" in texts(app)
    assert jobs().current is None
    app.button(key="discard-rebuild").click().run()
    job_ended()
    assert "Cancelled after 0 of 2 documents. The index is searched as it was" in texts(app.run())
    assert len(athena.store.sections.documents()) == 2


def test_a_notebook_is_converted_and_its_row_says_so(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="documents")
    made = notebook(("markdown", "# Beans\n\nThe beans get water."), ("code", "x = 1"), outputs=3)
    uploaded(app, "beans.ipynb", made.encode())
    (table,) = component_data(app, "files")
    (row,) = (row for row in table["files"] if row["source"] == "beans.ipynb")
    assert row["converted"] == "Converted from Jupyter"
    assert {row["converted"] for row in table["files"] if row["source"].endswith(".md")} == {""}


def test_the_report_of_an_upload_ends_when_it_was_read(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="documents")
    uploaded(app, "beans.md", b"# Beans\n\nThe beans get water.\n")
    assert "1 document added" in texts(app)
    assert "1 document added" in texts(app.run())  # as long as somebody stays on the page
    assert "1 document added" not in texts(run_app_again(app))


def test_everybody_who_waits_for_an_upload_reads_its_report(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two windows at once; one that comes later, when it was read, has no part in it."""
    go_on, ingest = threading.Event(), athena.ingest

    def held(*given: Any, **named: Any) -> Any:
        go_on.wait(30)
        return ingest(*given, **named)

    monkeypatch.setattr(athena, "ingest", held)
    other, app = run_app(athena, page="documents"), run_app(athena, page="documents")
    chosen(app, "beans.md", b"# Beans\n\nWater.\n")
    app.button(key="add-files").click().run()
    other.run()
    go_on.set()
    job_ended()
    assert ["1 document added" in texts(window.run()) for window in (other, app, other)] == [True] * 3
    assert "1 document added" not in texts(run_app(athena, page="documents"))


def run_app_again(app: AppTest) -> AppTest:
    """Come back to the page after another one."""
    app.session_state["Visit"].page = "chat"
    return app.run()


def test_a_format_that_is_not_installed_is_named_with_what_installs_it(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("readers.formats.importlib.util.find_spec", lambda _: None)
    app = run_app(athena, page="documents")
    chosen(app, "pump.pdf", b"%PDF-1.7")
    assert "pip install 'athena-docs[files]'" in texts(app).replace("\\", "")
    assert not [button for button in app.button if button.key == "add-files"]


def test_a_damaged_member_of_a_zip_is_named_and_the_others_can_be_added(athena: Athena, run_app: Run) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("bad.md", b"# Bad" * 50)
        archive.writestr("good.md", b"# Good\n\nText.\n")
        archive.writestr("/".join(["d" * 190] * 21) + "/long.md", b"# Long")
    content = bytearray(buffer.getvalue())
    content[content.index(b"bad.md") + 20] ^= 0xFF
    app = run_app(athena, page="documents")
    chosen(app, "pack.zip", bytes(content))
    errors = [error.value.replace("\\", "") for error in app.error]
    assert errors[0].startswith("'bad.md' in the zip cannot be unpacked: ")
    assert "is too long or too deep a name" in errors[1]
    app.button(key="add-files").click().run()
    assert not app.exception
    job_ended()
    assert "good.md" in [info.source for info in athena.store.sections.documents()]


def test_an_outdated_index_says_so_and_is_indexed_again(athena: Athena, run_app: Run) -> None:
    assert isinstance(athena.store, EmbeddedStore)
    with athena.store.database.write() as connection:
        connection.execute(
            "UPDATE manifest SET recipe = 0, fingerprint = ''"
        )  # as one made before they were kept
    app = run_app(athena, page="documents")
    assert "The index is outdated" in texts(app)
    app.button(key="reindex").click().run()
    job_ended()
    app.run()
    assert "Everything was embedded again" in texts(app)
    assert "The index is outdated" not in texts(app)
    app.button(key="reindex").click().run()
    job_ended()
    assert "Nothing was new." in texts(app.run())


def test_an_upload_with_the_name_of_a_manual_gets_a_name_of_its_own(athena: Athena, run_app: Run) -> None:
    app = run_app(athena, page="documents")
    uploaded(app, "valves.md", b"# Mine\n\nText.\n")
    assert "uploads/valves.md" in [info.source for info in athena.store.sections.documents()]
    assert "could not be indexed" not in texts(run_app(athena, page="documents"))
    assert athena.delete_with_file("uploads/valves.md")
    assert not list((athena.settings.data_dir / "uploads").iterdir())


def test_the_inspector_shows_the_steps_of_the_answer_that_the_address_names(
    athena: Athena, run_app: Run
) -> None:
    steps = (Step("hyde", status="skipped", detail="no language model is connected"), Step("search", ms=12.0))
    conversation, _ = store(athena, answered(steps=steps, condensed_question="Why is the LN2 tank OFFLINE?"))
    athena.conversations.save_turn(conversation, answered("And then?", steps=(Step("embed", ms=1.0),)))
    for number, labels in (("1", ["Hyde", "Search"]), ("2", ["Embed"])):
        (flow,) = component_data(run_app(athena, page="inspector", c=conversation, answer=number), "flow")
        assert [step["label"] for step in flow["steps"]] == labels


def test_the_inspector_draws_the_ranks_of_a_search(athena: Athena, run_app: Run) -> None:
    found = athena.search("When is the LN2 tank OFFLINE?")
    conversation, _ = store(athena, answered(steps=found.steps))
    app = run_app(athena, page="inspector", c=conversation)
    assert not app.exception
    (drawn,) = app.get("vega_lite_chart")
    assert "Selected" in drawn.proto.spec


def test_what_if_compares_two_searches(athena: Athena, run_app: Run) -> None:
    conversation, _ = store(athena, answered(steps=(Step("search", ms=12.0),)))
    app = run_app(athena, page="inspector", c=conversation)
    app.slider[0].set_value(0.0)
    next(button for button in app.button if button.label == "Search again").click().run()
    assert not app.exception
    (compared,) = app.get("vega_lite_chart")
    assert "Your settings" in compared.proto.spec


@pytest.mark.parametrize(("cites", "verdict"), [(True, "The answer shows it"), (False, "Left out by: Quote")])
def test_why_not_tells_a_section_that_is_shown_from_one_that_was_found_alone(
    athena: Athena, run_app: Run, cites: bool, verdict: str
) -> None:
    citations = (quoted(VALVES, "Close CB-4 first."),) if cites else ()
    conversation, _ = store(athena, answered(steps=(Step("search", ms=12.0),), citations=citations))
    app = run_app(athena, page="inspector", c=conversation)
    app.selectbox(key="expected").set_value("valves.md").run()
    app.selectbox(key="in-valves.md").set_value("Valves > LN2 tank").run()
    assert verdict in texts(app)


def test_a_stopped_answer_keeps_its_text(athena: Athena, run_app: Run) -> None:
    cited = quoted(VALVES, "Close CB-4 first.")
    half = answered(text="Close [1]", mode="generate", model="ollama/x", status="stopped", citations=(cited,))
    conversation, _ = store(athena, half)
    (view,) = component_data(run_app(athena, c=conversation), "turn")
    assert view["ended"] == "You stopped this answer."
    assert {"t": "chip", "n": 1, "c": []} in view["body"][0]["c"]


def _full(*_: object, **__: object) -> NoReturn:
    raise StoreError("Cannot write 'athena.sqlite': the disk is full.", "Free some space.")


@pytest.mark.parametrize("fails_at", [1, 2])
def test_an_answer_that_cannot_be_stored_is_shown(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch, fails_at: int
) -> None:
    """Not at all, or as it was a second before."""
    conversation, _ = store(athena, answered())
    question, calls, save = (
        "How long does the crew sleep?",
        itertools.count(1),
        athena.conversations.save_turn,
    )

    def saved(*given: Any, **named: Any) -> str:
        return (_full if next(calls) >= fails_at else save)(*given, **named)

    monkeypatch.setattr(athena.conversations, "save_turn", saved)
    engine = athena.chat(conversation_id=conversation)
    if fails_at > 1:
        answer, keep = engine._answer, engine.conversation.keep_so_far
        monkeypatch.setattr(engine, "_answer", lambda turn, emit: (keep(turn), answer(turn, emit))[1])
    run = runner().ask(engine, conversation_id=conversation, question=question)
    assert run.wait(30)
    first, last = component_data(run_app(athena, c=conversation), "turn")
    assert (first["question"], last["question"]) == ("Why is it OFFLINE?", question)
    assert "This answer is not stored" in str(last)
    assert "seven hours" in str(last)
    assert not last["ended"]


def test_a_conversation_that_cannot_be_begun_is_a_private_one(
    athena: Athena, run_app: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(athena.conversations, "create", _full)
    app = run_app(athena)
    app.chat_input[0].set_value("How long does the crew sleep?").run()
    shown = texts(app)
    assert "the disk is full" in shown
    assert "this conversation is kept in memory alone" in shown
    (info,) = athena.private_conversations.list()
    run = runner().of(info.id)
    assert run is not None
    assert run.wait(30)
    assert "seven hours" in str(component_data(app.run(), "turn"))
    assert athena.conversations.list() == []


class _Chats:
    """Stands in for Athena: keeps what a chat was asked for."""

    def __init__(self, athena: Athena) -> None:
        self.options = athena.options
        self.given: list[dict[str, Any]] = []

    def chat(self, **given: Any) -> None:
        self.given.append(given)


def test_a_question_asked_again_as_typed_is_not_corrected(
    athena: Athena, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats, runner = _Chats(athena), Runner()
    monkeypatch.setattr(asking.process, "athena", lambda: chats)
    monkeypatch.setattr(asking, "picked_model", lambda: None)
    monkeypatch.setattr(runner, "ask", lambda *_, **__: None)
    monkeypatch.setattr(asking, "runner", lambda: runner)
    asking.start_answer("fule cell", conversation_id="c", verbatim=True)
    asking.start_answer("fule cell", conversation_id="c")
    as_typed, corrected = chats.given
    assert as_typed["options"] == athena.options.but(spelling=False)
    assert as_typed["options"] != athena.options
    assert corrected["options"] is None


def test_while_documents_are_indexed_the_chat_says_that_some_are_not_found(
    athena: Athena, run_app: Run, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "ropes.md").write_text("# Ropes\n\nThey hold.\n", encoding="utf-8")
    begun, go_on = threading.Event(), threading.Event()

    def hold(_: Progress) -> None:
        begun.set()
        go_on.wait(60)

    run = threading.Thread(target=athena.ingest, args=([tmp_path / "notes"],), kwargs={"on_progress": hold})
    run.start()
    try:
        assert begun.wait(60)
        assert NOT_COMPLETE in texts(run_app(athena))
    finally:
        go_on.set()
        run.join()
    assert NOT_COMPLETE not in texts(run_app(athena))


def test_turns_offer_nothing_to_ask_while_an_answer_is_written(athena: Athena, run_app: Run) -> None:
    conversation, _ = store(athena, made_answers.CORRECTED)
    (view,) = component_data(run_app(athena, c=conversation), "turn")
    assert (view["busy"], view["corrected"]["typed"]) == (False, "fule cell warmup")


def test_what_the_server_indexes_at_its_start_is_shown_while_it_serves(
    empty_athena: Athena, run_app: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`athena serve --ingest`: the app listens first, and whoever opens a page sees how far it is."""
    go_on = threading.Event()
    asked: list[Path] = []

    def ingest(paths: list[Path], *, on_progress: Callable[[Progress], None], **_: object) -> IngestReport:
        asked.extend(paths)
        on_progress(Progress("reading", 3, 7, "fan.md"))
        go_on.wait(20)
        return original(paths)

    original = empty_athena.ingest
    monkeypatch.setattr(empty_athena, "ingest", ingest)
    monkeypatch.setattr("ui.shared.process.opened", lambda: empty_athena)
    empty_athena.use(empty_athena.settings.model_copy(update={"corpus": tmp_path / "manuals"}))
    (tmp_path / "manuals").mkdir()
    (tmp_path / "manuals" / "fan.md").write_text("# Fan\n\nThe fan hums.\n", encoding="utf-8")
    app = run_app(empty_athena, page="documents")
    lifespan = serving(Settings(), ingest=True)["lifespan"]
    assert lifespan is not None

    async def start() -> None:
        async with lifespan(None):  # type: ignore[arg-type]
            pass

    asyncio.run(start())
    job = jobs().current
    assert job is not None
    app.run()
    while not job.state().progress:
        assert not job.wait(0.01)
    app.run()
    (bar,) = app.get("progress")
    assert "Reading 3 of 7" in bar.proto.text and bar.proto.value == 42
    go_on.set()
    assert job.wait(20)
    app.run()
    assert asked == [tmp_path / "manuals"]
    assert "1 document added" in texts(app)
    assert [info.source for info in empty_athena.store.sections.documents()] == ["fan.md"]


def listed(app: AppTest) -> list[str]:
    """The documents that the page shows."""
    (table,) = component_data(app, "files")
    return [row["source"] for row in table["files"]]


def test_a_question_right_after_the_button_begins_the_new_conversation(athena: Athena, run_app: Run) -> None:
    kept = athena.conversations.create("Sleep").info.id
    athena.conversations.save_turn(kept, answered("How long does the crew sleep?"))
    app = run_app(athena, c=kept)
    app.button(key="new").click().run()
    app.query_params["c"] = kept  # the browser has not heard yet
    app.chat_input[0].set_value("Is the LN2 tank full?").run()
    assert len(athena.conversations.list()) == 2
    assert app.query_params["c"] != [kept]


def test_a_citations_address_opens_the_document_at_its_span(athena: Athena, run_app: Run) -> None:
    text = athena.store.sections.document("crew.md").text
    start = text.index(text.split()[-1])
    app = run_app(athena, page="documents", source="crew.md", start=str(start), end=str(len(text)))
    assert '"mark"' in str(component_data(app, "document")).replace("'", '"')
    assert "not indexed any more" in texts(run_app(athena, page="documents", source="gone.md", start="x"))
