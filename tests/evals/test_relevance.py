"""The sets of `evals/data/relevance`: halves, kinds, and that every answer stands where it is said."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from evals.datasets import Question, default_folder, held_out, load_qrels, load_queries, with_texts
from readers.sections import read_sections

DATA = Path(__file__).parents[2] / "evals" / "data" / "relevance"
FOLDERS = {
    "manuals": DATA.parents[2] / "docs_corpus",
    "rust-book": default_folder() / "docs" / "rust-book",
    "opensearch-docs": default_folder() / "docs" / "opensearch-docs",
}
KINDS = {"define": 60, "alone": 30, "leaning": 30, "compare": 30, "two": 30}


def questions(corpus: str, half: str) -> list[Question]:
    return load_queries(DATA / corpus / half)


def test_as_many_as_stated_each_in_its_half() -> None:
    halves = {
        half: [query for name in FOLDERS for query in questions(name, half)] for half in ("dev", "test")
    }
    everything = halves["dev"] + halves["test"]
    assert Counter(query.kind for query in everything) == KINDS
    assert len({query.id for query in everything}) == len(everything)
    assert [query.id for query in halves["dev"] if held_out(query.id)] == []
    assert [query.id for query in halves["test"] if not held_out(query.id)] == []


@pytest.mark.parametrize("half", ["dev", "test"])
@pytest.mark.parametrize("corpus", FOLDERS)
def test_a_kind_has_what_it_is_asked_with(corpus: str, half: str) -> None:
    for query in questions(corpus, half):
        follows = query.kind in ("alone", "leaning")
        assert (len(query.history), len(query.parts)) == (2 * follows, 2 * (query.kind in ("compare", "two")))
        assert bool(query.alone) == follows
        assert (query.alone == query.text) == (query.kind == "alone")
        if query.kind == "two":
            assert all(part.text in query.text for part in query.parts), query.id


@pytest.mark.parametrize("half", ["dev", "test"])
@pytest.mark.parametrize("corpus", FOLDERS)
def test_every_answer_stands_in_a_section_that_is_named(corpus: str, half: str) -> None:
    if not FOLDERS[corpus].is_dir():
        pytest.skip("this collection is not beside the clone")
    relevant = load_qrels(DATA / corpus / half, "test")
    asked = with_texts(questions(corpus, half), FOLDERS[corpus])
    assert {query.id for query in asked} == relevant.keys()
    for query in asked:
        named = set()
        for span in query.gold:
            holding = {
                name
                for name, text in sections(FOLDERS[corpus], span.source)
                if span.text and span.text in text
            }
            assert holding, (query.id, span)
            named |= holding
        assert named == relevant[query.id].keys(), query.id


@cache
def sections(folder: Path, source: str) -> tuple[tuple[str, str], ...]:
    """The file's sections by the names that the judgements have, with their texts."""
    found = read_sections((folder / source).read_text(encoding="utf-8-sig"), source=source)
    return tuple((f"{source}#{' > '.join(at.metadata['heading_path'])}", at.text) for at in found)
