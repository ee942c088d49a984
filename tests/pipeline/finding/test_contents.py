"""Tables of contents answer nothing, unless somebody asks what there is to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.finding.contents import is_contents
from pipeline.stores.embedded import EmbeddedStore
from tests.pipeline.searching import FILES, make_search, make_store

LINKS = "# Summary\n\n[Start](start.md)\n\n" + "".join(
    f"- [{name}](x.md)\n" for name in ("Cabin fan", "The cabin fan moves the air", "Oxygen tank", "Batteries")
)
SUPPORTED = "# Fan\n\nA fan of the cabin.\n\n## Cabin fan parts\n\n" + LINKS.split("\n\n", 2)[2]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedStore:
    return make_store(
        tmp_path_factory.mktemp("contents"), FILES | {"SUMMARY.md": LINKS, "supported.md": SUPPORTED}
    )


@pytest.mark.parametrize(
    ("question", "expected"),
    [("What moves the air, the cabin fan?", False), ("Which chapters are about the cabin fan?", True)],
)
def test_a_page_of_links_is_no_passage_unless_contents_are_asked_for(
    store: EmbeddedStore, question: str, expected: bool
) -> None:
    passages = make_search(store, top_k=20).search(question).passages
    found = {passage.section.metadata["source"] for passage in passages}
    assert ("SUMMARY.md" in found) is expected
    assert "supported.md" in found  # a list of links on a page that says more


def test_what_is_a_list_of_links() -> None:
    assert is_contents("[a](b.md)\n1. [c](d.md)\n- **[e `f`](g.md)**\n  - [h][i]\n---\n")
    assert not is_contents("- [a](b.md)\n- [c](d.md)\n- [e](f.md)\n")
    assert not is_contents("- [a](b.md): how to begin\n" * 6)


def test_nothing_else_is_better_than_nothing(tmp_path: Path) -> None:
    store = make_store(tmp_path, {"SUMMARY.md": LINKS})
    assert make_search(store).search("cabin fan").passages
