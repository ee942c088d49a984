"""Abbreviations that the documents explain are searched for with what they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.finding.called import explained_in
from pipeline.steps.records import CorrectStep
from pipeline.stores.base import SearchRequest
from tests.pipeline.searching import make_search, make_store, the_step

TANKS = """# Tanks

The LOX tank has a valve. A LOX tank that leaks is closed. An oxygen sensor is beside the LN2 tank.

- **LOX**: liquid oxygen; it is cold.
- **LN2**: liquid nitrogen.
- **OXO**: a game that needs oxygen.
- **OPEN**: open valve; it is OPEN when OPEN lamps are lit.

The control system, in short CS, has a fan.
"""


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        ("oxygen tank leaks", "oxygen (LOX) tank leaks"),
        ("the nitrogen tank leaks", "the nitrogen (LN2) tank leaks"),
        ("oxygen sensor leaks", ""),  # they write it so themselves
        ("oxygen (LOX) tank leaks", ""),
        ("control system fan", ""),  # "CS fan" is nowhere
        ("does the oxygen leak", ""),
        ("is the valve lamps dark", ""),  # OPEN is no short form of "open valve"
    ],
)
def test_a_word_is_joined_with_the_documents_name_where_they_use_that_before_the_next_word(
    tmp_path: Path, question: str, searched: str
) -> None:
    store = make_store(tmp_path, {"tanks.md": TANKS})
    found = make_search(store).search(question)
    assert the_step(found, CorrectStep).corrected == searched
    store.close()


def test_what_a_glossarys_item_says_is_called_by_a_question_for_it(tmp_path: Path) -> None:
    documents = {
        "tanks.md": TANKS,
        "use.md": "# LOX\n\nLOX is cold. LOX boils.\n\n## LOX again\n\nLOX, more LOX.\n",
    }
    store = make_store(tmp_path, documents)
    hits = store.sentences.search(SearchRequest("LOX", None, 50)).bm25_sentences
    (explained,) = explained_in("what is LOX", hits, store.sentences)
    assert "liquid oxygen" in store.sections.get_many([explained])[explained].text
    assert not explained_in("how cold is LOX", hits, store.sentences)
    store.close()
