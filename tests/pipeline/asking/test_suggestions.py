"""Questions to click, which the documents answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.answer import Citation
from pipeline.asking.suggestions import follow_ups, own_title, suggested_questions
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.chat_runs import NewChat
from tests.pipeline.searching import make_store
from tests.ui.conftest import VALVES, quoted

LONG = (
    "There is more to be said about it, and here it is said at some length, for the sake of the test, "
    "and on it goes. "
)
FILES = {
    "fan.md": f"# Cabin fan\n\nThe cabin fan is what moves the air. {LONG}\n",
    "find.md": f"# Leaks\n\n## Finding a leak\n\nListen for it. {LONG}\n\n## Example\n\n{LONG * 2}\n",
    "put.md": f"# How to Put on the Mask\n\nOver the head. {LONG}\n",
    "evening.md": f"# Evening check\n\nLook around. {LONG}\n",
    "codes.md": f"# Frobnicating the widget\n\nTurn it. {LONG}\n",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedStore:
    return make_store(tmp_path_factory.mktemp("introducing"), FILES)


def test_questions_are_made_of_headings(store: EmbeddedStore) -> None:
    asked = suggested_questions(store.sections.documents(), store.sections)
    assert set(asked[:3]) == {
        "What is the cabin fan?",
        "How do I find a leak?",
        "How do I put on the mask?",
    }
    assert asked == suggested_questions(store.sections.documents(), store.sections)
    assert len(asked) == 4 and not any("Example" in question for question in asked)


def test_what_follows_an_answer_is_what_a_person_would_ask_and_new(tmp_path: Path) -> None:
    heads = ("The tuple type", "String slices", "Array element access", "Scope and moves", "If it fails")
    text = "# Types\n\n## Cited\n\nThis.\n\n" + "".join(f"## {head}\n\nIt. {LONG * 2}\n\n" for head in heads)
    store = make_store(tmp_path, {"types.md": text})
    cited = citation_of("types.md", ("Types", "Cited"))
    first = follow_ups([cited], store.sections)
    assert first == [
        "What is the tuple type?",
        "What are string slices?",
        "What should I know about array element access?",
    ]
    assert follow_ups([cited], store.sections, without=first) == ["What should I know about scope and moves?"]


def test_follow_ups_are_of_several_forms(tmp_path: Path) -> None:
    heads = (
        "Scope and moves",
        "Places and people",
        "C-601 computer warm",
        "P-WTR-01: No water",
        "Slots of a fan",
    )
    text = "# Types\n\n## Cited\n\nThis.\n\n" + "".join(f"## {head}\n\nIt. {LONG * 2}\n\n" for head in heads)
    store = make_store(tmp_path, {"types.md": text})
    first = follow_ups([citation_of("types.md", ("Types", "Cited"))], store.sections)
    assert first == [
        "What should I know about scope and moves?",
        "What does C-601 mean?",
        "What are the slots of a fan?",
    ]


def citation_of(source: str, path: tuple[str, ...]) -> Citation:
    return replace(quoted(VALVES, "Close CB-4 first.", path=path), source=source)


def test_files_names_and_contents_are_no_topics(tmp_path: Path) -> None:
    files = {
        "SUMMARY.md": "# Summary\n\n" + "- [The fan](fan.md)\n" * 9,
        "ch01-02.md": f"Plain text. {LONG}\n",
        "conf.md": f"# Settings\n\n## Cargo.toml\n\nThe file. {LONG}\n",
    }
    store = make_store(tmp_path, files)
    documents = store.sections.documents()
    assert suggested_questions(documents, store.sections) == []
    assert [own_title(info) for info in documents] == ["", "", "Settings"]


def test_a_verb_is_the_one_that_its_gerund_is_of(tmp_path: Path) -> None:
    headings = [
        "Losing air, or a wrong gauge",
        "Losing the key",
        "Setting the clock",
        "Opening the hatch",
        "Using the mask",
    ]
    files = {f"{at}.md": f"# {heading}\n\nHere is how. {LONG}\n" for at, heading in enumerate(headings)}
    store = make_store(tmp_path, files)
    assert suggested_questions(store.sections.documents(), store.sections) == [
        "How do I lose the key?",
        "How do I set the clock?",
        "How do I open the hatch?",
        "How do I use the mask?",
    ]


def test_a_corrected_question_is_told(new_chat: NewChat) -> None:
    answer = new_chat().answer("what does the nitrogn tank hold")
    assert (answer.corrected, answer.condensed_question) == (
        "what does the nitrogen tank hold",
        "what does the nitrogn tank hold",
    )
