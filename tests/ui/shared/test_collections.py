"""Collections as a tree: what is listed, what a tick stands for, and the globs of a scope."""

from __future__ import annotations

import pytest

from athena import Athena
from pipeline.stores.base import DocumentInfo
from ui.shared import collections, process
from ui.shared.collections import documents_below, globs_of, tree_nodes


def info(source: str, root: str = "/srv/manuals", title: str = "") -> DocumentInfo:
    return DocumentInfo(source, source, root, title or source, "h", 1, 1, 1, 0.0)


DOCUMENTS = [
    info("a/one.md", title="First"),
    info("a/b/two.md"),
    info("three[1].md"),
    info("x/four.md", "/srv/wiki"),
]


@pytest.fixture(autouse=True)
def nothing_uploaded(athena: Athena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "athena", lambda: athena)


def test_a_folder_has_its_nodes_once_it_is_open() -> None:
    manuals, wiki = tree_nodes(DOCUMENTS, {"@manuals/", "a/"})
    assert (manuals["name"], manuals["about"], wiki["name"]) == ("manuals", "3 documents", "wiki")
    assert "nodes" not in wiki
    folder, leaf = manuals["nodes"]
    assert [node["name"] for node in folder["nodes"]] == ["b", "First"]
    assert (leaf["path"], leaf["about"]) == ("three[1].md", "three[1].md")
    assert [node["name"] for node in tree_nodes(DOCUMENTS, (), query="firs ONE")] == ["First"]


def test_a_long_folder_says_how_many_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collections, "LISTED", 2)
    [node] = tree_nodes([info(f"{number}.md") for number in range(5)], {"@manuals/"})
    assert [one["path"] for one in node["nodes"]] == ["0.md", "1.md", ""]
    assert "3 more" in node["nodes"][-1]["name"]


def test_collections_of_one_name_have_their_whole_path() -> None:
    twice = [info("a.md", "/one/docs"), info("b.md", "/two/docs")]
    assert [node["name"] for node in tree_nodes(twice, ())] == ["/one/docs", "/two/docs"]


def test_ticks_stand_for_all_below_them() -> None:
    assert [one.source for one in documents_below(DOCUMENTS, ["a/", "a/one.md"])] == [
        "a/one.md",
        "a/b/two.md",
    ]
    assert len(documents_below(DOCUMENTS, ["@manuals/"])) == 3
    assert globs_of(DOCUMENTS, ["a/", "three[1].md"]) == ("a/", "three[[]1].md")
    assert globs_of(DOCUMENTS, ["@wiki/"]) == ("x/",)
    assert globs_of(DOCUMENTS, ["@manuals/", "@wiki/"]) == ()
