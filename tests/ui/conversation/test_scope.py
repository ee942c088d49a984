"""The scope of a conversation: its chips, what can be added, and what is gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from athena import Athena
from pipeline.answer import Answer
from pipeline.stores.base import DocumentInfo
from tests.ui.conftest import answered, component_data
from ui.conversation.scope import NOTHING_THERE, Scoping, changed, options, scope_view
from ui.conversation.turns import meta

Run = Callable[..., AppTest]


def info(source: str, title: str = "") -> DocumentInfo:
    return DocumentInfo(
        id=source, source=source, root="", title=title, hash="", sections=1, sentences=1, characters=1,
        indexed_at=0.0,
    )  # fmt: skip


DOCUMENTS = [
    info("engines/main.md", "Main engine"),
    info("engines/aft/pump.md", "Pump"),
    info("crew[1].md", "Crew"),
]


def test_folders_come_with_the_number_of_their_files_and_files_with_their_titles() -> None:
    assert [(option["path"], option["about"]) for option in options(DOCUMENTS)] == [
        ("engines/", "2 files"),
        ("engines/aft/", "1 file"),
        ("crew[1].md", "Crew"),
        ("engines/aft/pump.md", "Pump"),
        ("engines/main.md", "Main engine"),
    ]


def test_a_path_is_added_as_itself_and_removed_again() -> None:
    scope = changed(("engines/",), {"add": "crew[1].md"})
    assert scope == ("engines/", "crew[[]1].md")
    assert changed(scope, {"add": "engines/"}) == scope
    assert changed(scope, {"remove": "engines/"}) == ("crew[[]1].md",)
    assert changed(scope, {"clear": True}) == ()


def test_a_chip_whose_documents_are_gone_says_so() -> None:
    view = scope_view(("engines/", "crew[[]1].md", "old/"), DOCUMENTS)
    assert [(chip["name"], chip["gone"]) for chip in view["chips"]] == [
        ("engines/", False), ("crew[1].md", False), ("old/", True),
    ]  # fmt: skip
    assert (view["note"], view["options"]) == ("", None)
    assert scope_view(("old/",), DOCUMENTS)["note"] == NOTHING_THERE
    assert scope_view((), ())["note"] == ""


@pytest.mark.parametrize(
    ("paths", "words"), [(None, []), ("engines/", ["only in engines/"]), (["a/", "b/"], ["only in a/, b/"])]
)
def test_the_quiet_line_has_the_scope(paths: object, words: list[str]) -> None:
    answer: Answer = answered(settings={"paths": paths})
    assert [part for part in meta(answer) if part.startswith("only")] == words


def test_the_page_shows_a_conversations_scope_and_forgets_none(athena: Athena, run_app: Run) -> None:
    kept = athena.conversations.create("Valves").info.id
    athena.conversations.save_turn(kept, answered())
    athena.conversations.set_scope(kept, ("valves.md", "gone/"))
    (view,) = component_data(run_app(athena, c=kept), "scope")
    assert [(chip["name"], chip["gone"]) for chip in view["chips"]] == [("valves.md", False), ("gone/", True)]
    (view,) = component_data(run_app(athena), "scope")
    assert view["chips"] == []


def test_a_new_conversation_begins_with_the_scope_that_was_chosen(athena: Athena, run_app: Run) -> None:
    app = run_app(athena)
    app.session_state[Scoping.__name__] = Scoping(waiting=("crew.md",))
    app.run()
    assert component_data(app, "scope")[0]["chips"][0]["name"] == "crew.md"
    app.chat_input[0].set_value("How long does the crew sleep?").run()
    (begun,) = athena.conversations.list()
    assert begun.scope == ("crew.md",)
    assert app.session_state[Scoping.__name__].waiting == ()
