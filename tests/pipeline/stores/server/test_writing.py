"""Documents on the servers: several writers at once, writers that die, paths as Weaviate's filters."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from types import ModuleType

import pytest

from pipeline.stores.base import SearchRequest
from pipeline.stores.globs import matches
from pipeline.stores.server import ServerAddresses, ServerStore, reading, searching, writing
from pipeline.stores.server.index import begin_writing
from pipeline.stores.server.searching import likes_of
from pipeline.stores.server.writing import ServerWriting
from tests.contracts.documents import ENCODER, MANIFEST, make_document, make_id
from tests.pipeline.stores.server.private import write
from tests.server_stores import leftovers

pytestmark = pytest.mark.server

STEPS = ("_begin", "insert_objects", "_insert_sections", "raise_generation", "_switch", "clean")

WRITE = """
import json, sys
from pipeline.stores.server import ServerAddresses, ServerStore
from tests.contracts.documents import MANIFEST, make_document
store = ServerStore(ServerAddresses(**json.loads(sys.argv[1])))
first = int(sys.argv[2])
with store.writing(MANIFEST) as writing:
    for number in range(first, first + 12):
        writing.replace(make_document(f"{number}.md", {"A": [f"Alpha {number}."], "B": ["Beta."]}))
store.close()
"""


class Killed(BaseException):
    """The process ended here."""


def sections(store: ServerStore, text: str, paths: str | None = None) -> set[str]:
    """The sections that have the words, by id; a search by vector must find them, too."""
    found = store.search(SearchRequest(text, ENCODER.encode_query(text), 50, paths=paths))
    by_words = {hit.section_id for hit in found.bm25_sections}
    assert by_words <= {hit.section_id for hit in found.dense_sections}
    return by_words


def die_before(monkeypatch: pytest.MonkeyPatch, step: str, store: ServerStore, text: str) -> None:
    """Start writing another text of a.md, and die before the named step."""

    def die(*_: object, **__: object) -> None:
        raise Killed

    writer = ServerWriting(store._connections, begin_writing(store._connections, MANIFEST, rebuild=False))
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(writing, step, die)
        writer.replace(make_document("a.md", {"a.md": [text]}))


@pytest.mark.parametrize("step", STEPS)
def test_a_writer_that_dies_leaves_the_old_version_or_the_new_one(
    step: str, store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, "a.md", "Alpha.")
    die_before(monkeypatch, step, store, "Gamma.")
    is_new = STEPS.index(step) > STEPS.index("_switch")
    assert bool(sections(store, "gamma")) is is_new
    assert bool(sections(store, "alpha")) is not is_new
    assert store.document("a.md").text.count("Gamma.") == is_new
    assert store.statistics().sentences == 1
    write(store, "a.md", "Delta.")  # the document's next ingest deletes what was left
    assert leftovers(store) == []
    assert sections(store, "delta") and not sections(store, "gamma")


def test_what_a_dead_writer_left_goes_with_a_later_ingest_of_another_document(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    die_before(monkeypatch, "_switch", store, "Gamma.")
    write(store, "b.md")
    assert len(leftovers(store)) == 1  # it may be at work still
    monkeypatch.setattr(writing, "ABANDONED_S", 0.0)
    write(store, "b.md", "Beta.")
    assert leftovers(store) == []
    assert [info.source for info in store.documents()] == ["b.md"]


def test_of_two_writers_of_one_document_the_later_to_begin_wins(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, "a.md", "Alpha.")
    switch = writing._switch

    def other_first(*given: object) -> None:
        monkeypatch.setattr(writing, "_switch", switch)
        write(store, "a.md", "Gamma.")
        switch(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "_switch", other_first)
    write(store, "a.md", "Delta.")
    assert sections(store, "gamma") and not sections(store, "delta") and not sections(store, "alpha")
    assert leftovers(store) == []


def test_a_swept_writer_that_goes_on_shows_nothing(
    store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    switch = writing._switch

    def swept_first(*given: object) -> None:
        monkeypatch.setattr(writing, "_switch", switch)
        monkeypatch.setattr(writing, "ABANDONED_S", 0.0)
        write(store, "b.md", "Beta.")
        switch(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "_switch", swept_first)
    write(store, "a.md", "Alpha.")
    assert [info.source for info in store.documents()] == ["b.md"]
    assert leftovers(store) == []


@pytest.mark.parametrize(("module", "reads"), [(searching, "ask_all"), (reading, "_fetch")])
def test_a_document_that_is_replaced_while_it_is_read_is_read_again(
    module: ModuleType, reads: str, store: ServerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(store, "a.md", "Alpha.")
    read, texts = getattr(module, reads), ["Alpha gamma."]

    def replaced_meanwhile(*given: object, **named: object) -> object:
        found = read(*given, **named)
        if texts:
            write(store, "a.md", texts.pop())
        return found

    monkeypatch.setattr(module, reads, replaced_meanwhile)
    found = store.search(SearchRequest("alpha", ENCODER.encode_query("alpha"), 5)).bm25_sentences
    nodes = store.get_many([hit.node_id for hit in found])
    assert [node.text for node in nodes.values()] == ["Alpha gamma."]


def test_two_processes_ingest_different_documents_at_once(addresses: ServerAddresses) -> None:
    place = addresses.model_dump_json()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE, place, str(first)], stderr=subprocess.PIPE, text=True)
        for first in (0, 100)
    ]
    assert [(one.communicate(timeout=120)[1], one.returncode) for one in writers] == [("", 0), ("", 0)]
    with closing(ServerStore(addresses)) as store:
        assert len(store.documents()) == 24
        assert store.statistics().sentences == 48
        for number in (0, 11, 100, 111):
            assert sections(store, f"alpha {number}") >= {make_id(f"{number}.md", "A")}
        assert leftovers(store) == []


def test_a_search_below_a_path_is_filtered_by_weaviate(store: ServerStore) -> None:
    sources = ["systems/tank.md", "systems/air/fan.md", "SYSTEMS/tank.md", "a+b (1).md", "systems.md"]
    with store.writing(MANIFEST) as documents:
        for source in sources:
            documents.replace(make_document(source, {"A": ["Alpha."]}))
    for glob in ("systems", "systems/*.md", "systems/**/*.md", "**/tank.md", "a+b (1).md", "*.md"):
        expected = {make_id(source, "A") for source in sources if matches(source, glob)}
        assert sections(store, "alpha", paths=glob) == expected, glob
    assert sections(store, "alpha", paths="nowhere/*") == set()


def test_hits_beyond_the_path_do_not_shorten_the_list(store: ServerStore) -> None:
    with store.writing(MANIFEST) as documents:
        for number in range(30):
            documents.replace(make_document(f"a/{number}/b.md", {"A": ["Alpha alpha alpha."]}))
        documents.replace(make_document("a/b.md", {"A": ["Alpha."]}))
    found = store.search(SearchRequest("alpha", ENCODER.encode_query("alpha"), 1, paths="a/*.md"))
    assert [hit.section_id for hit in found.bm25_sections] == [make_id("a/b.md", "A")]
    assert [hit.section_id for hit in found.dense_sections] == [make_id("a/b.md", "A")]


@pytest.mark.parametrize(
    ("glob", "likes"),
    [
        ("systems", ("systems", "systems/*")),
        ("./systems/", ("systems", "systems/*")),
        ("systems/**/alarms.md", ("systems/*alarms.md", "systems/*alarms.md/*")),
        ("**.md", ("*.md", "*.md/*")),
        (r"[!a-c]\*?.md", ("???.md", "???.md/*")),
    ],
)
def test_weaviates_patterns_match_at_least_the_globs_sources(glob: str, likes: tuple[str, str]) -> None:
    assert likes_of(glob) == likes
