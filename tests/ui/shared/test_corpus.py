"""What documents are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from athena.settings import Settings
from pipeline.stores.base import DocumentInfo
from ui.shared import corpus


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus.process, "settings", lambda: Settings(data_dir=Path("/data")))


def documents(root: str, **titles: str) -> list[DocumentInfo]:
    return [
        DocumentInfo("", source.replace("_", "/") + ".md", root, title, "", 1, 1, 1, 0.0)
        for source, title in titles.items()
    ]


@pytest.mark.parametrize(
    ("given", "title"),
    [
        (documents("/books/rust", src_SUMMARY="The Rust Book", src_a="A"), "The Rust Book"),
        (documents("/d", README="About the repo", index="User guides", a_b="B"), "User guides"),
        (documents("/d", README="About the repo", index="index.md"), "About the repo"),
        (documents("/d/Pumps", README="README", a_index="Deep"), "Pumps"),
        (documents("/d/pumps/docs", a="A", b="B"), "pumps"),
        (documents("/d/pumps", docs_a="A", docs_b="B"), "pumps"),
        (documents("/data/uploads", index="Mine"), ""),
        (documents("/d/pumps", a="A") + documents("/data/uploads", b="B"), "pumps"),
        (documents("/d/one", index="One") + documents("/d/two", index="Two"), ""),
        ([], ""),
    ],
)
def test_a_corpus_has_the_title_of_its_index_page_or_its_folder(
    given: list[DocumentInfo], title: str
) -> None:
    assert corpus.corpus_title(given) == title


def test_manuals_are_the_ships_only() -> None:
    assert corpus.is_the_ships(documents("/d", **{"systems_atmosphere-supply": "Atmosphere"}))
    assert not corpus.is_the_ships(documents("/d", index="Rust"))
