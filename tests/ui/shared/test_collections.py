"""Collections as a tree: what is listed, what a tick stands for, and the globs of a scope."""

from __future__ import annotations

import pytest

from athena import Athena
from pipeline.stores.base import DocumentInfo
from ui.shared import collections, process
from ui.shared.collections import documents_below, globs_of, ticked_by, tree_nodes


def info(source: str, root: str = "/srv/manuals", title: str = "") -> DocumentInfo:
    return DocumentInfo(source, source, root, title or source, "h", 1, 1, 1, 0.0)


DOCUMENTS = [
    info("a/one.md", title="First"),
    info("a/b/two.md"),
    info("three[1].md"),
    info("a/four.md", "/srv/wiki"),
    info("x/five.md", "/srv/wiki"),
]


@pytest.fixture(autouse=True)
def nothing_uploaded(athena: Athena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "athena", lambda: athena)


def test_a_folder_has_its_nodes_once_it_is_open() -> None:
    manuals, wiki = tree_nodes(DOCUMENTS, {"manuals//", "manuals//a/"})
    assert (manuals["name"], manuals["about"], wiki["name"]) == ("manuals", "3 documents", "wiki")
    assert "nodes" not in wiki
    assert [one.source for one in documents_below(DOCUMENTS, ["wiki//a/"])] == ["a/four.md"]
    folder, leaf = manuals["nodes"]
    assert [node["name"] for node in folder["nodes"]] == ["b", "First"]
    assert (leaf["path"], leaf["about"]) == ("manuals//three[1].md", "three[1].md")
    assert [node["name"] for node in tree_nodes(DOCUMENTS, (), query="firs ONE")] == ["First"]


def test_a_long_folder_says_how_many_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collections, "LISTED", 2)
    [node] = tree_nodes([info(f"{number}.md") for number in range(5)], {"manuals//"})
    assert [one["path"] for one in node["nodes"]] == ["manuals//0.md", "manuals//1.md", ""]
    assert "3 more" in node["nodes"][-1]["name"]


def test_collections_of_one_name_have_their_whole_path() -> None:
    twice = [info("a.md", "/one/docs"), info("b.md", "/two/docs")]
    assert [node["name"] for node in tree_nodes(twice, ())] == ["/one/docs", "/two/docs"]


@pytest.mark.parametrize(
    ("ticked", "globs"),
    [
        (["manuals//a/", "manuals//a/one.md"], ("a/one.md", "a/b/")),
        (["manuals//"], ("a/one.md", "a/b/", "three[[]1].md")),
        (["wiki//a/"], ("a/four.md",)),  # and nothing of the other folder of this name
        (["manuals//", "wiki//"], ()),
    ],
)
def test_a_tick_is_a_scope_and_is_there_again(ticked: list[str], globs: tuple[str, ...]) -> None:
    assert globs_of(DOCUMENTS, ticked) == globs
    assert ticked_by(globs, DOCUMENTS) == (ticked[:1] if globs else [])
